"""Reading all of a segment to see whether what matching relies on is true."""

import numpy as np
from numba import njit

from periplus.kernels.lexicon import Terms, make_tiny_terms
from periplus.kernels.lists import (
    SIZED,
    Lists,
    Place,
    entry_place,
    entry_positions,
    find_head,
    get_place,
    make_tiny_lists,
    read_all,
    skip_positions,
)
from periplus.kernels.merge import place_of
from periplus.kernels.pack import BLOCK, FAT, GROUP, IS_DENSE, IS_MIDDLING, IS_SPARSE, count_groups, kind_of, level_of

__all__ = ["FAULTS", "verify"]

FAULTS = (
    "",
    "rows and groups of a term exist",
    "documents of a term ascend and exist",
    "impacts are positive",
    "block maxima are maxima",
    "frequencies agree",
    "postings fill their place",
    "positions fill their place",
)


@njit(cache=True, nogil=True)
def _check_place(lists: Lists, place: Place, documents: int) -> int:  # pragma: no cover - compiled
    """Check what must be true before any posting of a term may be read."""
    frequency, begin, end, _, kind, row, heads = place
    if frequency < 1 or frequency > documents or end < begin or kind != kind_of(frequency, documents):
        return 5
    if kind == IS_DENSE:
        if row < 0 or row >= len(lists.dense_max):
            return 1
        last = np.int64(0)
        for block in range(len(lists.live) + 1):
            if np.int64(lists.dense_start[row, block]) < last:
                return 6
            last = np.int64(lists.dense_start[row, block])
        return 6 if begin + last != end or lists.dense_start[row, 0] != 0 else 0
    if kind == IS_MIDDLING:
        if row < 0 or heads < 1 or row + count_groups(heads) > len(lists.groups):
            return 1
        return 6 if begin + 2 + heads + (heads + 3) // 4 > end else 0
    return 0


@njit(cache=True, nogil=True)
def _check_block(
    lists: Lists, place: Place, block: int, head: int, highest: int, low: int, high: int, position: int
) -> int:  # pragma: no cover - compiled
    """Check what is kept of one block of a middling or dense term; give the fault, 0 if there is none."""
    if place[4] == IS_DENSE:
        if np.int64(lists.dense_max[place[5], block]) != highest:
            return 4
    else:
        if head < 0:
            return 6
        if np.int64(lists.stream[place[1] + 2 + head]) >> 4 != level_of(highest, low, high):
            return 4
        if head % GROUP == 0 and entry_place(lists, place, head, block)[1] > place[2]:
            return 6
    return 7 if entry_positions(lists, place, head, block) != position else 0


@njit(cache=True, nogil=True)
def verify(lists: Lists, terms: Terms, documents: int) -> int:  # pragma: no cover - compiled
    """Read every posting and position; give the number of the first fault in FAULTS, 0 if there is none."""
    most = max(1, documents)
    found, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(len(terms.frequency)):
        place = place_of(terms, term)
        fault = _check_place(lists, place, documents)
        if fault:
            return fault
        frequency = place[0]
        if read_all(lists, place, found[:frequency], codes, masks, impacts) != frequency:
            return 5
        low, high = np.int64(0), np.int64(0)
        if place[4] == IS_MIDDLING:
            low, high = np.int64(lists.stream[place[1]]), np.int64(lists.stream[place[1] + 1])
        position = place[3]
        last, n = -1, 0
        while n < frequency:
            if codes[n] & SIZED:
                _, position = get_place(lists.positions, position)
            block, first, highest = found[n] // BLOCK, position, np.int64(0)
            while n < frequency and found[n] // BLOCK == block:
                if found[n] <= last or found[n] >= documents:
                    return 2
                if impacts[n] == 0 or masks[n] == 0:
                    return 3
                last, highest = found[n], max(highest, np.int64(impacts[n]))
                position = skip_positions(lists.positions, position, codes[n] & FAT, np.int64(masks[n]))
                n += 1
            if place[4] != IS_SPARSE:
                head = find_head(lists, place, block) if place[4] == IS_MIDDLING else 0
                fault = _check_block(lists, place, block, head, highest, low, high, first)
                if fault:
                    return fault
        if position != terms.position_end[term]:
            return 7
    return 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    verify(make_tiny_lists(), make_tiny_terms(), 1)
