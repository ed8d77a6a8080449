"""From markup to the parts of a page's text that are its main content, in one call."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.html.kernels.main_blocks import choose_main_blocks
from periplus.parse.html.kernels.tag_tables import minimal_tables
from periplus.parse.html.kernels.text_blocks import HEADING, count_marks, scan_rows
from periplus.parse.kernels.html_state import MAX_TRACES, TEXT_END, TRACE_COUNT, TRACE_TABLE, make_state

__all__ = ["find_main_spans"]

_SPACE = np.uint8(32)
_MAX_BLOCKS = 200_000


@njit(cache=True, nogil=True)
def _trace_before(state: Any, first: int, count: int, offset: int) -> int:
    """Return how many traces have a smaller offset in the markup."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if state[first + 2 * middle] < offset:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _text_end(state: Any, first: int, count: int, traces: int) -> int:
    """Return how much text there is after so many traces."""
    if traces == 0:
        return 0
    return state[first + 2 * traces - 1] if traces <= count else state[TEXT_END]


@njit(cache=True, nogil=True)
def _move(text: Any, position: int, characters: int, target: int) -> Any:
    """Return the number of characters before `target`, where there are so many before `position`."""
    while position < target:
        characters += (text[position] & 0xC0) != 0x80
        position += 1
    while position > target:
        position -= 1
        characters -= (text[position] & 0xC0) != 0x80
    return characters


@njit(cache=True, nogil=True)
def find_main_spans(data: Any, tables: Any, state: Any, text: Any, length: int, most: int) -> Any:
    """Find the main content of a page whose text is in the order of its markup.

    Parameters: data (uint8 array), the page in UTF-8; tables (int64 array), addresses of the `TagTables` of the scan
    for blocks; state, that of the scan for text, laid out as in `html_state`; text (uint8 array), the text that it
    left; length, how many characters of it are kept; most, blocks of which begin and end are returned.
    Returns: begins and ends of the parts in characters, neighbours joined, and behind them those of the first blocks
    that are not headings (int64 array), and how many numbers the parts are.
    """
    rows, parent = scan_rows(data, tables, min(_MAX_BLOCKS, count_marks(data) + 1))
    columns = np.empty((5, len(rows)), np.int32)
    for number in range(len(rows)):
        for column in range(5):
            columns[column, number] = rows[number, 2 + column]
    chosen = choose_main_blocks(columns[0], columns[1], columns[2], columns[3], columns[4], parent)
    size = len(text)
    top = np.uint8(0)
    for byte in text:
        top |= byte
    is_ascii = top < 128
    first, count = state[TRACE_TABLE], state[TRACE_COUNT]
    is_cut = count == state[MAX_TRACES] and count > 0
    spans, pieces = np.empty(4 * len(rows), np.int64), np.empty(2 * len(rows), np.int64)
    used, shown = 0, 0
    begin_at, begin_characters, end_at, end_characters = 0, 0, 0, 0
    for number in range(len(rows)):
        if not chosen[number]:
            continue
        begin = _text_end(state, first, count, _trace_before(state, first, count, rows[number, 0]))
        end = _text_end(state, first, count, _trace_before(state, first, count, rows[number, 1]) + 1)
        if begin >= end or (is_cut and rows[number, 0] > state[first + 2 * count - 2]):
            continue
        # The first byte of a block is the break before it.
        if text[min(begin, size - 1)] <= _SPACE:
            begin += 1
        if not is_ascii:
            begin_characters, begin_at = _move(text, begin_at, begin_characters, begin), begin
            end_characters, end_at = _move(text, end_at, end_characters, end), end
            begin, end = begin_characters, end_characters
        end = min(end, length)
        if begin >= end:
            continue
        if columns[2, number] != HEADING:
            pieces[shown], pieces[shown + 1] = begin, end
            shown += 2
        if used and begin <= spans[used - 1] + 1:
            spans[used - 1] = max(spans[used - 1], end)
        else:
            spans[used], spans[used + 1] = begin, end
            used += 2
    shown = min(shown, 2 * most)
    for number in range(shown):
        spans[used + number] = pieces[number]
    return spans[: used + shown], used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, state = np.frombuffer(b"<p>a</p>", np.uint8), make_state(8, 8, 64, 128, 8)
    tables = minimal_tables()  # The arrays live as long as this.
    find_main_spans(data, tables.addresses, state, np.zeros(1, np.uint8), 1, 1)
