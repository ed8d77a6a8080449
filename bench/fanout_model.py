"""How long a query over many shards takes: a bootstrap over measured times of single shards. No I/O, no clock."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DRAWS = 4_000
"""Queries that are drawn for each number of shards."""
_CELLS = 4_000_000
"""Times that are drawn at once."""
TOO_SLOW = 5e-3
"""Seconds that brokers may add before they are arranged as a tree."""
MISSED = 1e-4
"""Chance that a shard has more of the best candidates than it is asked for."""


class ShardTimes(NamedTuple):
    """Measured times of one shard, in seconds."""

    base: Floats
    """By query and shard: the least of several calls, as CPU time."""
    delay: Floats
    """How much longer than the least each call took on the clock: what the machine adds."""

    def draw(self, queries: npt.NDArray[np.int64], shards: int, random: np.random.Generator) -> Floats:
        """Return times by query and shard: those of the query on any measured shard, and any delay."""
        shape = (len(queries), shards)
        base = self.base[queries[:, None], random.integers(0, self.base.shape[1], shape)]
        return base + self.delay[random.integers(0, len(self.delay), shape)]

    def percentile(self, share: float) -> float:
        """Return a percentile of the time of one shard."""
        random = np.random.default_rng(5)
        queries = random.integers(0, len(self.base), 100_000)
        return float(np.percentile(self.draw(queries, 1, random), share))


class FanOut(NamedTuple):
    """Times of queries over some shards, until the last shard has answered, in seconds."""

    p50: float
    p95: float
    p99: float
    hedged: float
    """Second requests, as a share of all requests."""


def fan_out(times: ShardTimes, shards: int, hedge_after: float | None, draws: int = DRAWS, seed: int = 16) -> FanOut:
    """Return how long queries take on so many shards; a late one is asked again on another replica after a while."""
    random = np.random.default_rng(seed)
    slowest, late = [], 0
    batch = max(1, _CELLS // shards)
    for begin in range(0, draws, batch):
        queries = random.integers(0, len(times.base), min(batch, draws - begin))
        taken = times.draw(queries, shards, random)
        if hedge_after is not None:
            second = hedge_after + times.draw(queries, shards, random)
            late += int((taken > hedge_after).sum())
            taken = np.where(taken > hedge_after, np.minimum(taken, second), taken)
        slowest.append(taken.max(axis=1))
    p50, p95, p99 = (float(np.percentile(np.concatenate(slowest), share)) for share in (50, 95, 99))
    return FanOut(p50, p95, p99, late / (draws * shards))


class BrokerCost(NamedTuple):
    """What a broker takes for each query, as a line through measured points, and the network in front of it."""

    fixed: float
    per_part: float
    """Seconds of decoding and merging the record of one shard."""
    part_bytes: float
    latency: float
    bandwidth: float

    def of(self, parts: int, share: float = 1.0) -> float:
        """Return the seconds from the last answer of some shards to their merged record.

        share: rows of a shard's record, as a share of the measured one.
        """
        return self.fixed + parts * share * (self.per_part + self.part_bytes / self.bandwidth) + 2 * self.latency


class BrokerTree(NamedTuple):
    """How brokers are arranged: one, or several and one above them."""

    levels: int
    fan_in: int
    """Most answers that one broker merges."""
    seconds: float
    """That they add to the time of the slowest shard."""
    brokers: int


def best_tree(cost: BrokerCost, shards: int, share: float = 1.0) -> BrokerTree:
    """Return the flattest arrangement that is not too slow, or of up to three levels the fastest."""
    trees = [BrokerTree(1, shards, cost.of(shards, share), 1)]
    for levels in (2, 3):
        fan = math.ceil(shards ** (1 / levels))
        if fan > 1:
            brokers, left = 0, shards
            for _ in range(levels):
                left = math.ceil(left / fan)
                brokers += left
            # Brokers of the lower levels send records of full length on.
            seconds = cost.of(fan, share) + (levels - 1) * cost.of(fan)
            trees.append(BrokerTree(levels, fan, seconds, brokers))
    return min(trees, key=lambda tree: (max(tree.seconds, TOO_SLOW), tree.levels))


def rows_needed(shards: int, wanted: int, missed: float = MISSED) -> int:
    """Return how many candidates each shard must send so that one with more of the best `wanted` is a rare case.

    Documents are spread at random over shards. In the rare case the broker asks that shard again: answers stay exact.
    """
    chance = 1 / shards
    if shards == 1:
        return wanted
    tail, rows = 1.0, 0
    term = (1 - chance) ** wanted
    while rows < wanted:
        tail -= term
        if tail * shards <= missed:
            break
        rows += 1
        term *= (wanted - rows + 1) / rows * chance / (1 - chance)
    return max(1, rows)


def fit_line(parts: Any, seconds: Any) -> tuple[float, float]:
    """Return intercept and slope of a line, by least squares of relative errors; neither is negative."""
    x, y = np.asarray(parts, np.float64), np.asarray(seconds, np.float64)
    slope, intercept = np.polyfit(x, y, 1, w=1 / y)
    if intercept < 0:
        return 0.0, float((y / x).mean())
    return float(intercept), max(0.0, float(slope))
