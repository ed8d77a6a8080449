"""Anchor text: the distinct texts of the links to each page, by weight, without generic phrases."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.files import disk_errors
from periplus.graph.external_sort import split_rows
from periplus.hashing import fingerprint_text

__all__ = ["AnchorCollector", "AnchorTexts", "clean_anchor_text"]

MAX_TEXT: Final = 120
"""Longer texts are truncated: they are teasers, not names."""

_KIND: Final = "anchor-run"
_ROW_BYTES: Final = 400
"""Memory that a text takes beside its characters."""
_MEMORY_FACTOR: Final = 2
_MIN_CAPACITY: Final = 1 << 16
_SPACE: Final = re.compile(r"\s+")
_WORDLESS: Final = re.compile(r"[\W\d_]*")
_GENERIC: Final = frozenset(
    """
    about|about us|back|back to top|click|click here|comments|contact|contact us|continue|continue reading|details|
    download|edit|email|first|follow|full article|full story|go|go here|here|home|homepage|home page|image|index|info|
    last|learn more|link|links|login|log in|main|main page|menu|more|more info|more information|newer|next|next page|
    older|page|permalink|photo|post|prev|previous|previous page|print|privacy|privacy policy|read|read more|register|
    reply|search|see more|share|sign in|sign up|site|skip to content|skip to main content|source|start|terms|
    terms of service|this|this page|top|up|url|view|view all|view more|visit|web site|website|hier|mehr|weiter|zurück|
    startseite|ici|suivant|précédent|accueil|lire la suite|aquí|inicio|siguiente|anterior|leer más|más|qui|avanti
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)


def clean_anchor_text(text: str) -> str:
    """Return a link's text on one line, truncated; '' if it says nothing about its target."""
    line = _SPACE.sub(" ", text[: 4 * MAX_TEXT]).strip()[:MAX_TEXT].rstrip()
    bare = line.strip(" .,:;!?»«›‹→←>…-–|[]()").casefold()
    if bare in _GENERIC or _WORDLESS.fullmatch(bare) or bare.startswith(("http://", "https://", "www.")):
        return ""
    return line.encode("utf-8", "replace").decode("utf-8")


class AnchorTexts(NamedTuple):
    """The texts of node `v` are the UTF-8 bytes `starts[v]` up to `starts[v + 1]`, a newline after each."""

    starts: npt.NDArray[np.int64]
    blob: npt.NDArray[np.uint8]
    first: npt.NDArray[np.int64]
    """The number of the first text of each node; one more entry at the end."""
    hosts: npt.NDArray[np.uint64]
    """For each text, the set of other hosts that link with it: each host is one of 64 bits."""


class _AnchorRun(NamedTuple):
    """Distinct texts of nodes, sorted by node and text. Texts that differ only by case are equal."""

    nodes: npt.NDArray[np.int64]
    texts: npt.NDArray[np.uint64]
    """Fingerprint of the case-folded text."""
    order: npt.NDArray[np.int64]
    """Number of the first link with it; its spelling is stored."""
    weights: npt.NDArray[np.float64]
    hosts: npt.NDArray[np.uint64]
    """Bits of the other hosts that link with it."""
    lengths: npt.NDArray[np.int64]
    """In characters."""
    ends: npt.NDArray[np.int64]
    """Where the bytes of each text end."""
    blob: npt.NDArray[np.uint8]


