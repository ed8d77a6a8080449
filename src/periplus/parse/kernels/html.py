"""The scan of a page in one pass: its visible text, and rows of offsets for its links, headings and metadata.

In: a page as UTF-8. Out: text (references decoded, white space collapsed, a newline between blocks) and values
(attribute values and the title, decoded) in one output array, and rows in the state, each with a kind and offsets into
the output. Linear in the length of the page, whatever is in it: nothing is read twice, and the stack of open elements
is bounded.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.kernels import html_tags
from periplus.parse.kernels.html_columns import gather_rows, gather_values, list_kinds
from periplus.parse.kernels.html_elements import GLOBAL_ATTRIBUTES, record_element
from periplus.parse.kernels.html_end_tags import close_tag
from periplus.parse.kernels.html_rows import append_title
from periplus.parse.kernels.html_start_tags import open_tag
from periplus.parse.kernels.html_state import (
    ANNOTATION,
    AREA_COUNT,
    DEPTH,
    FLAGS,
    FOREIGN,
    FOSTER_AREA,
    HAS_BODY,
    HAS_TITLE,
    HIDDEN_LEVEL,
    IS_FOSTERED,
    IS_FRAMESET,
    LINE_BREAK,
    MATH,
    MAX_TRACES,
    NO_BREAK,
    PENDING_BREAK,
    ROW_BEGIN,
    ROW_COUNT,
    ROW_END,
    ROW_TABLE,
    ROW_WIDTH,
    SCRIPT_ROW,
    SEGMENT,
    SEGMENT_BEGIN,
    SEGMENT_END,
    SEGMENT_NEXT,
    SEGMENT_TABLE,
    SEGMENT_WIDTH,
    SPACE_BREAK,
    STACK,
    STACK_WIDTH,
    SVG,
    TABLE_COUNT,
    TABLE_LEVELS,
    TEXT_END,
    TRACE_COUNT,
    TRACE_TABLE,
    begin_state,
    make_state,
)
from periplus.parse.kernels.html_tables import (
    EXCLAMATION,
    FLAGS_OF,
    GREATER_THAN,
    HYPHEN,
    LEFT_BRACKET,
    LESS_THAN,
    NEWLINE,
    RIGHT_BRACKET,
    SLASH,
    SLOT_HASHES,
    SLOT_NUMBERS,
    SLOTS,
    SPACE,
    build_tables,
)
from periplus.parse.kernels.html_tags import ELEMENT
from periplus.parse.kernels.html_text import DECODE, MARKUP, ZEROS, begins_markup, is_blank_run, skip_text, write_text
from periplus.parse.kernels.html_tokenizer import (
    find_bogus_end,
    find_comment_end,
    find_raw_end,
    find_script_end,
    read_attributes,
    read_name,
)
from periplus.parse.kernels.html_tree import current_area, end_link, enter_area, pop_to_depth

__all__ = ["find_element", "merge_segments", "scan_page"]

_RAW, _DECODE, _SCRIPT, _HIDE, _BLOCK = (
    html_tags.RAW,
    html_tags.DECODE,
    html_tags.SCRIPT,
    html_tags.HIDE,
    html_tags.BLOCK,
)
_HAS_ROWS, _ACTIVE_START, _SEPARATES = (
    html_tags.HAS_METADATA | html_tags.EMBEDS,
    html_tags.ACTIVE_START,
    html_tags.SEPARATES,
)
_NOTHING, _NO_ROW = np.int64(0), np.int64(-1)
_FOSTERS, _MAKES_BODY = html_tags.FOSTERS, html_tags.MAKES_BODY
_TITLE, _PLAINTEXT, _FRAMESET, _NOFRAMES = (ELEMENT[name] for name in ["title", "plaintext", "frameset", "noframes"])


@njit(cache=True, nogil=True)
def _choose_area(data: Any, at: int, end: int, tables: Any, state: Any) -> None:  # pragma: no cover - compiled
    """Enter the area of the text at `at`: directly in a table, that is the area before the table."""
    depth = state[DEPTH]
    if (
        depth > 0
        and state[STACK + STACK_WIDTH * (depth - 1) + FLAGS] & _FOSTERS
        and not is_blank_run(data, at, end, tables)
    ):
        state[IS_FOSTERED] = 1
        enter_area(state, state[STACK + STACK_WIDTH * (state[TABLE_LEVELS + state[TABLE_COUNT] - 1]) + FOSTER_AREA])
    else:
        enter_area(state, current_area(state))


@njit(cache=True, nogil=True, forceinline=True)
def find_element(hashed: int, tables: Any) -> int:  # pragma: no cover - compiled
    """Return the number of a known element, or a negative number made of the hash of its name.

    Parameters
    ----------
    hashed
        Hash of the name, by `html_tokenizer.read_name`.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.

    Returns
    -------
    Number of the element, or -1 - hashed.
    """
    slot = hashed & (SLOTS - 1)
    while tables[SLOT_NUMBERS + slot] >= 0:
        if tables[SLOT_HASHES + slot] == hashed:
            return tables[SLOT_NUMBERS + slot]
        slot = (slot + 1) & (SLOTS - 1)
    return -1 - hashed


@njit(cache=True, nogil=True)
def scan_page(
    data: Any,
    tables: Any,
    state: Any,
    out: Any,
    kinds: Any,
    max_depth: int,
    max_rows: int,
    values_begin: int,
    values_limit: int,
    max_traces: int,
) -> Any:  # pragma: no cover - compiled
    """Scan a page: write its text and values to `out`, and rows of offsets to the state. Return the number of rows.

    Parameters
    ----------
    data
        The page as UTF-8 (uint8).
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        An array of `html_state.state_size` numbers, whatever they are.
    out
        Output bytes: text from the start, values from `values_begin` on.
    kinds
        Receives the kind of each row, as bytes; `max_rows` long.
    max_depth, max_rows, values_begin, values_limit, max_traces
        What `html_state.make_state` makes a state of.
    """
    begin_state(state, max_depth, max_rows, values_begin, values_limit, max_traces)
    _scan_page(borrow(data), np.int64(len(data)), borrow(tables), borrow(state), borrow(out))
    list_kinds(state, state[ROW_COUNT], kinds)
    return state[ROW_COUNT]


@njit(cache=True, nogil=True)
def _scan_page(data: Any, end: int, tables: Any, state: Any, out: Any) -> None:  # pragma: no cover - compiled
    at = _NOTHING
    while at >= 0 and at < end:
        if data[at] != LESS_THAN or not begins_markup(data, at, end):
            at = _read_text(data, at, end, tables, state, out)
            continue
        byte = data[at + 1]
        if byte >= 65:
            at = _read_start(data, at + 1, end, tables, state, out)
        elif byte == SLASH and ((data[at + 2] | 32) >= 97 and (data[at + 2] | 32) <= 122):
            at = _read_end(data, at + 2, end, tables, state)
        elif byte != EXCLAMATION:
            at = find_bogus_end(data, at + 2, end) + 1
        elif at + 3 < end and data[at + 2] == HYPHEN and data[at + 3] == HYPHEN:
            _, at = find_comment_end(data, at + 4, end)
        elif (
            state[DEPTH] > 0
            and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FOREIGN] > 0
            and _is_cdata(data, at, end)
        ):
            at = _read_cdata(data, at + 9, end, tables, state, out)
        else:
            at = find_bogus_end(data, at + 2, end) + 1
    end_link(state)
    pop_to_depth(state, _NOTHING)
    state[SEGMENT_TABLE + SEGMENT_WIDTH * state[SEGMENT] + SEGMENT_END] = state[TEXT_END]


@njit(cache=True, nogil=True, forceinline=True)
def _read_text(data: Any, at: int, end: int, tables: Any, state: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read text up to the next markup. Return the offset behind it."""
    if state[HIDDEN_LEVEL] >= 0 or state[IS_FRAMESET]:
        return skip_text(data, at, end)
    if state[AREA_COUNT] > 1 or state[TABLE_COUNT] > 0:
        _choose_area(data, at, end, tables, state)
    mode = MARKUP | DECODE
    if state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FOREIGN] in (SVG, MATH, ANNOTATION):
        mode |= ZEROS
    return write_text(data, at, end, mode, tables, state, out)


