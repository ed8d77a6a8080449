"""What links say about the pages they lead to: distinct texts, the weightiest first, the empty phrases left out."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.files import disk_errors
from periplus.graph.external_sort import spans
from periplus.hashing import fingerprint_text

__all__ = ["AnchorRuns", "AnchorTexts", "clean"]

MAX_TEXT: Final = 120
"""Longer link texts are cut here: they are teasers, not names."""

_KIND: Final = "anchor-run"
_ROW_BYTES: Final = 400
"""What a text takes in memory beside its letters."""
_TIMES: Final = 2
_FEWEST: Final = 1 << 16
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


def clean(text: str) -> str:
    """Give a link's text on one line, cut to length; '' when it says nothing about its target."""
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
    """By text, who says it: of every other host one of 64 bits."""


class _Said(NamedTuple):
    """Distinct texts of nodes, sorted by node and text. Case does not make a text another one."""

    nodes: npt.NDArray[np.int64]
    texts: npt.NDArray[np.uint64]
    """Fingerprint of the text without case."""
    order: npt.NDArray[np.int64]
    """Number of the link that said it first; its form is kept."""
    weights: npt.NDArray[np.float64]
    hosts: npt.NDArray[np.uint64]
    """Bits of the other hosts that said it."""
    letters: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    """Where the bytes of each text end."""
    blob: npt.NDArray[np.uint8]


