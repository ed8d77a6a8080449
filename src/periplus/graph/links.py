"""Links between known pages, as arrays: who, to whom, what it counts, what it says."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.anchors import Texts, clean
from periplus.graph.nodes import Nodes, key_of
from periplus.records import Visit

__all__ = ["Links", "read_links"]

_BATCH: Final = 65_536


class Links(NamedTuple):
    """One row a link; several links from one page to another stay several rows."""

    sources: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    texts: npt.NDArray[np.int32]
    """Numbers in `Texts`; -1 for a link that says nothing."""


def read_links(
    visits: Iterable[Visit], nodes: Nodes, texts: Texts, same_host_weight: float, progress: Callable[[int], None]
) -> Links:
    """Read the links of the newest visit of each page; keep those between known pages that are to be followed."""
    reader = _Reader(nodes, texts, same_host_weight)
    for number, visit in enumerate(visits):
        # Visits may have been added since the nodes were read.
        if number >= len(nodes.current):
            break
        if nodes.current[number] and visit.page is not None and not visit.page.nofollow:
            reader.add(visit)
        if number % 1000 == 0:
            progress(number)
    return reader.finish()


class _Reader:
    def __init__(self, nodes: Nodes, texts: Texts, same_host_weight: float) -> None:
        self._nodes = nodes
        self._texts = texts
        self._same_host_weight = same_host_weight
        self._done: list[Links] = []
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._said: list[str] = []
        # Navigation repeats the same few addresses on every page.
        self._key = lru_cache(maxsize=_BATCH)(key_of)

    def add(self, visit: Visit) -> None:
        """Take the links of one page."""
        assert visit.page is not None
        for link in visit.page.links:
            if not link.nofollow and (key := self._key(link.url)) is not None:
                self._sources.append(visit.key)
                self._targets.append(key)
                self._said.append(link.text)
        if len(self._sources) >= _BATCH:
            self._settle()

    def _settle(self) -> None:
        """Turn a batch into numbers; links to pages that are not here end here."""
        nodes = self._nodes
        sources = nodes.find(np.array(self._sources, np.uint64))
        targets = nodes.find(np.array(self._targets, np.uint64))
        kept = (sources >= 0) & (targets >= 0) & (sources != targets)
        rows = np.flatnonzero(kept)
        numbers = np.array([self._texts.number(clean(self._said[row])) for row in rows.tolist()], np.int32)
        sources, targets = sources[rows], targets[rows]
        near = nodes.hosts[sources] == nodes.hosts[targets]
        weights = np.where(near, np.float32(self._same_host_weight), np.float32(1.0)).astype(np.float32)
        self._done.append(Links(sources, targets, weights, numbers))
        self._sources, self._targets, self._said = [], [], []

    def finish(self) -> Links:
        """Give all links."""
        self._settle()
        return Links(*(np.concatenate(column) for column in zip(*self._done, strict=True)))
