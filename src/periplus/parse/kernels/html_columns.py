"""Rows to strings: the pieces of one column one behind the other, so that Python splits once instead of slicing."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.accel.simd import LANES, copy_lanes
from periplus.parse.kernels.html_tree import COLUMNS, ROW_TABLE, ROWS

__all__ = ["gather"]

_TEXT = np.int64(2)


@njit(cache=True, nogil=True)
def _is_break(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == 32 or byte == 10


@njit(cache=True, nogil=True)
def gather(
    now: Any, kind: int, column: int, columns: int, most: int, longest: int, source: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write columns of the first `most` rows of a kind, a zero between two; give how many pieces, and the length.

    Text comes in one line. What is longer than `longest` bytes is cut, where a character ends. A zero is in no text, as
    the reader has made U+FFFD of each. Where `out` has not room for all, and 32 bytes more, that is -1 and the length
    it would take.
    """
    room = len(out) - LANES
    count, used = _gather(
        borrow(now), kind, column, columns, most * columns, longest, borrow(source), borrow(out), room
    )
    return (count if used <= room else np.int64(-1)), used


@njit(cache=True, nogil=True)
def _gather(
    now: Any, kind: int, column: int, columns: int, most: int, longest: int, source: Any, out: Any, room: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    count, used = np.int64(0), np.int64(0)
    for row in range(now[ROWS]):
        place = ROW_TABLE + COLUMNS * row
        if now[place] != kind:
            continue
        if count >= most:
            break
        for number in range(columns):
            begin, end = now[place + column + 2 * number], now[place + column + 2 * number + 1]
            if column == _TEXT:
                begin, end = _trim(source, begin, end)
            end = max(begin, end)  # the third value of some rows is none
            if end - begin > longest:
                end = begin + longest
                while end > begin and source[end] >= 128 and source[end] < 192:
                    end -= 1
            first = used + 1 if count > 0 else used
            if first + end - begin <= room:
                if count > 0:
                    out[used] = 0
                _write(source, begin, end, out, first, column == _TEXT)
            used = first + end - begin
            count += 1
    return count, used


@njit(cache=True, nogil=True)
def _trim(source: Any, begin: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Leave out breaks at both ends."""
    while begin < end and _is_break(source[begin]):
        begin += 1
    while end > begin and _is_break(source[end - 1]):
        end -= 1
    return begin, end


@njit(cache=True, nogil=True)
def _write(source: Any, begin: int, end: int, out: Any, used: int, line: bool) -> None:  # pragma: no cover - compiled
    for at in range(begin, end, LANES):
        copy_lanes(source, at, out, used + at - begin)
    if line:
        for at in range(used, used + end - begin):
            if out[at] == 10:
                out[at] = 32