class AnchorRuns:
    """Takes link texts in any order, gives each node its weightiest; holds about `memory` bytes."""

    def __init__(self, folder: Path, memory: int, near_weight: float) -> None:
        self._folder, self._near_weight = folder, near_weight
        self._room = max(_FEWEST, memory // _TIMES)
        self._rows: dict[tuple[int, int], list[float]] = {}
        self._hosts: dict[tuple[int, int], int] = {}
        self._forms: dict[tuple[int, int], str] = {}
        self._held, self._links = 0, 0
        self._paths: list[Path] = []
        self._sizes: list[npt.NDArray[np.int64]] = []

    def add(
        self,
        nodes: npt.NDArray[np.int32],
        near: npt.NDArray[np.bool_],
        texts: list[str],
        hosts: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Take what links say about nodes; '' is nothing. `hosts` are the numbers of those that they are on."""
        weights = np.where(near, self._near_weight, 1.0).tolist()
        for node, weight, bit, text in zip(nodes.tolist(), weights, _bits(near, hosts).tolist(), texts, strict=True):
            self._links += 1
            if text and weight > 0:
                self._take(node, weight, bit, text)
        if self._held >= self._room:
            self._spill()

    def _take(self, node: int, weight: float, bit: int, text: str) -> None:
        place = node, fingerprint_text(text.casefold())
        row = self._rows.get(place)
        if row is None:
            self._rows[place] = [weight, self._links]
            self._hosts[place] = bit
            self._forms[place] = text
            self._held += _ROW_BYTES + len(text)
        else:
            row[0] += weight
            self._hosts[place] |= bit

    def _collected(self) -> _Said:
        """Give all that is held, sorted, and hold nothing."""
        places = sorted(self._rows)
        rows = [self._rows[place] for place in places]
        forms = [self._forms[place] for place in places]
        hosts = np.array([self._hosts[place] for place in places], np.uint64)
        encoded = [form.encode("utf-8") + b"\n" for form in forms]
        self._rows, self._forms, self._hosts, self._held = {}, {}, {}, 0
        return _Said(
            np.array([node for node, _ in places], np.int64),
            np.array([text for _, text in places], np.uint64),
            np.array([first for _, first in rows], np.int64),
            np.array([weight for weight, _ in rows], np.float64),
            hosts,
            np.array([len(form) for form in forms], np.int64),
            np.cumsum([len(one) for one in encoded], dtype=np.int64),
            np.frombuffer(b"".join(encoded), np.uint8),
        )

    def _spill(self) -> None:
        path = self._folder / f"anchors-{len(self._paths):05d}"
        write_arrays(path, _KIND, self._collected()._asdict())
        self._paths.append(path)

    def choose(self, nodes: int, most: int) -> AnchorTexts:
        """Give the weightiest texts of each node, as many as fit in `most` characters."""
        files = [ArrayFile(path, _KIND) for path in self._paths]
        runs = [_Said(*(file[name] for name in _Said._fields)) for file in files]
        runs.append(self._collected())
        sizes, numbers = np.zeros(nodes, np.int64), np.zeros(nodes + 1, np.int64)
        hosts: list[npt.NDArray[np.uint64]] = []
        path = self._folder / "anchor-texts"
        with disk_errors(path), path.open("wb") as file:
            # Each run has at most `room` bytes, so as many parts as runs are of about that size each.
            for first, last in self._spans(runs, nodes):
                blob, chosen, lengths, said_by = _choose(_joined([_cut(run, first, last) for run in runs]), most)
                np.add.at(sizes, chosen, lengths)
                np.add.at(numbers, chosen + 1, 1)
                hosts.append(said_by)
                file.write(blob.data)
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        texts = np.memmap(path, np.uint8, mode="r") if starts[-1] else np.zeros(0, np.uint8)
        return AnchorTexts(starts, texts, np.cumsum(numbers), np.concatenate([np.zeros(0, np.uint64), *hosts]))

    def _spans(self, runs: list[_Said], nodes: int) -> Iterator[tuple[int, int]]:
        """Part the nodes so that each part has about as much text as was held at a time."""
        rows = [run.nodes.view(np.uint64) for run in runs]
        yield from spans(rows, 0, max(map(len, rows), default=1), nodes, 1)


def _cut(run: _Said, first: int, last: int) -> _Said:
    """Give the rows of some nodes."""
    begin, end = np.searchsorted(run.nodes, [first, last]).tolist()
    start = int(run.ends[begin - 1]) if begin else 0
    stop = int(run.ends[end - 1]) if end else 0
    rows = slice(begin, end)
    return _Said(
        run.nodes[rows],
        run.texts[rows],
        run.order[rows],
        run.weights[rows],
        run.hosts[rows],
        run.letters[rows],
        run.ends[rows] - start,
        run.blob[start:stop],
    )


def _joined(parts: list[_Said]) -> _Said:
    """Put parts of several runs one after the other."""
    lengths = np.cumsum([0, *(len(part.blob) for part in parts)])
    ends = [part.ends + before for part, before in zip(parts, lengths[:-1].tolist(), strict=True)]
    return _Said(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.texts for part in parts]),
        np.concatenate([part.order for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.hosts for part in parts]),
        np.concatenate([part.letters for part in parts]),
        np.concatenate(ends),
        np.concatenate([part.blob for part in parts]),
    )


def _bits(near: npt.NDArray[np.bool_], hosts: npt.NDArray[np.int32] | None) -> npt.NDArray[np.uint64]:
    """Give one of 64 bits for each host, none for the one that is linked to."""
    if hosts is None:
        return np.zeros(len(near), np.uint64)
    number = hosts.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(58)
    return np.where(near, np.uint64(0), np.uint64(1) << number)


_Chosen = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint64]]


def _choose(said: _Said, most: int) -> _Chosen:
    """Add up equal texts of a node; give the bytes of those that fit, and of each its node, bytes and hosts."""
    by_text = np.lexsort((said.order, said.texts, said.nodes))
    nodes, texts = said.nodes[by_text], said.texts[by_text]
    new = np.ones(len(nodes), np.bool_)
    new[1:] = (nodes[1:] != nodes[:-1]) | (texts[1:] != texts[:-1])
    first = np.flatnonzero(new)
    weights = np.add.reduceat(said.weights[by_text], first) if len(first) else np.zeros(0, np.float64)
    hosts = np.bitwise_or.reduceat(said.hosts[by_text], first) if len(first) else np.zeros(0, np.uint64)
    rows = by_text[first]
    # Sums of the same weights in another order may differ in their last bits.
    order = np.lexsort((said.order[rows], -np.round(weights, 6), said.nodes[rows]))
    rows, hosts = rows[order], hosts[order]
    node = said.nodes[rows]
    running = np.cumsum(said.letters[rows] + 1)
    before = np.concatenate((np.zeros(1, np.int64), running))[np.searchsorted(node, node)]
    fits = running - before - 1 <= most
    rows, hosts = rows[fits], hosts[fits]
    sizes = np.diff(said.ends, prepend=0)[rows]
    # The place of every byte to take: the start of its text, plus its number within the text.
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return said.blob[np.repeat(said.ends[rows] - sizes, sizes) + within], said.nodes[rows], sizes, hosts
