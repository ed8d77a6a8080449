"""The stack of open elements: as much of the tree builder as text, links and headings depend on.

The stack is bounded, and is searched only for elements whose count says that they are open. Text that HTML moves
before a table goes to an *area* of its own: areas are chains of *segments* of the text, which are put in order once,
at the end.
"""

from typing import Any

from periplus.accel import njit
from periplus.parse.kernels import html_tags
from periplus.parse.kernels.html_state import (
    ANNOTATION,
    AREA,
    AREA_BREAK,
    AREA_COUNT,
    AREA_TABLE,
    AREA_WIDTH,
    DEPTH,
    ELEMENT_AREA,
    FIGURE_ROW,
    FLAGS,
    FOREIGN,
    FOSTER_AREA,
    HIDDEN_LEVEL,
    KEY,
    KNOWN_ELEMENTS,
    LAST_SEGMENT,
    LINE_BREAK,
    LINK_MARKERS,
    MARKERS,
    MATH,
    MAX_AREAS,
    MAX_DEPTH,
    MAX_SEGMENTS,
    NEXT_ROW,
    OPEN_COUNTS,
    OPEN_LINK,
    OVERFLOW,
    PENDING_BREAK,
    ROW_COUNT,
    ROW_END,
    ROW_KIND,
    ROW_NUMBER,
    ROW_TABLE,
    ROW_WIDTH,
    SEGMENT,
    SEGMENT_BEGIN,
    SEGMENT_COUNT,
    SEGMENT_END,
    SEGMENT_NEXT,
    SEGMENT_TABLE,
    SEGMENT_WIDTH,
    STACK,
    STACK_WIDTH,
    SVG,
    TABLE_COUNT,
    TABLE_LEVELS,
    TEXT_END,
    TEXT_ROW,
)
from periplus.parse.kernels.html_tags import ELEMENT

__all__ = [
    "close_format",
    "current_area",
    "end_link",
    "enter_area",
    "find_in_scope",
    "leave_foreign",
    "open_slot",
    "pop_to_depth",
    "push_element",
]

_BLOCK, _SPECIAL, _SCOPE = html_tags.BLOCK, html_tags.SPECIAL, html_tags.SCOPE
_HIDE, _MARKER, _TRACKED = html_tags.HIDE, html_tags.MARKER, html_tags.TRACKED
_TABLE_TAG = ELEMENT["table"]
_OL, _UL = (ELEMENT[name] for name in ["ol", "ul"])


@njit(cache=True, nogil=True, forceinline=True)
def open_slot(key: int) -> int:  # pragma: no cover - compiled
    """Return the index of an element's count in OPEN_COUNTS.

    Parameters
    ----------
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.

    Returns
    -------
    Its own index, or one that it shares with other elements that are not known.
    """
    return key if key >= 0 else KNOWN_ELEMENTS + (key & 511)


@njit(cache=True, nogil=True)
def _insert_segment(state: Any, before: int) -> int:  # pragma: no cover - compiled
    """Insert a new segment behind another. Return its number."""
    segment = state[SEGMENT_COUNT]
    state[SEGMENT_COUNT] += 1
    entry, previous = SEGMENT_TABLE + SEGMENT_WIDTH * segment, SEGMENT_TABLE + SEGMENT_WIDTH * before
    state[entry + SEGMENT_BEGIN] = state[entry + SEGMENT_END] = -1
    state[entry + SEGMENT_NEXT] = state[previous + SEGMENT_NEXT]
    state[previous + SEGMENT_NEXT] = segment
    return segment


@njit(cache=True, nogil=True, forceinline=True)
def enter_area(state: Any, area: int) -> None:  # pragma: no cover - compiled
    """Write text to another area from here on.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    area
        Number of the area.
    """
    if state[AREA] == area:
        return
    segment = state[AREA_TABLE + AREA_WIDTH * area + LAST_SEGMENT]
    if state[SEGMENT_TABLE + SEGMENT_WIDTH * segment + SEGMENT_BEGIN] >= 0:
        if state[SEGMENT_COUNT] >= MAX_SEGMENTS:
            return
        segment = _insert_segment(state, segment)
        state[AREA_TABLE + AREA_WIDTH * area + LAST_SEGMENT] = segment
    state[SEGMENT_TABLE + SEGMENT_WIDTH * state[SEGMENT] + SEGMENT_END] = state[TEXT_END]
    state[AREA_TABLE + AREA_WIDTH * state[AREA] + AREA_BREAK] = state[PENDING_BREAK]
    state[SEGMENT_TABLE + SEGMENT_WIDTH * segment + SEGMENT_BEGIN] = state[TEXT_END]
    state[PENDING_BREAK] = state[AREA_TABLE + AREA_WIDTH * area + AREA_BREAK]
    state[AREA], state[SEGMENT] = area, segment


