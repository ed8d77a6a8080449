"""The broker: the searcher of a cluster, with the methods that `periplus serve` uses. It needs its replicas only.

It reads the serving table again when that changes. A new generation is planned for beside the old one, and a query runs
wholly in the one that it began with; if a replica no longer has what the query needs, the query is asked once more.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from periplus.cluster.serving.publication_log import encode_publication
from periplus.cluster.serving.replica_group import GroupStatistics, QueryContext, ReplicaGroup
from periplus.cluster.serving.serving_table import ServingTable, TableReader, serving_shard
from periplus.cluster.serving.shard_messages import CATCH_UP, PUBLISH, PublishMessage
from periplus.cluster.wire.peer_connection import PeerAddress, PeerConnection, call_peer
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import BadInput, ClusterError, Overloaded, PeriplusError
from periplus.records import FetchRecord, Outcome, Query, ResultPage, SearchLimits
from periplus.result_rules import RuleStore
from periplus.search import (
    CachedPage,
    DocumentTrace,
    IndexParts,
    PageStatus,
    Passage,
    RankingWeight,
    SearchStatistics,
    ShardedSearcher,
)
from periplus.settings import Settings
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = ["Broker"]

_LOG: Final = logging.getLogger("periplus.cluster")
_MISSING_NOTE: Final = "shards did not answer."
_PUBLISH_SECONDS: Final = 10.0
_NOTIFY_SECONDS: Final = 1.0
_MIN_REPEAT_SECONDS: Final = 0.05
_MAX_NUMBERS: Final = 8
"""Attempts to publish a page with a number above that of others."""


class _GenerationGroup:
    """The shards of one generation, numbered from 0: what `search.ShardedSearcher` calls."""

    def __init__(self, group: ReplicaGroup, table: ServingTable) -> None:
        self._group, self.generation = group, table.generation
        self.numbers = tuple(entry.number for entry in table.shards)
        self._descriptions: dict[int, Any] = {}

    @property
    def count(self) -> int:
        """How many shards there are."""
        return len(self.numbers)

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Send each shard its request; return the replies by shard.

        A shard that does not answer keeps its last description: the statistics of the collection do not change
        because a shard cannot be reached.
        """
        by_number = {self.numbers[position]: request for position, request in requests.items()}
        replies = self._group.call_shards(self.generation, method, by_number, seconds)
        by_position = {position: replies[n] for position, n in enumerate(self.numbers) if n in replies}
        if method == "describe":
            self._descriptions.update({n: reply for n, reply in by_position.items() if not reply.is_known})
            return {n: by_position.get(n) or self._descriptions[n] for n in requests if n in self._descriptions}
        return by_position


class _Generation:
    """The searcher of one generation."""

    def __init__(
        self, group: ReplicaGroup, table: ServingTable, settings: Settings, rules: RuleStore | None = None
    ) -> None:
        self.shards = _GenerationGroup(group, table)
        self.searcher = ShardedSearcher(self.shards, settings, rules=rules)
        self.searcher.load_spelling()

    @property
    def unknown(self) -> set[int]:
        """Shards that have not described themselves yet."""
        numbers, known = self.shards.numbers, self.searcher.collection.descriptions
        return set(numbers) - {numbers[position] for position in known} if len(known) < len(numbers) else set()


