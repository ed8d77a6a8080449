"""Numbers of positions, and the positions of a posting: where in which field a term stands."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.index.kernels.inversion import FIELD_SHIFT, FIELDS, SHORT
from periplus.index.kernels.postings_format import FAT
from periplus.index.kernels.term_dictionary import get_number

__all__ = ["get_place", "read_positions", "skip_places", "skip_positions"]


@njit(cache=True, nogil=True, forceinline=True)
def get_place(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a number of a position; give it and the place after it."""
    value = np.int64(data[at])
    if value < SHORT:
        return value, at + 1
    if value < 255:
        return SHORT + ((value - SHORT) << 8) + np.int64(data[at + 1]), at + 2
    value, at = get_number(data, at + 1)
    return value + SHORT, at


@njit(cache=True, nogil=True, forceinline=True)
def skip_places(data: Any, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Pass over some numbers of positions."""
    for _ in range(count):
        byte = data[at]
        if byte < SHORT:
            at += 1
        elif byte < 255:
            at += 2
        else:
            _, at = get_number(data, at + 1)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def skip_positions(data: Any, at: int, code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Pass over one posting's positions."""
    if code < FAT:
        return skip_places(data, at, code + 1)
    while mask:
        mask &= mask - 1
        count, at = get_place(data, at)
        at = skip_places(data, at, count)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def read_positions(data: Any, at: int, code: int, mask: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read one posting's positions, each with its field, into `out`; give how many. Those beyond its room are left."""
    used = 0
    for field in range(FIELDS):
        if not (mask >> field) & 1:
            continue
        count = np.int64(code + 1)
        if code == FAT:
            count, at = get_place(data, at)
        place = np.int64(0)
        for _ in range(count):
            step, at = get_place(data, at)
            place += step
            if used < len(out):
                out[used] = (field << FIELD_SHIFT) | place
                used += 1
    return used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data = np.zeros(1, np.uint8)
    data.flags.writeable = False
    read_positions(data, 0, 0, 32, np.zeros(1, np.int64))