@njit(cache=True, nogil=True, forceinline=True)
def push_element(
    state: Any, key: int, flags: int, area: int, foreign: int, row: int
) -> None:  # pragma: no cover - compiled
    """Open an element; beyond the deepest level it is only counted.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    flags
        Flags of the element, see `html_tags`.
    area
        The area that its text belongs to.
    foreign
        Which foreign content it is, 0 for HTML.
    row
        The row that its text belongs to, or -1.
    """
    depth = state[DEPTH]
    if depth >= state[MAX_DEPTH]:
        state[OVERFLOW] += 1
        return
    entry = STACK + STACK_WIDTH * depth
    state[entry + KEY], state[entry + FLAGS], state[entry + ELEMENT_AREA] = key, flags, area
    state[entry + FOREIGN], state[entry + TEXT_ROW], state[entry + FOSTER_AREA] = foreign, row, 0
    state[OPEN_COUNTS + open_slot(key)] += 1
    state[DEPTH] = depth + 1
    if flags & (_MARKER | _TRACKED | _HIDE):
        if flags & _MARKER:
            state[MARKERS] += 1
        if flags & _TRACKED and foreign == 0:
            _record_table(state, key, area, depth)
        if flags & _HIDE and state[HIDDEN_LEVEL] < 0:
            state[HIDDEN_LEVEL] = depth
    enter_area(state, state[entry + ELEMENT_AREA])


@njit(cache=True, nogil=True)
def _record_table(state: Any, key: int, area: int, depth: int) -> None:  # pragma: no cover - compiled
    """Record a table or template; a table gets an area of its own, and one for the text that belongs before it."""
    entry = STACK + STACK_WIDTH * depth
    state[TABLE_LEVELS + state[TABLE_COUNT]] = depth
    state[TABLE_COUNT] += 1
    if key != _TABLE_TAG:
        return
    state[entry + FOSTER_AREA] = area
    if state[AREA_COUNT] + 2 <= MAX_AREAS and state[SEGMENT_COUNT] + 4 <= MAX_SEGMENTS:
        first = _insert_segment(state, state[AREA_TABLE + AREA_WIDTH * area + LAST_SEGMENT])
        second = _insert_segment(state, first)
        state[AREA_TABLE + AREA_WIDTH * area + LAST_SEGMENT] = _insert_segment(state, second)
        foster = state[AREA_COUNT]
        state[AREA_COUNT] += 2
        state[AREA_TABLE + AREA_WIDTH * foster + LAST_SEGMENT], state[AREA_TABLE + AREA_WIDTH * foster + AREA_BREAK] = (
            first,
            0,
        )
        (
            state[AREA_TABLE + AREA_WIDTH * (foster + 1) + LAST_SEGMENT],
            state[AREA_TABLE + AREA_WIDTH * (foster + 1) + AREA_BREAK],
        ) = second, 2
        state[entry + FOSTER_AREA], state[entry + ELEMENT_AREA] = foster, foster + 1


@njit(cache=True, nogil=True, forceinline=True)
def end_link(state: Any) -> None:  # pragma: no cover - compiled
    """End the text of the open link.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    """
    if state[OPEN_LINK] >= 0:
        state[ROW_TABLE + ROW_WIDTH * state[OPEN_LINK] + ROW_END] = state[TEXT_END]
        state[OPEN_LINK] = -1


@njit(cache=True, nogil=True)
def _end_rows(state: Any, row: int) -> None:  # pragma: no cover - compiled
    """End the text of a row, and of the rows of the same element that are chained to it."""
    while row >= 0:
        entry = ROW_TABLE + ROW_WIDTH * row
        state[entry + ROW_END] = state[TEXT_END]
        if state[entry + ROW_KIND] == FIGURE_ROW:
            state[entry + ROW_NUMBER] = state[ROW_COUNT]
        row = state[entry + NEXT_ROW] - 1


