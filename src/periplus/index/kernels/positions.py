"""Reads the positions of a posting: where in which field a term occurs."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit
from periplus.index.kernels.inversion import FIELD_SHIFT
from periplus.index.kernels.postings_format import BODY_ONLY, ESCAPED
from periplus.index.kernels.term_dictionary import read_bounded_varint
from periplus.index.position_lists.kernels import (
    COUNT_SHIFT,
    FIRST_COUNT,
    MAX_POSITION_BITS,
    ONE_BYTE_LIMIT,
    SINGLE_BITS,
    SINGLE_LIMIT,
    WIDTH_MASK,
)

__all__ = [
    "BYTES",
    "enter_list",
    "keep_followed",
    "leave_list",
    "read_position_delta",
    "read_positions",
    "read_step",
    "skip_position_deltas",
    "skip_positions",
]

BYTES = -1
"""The width of positions that are written in bytes: those of escaped postings up to format 3."""
_LIST_BYTES = np.array(
    [
        1
        if head < SINGLE_LIMIT
        else 0
        if head >> COUNT_SHIFT == FIRST_COUNT or head & WIDTH_MASK == WIDTH_MASK
        else 1 + (((head >> COUNT_SHIFT) - FIRST_COUNT) * (head & WIDTH_MASK) + 7) // 8
        for head in range(256)
    ],
    np.uint8,
)
"""By the first byte of packed positions, how many bytes they take; 0 if it does not say."""
_IN_BODY = np.int64(BODY_ONLY.bit_length() - 1) << np.int64(FIELD_SHIFT)
"""The first position of the body."""
_OFFSET = np.int64((1 << FIELD_SHIFT) - 1)
"""The bits of a position that are its offset in its field."""


@njit(cache=True, nogil=True)
def _read_long_delta(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a position delta of more than two bytes; if it is damaged, return 0 and the end of `data`."""
    value, after = read_bounded_varint(data, at + 1, min(len(data), at + 7))
    return (value + ONE_BYTE_LIMIT, after) if after > 0 else (np.int64(0), np.int64(len(data)))


