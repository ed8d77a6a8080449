"""All shards of a cluster as a broker reaches them: one replica of each, over framed messages.

A query runs in one thread, within `ReplicaGroup.query`: what a replica has retrieved is presented by the same replica,
since documents are numbered as it numbers them, and the shards that did not answer are noted.
"""

import contextlib
import logging
import select
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from periplus.cluster.serving.connection_pool import ConnectionPool
from periplus.cluster.serving.fan_out import Attempt, FanOut
from periplus.cluster.serving.replica_choice import HedgePolicy, PinnedReplica, ReplicaStatistics, ShardReplicas
from periplus.cluster.serving.serving_table import ServingTable
from periplus.cluster.serving.shard_messages import (
    HEALTH,
    METHOD_NUMBERS,
    ShardHealth,
    decode_reply,
    encode_request,
)
from periplus.cluster.wire.message_frames import Frame, Status
from periplus.cluster.wire.peer_connection import PeerAddress, PeerConnection, call_peer, remote_error
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import ClusterError, NothingHere, PeriplusError
from periplus.settings import ClusterSettings
from periplus.typed_decoding import parse_msgpack

__all__ = ["GroupStatistics", "QueryContext", "ReplicaGroup", "read_health"]

_LOG: Final = logging.getLogger("periplus.cluster")
_MAX_SECONDS: Final = 30.0
"""The longest time for an answer, of whatever takes longest."""
_PROBE_SECONDS: Final = 0.5
_PROBE_INTERVAL: Final = 0.05
_STICKY: Final = frozenset({"describe", "dictionary"})
"""Methods for which a broker stays with one replica: each numbers its commits and the segments of live pages itself."""
_QUERY_METHODS: Final = frozenset(
    {"answer", "retrieve", "statistics", "signatures", "present", "suggest", "collect", "passages", "evidence", "trace"}
)
"""Methods that somebody waits for: a shard that takes longer than `cluster.deadline` is left out."""
_RETRIEVING: Final = frozenset({"retrieve", "collect"})
"""Methods that return documents."""
_PINNED: Final = frozenset({"signatures", "present"})
"""Methods that name documents as the replica that retrieved them does."""


class QueryContext:
    """What is to be remembered of one query from stage to stage."""

    def __init__(self) -> None:
        self.replicas: dict[int, PeerAddress] = {}
        """Who has retrieved, by shard."""
        self.missing: set[int] = set()
        self.is_stale = False
        """Whether a shard did not answer because it no longer has the generation, or what it retrieved."""
        self.hedges = 0


class GroupStatistics(NamedTuple):
    """What a group has sent so far."""

    sent_bytes: int
    received_bytes: int
    hedges: int
    replicas: dict[int, tuple[ReplicaStatistics, ...]]