@njit(cache=True, nogil=True, forceinline=True)
def _leave_element(state: Any, level: int) -> None:  # pragma: no cover - compiled
    """Apply the effects of the end of the element at `level`."""
    entry = STACK + STACK_WIDTH * level
    state[OPEN_COUNTS + open_slot(state[entry + KEY])] -= 1
    if state[entry + TEXT_ROW] >= 0:
        _end_rows(state, state[entry + TEXT_ROW])
    flags = state[entry + FLAGS]
    if flags & (_MARKER | _TRACKED | _HIDE | _BLOCK):
        if flags & _MARKER:
            state[MARKERS] -= 1
            if state[OPEN_LINK] >= 0 and state[LINK_MARKERS] > state[MARKERS]:
                end_link(state)
        if flags & _TRACKED and state[entry + FOREIGN] == 0:
            state[TABLE_COUNT] -= 1
        if state[HIDDEN_LEVEL] == level:
            state[HIDDEN_LEVEL] = -1
        if flags & _BLOCK and state[HIDDEN_LEVEL] < 0:
            state[PENDING_BREAK] = LINE_BREAK


@njit(cache=True, nogil=True)
def pop_to_depth(state: Any, depth: int) -> None:  # pragma: no cover - compiled
    """Close elements until `depth` are open.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    depth
        Elements that stay open.
    """
    while state[DEPTH] > depth:
        level = state[DEPTH] - 1
        broken = state[STACK + STACK_WIDTH * level + FLAGS] & _BLOCK
        if broken and state[HIDDEN_LEVEL] < 0:
            enter_area(state, state[STACK + STACK_WIDTH * level + ELEMENT_AREA])
        _leave_element(state, level)
        state[DEPTH] = level
        enter_area(state, state[STACK + STACK_WIDTH * (level - 1) + ELEMENT_AREA] if level > 0 else 0)
        if broken and state[HIDDEN_LEVEL] < 0:
            state[PENDING_BREAK] = LINE_BREAK


@njit(cache=True, nogil=True)
def find_in_scope(state: Any, key: int, stops: int) -> int:  # pragma: no cover - compiled
    """Return the level of the innermost element `key` that is in scope.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    stops
        Another element that ends the scope, or -1.

    Returns
    -------
    Its level in the stack, or -1.
    """
    if state[OPEN_COUNTS + open_slot(key)] == 0:
        return -1
    for level in range(state[DEPTH] - 1, -1, -1):
        entry = STACK + STACK_WIDTH * level
        if state[entry + KEY] == key and state[entry + FOREIGN] == 0:
            return level
        if state[entry + FLAGS] & _SCOPE or (
            stops >= 0 and state[entry + KEY] == stops and state[entry + FOREIGN] == 0
        ):
            return -1
        if stops == _OL and state[entry + KEY] == _UL:
            return -1
    return -1


@njit(cache=True, nogil=True)
def close_format(state: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close a formatting element: what is open within it is closed too, or outlives it where it is a block.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    """
    if state[OPEN_COUNTS + open_slot(key)] == 0:
        return
    special = False
    for level in range(state[DEPTH] - 1, -1, -1):
        entry = STACK + STACK_WIDTH * level
        if state[entry + KEY] == key and state[entry + FOREIGN] == 0:
            if not special:
                pop_to_depth(state, level)
                return
            _leave_element(state, level)
            hidden = state[HIDDEN_LEVEL]
            for i in range(level, state[DEPTH] - 1):
                for column in range(STACK_WIDTH):
                    state[STACK + STACK_WIDTH * i + column] = state[STACK + STACK_WIDTH * (i + 1) + column]
            for i in range(state[TABLE_COUNT]):
                if state[TABLE_LEVELS + i] > level:
                    state[TABLE_LEVELS + i] -= 1
            state[DEPTH] -= 1
            if hidden > level:
                state[HIDDEN_LEVEL] = hidden - 1
            return
        if state[entry + FLAGS] & _SCOPE:
            return
        special = special or (state[entry + FLAGS] & _SPECIAL) != 0


@njit(cache=True, nogil=True)
def leave_foreign(state: Any) -> None:  # pragma: no cover - compiled
    """Close the open elements of SVG and MathML.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    """
    depth = state[DEPTH]
    while depth > 0 and (state[STACK + STACK_WIDTH * (depth - 1) + FOREIGN] in (SVG, MATH, ANNOTATION)):
        depth -= 1
    pop_to_depth(state, depth)


@njit(cache=True, nogil=True, forceinline=True)
def current_area(state: Any) -> int:  # pragma: no cover - compiled
    """Return the area of the innermost open element.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.

    Returns
    -------
    Number of the area.
    """
    depth = state[DEPTH]
    return state[STACK + STACK_WIDTH * (depth - 1) + ELEMENT_AREA] if depth > 0 else 0
