"""Reading all of a segment to see whether what matching relies on is true."""

import numpy as np

from periplus.accel import njit
from periplus.index.kernels.positions import get_place, skip_positions
from periplus.index.kernels.postings_format import BLOCK, FAT, IS_SPARSE, IS_WIDE, count_groups, kind_of, level_of
from periplus.index.kernels.postings_reader import (
    SIZED,
    Lists,
    Place,
    entry_begin,
    entry_place,
    find_head,
    make_tiny_lists,
    place_of,
    read_all,
    set_at,
)
from periplus.index.kernels.term_dictionary import Terms, make_tiny_terms

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
    frequency, begin, end, _, kind, row, heads, wide = place
    if frequency < 1 or frequency > documents or end < begin or kind != kind_of(frequency, documents):
        return 5
    if (kind == IS_WIDE) != (0 <= wide < len(lists.wide_set)):
        return 1
    if kind == IS_SPARSE:
        return 0
    if row < 0 or heads < 1 or row + count_groups(heads, kind) > len(lists.groups):
        return 1
    return 6 if begin + 2 + heads + (heads + 3) // 4 > end else 0


@njit(cache=True, nogil=True)
def _check_block(
    lists: Lists, place: Place, block: int, highest: int, documents: int, position: int
) -> int:  # pragma: no cover - compiled
    """Check what is kept of one block of a term that is written by blocks; give the fault, 0 if there is none."""
    head = find_head(lists, place, block)
    if head < 0:
        return 6
    low, high = np.int64(lists.stream[place[1]]), np.int64(lists.stream[place[1] + 1])
    if np.int64(lists.stream[place[1] + 2 + head]) >> 4 != level_of(highest, low, high):
        return 4
    at, stop = entry_place(lists, place, head)
    if stop > place[2] or set_at(lists.stream, at, stop) != documents:
        return 6
    if place[4] == IS_WIDE and lists.wide_set[place[7], block] != documents:
        return 6
    return 7 if entry_begin(lists, place, head) != (at, position) else 0


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
        position = place[3]
        last, n = -1, 0
        while n < frequency:
            if codes[n] & SIZED:
                _, position = get_place(lists.positions, position)
            block, first, highest, members = found[n] // BLOCK, position, np.int64(0), np.uint64(0)
            while n < frequency and found[n] // BLOCK == block:
                if found[n] <= last or found[n] >= documents:
                    return 2
                if impacts[n] == 0 or masks[n] == 0:
                    return 3
                last, highest = found[n], max(highest, np.int64(impacts[n]))
                members |= np.uint64(1) << np.uint64(found[n] % BLOCK)
                position = skip_positions(lists.positions, position, codes[n] & FAT, np.int64(masks[n]))
                n += 1
            if place[4] != IS_SPARSE:
                fault = _check_block(lists, place, block, highest, members, first)
                if fault:
                    return fault
        if position != terms.position_end[term]:
            return 7
    return 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    verify(make_tiny_lists(), make_tiny_terms(), 1)
