"""Rows to strings: the pieces of one column one behind the other, so that Python splits once instead of slicing."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.accel.simd import LANES, copy_lanes
from periplus.parse.kernels.html_links import select_borrowed
from periplus.parse.kernels.html_state import (
    LINK_ROW,
    ROW_BEGIN,
    ROW_COUNT,
    ROW_KIND,
    ROW_NUMBER,
    ROW_TABLE,
    ROW_WIDTH,
    VALUE_1,
    VALUE_2,
    make_state,
)
from periplus.parse.kernels.html_tables import HASH, NEWLINE, SPACE

__all__ = ["SPEC_WIDTH", "gather_page", "gather_rows", "gather_values", "list_kinds"]

SPEC_WIDTH = 6
"""Columns of what `gather_page` is to gather: kind, first column, columns, most rows, most bytes, highest number."""

_TEXT = np.int64(ROW_BEGIN)
_UNLIMITED = np.int64(1 << 40)


@njit(cache=True, nogil=True)
def _is_break(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == SPACE or byte == NEWLINE


@njit(cache=True, nogil=True)
def gather_values(
    state: Any, kind: int, column: int, columns: int, max_rows: int, max_length: int, source: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write columns of the rows of one kind one behind the other, a zero byte between two pieces.

    Texts are written in one line. No text contains a zero byte: the scan replaces each by U+FFFD.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    kind
        Kind of the rows.
    column, columns
        First column, and how many values of each row: VALUE_1 and up to 3, or ROW_BEGIN and 1.
    max_rows, max_length
        Most rows that are written, and most bytes of each piece, which is cut where a character ends.
    source
        Output of the scan, which the columns are offsets into.
    out
        Receives the pieces; must have 32 bytes more than they take.

    Returns
    -------
    How many pieces there are, and their length; -1 and the length they would take if `out` is too short.
    """
    room = len(out) - LANES
    count, used = _gather_values(
        borrow(state), kind, column, columns, max_rows * columns, max_length, borrow(source), borrow(out), room
    )
    return (count if used <= room else np.int64(-1)), used


