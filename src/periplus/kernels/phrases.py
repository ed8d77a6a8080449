"""Words at their places: whether a document of an open block has a phrase, or words near each other."""

from typing import Any

import numpy as np
from numba import njit

from periplus.kernels.invert import FIELD_SHIFT
from periplus.kernels.lists import Lists, find_positions, read_positions, seek_posting
from periplus.kernels.plan import Desk, Plan

__all__ = ["has_phrase"]


@njit(cache=True, nogil=True)
def _read(lists: Lists, plan: Plan, desk: Desk, leaf: int, block: int, offset: int, out: Any) -> int:
    """Read the positions of a leaf in one document of the open block; give how many."""
    at = desk.entry[leaf, block] >> 8
    stop = at + (desk.entry[leaf, block] & 255)
    if desk.spot[leaf, 2 * block] >= 0:  # known to within a group of entries so far
        start = find_positions(lists, desk.spot[leaf, 2 * block], desk.spot[leaf, 2 * block + 1], at)
        desk.spot[leaf, 2 * block], desk.spot[leaf, 2 * block + 1] = -1, start
    _, code, mask, there = seek_posting(lists, at, stop, desk.spot[leaf, 2 * block + 1], offset)
    return read_positions(lists.positions, there, code, mask, out)


@njit(cache=True, nogil=True)
def has_phrase(
    lists: Lists, plan: Plan, desk: Desk, phrase: int, block: int, offset: int
) -> bool:  # pragma: no cover - compiled
    """Say whether a document of the open block has the phrase's words at their places."""
    begin, end = plan.phrase_start[phrase], plan.phrase_start[phrase + 1]
    first, other = desk.first, desk.other
    fields, reach = np.int64(plan.phrase_fields[phrase]), plan.phrase_reach[phrase]
    read = _read(lists, plan, desk, plan.phrase_leaf[begin], block, offset, first)
    count = 0
    for i in range(read):
        if (fields >> (first[i] >> FIELD_SHIFT)) & 1:
            first[count] = first[i]
            count += 1
    for word in range(begin + 1, end):
        shift = plan.phrase_place[word] - plan.phrase_place[begin]
        size = _read(lists, plan, desk, plan.phrase_leaf[word], block, offset, other)
        count = _follow(first, count, other, size, shift) if reach == 0 else _near(first, count, other, size, reach)
        if count == 0:
            return False
    return count > 0


@njit(cache=True, nogil=True)
def _follow(first: Any, count: int, other: Any, size: int, shift: int) -> int:  # pragma: no cover - compiled
    """Keep the positions in `first` that have one in `other` exactly `shift` behind them; give how many."""
    kept, j = 0, 0
    for i in range(count):
        wanted = first[i] + shift
        while j < size and other[j] < wanted:
            j += 1
        if j < size and other[j] == wanted:
            first[kept] = first[i]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _near(first: Any, count: int, other: Any, size: int, reach: int) -> int:  # pragma: no cover - compiled
    """Put into `first` the positions of `other` that have one in `first` within `reach`; give how many."""
    kept, j = 0, 0
    for i in range(size):
        while j < count and first[j] < other[i] - reach:
            j += 1
        at = j
        while at < count and first[at] <= other[i] + reach:
            if first[at] != other[i]:
                break
            at += 1
        if at < count and first[at] <= other[i] + reach and first[at] != other[i]:
            other[kept] = other[i]
            kept += 1
    for i in range(kept):
        first[i] = other[i]
    return kept
