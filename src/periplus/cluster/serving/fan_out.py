"""One request to one replica of each shard: who is asked, who else, and who is missing. No I/O; time is an argument.

A shard of a request is in one of four states:

    waiting    one replica was asked
    hedged     it was late, and another was asked besides; the first answer counts
    answered
    missing    no replica is up, all that were asked have failed, or the deadline has come

`begin`, `failed` and `advance` return the attempts to send; `answered` those that are given up.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from periplus.cluster.serving.replica_choice import PinnedReplica, ShardReplicas
from periplus.cluster.wire.peer_connection import PeerAddress

__all__ = ["Attempt", "FanOut"]


Replicas = ShardReplicas | PinnedReplica
_NEVER: Final = float("inf")


class Attempt(NamedTuple):
    """One request to one replica of a shard."""

    shard: int
    address: PeerAddress
    begin: float


class _ShardState:
    """The attempts of one shard."""

    __slots__ = ("answered", "hedge_at", "missing", "open", "replicas", "tried")

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.tried: set[PeerAddress] = set()
        self.open: list[Attempt] = []
        self.hedge_at = _NEVER
        self.answered = False
        self.missing = False

    @property
    def is_waiting(self) -> bool:
        return not self.answered and not self.missing


class FanOut:
    """The attempts of one request over some shards, until all have answered or are missing.

    The owner of the replicas holds a lock around every call.
    """

    def __init__(self, shards: Mapping[int, Replicas], deadline: float, *, hedging: bool = True) -> None:
        """deadline: when shards that have not answered are given up."""
        self._shards = {shard: _ShardState(replicas) for shard, replicas in shards.items()}
        self._deadline = deadline
        self._hedging = hedging
        self._waiting = len(self._shards)
        self._missing: list[int] = []
        self.hedges = 0

    @property
    def is_done(self) -> bool:
        """Whether all shards have answered or are missing."""
        return not self._waiting

    @property
    def missing(self) -> tuple[int, ...]:
        """The shards that are missing."""
        return tuple(self._missing)

    @property
    def next_time(self) -> float:
        """When to call `advance`, unless something else happens before."""
        next_time = self._deadline
        for state in self._shards.values():
            if state.hedge_at < next_time and not state.answered and not state.missing:
                next_time = state.hedge_at
        return next_time

    def begin(self, now: float) -> list[Attempt]:
        """Return the first attempt of each shard."""
        attempts: list[Attempt] = []
        for shard, state in self._shards.items():
            attempts += self._try(shard, state, now)
        return attempts

    def _try(self, shard: int, state: _ShardState, now: float) -> list[Attempt]:
        """Return an attempt at a replica that was not tried; without one, and none open, the shard is missing."""
        address = state.replicas.choose(now, state.tried)
        if address is not None:
            return [self._open(shard, state, address, now)]
        if not state.open:
            self._give_up(shard, state)
        return []

    def _open(self, shard: int, state: _ShardState, address: PeerAddress, now: float) -> Attempt:
        attempt = Attempt(shard, address, now)
        state.tried.add(address)
        state.open.append(attempt)
        can_hedge = self._hedging and len(state.open) == 1
        state.hedge_at = now + state.replicas.hedge_seconds() if can_hedge else _NEVER
        return attempt

    def _give_up(self, shard: int, state: _ShardState) -> None:
        state.missing = True
        self._missing.append(shard)
        self._waiting -= 1

    def answered(self, attempt: Attempt, now: float) -> list[Attempt]:
        """Record an answer; return the other attempts of the shard, which are given up."""
        state = self._shards[attempt.shard]
        if attempt not in state.open or not state.is_waiting:
            return []
        state.answered = True
        self._waiting -= 1
        state.replicas.answered(attempt.address, now - attempt.begin)
        others = [other for other in state.open if other is not attempt]
        for other in others:
            if other.begin < attempt.begin:  # the one that was hedged
                state.replicas.late(other.address, now - other.begin, now)
            else:
                state.replicas.cancelled(other.address)
        state.open.clear()
        return others

    def failed(self, attempt: Attempt, now: float, error: str, *, busy: bool = False) -> list[Attempt]:
        """Record that an attempt has failed; return the next one, if the shard has another replica that is up."""
        state = self._shards[attempt.shard]
        if busy:
            state.replicas.busy(attempt.address, now)
        else:
            state.replicas.failed(attempt.address, now, error)
        if attempt in state.open:
            state.open.remove(attempt)
        if not state.is_waiting or state.open:
            return []
        return self._try(attempt.shard, state, now)

    def advance(self, now: float) -> tuple[list[Attempt], list[Attempt]]:
        """Return the hedges to send now, and the attempts to give up because the deadline has come."""
        hedges: list[Attempt] = []
        given_up: list[Attempt] = []
        for shard, state in self._shards.items():
            if not state.is_waiting:
                continue
            if now >= self._deadline:
                for attempt in state.open:
                    state.replicas.late(attempt.address, now - attempt.begin, now)
                given_up += state.open
                state.open.clear()
                self._give_up(shard, state)
            elif now >= state.hedge_at:
                state.hedge_at = _NEVER
                address = state.replicas.choose_hedge(now, state.tried)
                if address is not None:
                    hedges.append(self._open(shard, state, address, now))
                    self.hedges += 1
        return hedges, given_up
