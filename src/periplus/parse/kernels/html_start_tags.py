"""Start tags: what each of them closes before its element opens, and which area that belongs to."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags
from periplus.parse.kernels.html_state import (
    ANNOTATION,
    AREA,
    AREA_BREAK,
    AREA_TABLE,
    AREA_WIDTH,
    DEPTH,
    ELEMENT_AREA,
    FLAGS,
    FOREIGN,
    FOSTER_AREA,
    HIDDEN_LEVEL,
    HTML_INTEGRATION,
    IS_FOSTERED,
    KEY,
    LINE_BREAK,
    MATH,
    OPEN_COUNTS,
    PENDING_BREAK,
    STACK,
    STACK_WIDTH,
    SVG,
    TABLE_COUNT,
    TABLE_LEVELS,
    TEXT_INTEGRATION,
)
from periplus.parse.kernels.html_tags import ELEMENT
from periplus.parse.kernels.html_tree import (
    close_format,
    current_area,
    enter_area,
    find_in_scope,
    leave_foreign,
    pop_to_depth,
    push_element,
)

__all__ = ["open_tag"]

_BLOCK, _VOID, _SPECIAL, _SCOPE, _RAW = (
    html_tags.BLOCK,
    html_tags.VOID,
    html_tags.SPECIAL,
    html_tags.SCOPE,
    html_tags.RAW,
)
_NONE, _NOTHING = np.int64(-1), np.int64(0)
_PART_FLAGS = html_tags.BLOCK | html_tags.SPECIAL | html_tags.FOSTERS
_CLOSES_PARAGRAPH, _HIDE, _HEADING = html_tags.CLOSES_PARAGRAPH, html_tags.HIDE, html_tags.HEADING
_FOSTERS, _TABLE_PART, _BREAKOUT = html_tags.FOSTERS, html_tags.TABLE_PART, html_tags.BREAKOUT
_CELL, _IN_TABLE, _ACTIVE_START, _TRACKED = (
    html_tags.CELL,
    html_tags.IN_TABLE,
    html_tags.ACTIVE_START,
    html_tags.TRACKED,
)
_A, _P, _LI, _DD, _DT, _TR, _TBODY = (ELEMENT[name] for name in ["a", "p", "li", "dd", "dt", "tr", "tbody"])
_BUTTON, _OPTION, _OPTGROUP, _SELECT, _FORM, _NOBR = (
    ELEMENT[name] for name in ["button", "option", "optgroup", "select", "form", "nobr"]
)
_HTML, _HEAD, _BODY, _TABLE_TAG = (ELEMENT[name] for name in ["html", "head", "body", "table"])
_ADDRESS, _DIV = (ELEMENT[name] for name in ["address", "div"])
_TFOOT, _THEAD, _SCRIPT, _STYLE, _TITLE = (ELEMENT[name] for name in ["tfoot", "thead", "script", "style", "title"])
_SVG, _MATH, _FOREIGN_OBJECT, _DESC, _ANNOTATION = (
    ELEMENT[name] for name in ["svg", "math", "foreignobject", "desc", "annotation-xml"]
)
_MI, _MO, _MN, _MS, _MTEXT, _MGLYPH, _MALIGN = (
    ELEMENT[name] for name in ["mi", "mo", "mn", "ms", "mtext", "mglyph", "malignmark"]
)
_INPUT, _TEXTAREA, _KEYGEN, _FRAMESET = (ELEMENT[name] for name in ["input", "textarea", "keygen", "frameset"])


@njit(cache=True, nogil=True)
def _close_item(state: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close the list item that is open, if only phrasing elements are open within it."""
    for level in range(state[DEPTH] - 1, -1, -1):
        open_key = state[STACK + STACK_WIDTH * level + KEY]
        if open_key == key or (key != _LI and (open_key in (_DD, _DT))):
            pop_to_depth(state, level)
            return
        if (
            state[STACK + STACK_WIDTH * level + FLAGS] & _SPECIAL
            and open_key != _ADDRESS
            and open_key != _DIV
            and open_key != _P
        ):
            return


