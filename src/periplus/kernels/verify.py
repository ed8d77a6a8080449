"""Reading all of a segment to see whether what matching relies on is true."""

import numpy as np
from numba import njit

from periplus.kernels.invert import BLOCK, PLAIN
from periplus.kernels.lexicon import Terms
from periplus.kernels.lists import BODY, Lists, get_entry, make_tiny_lists, skip_positions

__all__ = ["FAULTS", "verify"]

FAULTS = (
    "",
    "blocks of a term ascend and exist",
    "documents of a block ascend and exist",
    "impacts are positive",
    "block maxima are maxima",
    "frequencies agree",
    "entries fill their place",
    "positions fill their place",
)


@njit(cache=True, nogil=True)
def _entry(
    lists: Lists, at: int, stop: int, block: int, documents: int, position: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Read one entry; give the fault (0 if none), its postings, their highest impact, where its positions end."""
    count, highest, last = 0, 0, -1
    while at < stop:
        byte = np.int64(lists.stream[at])
        code, offset = byte >> 6, byte & 63
        if offset <= last or block * BLOCK + offset >= documents:
            return 2, 0, 0, 0
        last = offset
        if code == PLAIN and at + 3 > stop:
            return 6, 0, 0, 0
        mask = np.int64(lists.stream[at + 1]) if code == PLAIN else np.int64(BODY)
        plain = (block * PLAIN + code) * BLOCK + offset
        impact = np.int64(lists.stream[at + 2]) if code == PLAIN else np.int64(lists.plain_impact[plain])
        if impact == 0 or mask == 0:
            return 3, 0, 0, 0
        highest = max(highest, impact)
        position = skip_positions(lists.positions, position, code, mask)
        at += 3 if code == PLAIN else 1
        count += 1
    return 0, count, highest, position


@njit(cache=True, nogil=True)
def verify(lists: Lists, terms: Terms, documents: int) -> int:  # pragma: no cover - compiled
    """Read every posting and position; give the number of the first fault in FAULTS, 0 if there is none."""
    blocks = len(lists.live)
    position = np.int64(0)
    for term in range(len(terms.frequency)):
        at = terms.stream_end[term - 1] if term else np.int64(0)
        end, row = terms.stream_end[term], terms.row[term]
        block = np.int64(-1)
        seen = 0
        while at < end or (row >= 0 and block + 1 < blocks):
            kind = -1
            if row >= 0:
                block += 1
                stop = np.int64(lists.dense_start[row, block + 1])
                if (
                    np.int64(lists.dense_start[row, block]) != at
                    or np.int64(lists.dense_position[row, block]) != position
                ):
                    return 6
                said = np.int64(lists.dense_max[row, block])
            else:
                step, kind, at, stop = get_entry(lists.stream, at)
                block += step
                said = np.int64(lists.stream[at - 1]) if kind == 0 else -1
                if step < 1 or block >= blocks:
                    return 1
            if stop > end or at > stop:
                return 6
            fault, count, highest, position = _entry(lists, at, stop, block, documents, position)
            if fault:
                return fault
            if said >= 0 and said != highest:
                return 4
            seen += count
            at = stop
        if seen != terms.frequency[term]:
            return 5
        if position != terms.position_end[term]:
            return 7
    return 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one = np.ones(1, np.int64)
    terms = Terms(np.zeros(1, np.uint8), one, np.ones(1, np.int32), 2 * one, 0 * one, one, np.full(1, -1, np.int32))
    verify(make_tiny_lists(), terms, 1)
