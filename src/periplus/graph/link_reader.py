"""Reads the links of all pages and passes them on in batches: to the adjacency, the anchor texts and the backlinks.

Links from and to pages of this shard are passed on at once. Others go to the router, which brings them to the shard of
their target; what other shards have sent is read last.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl, CorruptFile
from periplus.graph.anchor_text import AnchorCollector, clean_anchor_text
from periplus.graph.backlinks import BacklinkSorter, host_fingerprints
from periplus.graph.exchange.imports import ImportTable, agree_on_imports
from periplus.graph.exchange.link_routing import LinkBatch, LinkRouter, read_link_batches
from periplus.graph.exchange.rounds import Message, Program
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
    scratch: Path,
    progress: Callable[[int], None],
) -> Program[ImportTable]:
    """Read the links of the newest fetch record of each page, except those marked nofollow.

    Those between known pages go to `pairs` and `anchors` of the shard that has the target, all of them to `backlinks`
    of the shard that has the source. Return the pages of other shards that link to pages of this one.
    """
    reader = _LinkReader(nodes, pairs, anchors, backlinks, scratch)
    for number, record in enumerate(records):
        # Records may have been added since the nodes were read.
        if number >= len(nodes.is_current):
            break
        if nodes.is_current[number] and record.page is not None and not record.page.nofollow:
            reader.add(record)
        if number % 1000 == 0:
            progress(number)
    reader.flush()
    return (yield from reader.exchange())


class _LinkTarget(NamedTuple):
    """The key of a URL, the fingerprints of its host and of the domains above it, and the shard that owns the host."""

    key: int
    hosts: tuple[int, ...]
    owner: int


class _LinkReader:
    def __init__(
        self, nodes: NodeTable, pairs: PairSorter, anchors: AnchorCollector, backlinks: BacklinkSorter, scratch: Path
    ) -> None:
        self._nodes, self._pairs, self._anchors, self._backlinks = nodes, pairs, anchors, backlinks
        self._page_keys = nodes.page_keys()
        self._router = LinkRouter(nodes, scratch) if nodes.part.shards > 1 else None
        self._order = nodes.part.number << 40
        """Number of the next link: links of pages on shards with lower numbers count as earlier."""
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._owners: list[int] = []
        self._texts: list[str] = []
        self._pages: list[int] = []
        self._page_targets: list[int] = []
        self._page_target_counts: list[int] = []
        # Navigation repeats the same few URLs and words on every page.
        self._parse_target = lru_cache(maxsize=_BATCH)(self._parse_url)
        self._clean_text = lru_cache(maxsize=_BATCH)(clean_anchor_text)

    def _parse_url(self, url: str) -> _LinkTarget | None:
        """Return the target of a link; None if it is not a URL that can be fetched."""
        try:
            address = parse_address(url)
        except BadUrl:
            return None
        return _LinkTarget(address.key, host_fingerprints(address.host), self._nodes.part.owner(address.host))

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
            self._owners.append(target.owner)
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
        orders = self._order + np.arange(len(sources), dtype=np.uint64)
        self._order += len(sources)
        self._add_backlinks(source_keys, target_keys, sources, targets)
        rows = np.flatnonzero((sources >= 0) & (targets >= 0) & (sources != targets))
        if self._router is not None:
            is_own = self._represents_itself(sources, source_keys)
            self._route_unresolved(self._router, target_keys, sources, is_own, orders)
            rows = self._route_foreign(self._router, sources, targets, orders, rows)
        texts = [self._clean_text(self._texts[row]) for row in rows.tolist()]
        self._add_links(targets[rows], sources[rows], nodes.hosts, nodes.host_keys, orders[rows], texts)
        self._sources, self._targets, self._owners, self._texts = [], [], [], []

    def _add_links(
        self,
        targets: npt.NDArray[Any],
        sources: npt.NDArray[Any],
        hosts: NodeNumbers,
        host_keys: Keys,
        orders: Keys,
        texts: list[str],
    ) -> None:
        """Add links between nodes whose hosts are known: `hosts` of all nodes, `host_keys` of all hosts."""
        self._pairs.add(targets.astype(np.uint64) << np.uint64(32) | sources.astype(np.uint64))
        source_hosts = hosts[sources]
        self._anchors.add(targets, source_hosts == hosts[targets], texts, host_keys[source_hosts], orders)

    def _route_unresolved(
        self,
        router: LinkRouter,
        target_keys: Keys,
        sources: NodeNumbers,
        is_own: npt.NDArray[np.bool_],
        orders: Keys,
    ) -> None:
        """Pass links to URLs of other shards on to the router."""
        owners = np.array(self._owners, np.int16)
        remote = (owners != self._nodes.part.number) & (sources >= 0)
        for shard in np.unique(owners[remote]).tolist():
            rows = np.flatnonzero(remote & (owners == shard))
            texts = [self._clean_text(self._texts[row]) for row in rows.tolist()]
            router.add_unresolved(shard, target_keys[rows], sources[rows], is_own[rows], orders[rows], texts)

    def _route_foreign(
        self, router: LinkRouter, sources: NodeNumbers, targets: NodeNumbers, orders: Keys, rows: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Pass links from or to foreign pages on to the router; return the other rows."""
        own = len(self._nodes.keys)
        is_foreign = (sources[rows] >= own) | (targets[rows] >= own)
        foreign = rows[is_foreign]
        texts = [self._clean_text(self._texts[row]) for row in foreign.tolist()]
        router.add(
            LinkBatch(router.address(targets[foreign]), router.address(sources[foreign]), orders[foreign], texts)
        )
        return rows[~is_foreign]

    def _add_backlinks(self, source_keys: Keys, target_keys: Keys, sources: NodeNumbers, targets: NodeNumbers) -> None:
        """Pass on who links where. Only pages that represent themselves count: others are not in the index."""
        is_own = self._represents_itself(sources, source_keys)
        self._backlinks.add(target_keys[is_own], sources[is_own].astype(np.uint32))
        is_alias = is_own & (targets >= 0) & (sources != targets)
        is_alias[is_alias] = self._page_keys[targets[is_alias]] != target_keys[is_alias]
        self._backlinks.add(self._page_keys[targets[is_alias]], sources[is_alias].astype(np.uint32))
        pages = np.repeat(np.array(self._pages, np.uint64), self._page_target_counts)
        rows = self._nodes.find(pages)
        is_own = self._represents_itself(rows, pages)
        self._backlinks.add(np.array(self._page_targets, np.uint64)[is_own], rows[is_own].astype(np.uint32))
        self._pages, self._page_targets, self._page_target_counts = [], [], []

    def _represents_itself(self, nodes: NodeNumbers, keys: Keys) -> npt.NDArray[np.bool_]:
        if not len(self._page_keys):
            return np.zeros(len(nodes), np.bool_)
        return np.asarray((nodes >= 0) & (self._page_keys[np.maximum(nodes, 0)] == keys))

    def exchange(self) -> Program[ImportTable]:
        """Exchange links with other shards, and add those that arrive."""
        messages: dict[int, Message] = {}
        if self._router is not None:
            yield from self._router.resolve(self._add_remote_aliases)
            messages = yield from self._router.send()
        imports = yield from agree_on_imports(self._nodes, _source_addresses(messages))
        own = np.uint64(0xFFFFFFFF)
        for message in messages.values():
            for batch in read_link_batches(message):
                targets, sources = (batch.targets & own).astype(np.int64), imports.local_numbers(batch.sources)
                if len(targets) and targets.max() >= len(self._nodes.keys):
                    raise CorruptFile("Another shard sent links to pages that do not exist.")
                self._add_links(targets, sources, imports.page_hosts, imports.host_keys, batch.orders, batch.texts)
        return imports

    def _add_remote_aliases(self, page_keys: Keys, sources: NodeNumbers) -> None:
        """Add the pages that URLs of other shards lead to."""
        self._backlinks.add(page_keys, sources.astype(np.uint32))


def _source_addresses(messages: dict[int, Message]) -> Iterator[Keys]:
    """Yield the addresses of the sources of all links that have arrived."""
    for message in messages.values():
        for begin in range(0, len(message["sources"]), _BATCH):
            yield message["sources"][begin : begin + _BATCH]