class ReplicaGroup:
    """The replicas of all shards, for any number of threads."""

    def __init__(self, key: ClusterKey, settings: ClusterSettings, table: ServingTable) -> None:
        self._key, self._settings = key, settings
        self._pool = ConnectionPool(key, settings.connections)
        self._policy = HedgePolicy(settings.hedge_quantile, settings.hedge_share)
        self._lock = threading.Lock()
        self._shards: dict[int, ShardReplicas] = {}
        self._local = threading.local()
        self._sticky: dict[int, PeerAddress] = {}
        self._hedges = 0
        self._stopped = threading.Event()
        self._probing: set[PeerAddress] = set()
        self.update(table)
        threading.Thread(target=self._probe, name="periplus-probe", daemon=True).start()

    def update(self, table: ServingTable) -> None:
        """Change the replicas to those of a table; what is known of those that stay is kept."""
        with self._lock:
            before = {address for replicas in self._shards.values() for address in replicas.addresses}
            for entry in table.shards:
                if entry.number in self._shards:
                    self._shards[entry.number].update(entry.addresses)
                else:
                    self._shards[entry.number] = ShardReplicas(entry.addresses, self._policy, seed=entry.number)
            for number in set(self._shards) - {entry.number for entry in table.shards}:
                del self._shards[number]
            after = {address for replicas in self._shards.values() for address in replicas.addresses}
        for address in before - after:
            self._pool.forget(address)

    def close(self) -> None:
        """Close all connections."""
        self._stopped.set()
        self._pool.close()

    def statistics(self) -> GroupStatistics:
        """Return what was sent so far, and the state of all replicas."""
        with self._lock:
            replicas = {number: shard.statistics() for number, shard in self._shards.items()}
        return GroupStatistics(*self._pool.transferred(), self._hedges, replicas)

    def order_by_state(self, shard: int, addresses: Sequence[PeerAddress]) -> list[PeerAddress]:
        """Return addresses of a shard's replicas, those that are up first."""
        with self._lock:
            replicas = self._shards.get(shard) or ShardReplicas(())
            return sorted(addresses, key=lambda address: not replicas.is_up(address))

    def begin_query(self) -> QueryContext:
        """Return what is remembered of a query, which the calls of this thread belong to until `end_query`."""
        context = self._local.context = QueryContext()
        return context

    def end_query(self) -> None:
        """Forget the query of this thread."""
        self._local.context = None

    def call_shards(self, generation: int, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Send each shard its request; return the replies by shard. Those without one are noted in the query."""
        context, begin = getattr(self._local, "context", None) or QueryContext(), time.monotonic()
        deadline = begin + min(seconds, self._settings.deadline if method in _QUERY_METHODS else _MAX_SECONDS)
        exchange = _Exchange(self._pool, generation, method, requests, deadline)
        with self._lock:
            shards: dict[int, ShardReplicas | PinnedReplica] = {}
            for number in requests:
                replicas = self._shards.get(number) or ShardReplicas(())
                shards[number] = self._restrict(number, replicas, exchange, context)
            fan_out = FanOut(shards, deadline)
            attempts = fan_out.begin(begin)
        self._run(exchange, fan_out, attempts)
        if fan_out.missing:
            context.missing.update(fan_out.missing)
            context.is_stale |= any(n in exchange.stale or exchange.is_pinned for n in fan_out.missing)
        if fan_out.hedges:
            context.hedges += fan_out.hedges
            self._hedges += fan_out.hedges
        if method in _STICKY:
            self._sticky.update(exchange.senders)
        if method in _RETRIEVING:
            context.replicas.update(exchange.senders)
        return exchange.replies

    def _restrict(
        self, number: int, replicas: ShardReplicas, exchange: "_Exchange", context: QueryContext
    ) -> ShardReplicas | PinnedReplica:
        """Return the replicas that a method may be asked of: one of them, for methods that need the same one again."""
        address = context.replicas.get(number) if exchange.is_pinned else None
        if exchange.method in _STICKY and replicas.is_up(self._sticky.get(number)):
            address = self._sticky[number]
        return PinnedReplica(replicas, address) if address is not None else replicas

    def _run(self, exchange: "_Exchange", fan_out: FanOut, attempts: list[Attempt]) -> None:
        """Send and receive until all shards have answered or are missing."""
        try:
            while True:
                while attempts:  # an attempt that fails at once makes another
                    attempts = self._send(exchange, fan_out, attempts)
                if fan_out.is_done:
                    return
                attempts = self._receive(exchange, fan_out)
        finally:
            exchange.close()

    def _receive(self, exchange: "_Exchange", fan_out: FanOut) -> list[Attempt]:
        """Wait until something happens; return the attempts to send because of it."""
        attempts: list[Attempt] = []
        for outcome in exchange.wait(fan_out.next_time - time.monotonic()):
            attempts += self._record(exchange, fan_out, outcome)
        if fan_out.is_done:
            return attempts
        with self._lock:
            hedges, given_up = fan_out.advance(time.monotonic())
        for attempt in given_up:
            exchange.abandon(attempt)
        return attempts + hedges

    def _send(self, exchange: "_Exchange", fan_out: FanOut, attempts: list[Attempt]) -> list[Attempt]:
        more: list[Attempt] = []
        for attempt in attempts:
            try:
                exchange.send(attempt)
            except ClusterError as error:
                with self._lock:
                    more += fan_out.failed(attempt, time.monotonic(), str(error))
        return more

    def _record(self, exchange: "_Exchange", fan_out: FanOut, outcome: "_Outcome") -> list[Attempt]:
        """Record how an attempt ended; return those to send because of it."""
        attempt, now = outcome.attempt, time.monotonic()
        with self._lock:
            if outcome.error is None:
                others = fan_out.answered(attempt, now)
            else:
                down = isinstance(outcome.error, ClusterError) and not outcome.refused
                return fan_out.failed(attempt, now, str(outcome.error), busy=not down)
        for other in others:
            exchange.abandon(other)
        return []

    def _probe(self) -> None:
        """Probe replicas that are down or suspect when it is time, each in a thread: it may take its time."""
        while not self._stopped.wait(_PROBE_INTERVAL):
            now = time.monotonic()
            with self._lock:
                due = [(number, a) for number, shard in self._shards.items() for a in shard.due_probes(now)]
                due = [(number, address) for number, address in due if address not in self._probing]
                self._probing.update(address for _, address in due)
            for number, address in due:
                threading.Thread(target=self._probe_one, args=(number, address), daemon=True).start()

    def _probe_one(self, number: int, address: PeerAddress) -> None:
        error = ""
        try:
            self._pool.forget(address)  # what was open may lead to a process that is gone
            if not read_health(address, self._key, _PROBE_SECONDS).generations:
                error = "it has no index open"
        except PeriplusError as failure:
            error = str(failure)
        with self._lock:
            self._probing.discard(address)
            replicas = self._shards.get(number)
            if replicas is None:
                return
            if error:
                replicas.failed(address, time.monotonic(), error, is_probe=True)
            else:
                replicas.answered(address, 0.0, counts=False)


class _Outcome(NamedTuple):
    """How one attempt ended."""

    attempt: Attempt
    error: PeriplusError | None
    refused: bool = False
    """Whether the replica answered that it cannot."""


class _Exchange:
    """The messages of one call: sent without blocking, and awaited together."""

    def __init__(
        self, pool: ConnectionPool, generation: int, method: str, requests: Mapping[int, Any], deadline: float
    ) -> None:
        self._pool, self.method, self._deadline = pool, method, deadline
        self._number = METHOD_NUMBERS[method]
        self.is_pinned = method in _PINNED or (
            method == "statistics" and any(request.documents for request in requests.values())
        )
        """Whether only the replica that retrieved can answer."""
        bodies: dict[int, bytes] = {}  # by identity: mostly, all shards get the same
        self._bodies: dict[int, bytes] = {}
        for shard, request in requests.items():
            if id(request) not in bodies:
                bodies[id(request)] = encode_request(generation, request)
            self._bodies[shard] = bodies[id(request)]
        self._poll = select.poll()
        self._open: dict[int, tuple[Attempt, PeerConnection]] = {}
        self._retried: set[Attempt] = set()
        self.replies: dict[int, Any] = {}
        self.senders: dict[int, PeerAddress] = {}
        self.stale: set[int] = set()
        """Shards of which a replica did not have the generation, or the documents that it retrieved."""

    def send(self, attempt: Attempt, *, fresh: bool = False) -> None:
        """Send the request of an attempt; raise `ClusterError` if that fails at once."""
        if fresh:
            self._pool.forget(attempt.address)
        connection = self._pool.take(attempt.address)
        if connection.is_new:
            self._retried.add(attempt)
        try:
            connection.request(self._number, self._bodies[attempt.shard], self._deadline)
        except ClusterError:
            if attempt in self._retried:
                raise
            self._retried.add(attempt)
            self.send(attempt, fresh=True)
            return
        self._open[connection.fileno()] = (attempt, connection)
        self._poll.register(connection, connection.events)

    def wait(self, seconds: float) -> list[_Outcome]:
        """Return how attempts ended, once something has happened or the time is over."""
        events = self._poll.poll(seconds * 1000 if seconds > 0 else 0)
        advanced = [self._advance(descriptor) for descriptor, _ in events if descriptor in self._open]
        return [outcome for outcome in advanced if outcome is not None]

    def _advance(self, descriptor: int) -> _Outcome | None:
        """Return how an attempt ended; None if it has not."""
        attempt, connection = self._open[descriptor]
        try:
            frame = connection.advance()
        except ClusterError as error:
            self._release(descriptor)
            if attempt not in self._retried:  # the replica may have closed a connection that was idle for long
                self._retried.add(attempt)
                with contextlib.suppress(ClusterError):
                    self.send(attempt, fresh=True)
                    return None
            return _Outcome(attempt, error)
        if frame is None:
            self._poll.modify(descriptor, connection.events)
            return None
        self._release(descriptor)
        return self._accept(attempt, frame)

    def _release(self, descriptor: int) -> None:
        _, connection = self._open.pop(descriptor)
        self._poll.unregister(descriptor)
        self._pool.put(connection)

    def _accept(self, attempt: Attempt, frame: Frame) -> _Outcome:
        if frame.status != Status.OK:
            error = remote_error(attempt.address, frame)
            if isinstance(error, NothingHere):
                self.stale.add(attempt.shard)
            return _Outcome(attempt, error, refused=True)
        try:
            reply = decode_reply(self.method, frame.body)
        except ClusterError as failure:
            _LOG.warning("%s", failure)
            return _Outcome(attempt, failure)
        if attempt.shard not in self.replies:
            self.replies[attempt.shard] = reply
            self.senders[attempt.shard] = attempt.address
        return _Outcome(attempt, None)

    def abandon(self, attempt: Attempt) -> None:
        """Wait no longer for the response to an attempt."""
        for descriptor, (other, connection) in list(self._open.items()):
            if other is attempt:
                connection.abandon()
                self._release(descriptor)

    def close(self) -> None:
        """Abandon what is left."""
        if self._open:
            for attempt, _ in list(self._open.values()):
                self.abandon(attempt)


def read_health(address: PeerAddress, key: ClusterKey, seconds: float) -> ShardHealth:
    """Ask a shard server how it is; raise `ClusterError` if it does not answer in time."""
    connection = PeerConnection(address, key)
    try:
        body = call_peer(connection, HEALTH, b"", time.monotonic() + seconds)
        return parse_msgpack(body, ShardHealth)
    except msgspec.MsgspecError as error:
        raise ClusterError(f"The health of {address[0]}:{address[1]} cannot be read: {error}") from None
    finally:
        connection.close()
