"""Packs the skip entries of a segment (rows of `groups`) for its file, and unpacks them when it is opened.

In a file up to format 4, and while a segment is built, they are bytes; see `skip_columns` for what is written since
then. Rows of a term follow each other: of each, the differences to the one before are written, as variable-length
integers; block first, then bytes of postings, then of positions. The first row of a term is all zeros: one byte 0,
which no other row begins with, since its block is a later one. See docs/formats/segment.md.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import read_bounded_varint, write_varint

__all__ = ["COLUMNS", "MAX_ROW", "add_steps", "pack_rows", "unpack_rows"]

COLUMNS = 3
MAX_ROW = 15
"""Most bytes that a row takes: three integers of 32 bits."""
_MOST = np.int64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def pack_rows(rows: npt.NDArray[np.uint32], out: npt.NDArray[np.uint8]) -> int:  # pragma: no cover - compiled
    """Pack rows.

    Parameters
        rows: those of some terms, with the columns GROUP_* of `postings_reader`
        out: MAX_ROW bytes for each, filled
    Returns
        how many bytes were used
    """
    at = 0
    for row in range(len(rows)):
        if rows[row, 0] == 0:
            out[at] = 0
            at += 1
            continue
        for column in range(COLUMNS):
            at = write_varint(out, at, np.int64(rows[row, column]) - np.int64(rows[row - 1, column]))
    return at


@njit(cache=True, nogil=True)
def unpack_rows(packed: Any, rows: npt.NDArray[np.uint32]) -> int:  # pragma: no cover - compiled
    """Unpack rows, whose bytes may be damaged.

    Parameters
        packed: what `pack_rows` wrote
        rows: filled, unless it has no element: then they are only counted
    Returns
        how many rows there are, -1 if the bytes are not those of rows
    """
    at, end, count = np.int64(0), np.int64(len(packed)), 0
    values = np.zeros(COLUMNS, np.int64)
    while at < end:
        step, at = read_bounded_varint(packed, at, end)
        if at >= 0 and step == 0:
            values[:] = 0
        elif count == 0:  # No term has begun.
            return -1
        else:
            values[0] += step
            for column in range(1, COLUMNS):
                if at >= 0:
                    step, at = read_bounded_varint(packed, at, end)
                    values[column] += step
        if at < 0 or values.max() > _MOST or values.min() < 0:
            return -1
        if len(rows):
            for column in range(COLUMNS):
                rows[count, column] = values[column]
        count += 1
    return count


@njit(cache=True, nogil=True)
def add_steps(
    block: Any, postings: Any, positions: Any, rows: npt.NDArray[np.uint32]
) -> bool:  # pragma: no cover - compiled
    """Add steps up, which may be damaged.

    Parameters
        block, postings, positions: by row, the differences to the row before; 0 in the first of a term
        rows: as many; filled
    Returns
        whether the first row is that of a term, the others have later blocks, and all numbers fit
    """
    for row in range(len(rows)):
        if block[row] == 0:
            if postings[row] or positions[row]:
                return False
            continue
        if row == 0:
            return False
        one = np.int64(rows[row - 1, 0]) + np.int64(block[row])
        two = np.int64(rows[row - 1, 1]) + np.int64(postings[row])
        three = np.int64(rows[row - 1, 2]) + np.int64(positions[row])
        if max(one, two, three) > _MOST:
            return False
        rows[row, 0], rows[row, 1], rows[row, 2] = one, two, three
    return True


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    packed = np.zeros(1, np.uint8)
    packed.flags.writeable = False
    rows = np.zeros((1, COLUMNS), np.uint32)
    unpack_rows(packed, rows)
    pack_rows(rows, np.zeros(MAX_ROW, np.uint8))
    steps = np.zeros(1, np.uint32)
    steps.flags.writeable = False
    add_steps(steps, steps, steps, rows)
