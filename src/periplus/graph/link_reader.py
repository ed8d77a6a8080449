"""Reads the links of all pages and passes them on in batches: to the adjacency, the anchor texts and the backlinks."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.graph.anchor_text import AnchorCollector, clean_anchor_text
from periplus.graph.backlinks import BacklinkSorter, host_fingerprints
from periplus.graph.external_sort import PairSorter
from periplus.graph.node_table import Keys, NodeTable
from periplus.records import FetchRecord
from periplus.url import parse_address

__all__ = ["read_links"]

NodeNumbers = npt.NDArray[np.int32]

_BATCH: Final = 65_536
_MAX_TEXT: Final = 1_000
"""Characters of a link's text that are read."""


def read_links(
    records: Iterable[FetchRecord],
    nodes: NodeTable,
    pairs: PairSorter,
    anchors: AnchorCollector,
    backlinks: BacklinkSorter,
    progress: Callable[[int], None],
) -> None:
    """Read the links of the newest fetch record of each page, except those marked nofollow.

    Those between known pages go to `pairs` and `anchors`, all of them to `backlinks`.
    """
    reader = _LinkReader(nodes, pairs, anchors, backlinks)
    for number, record in enumerate(records):
        # Records may have been added since the nodes were read.
        if number >= len(nodes.is_current):
            break
        if nodes.is_current[number] and record.page is not None and not record.page.nofollow:
            reader.add(record)
        if number % 1000 == 0:
            progress(number)
    reader.flush()


class _LinkTarget(NamedTuple):
    """The key of a URL, and the fingerprints of its host and of the domains above it."""

    key: int
    hosts: tuple[int, ...]


def _parse_target(url: str) -> _LinkTarget | None:
    """Return the target of a link; None if it is not a URL that can be fetched."""
    try:
        address = parse_address(url)
    except BadUrl:
        return None
    return _LinkTarget(address.key, host_fingerprints(address.host))


class _LinkReader:
    def __init__(
        self, nodes: NodeTable, pairs: PairSorter, anchors: AnchorCollector, backlinks: BacklinkSorter
    ) -> None:
        self._nodes, self._pairs, self._anchors, self._backlinks = nodes, pairs, anchors, backlinks
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._texts: list[str] = []
        self._pages: list[int] = []
        self._page_targets: list[int] = []
        self._page_target_counts: list[int] = []
        # Navigation repeats the same few URLs and words on every page.
        self._parse_target = lru_cache(maxsize=_BATCH)(_parse_target)
        self._clean_text = lru_cache(maxsize=_BATCH)(clean_anchor_text)

    def add(self, record: FetchRecord) -> None:
        """Add the links of one page, except those to itself."""
        assert record.page is not None
        page_targets = set[int]()
        for link in record.page.links:
            if link.nofollow or (target := self._parse_target(link.url)) is None or target.key == record.key:
                continue
            if target.hosts[0] not in page_targets:
                page_targets.update(target.hosts)
            if link.weak:
                page_targets.add(target.key)
                continue
            self._sources.append(record.key)
            self._targets.append(target.key)
            self._texts.append(link.text[:_MAX_TEXT])
        self._pages.append(record.key)
        self._page_targets.extend(page_targets)
        self._page_target_counts.append(len(page_targets))
        if len(self._sources) >= _BATCH or len(self._pages) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Convert a batch to node numbers and pass it on; links to unknown pages go to the backlinks only."""
        nodes = self._nodes
        source_keys, target_keys = np.array(self._sources, np.uint64), np.array(self._targets, np.uint64)
        sources, targets = nodes.find(source_keys), nodes.find(target_keys)
        self._add_backlinks(source_keys, target_keys, sources, targets)
        rows = np.flatnonzero((sources >= 0) & (targets >= 0) & (sources != targets))
        sources, targets = sources[rows], targets[rows]
        self._pairs.add(targets.astype(np.uint64) << np.uint64(32) | sources.astype(np.uint64))
        same_host = nodes.hosts[sources] == nodes.hosts[targets]
        texts = [self._clean_text(self._texts[row]) for row in rows.tolist()]
        self._anchors.add(targets, same_host, texts, nodes.hosts[sources])
        self._sources, self._targets, self._texts = [], [], []

    def _add_backlinks(self, source_keys: Keys, target_keys: Keys, sources: NodeNumbers, targets: NodeNumbers) -> None:
        """Pass on who links where. Only pages that represent themselves count: others are not in the index."""
        nodes = self._nodes
        is_own = (sources >= 0) & (nodes.keys[np.maximum(sources, 0)] == source_keys)
        self._backlinks.add(target_keys[is_own], sources[is_own].astype(np.uint32))
        is_alias = is_own & (targets >= 0) & (sources != targets)
        is_alias[is_alias] = nodes.keys[targets[is_alias]] != target_keys[is_alias]
        self._backlinks.add(nodes.keys[targets[is_alias]], sources[is_alias].astype(np.uint32))
        pages = np.repeat(np.array(self._pages, np.uint64), self._page_target_counts)
        rows = nodes.find(pages)
        is_own = (rows >= 0) & (nodes.keys[np.maximum(rows, 0)] == pages)
        self._backlinks.add(np.array(self._page_targets, np.uint64)[is_own], rows[is_own].astype(np.uint32))
        self._pages, self._page_targets, self._page_target_counts = [], [], []