@njit(cache=True, nogil=True)
def _gather_values(
    state: Any, kind: int, column: int, columns: int, max_pieces: int, max_length: int, source: Any, out: Any, room: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    count, used = np.int64(0), np.int64(0)
    for row in range(state[ROW_COUNT]):
        if state[ROW_TABLE + ROW_WIDTH * row + ROW_KIND] != kind:
            continue
        if count >= max_pieces:
            break
        used = _gather_row(state, row, column, columns, max_length, source, out, room, count, used)
        count += columns
    return count, used


@njit(cache=True, nogil=True)
def _gather_row(
    state: Any,
    row: int,
    column: int,
    columns: int,
    max_length: int,
    source: Any,
    out: Any,
    room: int,
    count: int,
    used: int,
) -> int:  # pragma: no cover - compiled
    """Write columns of one row behind `count` pieces of `used` bytes; return the length of all of them."""
    entry = ROW_TABLE + ROW_WIDTH * row
    for number in range(columns):
        begin, end = state[entry + column + 2 * number], state[entry + column + 2 * number + 1]
        if column == _TEXT:
            begin, end = _trim_breaks(source, begin, end)
        end = max(begin, end)  # NEXT_ROW takes the place of the third value in some rows
        if end - begin > max_length:
            end = begin + max_length
            while end > begin and source[end] >= 128 and source[end] < 192:
                end -= 1
        first = used + 1 if count + number > 0 else used
        if first + end - begin <= room:
            if count + number > 0:
                out[used] = 0
            _write_piece(source, begin, end, out, first, column == _TEXT)
        used = first + end - begin
    return used


@njit(cache=True, nogil=True)
def gather_rows(
    state: Any, rows: Any, column: int, columns: int, max_length: int, source: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write columns of the given rows one behind the other; everything else is as in `gather_values`.

    Parameters
    ----------
    state, column, columns, max_length, source, out
        As in `gather_values`.
    rows
        Numbers of the rows.

    Returns
    -------
    How many pieces there are, and their length; -1 and the length they would take if `out` is too short.
    """
    room = len(out) - LANES
    numbers, pieces, used = borrow(state), np.int64(0), np.int64(0)
    for row in rows:
        used = _gather_row(numbers, row, column, columns, max_length, borrow(source), borrow(out), room, pieces, used)
        pieces += columns
    return (pieces if used <= room else np.int64(-1)), used


@njit(cache=True, nogil=True)
def gather_page(
    state: Any, spec: Any, max_links: int, max_text: int, source: Any, slots: Any, chosen: Any, out: Any, counts: Any
) -> int:  # pragma: no cover - compiled
    """Write all that is read of a page one behind the other: the rows of some kinds, then those of its links.

    Parameters
    ----------
    state, source, out
        As in `gather_values`.
    spec
        SPEC_WIDTH numbers for each kind of rows; only rows are written whose number is not higher than the last.
    max_links, slots, chosen
        As in `select_links`. The targets of the selected links are written, which lose their fragments, in the state
        too; then their texts; then the other two values of those without a text.
    max_text
        Most bytes of the text of a link.
    counts
        Receives the number of pieces of each kind, then the number of selected links, then the bits that any of them
        has in its number, those that any link has, and how many of the selected have no text.

    Returns
    -------
    The length of all pieces; `out` is too short if it is more than its length less 32.
    """
    numbers, text, pieces, room = borrow(state), borrow(source), borrow(out), len(out) - LANES
    total, used = np.int64(0), np.int64(0)
    kinds = len(spec) // SPEC_WIDTH
    for kind in range(kinds):
        entry = SPEC_WIDTH * kind
        column, columns = spec[entry + 1], spec[entry + 2]
        before, rows = total, 0
        for row in range(numbers[ROW_COUNT]):
            at = ROW_TABLE + ROW_WIDTH * row
            if numbers[at + ROW_KIND] != spec[entry]:
                continue
            if rows >= spec[entry + 3]:
                break
            rows += 1
            if numbers[at + ROW_NUMBER] <= spec[entry + 5]:
                used = _gather_row(numbers, row, column, columns, spec[entry + 4], text, pieces, room, total, used)
                total += columns
        counts[kind] = total - before
    every = np.int64(0)
    for row in range(numbers[ROW_COUNT]):
        if numbers[ROW_TABLE + ROW_WIDTH * row + ROW_KIND] == LINK_ROW:
            every |= numbers[ROW_TABLE + ROW_WIDTH * row + ROW_NUMBER]
    links = select_borrowed(numbers, max_links, text, borrow(slots), len(slots) - 1, borrow(chosen))
    bits = np.int64(0)
    for link in range(links):
        entry = ROW_TABLE + ROW_WIDTH * chosen[link]
        bits |= numbers[entry + ROW_NUMBER]
        numbers[entry + VALUE_1 + 1] = _find_fragment(text, numbers[entry + VALUE_1], numbers[entry + VALUE_1 + 1])
        used = _gather_row(numbers, chosen[link], np.int64(VALUE_1), 1, _UNLIMITED, text, pieces, room, total, used)
        total += 1
    bare, is_bare = np.int64(0), borrow(slots)  # which have done their part
    for link in range(links):
        before = used
        used = _gather_row(numbers, chosen[link], _TEXT, 1, max_text, text, pieces, room, total, used)
        total += 1
        is_bare[link] = used == before + 1  # a target precedes every text, and so does a zero byte
        bare += is_bare[link]
    for link in range(links if bare else 0):
        if is_bare[link]:
            used = _gather_row(numbers, chosen[link], np.int64(VALUE_2), 2, _UNLIMITED, text, pieces, room, total, used)
            total += 2
    counts[kinds], counts[kinds + 1], counts[kinds + 2], counts[kinds + 3] = links, bits, every, bare
    return used


@njit(cache=True, nogil=True)
def list_kinds(state: Any, rows: int, kinds: Any) -> None:  # pragma: no cover - compiled
    """Write the kind of each row.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    kinds
        Receives the kinds, as bytes.
    rows
        How many rows there are.
    """
    for row in range(rows):
        kinds[row] = np.uint8(state[ROW_TABLE + ROW_WIDTH * row + ROW_KIND])


@njit(cache=True, nogil=True)
def _find_fragment(source: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Return where a reference ends before its fragment."""
    for at in range(begin, end):
        if source[at] == HASH:
            return at
    return end


@njit(cache=True, nogil=True)
def _trim_breaks(source: Any, begin: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the range without white space at both ends."""
    while begin < end and _is_break(source[begin]):
        begin += 1
    while end > begin and _is_break(source[end - 1]):
        end -= 1
    return begin, end


@njit(cache=True, nogil=True)
def _write_piece(
    source: Any, begin: int, end: int, out: Any, used: int, line: bool
) -> None:  # pragma: no cover - compiled
    for at in range(begin, end, LANES):
        copy_lanes(source, at, out, used + at - begin)
    if line:
        for at in range(used, used + end - begin):
            if out[at] == NEWLINE:
                out[at] = SPACE


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    zeros, text = np.zeros(SPEC_WIDTH, np.int64), np.zeros(64, np.uint8)
    state, out = make_state(8, 8, 64, 128), np.zeros(64, np.uint8)
    gather_values(state, 0, 4, 1, 1, 1, text, out)
    gather_rows(state, zeros[:0], 4, 1, 1, text, out)
    gather_page(state, zeros, 1, 1, text, zeros[:2], zeros[:2], out, zeros.copy())
    list_kinds(state, 8, out)
