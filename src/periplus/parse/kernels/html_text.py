"""Text between tags: references decoded, white space collapsed, control characters dropped."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, copy_lanes, scan_to_markup
from periplus.parse.kernels.html_entities import decode_reference
from periplus.parse.kernels.html_state import IS_FOSTERED, NO_BREAK, PENDING_BREAK, SPACE_BREAK, TEXT_END
from periplus.parse.kernels.html_tables import (
    AMP,
    BLANK,
    BYTE_CLASSES,
    DROP,
    EXCLAMATION,
    LESS,
    LESS_THAN,
    NEWLINE,
    PLAIN,
    QUESTION,
    SLASH,
    SPACE,
)
from periplus.parse.kernels.html_tokenizer import find_byte

MARKUP, DECODE, ZEROS = np.int64(1), np.int64(2), np.int64(4)
"""Modes of `write_text`: stop at markup, decode references, write U+FFFD for zero bytes."""
_IN_TEXT = np.int64(0)
_LESS = np.uint8(60)

__all__ = ["begins_markup", "is_blank_run", "skip_text", "write_text"]


@njit(cache=True, nogil=True, forceinline=True)
def begins_markup(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether the '<' at `at` begins markup.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    False if the '<' is a character of the text.
    """
    if at + 1 >= end:
        return False
    byte = data[at + 1]
    if byte == SLASH:
        return at + 2 < end
    return ((byte | 32) >= 97 and (byte | 32) <= 122) or byte == EXCLAMATION or byte == QUESTION


@njit(cache=True, nogil=True)
def _classify_wide(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the length of a character beyond ASCII, and whether it is text (0), white space (1) or dropped (2)."""
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
    tables: Any,
    state: Any,
    out: Any,
) -> int:  # pragma: no cover - compiled
    """Append text to the output, with white space collapsed.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    mode
        MARKUP to stop at markup, DECODE to decode references, ZEROS to write U+FFFD for zero bytes.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.

    Returns
    -------
    The offset behind the text in `data`.
    """
    used, pending = state[TEXT_END], state[PENDING_BREAK]
    fostered = state[IS_FOSTERED] != 0
    while at < end:
        kind = tables[BYTE_CLASSES + data[at]]
        if kind == PLAIN:
            if pending:
                if used > 0 or fostered:
                    out[used] = SPACE if pending == SPACE_BREAK else NEWLINE
                    used += 1
                pending = NO_BREAK
            if data[at] < 128 and at + LANES < end:
                # Words with one space between them are copied 32 bytes at a time.
                step = scan_to_markup(data, at)
                copy_lanes(data, at, out, used)
                while step == LANES and at + LANES + LANES < end:
                    at += LANES
                    used += LANES
                    step = scan_to_markup(data, at)
                    copy_lanes(data, at, out, used)
                at += step
                used += step
                if data[at - 1] == SPACE:
                    used -= 1
                    pending = SPACE_BREAK
                continue
            while at < end and tables[BYTE_CLASSES + data[at]] == PLAIN:
                out[used] = data[at]
                used += 1
                at += 1
            continue
        if kind == BLANK:
            if pending == NO_BREAK:
                pending = SPACE_BREAK
            at += 1
            continue
        if kind == DROP and (data[at] != 0 or not mode & ZEROS):
            at += 1
            continue
        if kind == LESS and mode & MARKUP and begins_markup(data, at, end):
            break
        size = 1
        spot = used + 1  # the character is examined before it counts; the byte before it is for white space
        if kind == AMP and mode & DECODE:
            at, size = decode_reference(data, at, end, _IN_TEXT, tables, out, spot)
            size -= spot
        elif kind in (AMP, LESS):
            out[spot] = data[at]
            at += 1
        elif kind == DROP:
            out[spot], out[spot + 1], out[spot + 2] = 0xEF, 0xBF, 0xBD
            size = 3
            at += 1
        else:
            size, _ = _classify_wide(data, at, end)
            for i in range(size):
                out[spot + i] = data[at + i]
            at += size
        # `out` now has one character at `spot`, or the two that some names stand for.
        kind = tables[BYTE_CLASSES + out[spot]]
        if kind == DROP:
            continue
        blank = kind == BLANK
        if kind != PLAIN and not blank and out[spot] >= 0x80:
            _, odd = _classify_wide(out, spot, spot + size)
            if odd == 2:
                continue
            blank = odd == 1
        if blank:
            if pending == NO_BREAK:
                pending = SPACE_BREAK
            continue
        if pending:
            if used > 0 or fostered:
                out[used] = SPACE if pending == SPACE_BREAK else NEWLINE
                used += 1
            pending = NO_BREAK
        for i in range(size):
            out[used] = out[spot + i]
            used += 1
    state[TEXT_END], state[PENDING_BREAK] = used, pending
    return at


@njit(cache=True, nogil=True)
def skip_text(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the offset of the next markup.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    Its offset, or `end`.
    """
    at = find_byte(data, at, end, _LESS)
    while at < end and not begins_markup(data, at, end):
        at = find_byte(data, at + 1, end, _LESS)
    return at


@njit(cache=True, nogil=True)
def is_blank_run(data: Any, at: int, end: int, tables: Any) -> bool:  # pragma: no cover - compiled
    """Return whether there is only white space before the next markup.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.

    Returns
    -------
    True for a run of white space, and for no text at all.
    """
    while at < end and (tables[BYTE_CLASSES + data[at]] == BLANK or data[at] == 0):
        at += 1
    return at >= end or (data[at] == LESS_THAN and begins_markup(data, at, end))
