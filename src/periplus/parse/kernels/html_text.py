"""Text between tags: references decoded, white space collapsed, control characters dropped."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, before_markup, copy_lanes
from periplus.parse.kernels.html_entities import read_reference
from periplus.parse.kernels.html_tables import AMP, BLANK, CLASSES, DROP, LESS, PLAIN
from periplus.parse.kernels.html_tokenizer import find_byte
from periplus.parse.kernels.html_tree import FOSTERED, PENDING, USED

MARKUP, DECODE, ZEROS = np.int64(1), np.int64(2), np.int64(4)
"""How text is read: up to markup, references decoded, a zero shown as U+FFFD."""
_OUTSIDE = np.int64(0)
_LESS = np.uint8(60)

__all__ = ["begins_markup", "is_blank_run", "skip_text", "write_text"]


@njit(cache=True, nogil=True, forceinline=True)
def begins_markup(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Tell whether the '<' at `at` is more than a character."""
    if at + 1 >= end:
        return False
    byte = data[at + 1]
    if byte == 47:
        return at + 2 < end
    return ((byte | 32) >= 97 and (byte | 32) <= 122) or byte == 33 or byte == 63


@njit(cache=True, nogil=True)
def _odd(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Look at a character beyond ASCII: give its length and whether it is text (0), white space (1) or nothing (2)."""
    first = data[at]
    if first < 0xE0:
        return 2, int(at + 1 < end and first == 0xC2 and (data[at + 1] == 0x85 or data[at + 1] == 0xA0))
    if at + 2 >= end:
        return 1, 0
    second, third = data[at + 1], data[at + 2]
    kind = 0
    if first == 0xE2:
        if second == 0x80:
            kind = int(third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF)
        elif second == 0x81:
            kind = int(third == 0x9F)
    elif first == 0xE3:
        kind = int(second == 0x80 and third == 0x80)
    elif first == 0xE1:
        kind = int(second == 0x9A and third == 0x80)
    elif first == 0xEF:
        kind = 2 * int(second == 0xBB and third == 0xBF)
    return 3, kind


@njit(cache=True, nogil=True)
def write_text(
    data: Any,
    at: int,
    end: int,
    mode: int,
    book: Any,
    now: Any,
    out: Any,
) -> int:  # pragma: no cover - compiled
    """Copy text, collapsed, up to the end, or to where markup begins if `mode` has MARKUP; give the place after it."""
    used, pending = now[USED], now[PENDING]
    fostered = now[FOSTERED] != 0
    while at < end:
        kind = book[CLASSES + data[at]]
        if kind == PLAIN:
            if pending:
                if used > 0 or fostered:
                    out[used] = 32 if pending == 1 else 10
                    used += 1
                pending = 0
            if data[at] < 128 and at + LANES < end:
                # Words with one space between them need no look at each letter.
                step = before_markup(data, at)
                copy_lanes(data, at, out, used)
                while step == LANES and at + LANES + LANES < end:
                    at += LANES
                    used += LANES
                    step = before_markup(data, at)
                    copy_lanes(data, at, out, used)
                at += step
                used += step
                if data[at - 1] == 32:
                    used -= 1
                    pending = 1
                continue
            while at < end and book[CLASSES + data[at]] == PLAIN:
                out[used] = data[at]
                used += 1
                at += 1
            continue
        if kind == BLANK:
            if pending == 0:
                pending = 1
            at += 1
            continue
        if kind == DROP and (data[at] != 0 or not mode & ZEROS):
            at += 1
            continue
        if kind == LESS and mode & MARKUP and begins_markup(data, at, end):
            break
        size = 1
        spot = used + 1  # a character is looked at before it counts; the place before it is for white space
        if kind == AMP and mode & DECODE:
            at, size = read_reference(data, at, end, _OUTSIDE, book, out, spot)
            size -= spot
        elif kind in (AMP, LESS):
            out[spot] = data[at]
            at += 1
        elif kind == DROP:
            out[spot], out[spot + 1], out[spot + 2] = 0xEF, 0xBF, 0xBD
            size = 3
            at += 1
        else:
            size, _ = _odd(data, at, end)
            for i in range(size):
                out[spot + i] = data[at + i]
            at += size
        # What is in `out` now is one character, or the two that some names stand for.
        kind = book[CLASSES + out[spot]]
        if kind == DROP:
            continue
        blank = kind == BLANK
        if kind != PLAIN and not blank and out[spot] >= 0x80:
            _, odd = _odd(out, spot, spot + size)
            if odd == 2:
                continue
            blank = odd == 1
        if blank:
            if pending == 0:
                pending = 1
            continue
        if pending:
            if used > 0 or fostered:
                out[used] = 32 if pending == 1 else 10
                used += 1
            pending = 0
        for i in range(size):
            out[used] = out[spot + i]
            used += 1
    now[USED], now[PENDING] = used, pending
    return at


@njit(cache=True, nogil=True)
def skip_text(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Give the place of the next markup."""
    at = find_byte(data, at, end, _LESS)
    while at < end and not begins_markup(data, at, end):
        at = find_byte(data, at + 1, end, _LESS)
    return at


@njit(cache=True, nogil=True)
def is_blank_run(data: Any, at: int, end: int, book: Any) -> bool:  # pragma: no cover - compiled
    """Tell whether there is only white space before the next markup."""
    while at < end and (book[CLASSES + data[at]] == BLANK or data[at] == 0):
        at += 1
    return at >= end or (data[at] == 60 and begins_markup(data, at, end))
