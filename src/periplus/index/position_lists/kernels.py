"""Writes positions: a number in one byte, or the positions that an escaped posting has in one field.

The latter are one byte for a single position at the beginning of its field. Otherwise a byte has how many they are and
the bits that each takes; the first follows as it is, of the others the difference to the one before, less one. Read by
`index.kernels.positions`, drawn in docs/formats/segment.md.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import write_varint
from periplus.index.packed_integers.kernels import put_bits

__all__ = [
    "COUNT_SHIFT",
    "FIRST_COUNT",
    "MAX_POSITION_BITS",
    "ONE_BYTE_LIMIT",
    "SINGLE_BITS",
    "SINGLE_LIMIT",
    "WIDTH_MASK",
    "write_list",
    "write_position_delta",
]

ONE_BYTE_LIMIT = 192
"""Position deltas below this take one byte; two bytes reach to 16,319, which few documents exceed."""
SINGLE_BITS = 6
SINGLE_LIMIT = 1 << SINGLE_BITS
"""A single position below this is one byte."""
COUNT_SHIFT, FIRST_COUNT = 4, SINGLE_LIMIT >> 4
"""Otherwise the upper half of the first byte is the number of positions plus FIRST_COUNT, if they are few; of more, it
is FIRST_COUNT, and the number follows."""
_MAX_COUNT = 15 - FIRST_COUNT
WIDTH_MASK = 15
"""The lower half is the bits of each; if all are set, that number follows."""
MAX_POSITION_BITS = 32
"""More bits than any position has."""


@njit(cache=True, nogil=True, forceinline=True)
def write_position_delta(out: npt.NDArray[np.uint8], at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a position delta: one byte below ONE_BYTE_LIMIT, then two up to 63 * 256 more, else 255 and a varint."""
    if value < ONE_BYTE_LIMIT:
        out[at] = np.uint8(value)
        return at + 1
    value -= ONE_BYTE_LIMIT
    if value < (255 - ONE_BYTE_LIMIT) * 256:
        out[at] = np.uint8(ONE_BYTE_LIMIT + (value >> 8))
        out[at + 1] = np.uint8(value & 255)
        return at + 2
    out[at] = np.uint8(255)
    return write_varint(out, at + 1, value)


@njit(cache=True, nogil=True)
def write_list(
    positions: npt.NDArray[np.uint32], begin: Any, end: Any, offset_bits: Any, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write the positions that a posting has in one field.

    Parameters
        positions, begin, end: ascending ones, of which those from `begin` up to, not including, `end` are written
        offset_bits: the bits of a position that are its offset in the field
        out, at: where to write
    Returns
        the offset after the last byte
    """
    count, before, used = np.int64(end - begin), np.int64(-1), np.int64(0)
    for i in range(begin, end):
        offset = np.int64(positions[i] & offset_bits)
        used |= offset - before - 1
        before = offset
    if count == 1 and used < SINGLE_LIMIT:
        out[at] = np.uint8(used)
        return at + 1
    width = np.int64(1)
    while used >> width:
        width += 1
    number = FIRST_COUNT + (count if count <= _MAX_COUNT else 0)
    out[at] = np.uint8(number << COUNT_SHIFT | (width if width < WIDTH_MASK else WIDTH_MASK))
    at += 1
    if count > _MAX_COUNT:
        at = write_position_delta(out, at, count)
    if width >= WIDTH_MASK:
        at = write_position_delta(out, at, width)
    word, filled, before = np.uint64(0), np.int64(0), np.int64(-1)
    for i in range(begin, end):
        offset = np.int64(positions[i] & offset_bits)
        word, filled, at = put_bits(word, filled, offset - before - 1, width, out, at)
        before = offset
    if filled:
        out[at] = np.uint8(word)
        at += 1
    return at


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    out = np.zeros(16, np.uint8)
    write_list(np.zeros(1, np.uint32), np.uint64(0), np.uint64(1), np.uint32(255), out, 0)
