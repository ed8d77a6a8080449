"""Reads the positions of a posting: where in which field a term occurs."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit
from periplus.index.kernels.inversion import FIELD_SHIFT, ONE_BYTE_LIMIT
from periplus.index.kernels.postings_format import BODY_ONLY, ESCAPED
from periplus.index.kernels.term_dictionary import read_varint

__all__ = ["keep_followed", "read_position_delta", "read_positions", "skip_position_deltas", "skip_positions"]


_IN_BODY = np.int64(BODY_ONLY.bit_length() - 1) << np.int64(FIELD_SHIFT)
"""The first position of the body."""


@njit(cache=True, nogil=True, forceinline=True)
def read_position_delta(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a position delta, a count or a size at `at` of a uint8 array; return it and the offset after it."""
    value = np.int64(data[at])
    if value < ONE_BYTE_LIMIT:
        return value, at + 1
    if value < 255:
        return ONE_BYTE_LIMIT + ((value - ONE_BYTE_LIMIT) << 8) + np.int64(data[at + 1]), at + 2
    value, at = read_varint(data, at + 1)
    return value + ONE_BYTE_LIMIT, at


@njit(cache=True, nogil=True, forceinline=True)
def skip_position_deltas(data: Any, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Return the offset after `count` position deltas."""
    for _ in range(count):
        byte = data[at]
        if byte < ONE_BYTE_LIMIT:
            at += 1
        elif byte < 255:
            at += 2
        else:
            _, at = read_varint(data, at + 1)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def skip_positions(data: Any, at: int, code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Return the offset after the positions of a posting, given its code and its mask of fields."""
    if code < ESCAPED:
        return skip_position_deltas(data, at, code + 1)
    while mask:
        mask &= mask - 1
        count, at = read_position_delta(data, at)
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
        offset = _IN_BODY
        for _ in range(code + 1):
            delta, at = read_position_delta(data, at)
            offset += delta
            if used < len(out):
                out[used] = offset
                used += 1
        return used
    while mask:
        field = np.int64(lowest_bit(np.uint64(mask)))
        mask &= mask - 1
        count, at = read_position_delta(data, at)
        offset = np.int64(0)
        for _ in range(count):
            delta, at = read_position_delta(data, at)
            offset += delta
            if used < len(out):
                out[used] = (field << FIELD_SHIFT) | offset
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
