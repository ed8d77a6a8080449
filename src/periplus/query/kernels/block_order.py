"""Which blocks are opened, and in which order: those with the highest bounds first, without sorting the others."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.query.kernels.block_bounds import SLACK
from periplus.query.kernels.plan import Scratch

__all__ = ["choose"]

_BUCKETS = 64
_FIRST = 64
"""About so many blocks, those with the highest bounds, are put in order and opened before the others are looked at."""
_SAMPLE = 8


@njit(cache=True, nogil=True)
def _first_cut(scratch: Scratch, count: int) -> Any:  # pragma: no cover - compiled
    """Return a bound that about _FIRST of the blocks reach, estimated from a sample of them."""
    bound, found = scratch.bound, scratch.order[0]
    highest = np.float32(0)
    if count <= _FIRST:
        return highest
    for i in range(0, count, _SAMPLE):
        highest = max(highest, bound[np.uint64(found[i])])
    if highest <= 0:
        return highest
    buckets = np.zeros(_BUCKETS, np.int32)
    scale = np.float32(_BUCKETS - 1) / highest
    for i in range(0, count, _SAMPLE):
        buckets[int(bound[np.uint64(found[i])] * scale)] += 1
    seen, bucket = 0, _BUCKETS
    while seen * _SAMPLE < _FIRST and bucket > 0:
        bucket -= 1
        seen += buckets[bucket]
    return np.float32(bucket / scale)


@njit(cache=True, nogil=True)
def _highest_first(scratch: Scratch, chosen: Any) -> None:  # pragma: no cover - compiled
    """Put blocks in the order of their bounds, by buckets."""
    highest, least = np.float32(0), np.float32(np.inf)
    for block in chosen:
        highest, least = max(highest, scratch.bound[block]), min(least, scratch.bound[block])
    starts = np.zeros(_BUCKETS + 1, np.int32)
    scale = np.float32(_BUCKETS - 1) / (highest - least) if highest > least else np.float32(0)
    unordered = chosen.copy()
    for block in unordered:
        starts[int((highest - scratch.bound[block]) * scale) + 1] += 1
    for bucket in range(_BUCKETS):
        starts[bucket + 1] += starts[bucket]
    for block in unordered:
        bucket = int((highest - scratch.bound[block]) * scale)
        chosen[starts[bucket]] = block
        starts[bucket] += 1


@njit(cache=True, nogil=True)
def choose(scratch: Scratch, count: int, phase: int, full: bool, least: Any) -> int:  # pragma: no cover - compiled
    """Put a phase's blocks into `scratch.order[1]`: those with the highest bounds, others that can matter, the rest."""
    bound, found, chosen = scratch.bound, scratch.order[0], scratch.order[1]
    cut = np.float32(0)
    if phase == 0:
        cut = _first_cut(scratch, count)
    elif phase == 1:
        cut = least / SLACK if full else np.float32(0)
    number = np.uint64(0)
    for i in range(count):
        block = np.uint64(found[i])
        chosen[number] = block
        number += np.uint64(bound[block] >= cut)
    if phase == 0 and number > 4:
        _highest_first(scratch, chosen[: np.int64(number)])
    return np.int64(number)