@njit(cache=True, nogil=True)
def _open_table_part(state: Any, key: int, flags: int, hide: int) -> int:  # pragma: no cover - compiled
    """Open a part of a table and the parts that must enclose it. Return 0 if no table is open, else 1."""
    if state[TABLE_COUNT] == 0:
        return 0
    table = state[TABLE_LEVELS + state[TABLE_COUNT] - 1]
    if state[STACK + STACK_WIDTH * table + KEY] != _TABLE_TAG:
        return 0
    area = state[STACK + STACK_WIDTH * table + ELEMENT_AREA]
    store_attribute = table + 1
    if key == _TR or flags & _CELL:
        section = table + 1 < state[DEPTH] and (
            state[STACK + STACK_WIDTH * (table + 1) + KEY] == _TBODY
            or state[STACK + STACK_WIDTH * (table + 1) + KEY] == _THEAD
            or state[STACK + STACK_WIDTH * (table + 1) + KEY] == _TFOOT
        )
        store_attribute = table + 2
        if not section:
            pop_to_depth(state, table + 1)
            push_element(state, _TBODY, _PART_FLAGS, area, _NOTHING, _NONE)
        if flags & _CELL:
            if not (table + 2 < state[DEPTH] and state[STACK + STACK_WIDTH * (table + 2) + KEY] == _TR):
                pop_to_depth(state, table + 2)
                push_element(state, _TR, _PART_FLAGS, area, _NOTHING, _NONE)
            store_attribute = table + 3
    pop_to_depth(state, store_attribute)
    if state[HIDDEN_LEVEL] < 0:
        state[PENDING_BREAK] = LINE_BREAK
    if not flags & _VOID:
        push_element(state, key, flags | hide, area, _NOTHING, _NONE)
    return 1


@njit(cache=True, nogil=True)
def _open_foreign(state: Any, key: int, kind: int, hide: int, closed: bool) -> None:  # pragma: no cover - compiled
    """Open an element of SVG or MathML."""
    flags = hide
    foreign = kind
    if kind == SVG and (key in (_FOREIGN_OBJECT, _DESC, _TITLE)):
        foreign = HTML_INTEGRATION
    elif kind == MATH and (key in (_MI, _MO, _MN, _MS, _MTEXT)):
        foreign = TEXT_INTEGRATION
    elif kind == MATH and key == _ANNOTATION:
        foreign = ANNOTATION
    if foreign >= HTML_INTEGRATION:
        flags |= _SCOPE | _SPECIAL
    if key in (_SCRIPT, _STYLE):
        flags |= _HIDE
    if not closed:
        push_element(state, key, flags, state[AREA], foreign, _NONE)


@njit(cache=True, nogil=True, forceinline=True)
def _find_foreign(state: Any, key: int) -> int:  # pragma: no cover - compiled
    """Return the kind of foreign content that a start tag belongs to, 0 for HTML."""
    depth = state[DEPTH]
    if depth == 0:
        return 0
    kind = state[STACK + STACK_WIDTH * (depth - 1) + FOREIGN]
    if kind == HTML_INTEGRATION or (kind == TEXT_INTEGRATION and key != _MGLYPH and key != _MALIGN):
        return 0
    if kind == ANNOTATION and key == _SVG:
        return 0
    return MATH if kind >= TEXT_INTEGRATION else kind


@njit(cache=True, nogil=True, forceinline=True)
def _find_child_area(state: Any, flags: int) -> int:  # pragma: no cover - compiled
    """Return the area of a new element: directly in a table, that is the area before the table."""
    depth = state[DEPTH]
    if depth == 0:
        return 0
    if state[STACK + STACK_WIDTH * (depth - 1) + FLAGS] & _FOSTERS and not flags & _IN_TABLE:
        state[IS_FOSTERED] = 1
        return state[STACK + STACK_WIDTH * (state[TABLE_LEVELS + state[TABLE_COUNT] - 1]) + FOSTER_AREA]
    return state[STACK + STACK_WIDTH * (depth - 1) + ELEMENT_AREA]


