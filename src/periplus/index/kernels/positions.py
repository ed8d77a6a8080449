"""Reads the positions of a posting: where in which field a term occurs."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit
from periplus.index.kernels.inversion import FIELD_SHIFT, ONE_BYTE_LIMIT
from periplus.index.kernels.postings_format import BODY_ONLY, ESCAPED
from periplus.index.kernels.term_dictionary import read_bounded_varint

__all__ = [
    "keep_followed",
    "read_position_count",
    "read_position_delta",
    "read_positions",
    "skip_position_deltas",
    "skip_positions",
]


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
def read_position_count(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read how many positions follow, never more than the array has bytes for; parameters as for the other."""
    count, at = read_position_delta(data, at)
    return min(count, len(data) - at), at


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
def skip_positions(data: Any, at: int, code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Return the offset after the positions of a posting, given its code and its mask of fields."""
    if code < ESCAPED:
        return skip_position_deltas(data, at, code + 1)
    while mask:
        mask &= mask - 1
        count, at = read_position_count(data, at)
        at = skip_position_deltas(data, at, count)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def read_positions(data: Any, at: int, code: int, mask: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read the positions of a posting.

    Parameters
        data, at: positions of the segment, and where those of the posting begin
        code, mask: of the posting
        out: int64 array for positions, each with its field in the upper bits; those beyond its length are left out
    Returns
        how many were read
    """
    used = 0
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
        field = np.int64(lowest_bit(np.uint64(mask)))
        mask &= mask - 1
        count, at = read_position_count(data, at)
        offset = np.int64(0)
        for _ in range(count):
            delta, at = read_position_delta(data, at)
            offset += delta
            if used < len(out):
                out[used] = (field << FIELD_SHIFT) | (offset & _OFFSET)
                used += 1
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


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data = np.zeros(1, np.uint8)
    data.flags.writeable = False
    read_positions(data, 0, 0, 32, np.zeros(1, np.int64))
