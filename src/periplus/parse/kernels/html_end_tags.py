"""End tags: what each of them closes, if anything."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags
from periplus.parse.kernels.html_state import (
    DEPTH,
    FLAGS,
    FOREIGN,
    HIDDEN_LEVEL,
    KEY,
    LINE_BREAK,
    OPEN_COUNTS,
    OVERFLOW,
    PENDING_BREAK,
    STACK,
    STACK_WIDTH,
    TABLE_COUNT,
    TABLE_LEVELS,
)
from periplus.parse.kernels.html_tags import ELEMENT
from periplus.parse.kernels.html_tree import (
    close_format,
    current_area,
    end_link,
    enter_area,
    find_in_scope,
    leave_foreign,
    open_slot,
    pop_to_depth,
)

__all__ = ["close_tag"]

_FORMAT, _SPECIAL, _SCOPE, _HEADING = html_tags.FORMAT, html_tags.SPECIAL, html_tags.SCOPE, html_tags.HEADING
_TABLE_PART, _SCOPED, _FOSTERS = html_tags.TABLE_PART, html_tags.SCOPED, html_tags.FOSTERS
_A, _P, _BR, _LI, _BUTTON, _OL, _FORM = (ELEMENT[name] for name in ["a", "p", "br", "li", "button", "ol", "form"])
_HTML, _HEAD, _BODY, _TEMPLATE, _TABLE_TAG, _COL = (
    ELEMENT[name] for name in ["html", "head", "body", "template", "table", "col"]
)
_NONE = np.int64(-1)
_SELECT = ELEMENT["select"]
_HEADINGS = tuple(ELEMENT[f"h{level}"] for level in range(1, 7))
_FIRST_HEADING, _LAST_HEADING = min(_HEADINGS), max(_HEADINGS)


@njit(cache=True, nogil=True)
def _break_line(state: Any) -> None:  # pragma: no cover - compiled
    """Begin a new line in the text of the innermost element."""
    if state[HIDDEN_LEVEL] < 0:
        enter_area(state, current_area(state))
        state[PENDING_BREAK] = LINE_BREAK


@njit(cache=True, nogil=True)
def _close_foreign(state: Any, key: int) -> bool:  # pragma: no cover - compiled
    """Close a foreign element by name. Return False if the tag is for HTML after all."""
    for level in range(state[DEPTH] - 1, -1, -1):
        if state[STACK + STACK_WIDTH * level + FOREIGN] == 0:
            return False
        if state[STACK + STACK_WIDTH * level + KEY] == key:
            pop_to_depth(state, level)
            return True
    return False


@njit(cache=True, nogil=True)
def _close_table_part(state: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close a table, or a part of the innermost one."""
    if state[TABLE_COUNT] == 0:
        return
    table = state[TABLE_LEVELS + state[TABLE_COUNT] - 1]
    if state[STACK + STACK_WIDTH * table + KEY] != _TABLE_TAG:
        return
    if key == _TABLE_TAG:
        pop_to_depth(state, table)
        return
    for level in range(table + 1, min(table + 4, state[DEPTH])):
        if state[STACK + STACK_WIDTH * level + KEY] == key:
            pop_to_depth(state, level)
            return


@njit(cache=True, nogil=True)
def _close_template(state: Any) -> None:  # pragma: no cover - compiled
    for level in range(state[DEPTH] - 1, -1, -1):
        if state[STACK + STACK_WIDTH * level + KEY] == _TEMPLATE and state[STACK + STACK_WIDTH * level + FOREIGN] == 0:
            pop_to_depth(state, level)
            return


@njit(cache=True, nogil=True)
def _close_heading(state: Any) -> None:  # pragma: no cover - compiled
    for level in range(state[DEPTH] - 1, -1, -1):
        if state[STACK + STACK_WIDTH * level + FLAGS] & _HEADING:
            pop_to_depth(state, level)
            return
        if state[STACK + STACK_WIDTH * level + FLAGS] & _SCOPE:
            return


@njit(cache=True, nogil=True)
def _close_other(state: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close the innermost element of this name, if nothing special is open within it."""
    if state[OPEN_COUNTS + open_slot(key)] == 0:
        return
    for level in range(state[DEPTH] - 1, -1, -1):
        if state[STACK + STACK_WIDTH * level + KEY] == key and state[STACK + STACK_WIDTH * level + FOREIGN] == 0:
            pop_to_depth(state, level)
            return
        if state[STACK + STACK_WIDTH * level + FLAGS] & _SPECIAL:
            return


@njit(cache=True, nogil=True)
def close_tag(state: Any, key: int, flags: int) -> None:  # pragma: no cover - compiled
    """Close what an end tag closes, if anything.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    flags
        Flags of the element, see `html_tags`.
    """
    top = STACK + STACK_WIDTH * (state[DEPTH] - 1)
    if state[OVERFLOW] == 0 and state[DEPTH] > 0 and state[top + KEY] == key and state[top + FOREIGN] == 0:
        # Most end tags are for the innermost element, for which all rules agree.
        if key == _A:
            end_link(state)
        pop_to_depth(state, state[DEPTH] - 1)
        return
    if state[OVERFLOW] > 0 and key != _HTML and key != _BODY:
        state[OVERFLOW] -= 1
        return
    if state[DEPTH] > 0 and state[STACK + STACK_WIDTH * (state[DEPTH] - 1) + FOREIGN] > 0:
        if key in (_P, _BR):
            leave_foreign(state)
        elif _close_foreign(state, key):
            return
    if key in (_HTML, _HEAD, _BODY):
        return
    if key == _BR:
        _break_line(state)
    elif key == _P:
        level = find_in_scope(state, _P, _BUTTON)
        if level >= 0:
            pop_to_depth(state, level)
        else:
            _break_line(state)
    elif key == _TABLE_TAG or flags & _TABLE_PART:
        _close_table_part(state, key)
    elif flags & _FORMAT:
        if key == _A:
            end_link(state)
        close_format(state, key)
    elif key == _TEMPLATE:
        if state[OPEN_COUNTS + _TEMPLATE] > 0:
            _close_template(state)
    elif flags & _HEADING:
        _close_heading(state)
    elif key == _SELECT:
        for level in range(state[DEPTH] - 1, -1, -1):
            if state[STACK + STACK_WIDTH * level + KEY] == _SELECT:
                pop_to_depth(state, level)
                break
            if state[STACK + STACK_WIDTH * level + FLAGS] & _SCOPE:
                break
    elif flags & _SCOPED or key == _FORM:
        level = find_in_scope(state, key, _OL if key == _LI else _NONE)
        if level >= 0:
            pop_to_depth(state, level)
    else:
        _close_other(state, key)