@njit(cache=True, nogil=True)
def open_tag(state: Any, key: int, flags: int, hide: int, closed: bool, row: int) -> int:  # pragma: no cover - compiled
    """Open the element of a start tag, and close what it closes.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    flags
        Flags of the element, see `html_tags`.
    hide
        HIDE if an attribute hides the element, else 0.
    closed
        Whether the tag ends in '/>'.
    row
        The row that the text of the element belongs to, or -1.

    Returns
    -------
    1 for an HTML element, 0 if it is foreign or ignored here.
    """
    kind = _find_foreign(state, key)
    if kind > 0:
        if not flags & _BREAKOUT:
            _open_foreign(state, key, kind, hide, closed)
            return 0
        leave_foreign(state)
    if flags & _ACTIVE_START and (key in (_HTML, _HEAD, _BODY, _FRAMESET)):
        return 1
    if flags & _TABLE_PART:
        return _open_table_part(state, key, flags, hide)
    if state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FLAGS] & _FOSTERS:
        if key == _TABLE_TAG:
            pop_to_depth(state, state[TABLE_LEVELS + state[TABLE_COUNT] - 1])
        elif key == _FORM:
            return 0
    return _open_in_body(state, key, flags, hide, row, _find_child_area(state, flags))


@njit(cache=True, nogil=True, forceinline=True)
def _open_in_body(
    state: Any, key: int, flags: int, hide: int, row: int, area: int
) -> int:  # pragma: no cover - compiled
    """Open an HTML element that is not a part of a table. Return 0 if the tag is ignored, else 1."""
    before = state[DEPTH]
    if flags & _ACTIVE_START:
        if key == _FORM and state[OPEN_COUNTS + _FORM] > 0:
            return 0
        if key in (_LI, _DD, _DT):
            _close_item(state, key)
    if flags & _CLOSES_PARAGRAPH:
        level = find_in_scope(state, _P, _BUTTON)
        if level >= 0:
            pop_to_depth(state, level)
        if flags & _HEADING and state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FLAGS] & _HEADING:
            pop_to_depth(state, state[DEPTH] - 1)
    elif not flags & _ACTIVE_START:
        pass
    elif key in (_OPTION, _OPTGROUP):
        if state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + KEY] == _OPTION:
            pop_to_depth(state, state[DEPTH] - 1)
        if key == _OPTGROUP and state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + KEY] == _OPTGROUP:
            pop_to_depth(state, state[DEPTH] - 1)
    elif key in (_A, _NOBR):
        close_format(state, key)
    elif key == _BUTTON:
        level = find_in_scope(state, _BUTTON, _NONE)
        if level >= 0:
            pop_to_depth(state, level)
    elif (key in (_SELECT, _INPUT, _TEXTAREA, _KEYGEN)) and state[OPEN_COUNTS + _SELECT] > 0:
        for level in range(state[DEPTH] - 1, -1, -1):
            if state[STACK + STACK_WIDTH * level + KEY] == _SELECT:
                pop_to_depth(state, level)
                break
            if state[STACK + STACK_WIDTH * level + FLAGS] & _SCOPE:
                break
        if key == _SELECT:
            return 0
    if state[DEPTH] < before:
        area = _find_child_area(state, flags)
    pending = 0
    if flags & _BLOCK and state[HIDDEN_LEVEL] < 0:
        enter_area(state, area)
        pending = state[PENDING_BREAK]
        state[PENDING_BREAK] = LINE_BREAK
    if flags & (_VOID | _RAW):
        if current_area(state) != area:
            enter_area(state, area)
        return 1
    if not flags & (_ACTIVE_START | _TRACKED):
        push_element(state, key, flags | hide, area, _NOTHING, row)
        return 1
    push_element(state, key, flags | hide, area, SVG if key == _SVG else MATH if key == _MATH else _NOTHING, row)
    if key == _TABLE_TAG and state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FOSTER_AREA] != area:
        foster = state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FOSTER_AREA]
        state[AREA_TABLE + AREA_WIDTH * foster + AREA_BREAK] = pending
    return 1