class Broker:
    """Answers queries over all shards of a cluster, from many threads."""

    def __init__(
        self,
        reader: TableReader,
        key: ClusterKey,
        settings: Settings,
        on_table: Callable[[int], None] = lambda _: None,
        rules: RuleStore | None = None,
    ) -> None:
        """Open the collection of a serving table.

        on_table: called with the version of each table, once queries are answered by it; rules: what people block,
        raise and lower.
        """
        self._rules = rules
        self._reader, self._key, self._settings, self._on_table = reader, key, settings, on_table
        self._group = ReplicaGroup(key, settings.cluster, reader.table)
        self._lock = threading.Lock()
        self._table = reader.table
        self._current = _Generation(self._group, reader.table, settings, rules)
        on_table(reader.table.version)

    def close(self) -> None:
        """Close all connections."""
        self._group.close()

    def group_statistics(self) -> GroupStatistics:
        """Return what was sent, and the state of all replicas."""
        return self._group.statistics()

    def refresh(self) -> bool:
        """Read the serving table and the statistics of the shards again; return whether anything has changed."""
        with self._lock:
            return self._read_table() | self._current.searcher.refresh()

    def _read_table(self) -> bool:
        """Read the serving table; a new generation is opened before any query uses it."""
        self._reader.refresh()
        table, before = self._reader.table, self._table
        if table.version == before.version:
            return False
        self._group.update(table)
        numbers = table.numbers
        if table.generation != before.generation or numbers != self._current.shards.numbers:
            self._current = _Generation(self._group, table, self._settings, self._rules)
        self._table = table
        self._on_table(table.version)
        return True

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query; shards that did not answer are named in it."""
        return self._ask(lambda searcher, left: searcher.search(query, left), limits or SearchLimits())

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        """Return the passages of the best results that say most about a query, within a budget of tokens."""
        passages: tuple[Passage, ...] = ()

        def search(searcher: ShardedSearcher, left: SearchLimits) -> ResultPage:
            nonlocal passages
            page, passages = searcher.passages(query, tokens, left)
            return page

        return self._ask(search, limits or SearchLimits()), passages

    def trace(self, query: Query, key: int) -> tuple[ResultPage, DocumentTrace]:
        """Return the answer to a query with all its results, and what became in it of the page with a key."""
        trace = DocumentTrace(False)

        def search(searcher: ShardedSearcher, _: SearchLimits) -> ResultPage:
            nonlocal trace
            page, trace = searcher.trace(query, key)
            return page

        return self._ask(search, SearchLimits()), trace

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Return the answer that other weights would give."""
        return self._ask(lambda searcher, _: searcher.preview(query, weights), SearchLimits())

    def _ask(self, search: Any, limits: SearchLimits) -> ResultPage:
        """Run a search; once more, if replicas have lost what it needs while it ran."""
        end = time.monotonic() + limits.seconds
        page, context, generation = self._ask_once(search, limits)
        left = end - time.monotonic()
        if context.is_stale and left > _MIN_REPEAT_SECONDS:
            with self._lock:
                self._read_table()
            page, context, generation = self._ask_once(search, limits._replace(seconds=left))
        missing = context.missing | generation.unknown
        asked, partial, notes = len(generation.shards.numbers), page.partial or bool(missing), page.notes
        if notes:  # the page has it from `shards`
            notes = tuple([note for note in notes if not note.endswith(_MISSING_NOTE)])
        return msgspec.structs.replace(page, shards=(asked, tuple(sorted(missing))), partial=partial, notes=notes)

    def _ask_once(self, search: Any, limits: SearchLimits) -> tuple[ResultPage, QueryContext, _Generation]:
        generation, context = self._current, self._group.begin_query()
        try:
            return search(generation.searcher, limits), context, generation
        finally:
            self._group.end_query()

    def suggest(self, words: str, size: int = 8) -> tuple[tuple[str, float], ...]:
        """Return completions of what somebody types."""
        return self._current.searcher.suggest(words, size)

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Count nothing: completions come from titles and hosts."""

    def statistics(self) -> SearchStatistics:
        """Return how much there is to search."""
        return self._current.searcher.statistics()

    def index_parts(self) -> IndexParts | None:
        """Return what the shards consist of, together."""
        return self._current.searcher.index_parts()

    def weights(self) -> tuple[RankingWeight, ...]:
        """Return the weights of ranking."""
        return self._current.searcher.weights()

    def cached_page(self, key: int) -> CachedPage | None:
        """Return the stored text of a page, if any shard has it."""
        page = self._current.searcher.cached_page(key)
        return CachedPage(page.url, page.when, page.title, page.text, page.language) if page is not None else None

    def cached_blocks(self, key: int) -> tuple[Any, ...]:
        """Return headings, paragraphs, lists and tables of a page, if any shard stores its response."""
        return self._current.searcher.cached_blocks(key)

    def page_status(self, url: str) -> PageStatus:
        """Return whether a URL can be found, and if not, why."""
        return self._current.searcher.page_status(url)

    def publish(self, record: FetchRecord) -> None:
        """Publish a page, or withdraw it: durable in the log of the shard that owns its host when this returns.

        The other replicas of the shard are told of it at once, and find it by themselves otherwise.
        """
        from periplus.crawl import HostPartitioner  # a broker that publishes nothing does without the crawler

        table = self._table
        owner = HostPartitioner(table.owners or table.numbers).owner(parse_address(record.url).host)
        shard = serving_shard(owner, table.numbers)
        addresses = next(entry.addresses for entry in table.shards if entry.number == shard)
        publication = encode_publication(record)
        for _ in range(_MAX_NUMBERS):
            body = msgspec.msgpack.encode(PublishMessage(*publication, owner))
            accepted, last = self._publish_to_any(shard, addresses, body)
            if not last:
                break
            # The page was published by a clock that is ahead of ours: what comes later counts.
            publication = publication.renumbered(max(last + 1, time.time_ns()))
        else:
            raise Overloaded("Too many pages are published at once.", "Try again later.")
        for address in addresses:
            if address != accepted:
                threading.Thread(target=self._notify, args=(address,), daemon=True).start()

    def withdraw(self, url: str) -> None:
        """Withdraw a published page, by its URL."""
        address = parse_address(url)
        self.publish(FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410))

    def _publish_to_any(self, shard: int, addresses: Sequence[PeerAddress], body: bytes) -> tuple[PeerAddress, int]:
        """Send a publication to the replicas of a shard until one answers; return which, and what."""
        end, error = time.monotonic() + _PUBLISH_SECONDS, Exception("no replica")
        order = self._group.order_by_state(shard, addresses)
        for number, address in enumerate(order):
            share = (end - time.monotonic()) / (len(order) - number)
            try:
                reply = _call(address, self._key, PUBLISH, body, max(0.1, share))
                return address, parse_msgpack(reply, int)
            except BadInput:
                raise
            except (PeriplusError, msgspec.MsgspecError) as failure:
                error = failure
        raise Overloaded(f"Shard {shard} does not accept pages at present: {error}", "Try again later.")

    def _notify(self, address: PeerAddress) -> None:
        try:
            _call(address, self._key, CATCH_UP, b"", _NOTIFY_SECONDS)
        except ClusterError as error:
            _LOG.info("A replica is not told of a publication: %s", error)


def _call(address: PeerAddress, key: ClusterKey, method: int, body: bytes, seconds: float) -> bytes:
    connection = PeerConnection(address, key)
    try:
        return call_peer(connection, method, body, time.monotonic() + seconds)
    finally:
        connection.close()
