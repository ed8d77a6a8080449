"""What a segment offers to complete, and the home pages of its sites.

Completions are the titles of pages, what links call them, and the names of hosts, as folded words; each is worth what
its page is (static rank). Sites are known by the squeezed form of their names ('example.com', 'example' and the title
of the home page), so that a query which names one finds its home page by one look-up.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.hashing import fingerprint
from periplus.index.builder.byte_sort import sort_pieces
from periplus.index.vocabulary.kernels import completion_table as kernel
from periplus.index.vocabulary.kernels import surface_forms
from periplus.text import WordTable, split_text

__all__ = ["LINK_TEXT", "carried_on", "completion_arrays", "link_texts", "name_documents", "site_arrays", "squeeze"]

LINK_TEXT: Final = 1 << 30
"""Marks the document of a completion that is the text of links to it."""
_LONGEST: Final = 120
_STARTS: Final = 4
"""Words of a text at which a completion may begin."""
_LINK_TEXTS: Final = 2
"""Texts of links to one page that are offered."""
_HOST_WORTH: Final = 0.9
_LINK_SHARE: Final = 0.9
_LATE_SHARE: Final = 0.5
"""What a completion counts that begins within a text."""
_PARTS: Final = re.compile(r"\s+[|–—·:-]\s+|[|:]\s+")
_SAYS_NOTHING: Final = frozenset(
    [
        *("home", "homepage", "welcome", "index", "start", "main", "untitled", "default"),
        *("startseite", "willkommen", "accueil", "bienvenue", "inicio", "bienvenido"),
    ]
)
_LONGEST_NAME: Final = 60


class Named(NamedTuple):
    """Texts to complete: what each is worth (0 to 1; 0 is left out), and where it comes from."""

    texts: bytes
    bounds: npt.NDArray[np.int64]
    """Where each text ends, after a 0."""
    worth: npt.NDArray[np.float32]
    source: npt.NDArray[np.int32]
    """The document of a title, or with `LINK_TEXT` of what links say; hosts are numbered below -1."""


LinkTexts = Iterable[tuple[int, bytes]]
"""Documents, and what links say about them."""


def link_texts(anchors: bytes) -> list[bytes]:
    """Give the first few texts of links to a document."""
    return [line[: 2 * _LONGEST] for line in anchors.split(b"\n", _LINK_TEXTS)[:_LINK_TEXTS]]


def carried_on(file: ArrayFile, numbers: npt.NDArray[np.int64]) -> Iterator[tuple[int, bytes]]:
    """Give the link texts that an earlier segment offers; `numbers` says where its documents went (-1: nowhere)."""
    blob, source, start = file["complete_text"], np.asarray(file["complete_source"]), file["complete_start"]
    for text in np.flatnonzero(source >= LINK_TEXT).tolist():
        document = int(numbers[int(source[text]) ^ LINK_TEXT])
        if document >= 0:
            yield document, blob[int(start[text]) : int(start[text + 1]) - 1].tobytes()


def name_documents(columns: ArrayFile, said: LinkTexts) -> Named:
    """Gather what there is to complete of a segment whose documents are written: titles, link texts and hosts."""
    documents, titles, hosts = len(columns["key"]), columns["title_start"], columns["hosts_start"]
    static = np.broadcast_to(columns["static"], documents)
    own = (0.2 + 0.8 * static).astype(np.float32)
    addresses = np.zeros(documents, np.bool_)  # Pages without a title have their address for one.
    first = surface_forms.prefix_keys(columns["title_blob"], titles[:-1], titles[1:]) >> np.uint64(32)
    addresses[first == int.from_bytes(b"http", "big")] = True
    lines = list(said)
    linked = np.array([document for document, _ in lines], np.int64)
    texts = [columns["title_blob"].tobytes(), *(line for _, line in lines), columns["hosts_blob"].tobytes()]
    sizes = [np.diff(titles), np.array([len(line) for _, line in lines], np.int64), np.diff(hosts)]
    bounds = np.zeros(1 + sum(map(len, sizes)), np.int64)
    np.cumsum(np.concatenate(sizes), out=bounds[1:])
    worth = [np.where(addresses, 0, own), own[linked] * _LINK_SHARE, np.full(len(hosts) - 1, _HOST_WORTH)]
    source = [np.arange(documents), linked | LINK_TEXT, -2 - np.arange(len(hosts) - 1)]
    return Named(
        b"".join(texts), bounds, np.concatenate(worth).astype(np.float32), np.concatenate(source).astype(np.int32)
    )


def completion_arrays(named: Named) -> dict[str, npt.NDArray[Any]]:
    """Fold, sort and lay out what there is to complete; of texts that are the same, the one that is worth most."""
    table = WordTable()
    tokens = table.split(named.texts, named.bounds, np.zeros(len(named.worth), np.uint8))
    words, start = _lay_words(table.words())
    worth = named.worth
    chosen = _first_of_each(tokens.words, tokens.lengths, worth)
    kept = np.repeat(np.isin(np.arange(len(worth)), chosen), tokens.lengths)
    text, begins, places, owners = kernel.build_texts(
        words, start, tokens.words[kept], tokens.lengths[chosen], _STARTS, _LONGEST
    )
    shares = np.where(places == begins[owners], np.float32(1), np.float32(_LATE_SHARE))
    entry_worth = _as_bytes(worth[chosen][owners] * shares)
    del tokens, kept, shares  # Sorting takes as much memory again.
    order = sort_pieces(text, places.astype(np.int64), begins[owners + 1].astype(np.int64))
    entry_worth = entry_worth[order]
    return {
        "complete_text": text,
        "complete_start": begins,
        "complete_source": named.source[chosen],
        "complete_worth": _as_bytes(worth[chosen]),
        "complete_order": places[order],
        "complete_rank": entry_worth,
        "complete_peak": _peaks(entry_worth),
    }


def _lay_words(words: Sequence[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    start = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=start[1:])
    return np.frombuffer(b"".join(words), np.uint8), start


def _first_of_each(
    tokens: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32], worth: npt.NDArray[np.float32]
) -> npt.NDArray[np.int64]:
    """Give the texts to keep: of those with the same words, the one that is worth most; none without words."""
    ends = np.cumsum(lengths, dtype=np.int64)
    place = np.arange(len(tokens)) - np.repeat(ends - lengths, lengths)
    by_place = place.astype(np.uint64) * np.uint64(2) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (tokens.astype(np.uint64) + np.uint64(1)) * by_place
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
    key = sums[ends] - sums[ends - lengths]
    by_worth = np.argsort(-worth, kind="stable")
    by_worth = by_worth[(lengths[by_worth] > 0) & (worth[by_worth] > 0)]
    _, first = np.unique(key[by_worth], return_index=True)
    return np.sort(by_worth[first])


def _as_bytes(worth: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    levels: npt.NDArray[np.uint8] = np.clip(np.rint(255 * worth), 1, 255).astype(np.uint8)
    return levels


def _peaks(worth: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    padded = np.zeros(-(-len(worth) // kernel.BLOCK) * kernel.BLOCK, np.uint8)
    padded[: len(worth)] = worth
    peaks: npt.NDArray[np.uint8] = padded.reshape(-1, kernel.BLOCK).max(axis=1, initial=0)
    return peaks


def site_arrays(columns: ArrayFile) -> dict[str, npt.NDArray[Any]]:
    """Give the names of sites, as fingerprints in order, and the home page of each."""
    found = [
        (fingerprint(name.encode()), number)
        for number in kernel.find_home_pages(columns["url_blob"], columns["url_start"]).tolist()
        for name in _names_of(_string(columns, "url", number).split("/")[2], _string(columns, "title", number))
    ]
    keys = np.array([key for key, _ in found], np.uint64)
    order = np.argsort(keys, kind="stable")
    return {"site_key": keys[order], "site_document": np.array([number for _, number in found], np.int32)[order]}


def _string(columns: ArrayFile, name: str, number: int) -> str:
    start = columns[f"{name}_start"]
    return str(columns[f"{name}_blob"][start[number] : start[number + 1]].tobytes(), "utf-8", "replace")


def _names_of(host: str, title: str) -> Iterable[str]:
    """Give the names by which people may ask for a site: its host, the name that is registered, its title."""
    bare = host.rpartition("@")[2].partition(":")[0].removeprefix("www.")
    labels = bare.split(".")
    # Without a list of suffixes: 'example.com', and 'example.co.uk' by the look of its end.
    short_end = len(labels) == 3 and len(labels[2]) == 2 and len(labels[1]) <= 3
    names = {squeeze(bare), squeeze(labels[0]) if len(labels) == 2 or short_end else ""}
    names |= {squeeze(title), squeeze(_PARTS.split(title)[0])}
    return {name for name in names if 2 < len(name) <= _LONGEST_NAME and name not in _SAYS_NOTHING}


def squeeze(name: str) -> str:
    """Give a name as sites are known by: its folded words, joined."""
    return "".join(split_text(name[: 4 * _LONGEST_NAME]))
