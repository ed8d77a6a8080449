"""Links of all pages: who, to whom, and what is said, handed on a batch at a time."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.graph.anchor_text import AnchorRuns, clean
from periplus.graph.backlinks import BacklinkRuns, host_marks
from periplus.graph.external_sort import Runs
from periplus.graph.node_table import Keys, Nodes
from periplus.records import FetchRecord
from periplus.url import parse_address

__all__ = ["read_links"]

Numbers = npt.NDArray[np.int32]

_BATCH: Final = 65_536
_LONGEST: Final = 1_000
"""More of a link's text is not even looked at."""


def read_links(
    visits: Iterable[FetchRecord],
    nodes: Nodes,
    pairs: Runs,
    anchors: AnchorRuns,
    backlinks: BacklinkRuns,
    progress: Callable[[int], None],
) -> None:
    """Read the links of the newest visit of each page that are to be followed.

    Those between known pages go to `pairs` and `anchors`, all of them to `backlinks`.
    """
    reader = _Reader(nodes, pairs, anchors, backlinks)
    for number, visit in enumerate(visits):
        # Visits may have been added since the nodes were read.
        if number >= len(nodes.current):
            break
        if nodes.current[number] and visit.page is not None and not visit.page.nofollow:
            reader.add(visit)
        if number % 1000 == 0:
            progress(number)
    reader.settle()


def _place(url: str) -> tuple[int, tuple[int, ...]] | None:
    """Give the key of a URL found in a page and the marks of its host; None when it is none we would fetch."""
    try:
        found = parse_address(url)
    except BadUrl:
        return None
    return found.key, host_marks(found.host)


class _Reader:
    def __init__(self, nodes: Nodes, pairs: Runs, anchors: AnchorRuns, backlinks: BacklinkRuns) -> None:
        self._nodes, self._pairs, self._anchors, self._backlinks = nodes, pairs, anchors, backlinks
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._said: list[str] = []
        self._pages: list[int] = []
        self._marks: list[int] = []
        self._counts: list[int] = []
        # Navigation repeats the same few addresses and words on every page.
        self._place = lru_cache(maxsize=_BATCH)(_place)
        self._clean = lru_cache(maxsize=_BATCH)(clean)

    def add(self, visit: FetchRecord) -> None:
        """Take the links of one page; those to itself say nothing."""
        assert visit.page is not None
        marks = set[int]()
        for link in visit.page.links:
            if link.nofollow or (place := self._place(link.url)) is None or place[0] == visit.key:
                continue
            if place[1][0] not in marks:
                marks.update(place[1])
            if link.weak:
                marks.add(place[0])
                continue
            self._sources.append(visit.key)
            self._targets.append(place[0])
            self._said.append(link.text[:_LONGEST])
        self._pages.append(visit.key)
        self._marks.extend(marks)
        self._counts.append(len(marks))
        if len(self._sources) >= _BATCH or len(self._pages) >= _BATCH:
            self.settle()

    def settle(self) -> None:
        """Turn a batch into numbers; of links between pages, those to pages that are not here end here."""
        nodes = self._nodes
        from_keys, to_keys = np.array(self._sources, np.uint64), np.array(self._targets, np.uint64)
        sources, targets = nodes.find(from_keys), nodes.find(to_keys)
        self._mark(from_keys, to_keys, sources, targets)
        rows = np.flatnonzero((sources >= 0) & (targets >= 0) & (sources != targets))
        sources, targets = sources[rows], targets[rows]
        self._pairs.add(targets.astype(np.uint64) << np.uint64(32) | sources.astype(np.uint64))
        near = nodes.hosts[sources] == nodes.hosts[targets]
        texts = [self._clean(self._said[row]) for row in rows.tolist()]
        self._anchors.add(targets, near, texts, nodes.hosts[sources])
        self._sources, self._targets, self._said = [], [], []

    def _mark(self, from_keys: Keys, to_keys: Keys, sources: Numbers, targets: Numbers) -> None:
        """Hand on who links where. Only pages that stand for themselves count: others are not in the index."""
        nodes = self._nodes
        stands = (sources >= 0) & (nodes.keys[np.maximum(sources, 0)] == from_keys)
        self._backlinks.add(to_keys[stands], sources[stands].astype(np.uint32))
        leads = stands & (targets >= 0) & (sources != targets)
        leads[leads] = nodes.keys[targets[leads]] != to_keys[leads]
        self._backlinks.add(nodes.keys[targets[leads]], sources[leads].astype(np.uint32))
        pages = np.repeat(np.array(self._pages, np.uint64), self._counts)
        rows = nodes.find(pages)
        stands = (rows >= 0) & (nodes.keys[np.maximum(rows, 0)] == pages)
        self._backlinks.add(np.array(self._marks, np.uint64)[stands], rows[stands].astype(np.uint32))
        self._pages, self._marks, self._counts = [], [], []