@njit(cache=True, nogil=True, forceinline=True)
def read_position_delta(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a position delta, a count or a size at `at` of a uint8 array; return it and the offset after it.

    Beyond the end of the array, where only damaged postings lead, there are zeros.
    """
    if np.uint64(at) >= np.uint64(len(data)):
        return np.int64(0), np.int64(len(data))
    value = np.int64(data[at])
    if value < ONE_BYTE_LIMIT:
        return value, at + 1
    if value < 255 and at + 1 < len(data):
        return ONE_BYTE_LIMIT + ((value - ONE_BYTE_LIMIT) << 8) + np.int64(data[at + 1]), at + 2
    return _read_long_delta(data, at)


@njit(cache=True, nogil=True, forceinline=True)
def skip_position_deltas(data: Any, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Return the offset after `count` position deltas."""
    for _ in range(count):
        if np.uint64(at) >= np.uint64(len(data)):
            return np.int64(len(data))
        byte = data[at]
        if byte < ONE_BYTE_LIMIT:
            at += 1
        elif byte < 255:
            at += 2
        else:
            _, at = _read_long_delta(data, at)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def enter_list(data: Any, is_packed: int, at: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read what the positions of an escaped posting in one field begin with.

    Parameters
        data, is_packed: `positions` and `is_packed` of a segment, apart, as references to all of its arrays
            would be counted otherwise
        at: where they begin
    Returns
        how many they are, the width of each (BYTES where they are written in bytes), and where the first begins
    """
    if is_packed:
        return _enter_packed(data, at)
    count, at = read_position_delta(data, at)
    return min(count, np.int64(len(data)) - at), np.int64(BYTES), at


@njit(cache=True, nogil=True, forceinline=True)
def _enter_packed(data: Any, at: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read what packed positions begin with; returns what `enter_list` does."""
    size = np.int64(len(data))
    if np.uint64(at) >= np.uint64(size):
        return np.int64(0), np.int64(0), size
    head = np.int64(data[at])
    if head < SINGLE_LIMIT:  # The only position is the byte itself.
        return np.int64(1), np.int64(SINGLE_BITS), np.int64(at)
    count, width, at = (head >> COUNT_SHIFT) - FIRST_COUNT, head & WIDTH_MASK, at + 1
    is_many = count == 0
    if is_many:
        count, at = read_position_delta(data, at)
    if width == WIDTH_MASK:
        width, at = read_position_delta(data, at)
        width = min(width, np.int64(MAX_POSITION_BITS))
    if is_many:  # Never more than the array has bits for.
        count = min(count, (size - at) * 8 // (width if width else 1))
    return count, width, np.int64(at)


@njit(cache=True, nogil=True, forceinline=True)
def leave_list(data: Any, at: int, count: int, width: int) -> int:  # pragma: no cover - compiled
    """Return the offset after packed positions; parameters as `enter_list` returned them."""
    return min(at + ((count * width + 7) >> 3), np.int64(len(data)))


@njit(cache=True, nogil=True, forceinline=True)
def read_packed(data: Any, at: int, n: int, width: int) -> int:  # pragma: no cover - compiled
    """Return number `n` of those packed from `at` on; beyond the end of the array there are zeros."""
    bit = n * width
    place, word = at + (bit >> 3), np.uint64(0)
    if place + 8 <= len(data):
        word = load_uint64(data, place)
    else:
        for byte in range(place, len(data)):
            word |= np.uint64(data[byte]) << np.uint64(8 * (byte - place))
    return np.int64((word >> np.uint64(bit & 7)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@njit(cache=True, nogil=True, forceinline=True)
def read_step(data: Any, at: int, n: int, width: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read the step to a position from the one before.

    Parameters
        data: `positions` of a segment
        at, width: where it begins if positions are written in bytes, otherwise where the first begins
        n: its number among the positions of the posting in one field
    Returns
        the step, which of the first is its offset in the field; and `at` for the next
    """
    if width == BYTES:
        return read_position_delta(data, at)
    return read_packed(data, at, n, width) + (n > 0), at


@njit(cache=True, nogil=True)
def _skip_any_lists(data: Any, is_packed: int, at: int, mask: int) -> int:  # pragma: no cover - compiled
    """Return the offset after the positions of an escaped posting in some fields, however they are written."""
    while mask:
        mask &= mask - 1
        count, width, at = enter_list(data, is_packed, at)
        if width == BYTES:
            at = skip_position_deltas(data, at, count)
        else:
            at = leave_list(data, at, count, width)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def skip_positions(data: Any, is_packed: int, at: int, code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Return the offset after the positions of a posting.

    Parameters
        data, is_packed, at: as for `enter_list`
        code, mask: of the posting
    """
    if code < ESCAPED:
        return skip_position_deltas(data, at, code + 1)
    # Of nearly all packed positions, the first byte says how many bytes they take.
    while is_packed and mask and np.uint64(at) < np.uint64(len(data)):
        size = np.int64(_LIST_BYTES[data[at]])
        if size == 0:
            break
        at += size
        mask &= mask - 1
    # The only call that is not inlined: with another one, phrases of rare words took a fifth longer.
    return _skip_any_lists(data, is_packed, at, mask) if mask else min(at, np.int64(len(data)))


@njit(cache=True, nogil=True, forceinline=True)
def read_positions(lists: Any, at: int, code: int, mask: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read the positions of a posting.

    Parameters
        lists, at: the segment, of which `positions` and `is_packed` are read, and where the positions begin
        code, mask: of the posting
        out: int64 array for positions, each with its field in the upper bits; those beyond its length are left out
    Returns
        how many were read
    """
    used, data, is_packed = 0, lists.positions, lists.is_packed
    if code < ESCAPED:  # The usual posting: one to three times in the body.
        offset = np.int64(0)
        for _ in range(code + 1):
            delta, at = read_position_delta(data, at)
            offset += delta
            if used < len(out):
                out[used] = _IN_BODY | (offset & _OFFSET)
                used += 1
        return used
    while mask:
        field = np.int64(lowest_bit(np.uint64(mask))) << FIELD_SHIFT
        mask &= mask - 1
        count, width, at = enter_list(data, is_packed, at)
        offset = np.int64(0)
        for n in range(count if width == BYTES else min(count, len(out) - used)):
            delta, at = read_step(data, at, n, width)
            offset += delta
            if used < len(out):
                out[used] = field | (offset & _OFFSET)
                used += 1
        if width != BYTES:
            at = leave_list(data, at, count, width)
    return used


@njit(cache=True, nogil=True, forceinline=True)
def keep_followed(
    starts: Any, count: int, positions: Any, size: int, offset: int
) -> int:  # pragma: no cover - compiled
    """Keep the positions that have another exactly so far behind them: those of a phrase's next word.

    Parameters
        starts, count: ascending positions, and how many there are; those kept are moved to the front
        positions, size: ascending positions of the other word, and how many there are
        offset: how far behind
    Returns
        how many are kept
    """
    selected, at = 0, 0
    for n in range(count):
        wanted = starts[n] + offset
        while at < size and positions[at] < wanted:
            at += 1
        if at < size and positions[at] == wanted:
            starts[selected] = starts[n]
            selected += 1
    return selected