@njit(cache=True, nogil=True)
def _record_trace(state: Any, at: int) -> None:  # pragma: no cover - compiled
    """Record where in the text a tag is that separates blocks."""
    count = state[TRACE_COUNT]
    if count < state[MAX_TRACES]:
        entry = state[TRACE_TABLE] + 2 * count
        state[entry], state[entry + 1] = at, state[TEXT_END]
        state[TRACE_COUNT] = count + 1


@njit(cache=True, nogil=True, forceinline=True)
def _read_end(data: Any, at: int, end: int, tables: Any, state: Any) -> int:  # pragma: no cover - compiled
    """Read an end tag from its name on. Return the offset behind it, -1 if it never ends."""
    begin = at
    hashed, at = read_name(data, at, end)
    _, _, after = read_attributes(data, at, end, tables, state)
    if after >= 0 and not state[IS_FRAMESET]:
        key = find_element(hashed, tables)
        flags = tables[FLAGS_OF + key] if key >= 0 else _NOTHING
        if flags & _SEPARATES:
            _record_trace(state, begin)
        close_tag(state, key, flags)
    return after


@njit(cache=True, nogil=True)
def _read_start(data: Any, at: int, end: int, tables: Any, state: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read a start tag from its name on, and raw text behind it. Return the offset behind it, -1 if it never ends."""
    begin = at
    hashed, at = read_name(data, at, end)
    attributes, closed, at = read_attributes(data, at, end, tables, state)
    key = find_element(hashed, tables)
    if at < 0 or (state[IS_FRAMESET] and key != _NOFRAMES):
        return at
    flags = tables[FLAGS_OF + key] if key >= 0 else _NOTHING
    hide, row = _NOTHING, _NO_ROW
    if flags & _SEPARATES:
        _record_trace(state, begin)
    if flags & _HAS_ROWS or attributes & GLOBAL_ATTRIBUTES:
        hide, row = record_element(data, attributes, key, flags, tables, state, out)
    if not open_tag(state, key, flags, hide, closed == 1, row) or not flags & (_MAKES_BODY | _RAW | _ACTIVE_START):
        return at
    if flags & _MAKES_BODY:
        state[HAS_BODY] = 1
    if flags & _RAW:
        at = _read_raw(data, at, end, key, flags | hide, tables, state, out)
        if at < end:
            _, at = read_name(data, at + 2, end)
            _, _, at = read_attributes(data, at, end, tables, state)
    elif key == _FRAMESET and state[TEXT_END] == 0 and not state[HAS_BODY]:
        state[IS_FRAMESET] = 1
    return at


@njit(cache=True, nogil=True)
def _is_cdata(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether '<![CDATA[' is at `at`."""
    if at + 8 >= end or data[at + 2] != LEFT_BRACKET or data[at + 8] != LEFT_BRACKET:
        return False
    return (
        data[at + 3] == 67 and data[at + 4] == 68 and data[at + 5] == 65 and data[at + 6] == 84 and data[at + 7] == 65
    )


@njit(cache=True, nogil=True)
def _read_cdata(data: Any, at: int, end: int, tables: Any, state: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Read the text of a CDATA section. Return the offset behind it."""
    stop = at
    while stop < end and not (
        data[stop] == RIGHT_BRACKET
        and stop + 2 < end
        and data[stop + 1] == RIGHT_BRACKET
        and data[stop + 2] == GREATER_THAN
    ):
        stop += 1
    if state[HIDDEN_LEVEL] < 0:
        enter_area(state, current_area(state))
        write_text(data, at, stop, ZEROS, tables, state, out)
    return stop + 3


@njit(cache=True, nogil=True)
def _read_raw(
    data: Any,
    at: int,
    end: int,
    key: int,
    flags: int,
    tables: Any,
    state: Any,
    out: Any,
) -> int:  # pragma: no cover - compiled
    """Read the text of an element that has no markup in it. Return the offset of its end tag."""
    if key == _PLAINTEXT:
        stop = end
    elif flags & _SCRIPT:
        stop = find_script_end(data, at, end, tables, key)
    else:
        stop = find_raw_end(data, at, end, tables, key)
    if flags & _SCRIPT and state[SCRIPT_ROW] > 0:
        row = ROW_TABLE + ROW_WIDTH * (state[SCRIPT_ROW] - 1)
        state[row + ROW_BEGIN], state[row + ROW_END] = at, stop
        state[SCRIPT_ROW] = 0
    if key == _TITLE and state[HAS_TITLE] == 0 and state[HIDDEN_LEVEL] < 0:
        state[HAS_TITLE] = 1
        append_title(data, at, stop, tables, state, out)
    if not flags & _HIDE and state[HIDDEN_LEVEL] < 0:
        _choose_area(data, at, stop, tables, state)
        if flags & _BLOCK:
            state[PENDING_BREAK] = LINE_BREAK
        write_text(data, at, stop, ZEROS | DECODE if flags & _DECODE else ZEROS, tables, state, out)
        if flags & _BLOCK:
            state[PENDING_BREAK] = LINE_BREAK
    return stop


@njit(cache=True, nogil=True)
def merge_segments(state: Any, text: Any, out: Any, positions: Any) -> int:  # pragma: no cover - compiled
    """Copy the segments of a text in the order of the document.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    text
        The text in the order in which it was written.
    out
        The text in the order of the document.
    positions
        For each byte of `text`, its offset in `out`; one more for the end.

    Returns
    -------
    Length of the text in `out`.
    """
    used = 0
    pending = NO_BREAK
    segment = 0
    while segment >= 0:
        entry = SEGMENT_TABLE + SEGMENT_WIDTH * segment
        begin = state[entry + SEGMENT_BEGIN]
        for at in range(begin, max(begin, state[entry + SEGMENT_END])):
            byte = text[at]
            positions[at] = used
            if byte == SPACE or byte == NEWLINE:
                pending = max(pending, SPACE_BREAK if byte == SPACE else LINE_BREAK)
                continue
            if pending and used > 0:
                out[used] = SPACE if pending == SPACE_BREAK else NEWLINE
                used += 1
            pending = NO_BREAK
            positions[at] = used
            out[used] = byte
            used += 1
        segment = state[entry + SEGMENT_NEXT]
    positions[state[TEXT_END]] = used
    return used


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    state, text = make_state(8, 8, 64, 128), np.empty(192, np.uint8)
    scan_page(np.frombuffer(b"<p>x", np.uint8), build_tables(), state, text, text, 8, 8, 64, 128, 0)
    merge_segments(state, text, text, np.empty(192, np.int64))
    gather_values(state, 0, 2, 1, 1, 1, text, text)
    gather_rows(state, np.zeros(0, np.int64), 2, 1, 1, text, text)
