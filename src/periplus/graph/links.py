"""Links between known pages: who, to whom, and what is said, handed on a batch at a time."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import numpy as np

from periplus.graph.anchors import AnchorRuns, clean
from periplus.graph.nodes import Nodes, key_of
from periplus.graph.runs import Runs
from periplus.records import Visit

__all__ = ["read_links"]

_BATCH: Final = 65_536
_LONGEST: Final = 1_000
"""More of a link's text is not even looked at."""


def read_links(
    visits: Iterable[Visit], nodes: Nodes, pairs: Runs, anchors: AnchorRuns, progress: Callable[[int], None]
) -> None:
    """Read the links of the newest visit of each page; keep those between known pages that are to be followed."""
    reader = _Reader(nodes, pairs, anchors)
    for number, visit in enumerate(visits):
        # Visits may have been added since the nodes were read.
        if number >= len(nodes.current):
            break
        if nodes.current[number] and visit.page is not None and not visit.page.nofollow:
            reader.add(visit)
        if number % 1000 == 0:
            progress(number)
    reader.settle()


class _Reader:
    def __init__(self, nodes: Nodes, pairs: Runs, anchors: AnchorRuns) -> None:
        self._nodes, self._pairs, self._anchors = nodes, pairs, anchors
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._said: list[str] = []
        # Navigation repeats the same few addresses and words on every page.
        self._key = lru_cache(maxsize=_BATCH)(key_of)
        self._clean = lru_cache(maxsize=_BATCH)(clean)

    def add(self, visit: Visit) -> None:
        """Take the links of one page."""
        assert visit.page is not None
        for link in visit.page.links:
            if not link.nofollow and (key := self._key(link.url)) is not None:
                self._sources.append(visit.key)
                self._targets.append(key)
                self._said.append(link.text[:_LONGEST])
        if len(self._sources) >= _BATCH:
            self.settle()

    def settle(self) -> None:
        """Turn a batch into numbers; links to pages that are not here, and to the page itself, end here."""
        nodes = self._nodes
        sources = nodes.find(np.array(self._sources, np.uint64))
        targets = nodes.find(np.array(self._targets, np.uint64))
        rows = np.flatnonzero((sources >= 0) & (targets >= 0) & (sources != targets))
        sources, targets = sources[rows], targets[rows]
        self._pairs.add(targets.astype(np.uint64) << np.uint64(32) | sources.astype(np.uint64))
        near = nodes.hosts[sources] == nodes.hosts[targets]
        texts = [self._clean(self._said[row]) for row in rows.tolist()]
        self._anchors.add(targets, near, texts)
        self._sources, self._targets, self._said = [], [], []
