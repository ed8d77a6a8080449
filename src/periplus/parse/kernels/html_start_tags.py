"""Start tags: what each of them closes before it opens, and where it goes."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels import html_tags as tags_of
from periplus.parse.kernels.html_tags import NUMBER
from periplus.parse.kernels.html_tree import (
    ANNOTATION,
    AREA,
    AREA_TABLE,
    DEPTH,
    FLAGS,
    FOREIGN,
    FOSTER,
    FOSTERED,
    HIDDEN,
    HTML_POINT,
    KEY,
    MATH,
    OPEN,
    PENDING,
    STACK,
    SVG,
    TABLE_PLACES,
    TABLES,
    TEXT_POINT,
    WHERE,
    area_of_top,
    break_out,
    end_format,
    enter_area,
    in_scope,
    pop_to,
    push,
)

__all__ = ["open_tag"]

_BLOCK, _VOID, _SPECIAL, _SCOPE, _RAW = tags_of.BLOCK, tags_of.VOID, tags_of.SPECIAL, tags_of.SCOPE, tags_of.RAW
_NONE, _NOTHING = np.int64(-1), np.int64(0)
_PART_FLAGS = tags_of.BLOCK | tags_of.SPECIAL | tags_of.TABLE
_CLOSES_P, _HIDE, _HEADING = tags_of.CLOSES_P, tags_of.HIDE, tags_of.HEADING
_TABLE, _PART, _BREAKOUT = tags_of.TABLE, tags_of.PART, tags_of.BREAKOUT
_CELL, _STAYS, _ACTS, _HOLDS = tags_of.CELL, tags_of.STAYS, tags_of.ACTS, tags_of.HOLDS
_A, _P, _LI, _DD, _DT, _TR, _TBODY = (NUMBER[name] for name in ["a", "p", "li", "dd", "dt", "tr", "tbody"])
_BUTTON, _OPTION, _OPTGROUP, _SELECT, _FORM, _NOBR = (
    NUMBER[name] for name in ["button", "option", "optgroup", "select", "form", "nobr"]
)
_HTML, _HEAD, _BODY, _TABLE_TAG = (NUMBER[name] for name in ["html", "head", "body", "table"])
_ADDRESS, _DIV = (NUMBER[name] for name in ["address", "div"])
_TFOOT, _THEAD, _SCRIPT, _STYLE, _TITLE = (NUMBER[name] for name in ["tfoot", "thead", "script", "style", "title"])
_SVG, _MATH, _OBJECT_POINT, _DESC, _ANNOTATION = (
    NUMBER[name] for name in ["svg", "math", "foreignobject", "desc", "annotation-xml"]
)
_MI, _MO, _MN, _MS, _MTEXT, _MGLYPH, _MALIGN = (
    NUMBER[name] for name in ["mi", "mo", "mn", "ms", "mtext", "mglyph", "malignmark"]
)
_INPUT, _TEXTAREA, _KEYGEN, _FRAMESET = (NUMBER[name] for name in ["input", "textarea", "keygen", "frameset"])


@njit(cache=True, nogil=True)
def _close_item(now: Any, key: int) -> None:  # pragma: no cover - compiled
    """A new list item ends the one that is open, if nothing but phrases is between."""
    for at in range(now[DEPTH] - 1, -1, -1):
        open_key = now[STACK + 6 * at + KEY]
        if open_key == key or (key != _LI and (open_key in (_DD, _DT))):
            pop_to(now, at)
            return
        if now[STACK + 6 * at + FLAGS] & _SPECIAL and open_key != _ADDRESS and open_key != _DIV and open_key != _P:
            return


@njit(cache=True, nogil=True)
def _open_part(now: Any, key: int, flags: int, hide: int) -> int:  # pragma: no cover - compiled
    """Open a part of a table, with the parts that must be around it; give 0 where there is no table."""
    if now[TABLES] == 0:
        return 0
    table = now[TABLE_PLACES + now[TABLES] - 1]
    if now[STACK + 6 * table + KEY] != _TABLE_TAG:
        return 0
    area = now[STACK + 6 * table + WHERE]
    keep = table + 1
    if key == _TR or flags & _CELL:
        section = table + 1 < now[DEPTH] and (
            now[STACK + 6 * (table + 1) + KEY] == _TBODY
            or now[STACK + 6 * (table + 1) + KEY] == _THEAD
            or now[STACK + 6 * (table + 1) + KEY] == _TFOOT
        )
        keep = table + 2
        if not section:
            pop_to(now, table + 1)
            push(now, _TBODY, _PART_FLAGS, area, _NOTHING, _NONE)
        if flags & _CELL:
            if not (table + 2 < now[DEPTH] and now[STACK + 6 * (table + 2) + KEY] == _TR):
                pop_to(now, table + 2)
                push(now, _TR, _PART_FLAGS, area, _NOTHING, _NONE)
            keep = table + 3
    pop_to(now, keep)
    if now[HIDDEN] < 0:
        now[PENDING] = 2
    if not flags & _VOID:
        push(now, key, flags | hide, area, _NOTHING, _NONE)
    return 1


@njit(cache=True, nogil=True)
def _open_foreign(now: Any, key: int, kind: int, hide: int, closed: bool) -> None:  # pragma: no cover - compiled
    flags = hide
    foreign = kind
    if kind == SVG and (key in (_OBJECT_POINT, _DESC, _TITLE)):
        foreign = HTML_POINT
    elif kind == MATH and (key in (_MI, _MO, _MN, _MS, _MTEXT)):
        foreign = TEXT_POINT
    elif kind == MATH and key == _ANNOTATION:
        foreign = ANNOTATION
    if foreign >= HTML_POINT:
        flags |= _SCOPE | _SPECIAL
    if key in (_SCRIPT, _STYLE):
        flags |= _HIDE
    if not closed:
        push(now, key, flags, now[AREA], foreign, _NONE)


@njit(cache=True, nogil=True, forceinline=True)
def _foreign_of(now: Any, key: int) -> int:  # pragma: no cover - compiled
    """Give the kind of foreign content that a start tag falls into; 0 where it is HTML."""
    depth = now[DEPTH]
    if depth == 0:
        return 0
    kind = now[STACK + 6 * (depth - 1) + FOREIGN]
    if kind == HTML_POINT or (kind == TEXT_POINT and key != _MGLYPH and key != _MALIGN):
        return 0
    if kind == ANNOTATION and key == _SVG:
        return 0
    return MATH if kind >= TEXT_POINT else kind


@njit(cache=True, nogil=True, forceinline=True)
def _area_of_child(now: Any, flags: int) -> int:  # pragma: no cover - compiled
    """Give the area that a new element is in: right in a table, that is the one before the table."""
    depth = now[DEPTH]
    if depth == 0:
        return 0
    if now[STACK + 6 * (depth - 1) + FLAGS] & _TABLE and not flags & _STAYS:
        now[FOSTERED] = 1
        return now[STACK + 6 * (now[TABLE_PLACES + now[TABLES] - 1]) + FOSTER]
    return now[STACK + 6 * (depth - 1) + WHERE]


@njit(cache=True, nogil=True)
def open_tag(now: Any, key: int, flags: int, hide: int, closed: bool, row: int) -> int:  # pragma: no cover - compiled
    """Take a start tag; give 1 if it is an HTML element, 0 if it is foreign or means nothing here."""
    kind = _foreign_of(now, key)
    if kind > 0:
        if not flags & _BREAKOUT:
            _open_foreign(now, key, kind, hide, closed)
            return 0
        break_out(now)
    if flags & _ACTS and (key in (_HTML, _HEAD, _BODY, _FRAMESET)):
        return 1
    if flags & _PART:
        return _open_part(now, key, flags, hide)
    if now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FLAGS] & _TABLE:
        if key == _TABLE_TAG:
            pop_to(now, now[TABLE_PLACES + now[TABLES] - 1])
        elif key == _FORM:
            return 0
    return _open_in_body(now, key, flags, hide, row, _area_of_child(now, flags))


@njit(cache=True, nogil=True, forceinline=True)
def _open_in_body(now: Any, key: int, flags: int, hide: int, row: int, area: int) -> int:  # pragma: no cover - compiled
    """Take a start tag where it is in HTML and in no table."""
    before = now[DEPTH]
    if flags & _ACTS:
        if key == _FORM and now[OPEN + _FORM] > 0:
            return 0
        if key in (_LI, _DD, _DT):
            _close_item(now, key)
    if flags & _CLOSES_P:
        at = in_scope(now, _P, _BUTTON)
        if at >= 0:
            pop_to(now, at)
        if flags & _HEADING and now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FLAGS] & _HEADING:
            pop_to(now, now[DEPTH] - 1)
    elif not flags & _ACTS:
        pass
    elif key in (_OPTION, _OPTGROUP):
        if now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + KEY] == _OPTION:
            pop_to(now, now[DEPTH] - 1)
        if key == _OPTGROUP and now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + KEY] == _OPTGROUP:
            pop_to(now, now[DEPTH] - 1)
    elif key in (_A, _NOBR):
        end_format(now, key)
    elif key == _BUTTON:
        at = in_scope(now, _BUTTON, _NONE)
        if at >= 0:
            pop_to(now, at)
    elif (key in (_SELECT, _INPUT, _TEXTAREA, _KEYGEN)) and now[OPEN + _SELECT] > 0:
        for at in range(now[DEPTH] - 1, -1, -1):
            if now[STACK + 6 * at + KEY] == _SELECT:
                pop_to(now, at)
                break
            if now[STACK + 6 * at + FLAGS] & _SCOPE:
                break
        if key == _SELECT:
            return 0
    if now[DEPTH] < before:
        area = _area_of_child(now, flags)
    pending = 0
    if flags & _BLOCK and now[HIDDEN] < 0:
        enter_area(now, area)
        pending = now[PENDING]
        now[PENDING] = 2
    if flags & (_VOID | _RAW):
        if area_of_top(now) != area:
            enter_area(now, area)
        return 1
    if not flags & (_ACTS | _HOLDS):
        push(now, key, flags | hide, area, _NOTHING, row)
        return 1
    push(now, key, flags | hide, area, SVG if key == _SVG else MATH if key == _MATH else _NOTHING, row)
    if key == _TABLE_TAG and now[DEPTH] > 0 and now[STACK + 6 * (now[DEPTH] - 1) + FOSTER] != area:
        now[AREA_TABLE + 2 * now[STACK + 6 * (now[DEPTH] - 1) + FOSTER] + 1] = pending
    return 1
