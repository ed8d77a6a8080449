"""Which replica of a shard is asked: state without I/O; time is an argument.

A replica is in one of three states:

    up        asked; of several, mostly the one with the least latency and load
    suspect   its last requests were late: asked only where no other is up, and probed
    down      not asked until a probe succeeds; probes come after 0.25 s, and then twice as late each time

    up -> suspect         a request was late: another replica answered first, or none by the deadline
    suspect -> down       a probe failed, or three requests in a row were late
    up, suspect -> down   it could not be reached, or sent what is not an answer
    suspect, down -> up   it answered a request or a probe

A replica that is busy stays up, and is asked less for a moment.
"""

import random
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from periplus.cluster.serving.latency_window import LatencyWindow
from periplus.cluster.wire.peer_connection import PeerAddress

__all__ = ["HedgePolicy", "PinnedReplica", "ReplicaStatistics", "ShardReplicas"]

_GAIN: Final = 0.2
"""Weight of the latest latency in the moving mean."""
_MAX_LATE: Final = 3
"""Requests in a row that were late, after which a replica is down."""
_FIRST_PROBE_SECONDS: Final = 0.25
_MAX_PROBE_SECONDS: Final = 15.0
_BUSY_SECONDS: Final = 0.2
_EXPLORATION: Final = 0.02
"""Share of requests that go to any replica that is up: the latency of one that is never asked would never change."""
_FIRST_HEDGE_SECONDS: Final = 0.05
_MIN_HEDGE_SECONDS: Final = 0.002
_MAX_HEDGE_SECONDS: Final = 0.5
_HEDGE_BURST: Final = 20.0


class HedgePolicy(NamedTuple):
    """When another replica is asked besides one that is late."""

    quantile: float = 0.95
    """Of the latest latencies of the shard; 1 is never."""
    share: float = 0.1
    """Hedges for each request, in the long run: they must not double the load of a cluster that is late as a whole."""


class ReplicaStatistics(NamedTuple):
    """The state of one replica."""

    address: PeerAddress
    state: str
    """'up', 'suspect' or 'down'."""
    latency: float
    """Moving mean, in seconds; 0 if it was not asked yet."""
    requests: int
    failures: int
    error: str
    """What its last failure was; '' if it has not failed since it answered."""


class _Replica:
    """What is known of one replica."""

    __slots__ = (
        "address",
        "busy_until",
        "error",
        "failures",
        "late",
        "latency",
        "pending",
        "probe_at",
        "requests",
        "tries",
    )

    def __init__(self, address: PeerAddress) -> None:
        self.address = address
        self.latency = 0.0
        self.pending = 0
        """Requests without an answer so far."""
        self.late = 0
        """Requests in a row that were late."""
        self.tries = 0
        """Probes in a row that failed, and the failure before them; 0 while it is up."""
        self.probe_at = 0.0
        self.busy_until = 0.0
        self.requests = self.failures = 0
        self.error = ""

    @property
    def is_down(self) -> bool:
        return self.tries > 0


