"""Is a difference more than chance: the paired bootstrap over queries.

The queries of a collection are one sample of all that could have been asked. Drawing as many again from them, with
replacement and many times, shows how much the mean difference of two rankings depends on which queries were taken.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["DRAWS", "Difference", "average_gain", "paired_difference"]

DRAWS: Final = 10_000
_LEVEL: Final = 0.95
_AT_ONCE: Final = 4_000_000
"""Numbers drawn in one go, so that memory stays bounded."""

Floats = npt.NDArray[np.float64]


class Difference(NamedTuple):
    """How much better one ranking is than another."""

    mean: float
    low: float
    """Of the 95 % confidence interval."""
    high: float
    p: float
    """How often chance alone would give a mean difference at least this far from 0."""


def paired_difference(ours: Floats, theirs: Floats, draws: int = DRAWS, seed: int = 7) -> Difference:
    """Compare two rankings by their values for the same queries."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    if not len(difference):
        return Difference(0.0, 0.0, 0.0, 1.0)
    mean = float(difference.mean())
    means = _resampled(difference[:, None], draws, seed)[:, 0]
    low, high = _interval(means)
    # Moved so that nothing lies between the two, the same draws show what chance does. One is added: p is never 0.
    beyond = np.abs(means - mean) >= abs(mean) - 1e-15
    return Difference(mean, low, high, float((beyond.sum() + 1) / (draws + 1)) if mean else 1.0)


def average_gain(pairs: list[tuple[Floats, Floats]], draws: int = DRAWS, seed: int = 7) -> Difference:
    """Return the relative gain of ours over theirs, averaged over collections; queries are drawn within each."""
    gains, drawn = [], np.zeros(draws)
    for number, (ours, theirs) in enumerate(pairs):
        both = np.stack([ours, theirs], axis=1)
        gains.append(_gain(both.mean(axis=0)[None])[0])
        drawn += _gain(_resampled(both, draws, seed + number)) / len(pairs)
    if not pairs:
        return Difference(0.0, 0.0, 0.0, 1.0)
    mean = float(np.mean(gains))
    low, high = _interval(drawn)
    beyond = np.abs(drawn - drawn.mean()) >= abs(mean) - 1e-15
    return Difference(mean, low, high, float((beyond.sum() + 1) / (draws + 1)) if mean else 1.0)


def _gain(means: Floats) -> Floats:
    return means[:, 0] / np.maximum(means[:, 1], 1e-12) - 1.0


def _interval(means: Floats) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]).tolist()
    return low, high


def _resampled(values: Floats, draws: int, seed: int) -> Floats:
    """Return the column means of `draws` samples of the rows, each as large as all of them."""
    chance = np.random.default_rng(seed)
    count = len(values)
    out = np.empty((draws, values.shape[1]))
    step = max(1, _AT_ONCE // count)
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        picked = chance.integers(0, count, (rows, count), np.int32)
        # How often each row was drawn, then one product: faster than fetching every drawn value.
        times = np.stack([np.bincount(row, minlength=count) for row in picked])
        out[begin : begin + rows] = times @ values / count
    return out
