"""End tags: what each of them closes, if anything."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags as tags_of
from periplus.parse.kernels.html_tags import NUMBER
from periplus.parse.kernels.html_tree import (
    DEPTH,
    FLAGS,
    FOREIGN,
    HIDDEN,
    KEY,
    KNOWN,
    OPEN,
    OVER,
    PENDING,
    STACK,
    TABLE_PLACES,
    TABLES,
    area_of_top,
    break_out,
    end_format,
    end_link,
    enter_area,
    in_scope,
    pop_to,
)

__all__ = ["close_tag"]

_FORMAT, _SPECIAL, _SCOPE, _HEADING = tags_of.FORMAT, tags_of.SPECIAL, tags_of.SCOPE, tags_of.HEADING
_PART, _SCOPED, _TABLE = tags_of.PART, tags_of.SCOPED, tags_of.TABLE
_A, _P, _BR, _LI, _BUTTON, _OL, _FORM = (NUMBER[name] for name in ["a", "p", "br", "li", "button", "ol", "form"])
_HTML, _HEAD, _BODY, _TEMPLATE, _TABLE_TAG, _COL = (
    NUMBER[name] for name in ["html", "head", "body", "template", "table", "col"]
)
_NONE = np.int64(-1)
_SELECT = NUMBER["select"]
_HEADINGS = tuple(NUMBER[f"h{level}"] for level in range(1, 7))
_FIRST_HEADING, _LAST_HEADING = min(_HEADINGS), max(_HEADINGS)


@njit(cache=True, nogil=True)
def _break_line(now: Any) -> None:  # pragma: no cover - compiled
    if now[HIDDEN] < 0:
        enter_area(now, area_of_top(now))
        now[PENDING] = 2


@njit(cache=True, nogil=True)
def _close_foreign(now: Any, key: int) -> bool:  # pragma: no cover - compiled
    """Close a foreign element by name; give False where the tag is for HTML after all."""
    for at in range(now[DEPTH] - 1, -1, -1):
        if now[STACK + 6 * at + FOREIGN] == 0:
            return False
        if now[STACK + 6 * at + KEY] == key:
            pop_to(now, at)
            return True
    return False


@njit(cache=True, nogil=True)
def _close_part(now: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close a table, or a part of the innermost one."""
    if now[TABLES] == 0:
        return
    table = now[TABLE_PLACES + now[TABLES] - 1]
    if now[STACK + 6 * table + KEY] != _TABLE_TAG:
        return
    if key == _TABLE_TAG:
        pop_to(now, table)
        return
    for at in range(table + 1, min(table + 4, now[DEPTH])):
        if now[STACK + 6 * at + KEY] == key:
            pop_to(now, at)
            return


@njit(cache=True, nogil=True)
def _close_template(now: Any) -> None:  # pragma: no cover - compiled
    for at in range(now[DEPTH] - 1, -1, -1):
        if now[STACK + 6 * at + KEY] == _TEMPLATE and now[STACK + 6 * at + FOREIGN] == 0:
            pop_to(now, at)
            return


@njit(cache=True, nogil=True)
def _close_heading(now: Any) -> None:  # pragma: no cover - compiled
    for at in range(now[DEPTH] - 1, -1, -1):
        if now[STACK + 6 * at + FLAGS] & _HEADING:
            pop_to(now, at)
            return
        if now[STACK + 6 * at + FLAGS] & _SCOPE:
            return


@njit(cache=True, nogil=True)
def _close_other(now: Any, key: int) -> None:  # pragma: no cover - compiled
    """Close what has this name, if nothing special is open within it."""
    if now[OPEN + key if key >= 0 else KNOWN + (key & 511)] == 0:
        return
    for at in range(now[DEPTH] - 1, -1, -1):
        if now[STACK + 6 * at + KEY] == key and now[STACK + 6 * at + FOREIGN] == 0:
            pop_to(now, at)
            return
        if now[STACK + 6 * at + FLAGS] & _SPECIAL:
            return


@njit(cache=True, nogil=True)
def close_tag(now: Any, key: int, flags: int) -> None:  # pragma: no cover - compiled
    """Take an end tag."""
    top = STACK + 6 * (now[DEPTH] - 1)
    if now[OVER] == 0 and now[DEPTH] > 0 and now[top + KEY] == key and now[top + FOREIGN] == 0:
        # Nearly always it is for the innermost element, and then all rules say the same.
        if key == _A:
            end_link(now)
        pop_to(now, now[DEPTH] - 1)
        return
    if now[OVER] > 0 and key != _HTML and key != _BODY:
        now[OVER] -= 1
        return
    if now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FOREIGN] > 0:
        if key in (_P, _BR):
            break_out(now)
        elif _close_foreign(now, key):
            return
    if key in (_HTML, _HEAD, _BODY):
        return
    if key == _BR:
        _break_line(now)
    elif key == _P:
        at = in_scope(now, _P, _BUTTON)
        if at >= 0:
            pop_to(now, at)
        else:
            _break_line(now)
    elif key == _TABLE_TAG or flags & _PART:
        _close_part(now, key)
    elif flags & _FORMAT:
        if key == _A:
            end_link(now)
        end_format(now, key)
    elif key == _TEMPLATE:
        if now[OPEN + _TEMPLATE] > 0:
            _close_template(now)
    elif flags & _HEADING:
        _close_heading(now)
    elif key == _SELECT:
        for at in range(now[DEPTH] - 1, -1, -1):
            if now[STACK + 6 * at + KEY] == _SELECT:
                pop_to(now, at)
                break
            if now[STACK + 6 * at + FLAGS] & _SCOPE:
                break
    elif flags & _SCOPED or key == _FORM:
        at = in_scope(now, key, _OL if key == _LI else _NONE)
        if at >= 0:
            pop_to(now, at)
    else:
        _close_other(now, key)