class ShardReplicas:
    """The replicas of one shard. Its owner holds a lock around every call."""

    def __init__(self, addresses: Sequence[PeerAddress], policy: HedgePolicy | None = None, seed: int = 0) -> None:
        self._replicas = {address: _Replica(address) for address in addresses}
        self._window = LatencyWindow()
        self._policy = policy or HedgePolicy()
        self._tokens = _HEDGE_BURST
        self._random = random.Random(seed)

    @property
    def addresses(self) -> tuple[PeerAddress, ...]:
        """The addresses of all replicas."""
        return tuple(self._replicas)

    def update(self, addresses: Sequence[PeerAddress]) -> None:
        """Change which replicas there are; what is known of those that stay is kept."""
        self._replicas = {address: self._replicas.get(address) or _Replica(address) for address in addresses}

    def choose(self, now: float, tried: Collection[PeerAddress] = ()) -> PeerAddress | None:
        """Return the replica to ask, and count a request to it; None if none is up that was not tried yet."""
        candidates = [r for r in self._replicas.values() if not r.tries and r.address not in tried]
        if not candidates:
            return None
        replica = candidates[0]
        if len(candidates) > 1:
            steady = [r for r in candidates if not r.late and r.busy_until <= now]
            replica = self._best(steady) if steady else min(candidates, key=lambda r: (r.late, r.busy_until, r.pending))
        replica.pending += 1
        replica.requests += 1
        self._tokens = min(_HEDGE_BURST, self._tokens + self._policy.share)
        return replica.address

    def _best(self, replicas: list[_Replica]) -> _Replica:
        """Return the better of two replicas chosen at random: all brokers would otherwise ask the same one."""
        if len(replicas) == 1:
            return replicas[0]
        if self._random.random() < _EXPLORATION:
            return self._random.choice(replicas)
        pair = self._random.sample(replicas, 2) if len(replicas) > 2 else replicas
        start = self._random.randrange(len(pair))  # of equal ones, any
        return min(pair[start:] + pair[:start], key=lambda r: r.latency * (1 + r.pending))

    def is_up(self, address: PeerAddress | None) -> bool:
        """Return whether a replica is there, and neither down nor suspect."""
        replica = self._replicas.get(address) if address is not None else None
        return replica is not None and not replica.is_down and not replica.late

    def hedge_seconds(self) -> float:
        """Return after how many seconds without an answer another replica is asked."""
        if self._policy.quantile >= 1 or len(self._replicas) < 2:
            return float("inf")
        delay = self._window.quantile(self._policy.quantile, _FIRST_HEDGE_SECONDS)
        return min(max(delay, _MIN_HEDGE_SECONDS), _MAX_HEDGE_SECONDS)

    def choose_hedge(self, now: float, tried: Collection[PeerAddress]) -> PeerAddress | None:
        """Return the replica to ask besides one that is late; None if there is none, or were too many lately."""
        if self._tokens < 1.0:
            return None
        address = self.choose(now, tried)
        if address is not None:
            self._tokens -= 1.0
        return address

    def answered(self, address: PeerAddress, seconds: float, *, counts: bool = True) -> None:
        """Record an answer. counts: whether its latency does, as that of a probe does not."""
        replica = self._replicas.get(address)
        if replica is None:
            return
        replica.late = replica.tries = 0
        replica.error = ""
        if counts:
            replica.pending = max(0, replica.pending - 1)
            replica.latency += (_GAIN if replica.latency else 1.0) * (seconds - replica.latency)
            self._window.add(seconds)

    def late(self, address: PeerAddress, seconds: float, now: float) -> None:
        """Record that a request was given up, because another replica answered or the deadline has come."""
        replica = self._replicas.get(address)
        if replica is None:
            return
        replica.pending = max(0, replica.pending - 1)
        replica.latency = max(replica.latency, seconds)
        replica.late += 1
        replica.probe_at = now + _FIRST_PROBE_SECONDS
        if replica.late >= _MAX_LATE and not replica.is_down:
            self._take_down(replica, now, "it answers too late")

    def cancelled(self, address: PeerAddress) -> None:
        """Record that a request was given up through no fault of the replica."""
        replica = self._replicas.get(address)
        if replica is not None:
            replica.pending = max(0, replica.pending - 1)

    def busy(self, address: PeerAddress, now: float) -> None:
        """Record that a replica had no place for a request."""
        replica = self._replicas.get(address)
        if replica is not None:
            replica.pending = max(0, replica.pending - 1)
            replica.busy_until = now + _BUSY_SECONDS

    def failed(self, address: PeerAddress, now: float, error: str, *, is_probe: bool = False) -> None:
        """Record that a replica was not reached, or sent what is not an answer."""
        replica = self._replicas.get(address)
        if replica is None:
            return
        if not is_probe:
            replica.pending = max(0, replica.pending - 1)
        if is_probe or not replica.is_down:  # requests that were on their way when it went down add nothing
            self._take_down(replica, now, error)

    def _take_down(self, replica: _Replica, now: float, error: str) -> None:
        replica.failures += 1
        replica.tries += 1
        replica.error = error
        wait = _FIRST_PROBE_SECONDS * 2 ** min(replica.tries - 1, 20)
        replica.probe_at = now + min(wait, _MAX_PROBE_SECONDS) * self._random.uniform(0.8, 1.2)

    def due_probes(self, now: float) -> list[PeerAddress]:
        """Return the replicas to probe now."""
        return [r.address for r in self._replicas.values() if (r.is_down or r.late) and r.probe_at <= now]

    def statistics(self) -> tuple[ReplicaStatistics, ...]:
        """Return the state of all replicas."""
        return tuple(
            ReplicaStatistics(
                r.address,
                "down" if r.is_down else "suspect" if r.late else "up",
                r.latency,
                r.requests,
                r.failures,
                r.error,
            )
            for r in self._replicas.values()
        )


class PinnedReplica:
    """One replica of a shard, as if the shard had no other: for what only this one can answer."""

    def __init__(self, replicas: ShardReplicas, address: PeerAddress) -> None:
        self._replicas, self._address = replicas, address

    def choose(self, now: float, tried: Collection[PeerAddress] = ()) -> PeerAddress | None:
        """Return the replica, unless it was tried."""
        return None if self._address in tried else self._address

    def hedge_seconds(self) -> float:
        """Return that no other is asked."""
        return float("inf")

    def choose_hedge(self, now: float, tried: Collection[PeerAddress]) -> PeerAddress | None:
        """Return that there is no other."""
        return None

    def answered(self, address: PeerAddress, seconds: float, *, counts: bool = True) -> None:
        """Record an answer; its latency does not count, as that of other methods."""
        self._replicas.answered(address, seconds, counts=False)

    def late(self, address: PeerAddress, seconds: float, now: float) -> None:
        """Record that it did not answer in time."""
        self._replicas.late(address, seconds, now)

    def cancelled(self, address: PeerAddress) -> None:
        """Record nothing: a request to it is not counted."""

    def busy(self, address: PeerAddress, now: float) -> None:
        """Record that it had no place for a request."""
        self._replicas.busy(address, now)

    def failed(self, address: PeerAddress, now: float, error: str, *, is_probe: bool = False) -> None:
        """Record that it was not reached, or sent what is not an answer."""
        self._replicas.failed(address, now, error, is_probe=is_probe)