class AnchorCollector:
    """Accepts anchor texts in any order, and selects those of most weight for each node; uses about `memory` bytes."""

    def __init__(self, folder: Path, memory: int, same_host_weight: float) -> None:
        self._folder, self._same_host_weight = folder, same_host_weight
        self._capacity = max(_MIN_CAPACITY, memory // _MEMORY_FACTOR)
        self._weights: dict[tuple[int, int], list[float]] = {}
        """By node and text: weight, and number of the first link."""
        self._hosts: dict[tuple[int, int], int] = {}
        self._spellings: dict[tuple[int, int], str] = {}
        self._size = 0
        self._paths: list[Path] = []

    def add(
        self,
        nodes: npt.NDArray[np.int32],
        same_host: npt.NDArray[np.bool_],
        texts: list[str],
        host_keys: npt.NDArray[np.uint64],
        orders: npt.NDArray[np.uint64],
    ) -> None:
        """Add the texts of links to nodes, '' for none.

        host_keys: the fingerprints of the linking hosts; orders: numbers of the links, which may come in any order.
        """
        weights = np.where(same_host, self._same_host_weight, 1.0).tolist()
        bits = _host_bits(same_host, host_keys).tolist()
        for node, weight, bit, text, order in zip(nodes.tolist(), weights, bits, texts, orders.tolist(), strict=True):
            if text and weight > 0:
                self._add_text(node, weight, bit, text, order)
        if self._size >= self._capacity:
            self._spill()

    def _add_text(self, node: int, weight: float, bit: int, text: str, order: int) -> None:
        key = node, fingerprint_text(text.casefold())
        entry = self._weights.get(key)
        if entry is None:
            self._weights[key] = [weight, order]
            self._hosts[key] = bit
            self._spellings[key] = text
            self._size += _ROW_BYTES + len(text)
            return
        entry[0] += weight
        self._hosts[key] |= bit
        if order < entry[1]:
            entry[1], self._spellings[key] = order, text

    def _drain(self) -> _AnchorRun:
        """Return all texts in memory, sorted, and remove them from memory."""
        keys = sorted(self._weights)
        weights = [self._weights[key] for key in keys]
        spellings = [self._spellings[key] for key in keys]
        hosts = np.array([self._hosts[key] for key in keys], np.uint64)
        encoded = [spelling.encode("utf-8") + b"\n" for spelling in spellings]
        self._weights, self._spellings, self._hosts, self._size = {}, {}, {}, 0
        return _AnchorRun(
            np.array([node for node, _ in keys], np.int64),
            np.array([text for _, text in keys], np.uint64),
            np.array([first for _, first in weights], np.int64),
            np.array([weight for weight, _ in weights], np.float64),
            hosts,
            np.array([len(spelling) for spelling in spellings], np.int64),
            np.cumsum([len(line) for line in encoded], dtype=np.int64),
            np.frombuffer(b"".join(encoded), np.uint8),
        )

    def _spill(self) -> None:
        path = self._folder / f"anchors-{len(self._paths):05d}"
        write_arrays(path, _KIND, self._drain()._asdict())
        self._paths.append(path)

    def select(self, nodes: int, max_chars: int) -> AnchorTexts:
        """Return the texts of most weight for each node, as many as fit in `max_chars` characters."""
        files = [ArrayFile(path, _KIND) for path in self._paths]
        runs = [_AnchorRun(*(file[name] for name in _AnchorRun._fields)) for file in files]
        runs.append(self._drain())
        sizes, counts = np.zeros(nodes, np.int64), np.zeros(nodes + 1, np.int64)
        hosts: list[npt.NDArray[np.uint64]] = []
        path = self._folder / "anchor-texts"
        with disk_errors(path), path.open("wb") as file:
            for first, last in _split_nodes(runs, nodes):
                texts = _select_texts(_concatenate([_slice_nodes(run, first, last) for run in runs]), max_chars)
                np.add.at(sizes, texts.nodes, texts.sizes)
                np.add.at(counts, texts.nodes + 1, 1)
                hosts.append(texts.hosts)
                file.write(texts.blob.data)
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        blob = np.memmap(path, np.uint8, mode="r") if starts[-1] else np.zeros(0, np.uint8)
        return AnchorTexts(starts, blob, np.cumsum(counts), np.concatenate([np.zeros(0, np.uint64), *hosts]))


def _split_nodes(runs: list[_AnchorRun], nodes: int) -> Iterator[tuple[int, int]]:
    """Split the nodes into ranges whose texts take about as much memory as one run."""
    rows = [run.nodes.view(np.uint64) for run in runs]
    yield from split_rows(rows, 0, max(map(len, rows), default=1), nodes, 1)


def _slice_nodes(run: _AnchorRun, first: int, last: int) -> _AnchorRun:
    """Return the rows of the nodes `first` up to `last`."""
    begin, end = np.searchsorted(run.nodes, [first, last]).tolist()
    start = int(run.ends[begin - 1]) if begin else 0
    stop = int(run.ends[end - 1]) if end else 0
    rows = slice(begin, end)
    return _AnchorRun(
        run.nodes[rows],
        run.texts[rows],
        run.order[rows],
        run.weights[rows],
        run.hosts[rows],
        run.lengths[rows],
        run.ends[rows] - start,
        run.blob[start:stop],
    )


def _concatenate(parts: list[_AnchorRun]) -> _AnchorRun:
    """Return the rows of several runs, one after the other."""
    offsets = np.cumsum([0, *(len(part.blob) for part in parts)])
    ends = [part.ends + offset for part, offset in zip(parts, offsets[:-1].tolist(), strict=True)]
    return _AnchorRun(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.texts for part in parts]),
        np.concatenate([part.order for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.hosts for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate(ends),
        np.concatenate([part.blob for part in parts]),
    )


def _host_bits(same_host: npt.NDArray[np.bool_], host_keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return one of 64 bits for each host, none for links within a host."""
    return np.where(same_host, np.uint64(0), np.uint64(1) << (host_keys >> np.uint64(58)))


class _SelectedTexts(NamedTuple):
    """Texts in their final order: all bytes, and for each text its node, its length in bytes and its hosts."""

    blob: npt.NDArray[np.uint8]
    nodes: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    hosts: npt.NDArray[np.uint64]


def _select_texts(run: _AnchorRun, max_chars: int) -> _SelectedTexts:
    """Add up equal texts of each node, and return those of most weight that fit."""
    by_text = np.lexsort((run.order, run.texts, run.nodes))
    nodes, texts = run.nodes[by_text], run.texts[by_text]
    new = np.ones(len(nodes), np.bool_)
    new[1:] = (nodes[1:] != nodes[:-1]) | (texts[1:] != texts[:-1])
    first = np.flatnonzero(new)
    weights = np.add.reduceat(run.weights[by_text], first) if len(first) else np.zeros(0, np.float64)
    hosts = np.bitwise_or.reduceat(run.hosts[by_text], first) if len(first) else np.zeros(0, np.uint64)
    rows = by_text[first]
    # Sums of the same weights in another order may differ in their last bits.
    order = np.lexsort((run.order[rows], -np.round(weights, 6), run.nodes[rows]))
    rows, hosts = rows[order], hosts[order]
    nodes = run.nodes[rows]
    running = np.cumsum(run.lengths[rows] + 1)
    before = np.concatenate((np.zeros(1, np.int64), running))[np.searchsorted(nodes, nodes)]
    fits = running - before - 1 <= max_chars
    rows, hosts = rows[fits], hosts[fits]
    sizes = np.diff(run.ends, prepend=0)[rows]
    # The index of every byte to copy: the start of its text, plus its offset in the text.
    offsets = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    blob = run.blob[np.repeat(run.ends[rows] - sizes, sizes) + offsets]
    return _SelectedTexts(blob, run.nodes[rows], sizes, hosts)
