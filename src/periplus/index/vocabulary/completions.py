"""The completions of a segment, and the home pages of its sites.

Completions are titles of pages, anchor texts, and names of hosts, as folded words; their weight follows the static rank
of the page. Sites are stored by the squeezed form of their names ('example.com', 'example' and the title of the home
page), so that a query which names one finds its home page by one lookup.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.hashing import fingerprint
from periplus.index.builder.byte_sort import sort_strings
from periplus.index.vocabulary.kernels import completion_table as kernel
from periplus.index.vocabulary.kernels import surface_forms
from periplus.text import WordTable, split_text

__all__ = [
    "LINK_TEXT_FLAG",
    "collect_texts",
    "completion_arrays",
    "first_link_texts",
    "site_arrays",
    "squeeze_site_name",
    "stored_link_texts",
]

LINK_TEXT_FLAG: Final = 1 << 30
"""Set in the source of a completion that is an anchor text of its document."""
_MAX_BYTES: Final = 120
"""Length of a completion."""
_CHUNK: Final = 1 << 16
"""Texts that are hashed together."""
_MAX_STARTS: Final = 4
"""A completion may begin at one of this many first words of a text."""
_MAX_LINK_TEXTS: Final = 2
"""Anchor texts of one page that become completions."""
_HOST_WEIGHT: Final = 0.9
_LINK_TEXT_FACTOR: Final = 0.9
"""Weight of an anchor text, relative to the title."""
_INNER_START_FACTOR: Final = 0.5
"""Weight of a completion that begins within a text, relative to the whole text."""
_TITLE_SEPARATOR: Final = re.compile(r"\s+[|–—·:-]\s+|[|:]\s+")
_GENERIC_NAMES: Final = frozenset(
    [
        *("home", "homepage", "welcome", "index", "start", "main", "untitled", "default"),
        *("startseite", "willkommen", "accueil", "bienvenue", "inicio", "bienvenido"),
    ]
)
_MAX_NAME_LETTERS: Final = 60


class CompletionTexts(NamedTuple):
    """Texts that become completions: their weights (0 to 1; 0 is left out), and where they come from."""

    texts: bytes
    bounds: npt.NDArray[np.int64]
    """Where each text ends, after a 0."""
    weights: npt.NDArray[np.float32]
    source: npt.NDArray[np.int32]
    """The document of a title, or with `LINK_TEXT_FLAG` of an anchor text; hosts are numbered from -2 down."""


LinkTexts = Iterable[tuple[int, bytes]]
"""Documents, and an anchor text of each."""


def first_link_texts(anchors: bytes) -> list[bytes]:
    """Return the first few anchor texts of a document."""
    return [line[: 2 * _MAX_BYTES] for line in anchors.split(b"\n", _MAX_LINK_TEXTS)[:_MAX_LINK_TEXTS]]


def stored_link_texts(file: ArrayFile, numbers: npt.NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
    """Yield the anchor texts of a merged segment; `numbers` are the new numbers of its documents (-1: deleted)."""
    blob, source, start = file["complete_text"], np.asarray(file["complete_source"]), file["complete_start"]
    for text in np.flatnonzero(source >= LINK_TEXT_FLAG).tolist():
        document = int(numbers[int(source[text]) ^ LINK_TEXT_FLAG])
        if document >= 0:
            yield document, blob[int(start[text]) : int(start[text + 1]) - 1].tobytes()


def collect_texts(columns: ArrayFile, link_texts: LinkTexts) -> CompletionTexts:
    """Return the titles, anchor texts and hosts of a segment whose documents are written."""
    documents, titles, hosts = len(columns["key"]), columns["title_start"], columns["hosts_start"]
    static = np.broadcast_to(columns["static"], documents)
    document_weights = (0.2 + 0.8 * static).astype(np.float32)
    has_url_title = np.zeros(documents, np.bool_)  # Pages without a title have their URL as title.
    first = surface_forms.prefix_keys(columns["title_blob"], titles[:-1], titles[1:]) >> np.uint64(32)
    has_url_title[first == int.from_bytes(b"http", "big")] = True
    lines = list(link_texts)
    linked = np.array([document for document, _ in lines], np.int64)
    texts = [columns["title_blob"].tobytes(), *(line for _, line in lines), columns["hosts_blob"].tobytes()]
    sizes = [np.diff(titles), np.array([len(line) for _, line in lines], np.int64), np.diff(hosts)]
    bounds = np.zeros(1 + sum(map(len, sizes)), np.int64)
    np.cumsum(np.concatenate(sizes), out=bounds[1:])
    weights = [
        np.where(has_url_title, 0, document_weights),
        document_weights[linked] * _LINK_TEXT_FACTOR,
        np.full(len(hosts) - 1, _HOST_WEIGHT),
    ]
    source = [np.arange(documents), linked | LINK_TEXT_FLAG, -2 - np.arange(len(hosts) - 1)]
    return CompletionTexts(
        b"".join(texts), bounds, np.concatenate(weights).astype(np.float32), np.concatenate(source).astype(np.int32)
    )


def completion_arrays(texts: CompletionTexts) -> dict[str, npt.NDArray[Any]]:
    """Return the sorted completions; of texts with the same words, the one of the highest weight is used."""
    table = WordTable()
    tokens = table.split(texts.texts, texts.bounds, np.zeros(len(texts.weights), np.uint8))
    words, start = _pack_words(table.words())
    del table
    weights = texts.weights
    chosen = _select_best(tokens.words, tokens.lengths, weights)
    is_chosen = np.zeros(len(weights), np.bool_)
    is_chosen[chosen] = True
    text, begins, starts, owners = kernel.build_texts(
        words,
        start,
        tokens.words[np.repeat(is_chosen, tokens.lengths)],
        tokens.lengths[chosen],
        _MAX_STARTS,
        _MAX_BYTES,
    )
    shares = np.where(starts == begins[owners], np.float32(1), np.float32(_INNER_START_FACTOR))
    entry_weights = _quantize(weights[chosen][owners] * shares)
    ends = begins[owners + 1]
    del tokens, words, start, shares, owners  # Sorting takes as much memory again.
    order = sort_strings(text, starts, ends)
    entry_weights = entry_weights[order]
    return {
        "complete_text": text,
        "complete_start": begins,
        "complete_source": texts.source[chosen],
        "complete_worth": _quantize(weights[chosen]),
        "complete_order": starts[order],
        "complete_rank": entry_weights,
        "complete_peak": _block_maxima(entry_weights),
    }


def _pack_words(words: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    start = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=start[1:])
    return np.frombuffer(b"".join(words), np.uint8), start


def _select_best(
    tokens: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]
) -> npt.NDArray[np.int64]:
    """Return the texts to use: of those with the same words, the one of the highest weight; none without words."""
    ends = np.cumsum(lengths, dtype=np.int64)
    key = np.empty(len(lengths), np.uint64)
    for at in range(0, len(lengths), _CHUNK):
        part = slice(at, at + _CHUNK)
        begin = int(ends[at] - lengths[at])
        key[part] = _hash_texts(tokens[begin : int(ends[part][-1])], lengths[part])
    by_weight = np.argsort(-weights, kind="stable")
    by_weight = by_weight[(lengths[by_weight] > 0) & (weights[by_weight] > 0)]
    _, first = np.unique(key[by_weight], return_index=True)
    return np.sort(by_weight[first])


def _hash_texts(tokens: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """Return a hash of the words of each text, in their order."""
    ends = np.cumsum(lengths, dtype=np.int64)
    offset = np.arange(len(tokens)) - np.repeat(ends - lengths, lengths)
    by_offset = offset.astype(np.uint64) * np.uint64(2) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (tokens.astype(np.uint64) + np.uint64(1)) * by_offset
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
    hashes: npt.NDArray[np.uint64] = sums[ends] - sums[ends - lengths]
    return hashes


def _quantize(weights: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    levels: npt.NDArray[np.uint8] = np.clip(np.rint(255 * weights), 1, 255).astype(np.uint8)
    return levels


def _block_maxima(weights: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    padded = np.zeros(-(-len(weights) // kernel.BLOCK) * kernel.BLOCK, np.uint8)
    padded[: len(weights)] = weights
    peaks: npt.NDArray[np.uint8] = padded.reshape(-1, kernel.BLOCK).max(axis=1, initial=0)
    return peaks


def site_arrays(columns: ArrayFile) -> dict[str, npt.NDArray[Any]]:
    """Return the names of sites, as sorted fingerprints, and the home page of each."""
    pairs = [
        (fingerprint(name.encode()), number)
        for number in kernel.find_home_pages(columns["url_blob"], columns["url_start"]).tolist()
        for name in _site_names(_string(columns, "url", number).split("/")[2], _string(columns, "title", number))
    ]
    keys = np.array([key for key, _ in pairs], np.uint64)
    order = np.argsort(keys, kind="stable")
    return {"site_key": keys[order], "site_document": np.array([number for _, number in pairs], np.int32)[order]}


def _string(columns: ArrayFile, name: str, number: int) -> str:
    start = columns[f"{name}_start"]
    return str(columns[f"{name}_blob"][start[number] : start[number + 1]].tobytes(), "utf-8", "replace")


def _site_names(host: str, title: str) -> Iterable[str]:
    """Return the names by which people may look for a site: its host, its registered name, its title."""
    name = host.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    labels = name.split(".")
    # Without a suffix list: 'example.com', and 'example.co.uk' by the lengths of its last labels.
    short_end = len(labels) == 3 and len(labels[2]) == 2 and len(labels[1]) <= 3
    names = {squeeze_site_name(name), squeeze_site_name(labels[0]) if len(labels) == 2 or short_end else ""}
    names |= {squeeze_site_name(title), squeeze_site_name(_TITLE_SEPARATOR.split(title)[0])}
    return {name for name in names if 2 < len(name) <= _MAX_NAME_LETTERS and name not in _GENERIC_NAMES}


def squeeze_site_name(name: str) -> str:
    """Return the form in which names of sites are stored: folded words, joined."""
    return "".join(split_text(name[: 4 * _MAX_NAME_LETTERS]))
