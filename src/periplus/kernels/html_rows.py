"""Elements that say something beyond their text: each becomes a row of offsets."""

from typing import Any

import numpy as np
from numba import njit

from periplus.kernels import html_tags as tags_of
from periplus.kernels.html_scan import SPANS, hash_range, read_reference
from periplus.kernels.html_tags import NUMBER, hash_name
from periplus.kernels.html_tree import (
    COLUMNS,
    DEPTH,
    FOREIGN,
    HIDDEN,
    LINK,
    LINK_MARKS,
    MARKS,
    MATH,
    MOST_ROWS,
    NOTED,
    OPEN,
    ROW_TABLE,
    ROWS,
    STACK,
    SVG,
    USED,
    VALUES,
    end_link,
)

__all__ = ["note_element", "put_row", "put_title"]

TITLE, HEADING, EMPHASIS, LINK_ROW, META, REFERENCE, IMAGE, BASE, LANGUAGE, TIME, DATA = (
    np.int64(kind) for kind in range(11)
)
"""Kinds of rows."""
NOFOLLOW, SPONSORED, UGC = np.int64(1), np.int64(2), np.int64(4)
"""Bits of the number of a link: what its rel says."""

_ZERO, _FIRST, _SECOND, _THIRD = np.int64(0), np.int64(4), np.int64(6), np.int64(8)
"""Columns of the out."""
_NO_ROW = np.int64(-1)
_INSIDE, _OUTSIDE = np.int64(1), np.int64(0)
_ALT, _ARIA_HIDDEN, _ARIA_LABEL, _CONTENT, _DATETIME = (
    hash_name(name) for name in ["alt", "aria-hidden", "aria-label", "content", "datetime"]
)
_HIDDEN, _HREF, _HTTP_EQUIV, _ITEMPROP, _LANG, _NAME = (
    hash_name(name) for name in ["hidden", "href", "http-equiv", "itemprop", "lang", "name"]
)
_PROPERTY, _REL, _SRC, _TITLE_NAME, _TYPE = (hash_name(name) for name in ["property", "rel", "src", "title", "type"])
_TRUE, _LD_JSON = hash_name("true"), hash_name("application/ld+json")
_NOFOLLOW, _SPONSORED, _UGC = (hash_name(name) for name in ["nofollow", "sponsored", "ugc"])

_A, _AREA_TAG, _META_TAG, _LINK_TAG, _IMG, _IMAGE, _BASE_TAG = (
    NUMBER[name] for name in ["a", "area", "meta", "link", "img", "image", "base"]
)
_HTML, _TIME_TAG, _SCRIPT, _BODY, _TEMPLATE = (NUMBER[name] for name in ["html", "time", "script", "body", "template"])
_IS_HEADING, _IS_EMPHASIS, _VOID, _HIDE = tags_of.HEADING, tags_of.EMPHASIS, tags_of.VOID, tags_of.HIDE
_LEVELS = tuple(NUMBER[f"h{level}"] for level in range(1, 7))


@njit(cache=True, nogil=True)
def _is_blank(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == 32 or (byte >= 9 and byte <= 13)


@njit(cache=True, nogil=True)
def put_row(now: Any, kind: int, number: int) -> int:  # pragma: no cover - compiled
    """Begin a row, with the text from here on; -1 if there is no room."""
    row = now[ROWS]
    if row >= now[MOST_ROWS]:
        return _NO_ROW
    now[ROWS] = row + 1
    for column in range(COLUMNS):
        now[ROW_TABLE + 10 * row + column] = 0
    now[ROW_TABLE + 10 * row + 0], now[ROW_TABLE + 10 * row + 1] = kind, number
    now[ROW_TABLE + 10 * row + 2] = now[ROW_TABLE + 10 * row + 3] = now[USED]
    return row


@njit(cache=True, nogil=True)
def _find(data: Any, now: Any, count: int, name: Any) -> int:  # pragma: no cover - compiled
    """Give the number of the first attribute with this name, or -1."""
    for i in range(count):
        if hash_range(data, now[SPANS + 4 * i], now[SPANS + 4 * i + 1]) == name:
            return i
    return -1


@njit(cache=True, nogil=True)
def _copy(
    data: Any, begin: int, end: int, inside: int, book: Any, now: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Decode an attribute's value to the end of `out`; give its begin."""
    used = now[VALUES]
    start = used
    while begin < end:
        byte = data[begin]
        if byte == 38:
            begin, used = read_reference(data, begin, end, inside, book, out, used)
        elif byte == 0:
            out[used], out[used + 1], out[used + 2] = 0xEF, 0xBF, 0xBD
            used += 3
            begin += 1
        else:
            if byte != 13:
                out[used] = byte
                used += 1
            elif begin + 1 >= end or data[begin + 1] != 10:
                out[used] = 10
                used += 1
            begin += 1
    now[VALUES] = used
    return start


@njit(cache=True, nogil=True)
def _keep(
    data: Any, attribute: int, book: Any, now: Any, out: Any, row: int, column: int
) -> None:  # pragma: no cover - compiled
    """Put the value of an attribute into a row."""
    if attribute >= 0 and row >= 0:
        begin = _copy(data, now[SPANS + 4 * attribute + 2], now[SPANS + 4 * attribute + 3], _INSIDE, book, now, out)
        now[ROW_TABLE + 10 * row + column], now[ROW_TABLE + 10 * row + column + 1] = begin, now[VALUES]


@njit(cache=True, nogil=True)
def put_title(data: Any, begin: int, end: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Keep the title of the page."""
    row = put_row(now, TITLE, _ZERO)
    if row >= 0:
        now[ROW_TABLE + 10 * row + 4] = _copy(data, begin, end, _OUTSIDE, book, now, out)
        now[ROW_TABLE + 10 * row + 5] = now[VALUES]


@njit(cache=True, nogil=True)
def _relations(data: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Read the words of rel that are about trust."""
    bits = _ZERO
    while begin < end:
        while begin < end and _is_blank(data[begin]):
            begin += 1
        stop = begin
        while stop < end and not _is_blank(data[stop]):
            stop += 1
        word = hash_range(data, begin, stop)
        if word == _NOFOLLOW:
            bits |= NOFOLLOW
        elif word == _SPONSORED:
            bits |= SPONSORED
        elif word == _UGC:
            bits |= UGC
        begin = stop
    return bits


@njit(cache=True, nogil=True)
def _note_link(data: Any, count: int, key: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """A new link; its text goes on until it is closed."""
    href = _find(data, now, count, _HREF)
    end_link(now)
    if href < 0 or now[HIDDEN] >= 0:
        return
    rel = _find(data, now, count, _REL)
    row = put_row(
        now, LINK_ROW, _relations(data, now[SPANS + 4 * rel + 2], now[SPANS + 4 * rel + 3]) if rel >= 0 else _ZERO
    )
    _keep(data, href, book, now, out, row, _FIRST)
    label = _find(data, now, count, _ARIA_LABEL)
    if label < 0:
        label = _find(data, now, count, _TITLE_NAME)
    _keep(data, label, book, now, out, row, _THIRD)
    if key == _AREA_TAG:
        _keep(data, _find(data, now, count, _ALT), book, now, out, row, _SECOND)
    else:
        now[LINK], now[LINK_MARKS] = row, now[MARKS]


@njit(cache=True, nogil=True)
def _note_image(data: Any, count: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """An image; within a link its alternative text may stand for the link's."""
    alt = _find(data, now, count, _ALT)
    link = now[LINK]
    row = put_row(now, IMAGE, _ZERO)
    _keep(data, _find(data, now, count, _SRC), book, now, out, row, _FIRST)
    _keep(data, alt, book, now, out, row, _SECOND)
    if link >= 0 and row >= 0 and now[ROW_TABLE + 10 * link + 6] == now[ROW_TABLE + 10 * link + 7]:
        now[ROW_TABLE + 10 * link + 6] = now[ROW_TABLE + 10 * row + 6]
        now[ROW_TABLE + 10 * link + 7] = now[ROW_TABLE + 10 * row + 7]


@njit(cache=True, nogil=True)
def _note_head(data: Any, count: int, key: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Metadata: <meta>, <link> and <base>."""
    if key == _META_TAG:
        row = put_row(now, META, _ZERO)
        name = _find(data, now, count, _NAME)
        if name < 0 or now[SPANS + 4 * name + 2] == now[SPANS + 4 * name + 3]:
            name = _find(data, now, count, _PROPERTY)
        if name < 0 or now[SPANS + 4 * name + 2] == now[SPANS + 4 * name + 3]:
            name = _find(data, now, count, _ITEMPROP)
        _keep(data, name, book, now, out, row, _FIRST)
        _keep(data, _find(data, now, count, _CONTENT), book, now, out, row, _SECOND)
        _keep(data, _find(data, now, count, _HTTP_EQUIV), book, now, out, row, _THIRD)
    elif key == _LINK_TAG:
        row = put_row(now, REFERENCE, _ZERO)
        _keep(data, _find(data, now, count, _REL), book, now, out, row, _FIRST)
        _keep(data, _find(data, now, count, _HREF), book, now, out, row, _SECOND)
        _keep(data, _find(data, now, count, _TYPE), book, now, out, row, _THIRD)
    else:
        href = _find(data, now, count, _HREF)
        if href >= 0:
            _keep(data, href, book, now, out, put_row(now, BASE, _ZERO), _FIRST)


@njit(cache=True, nogil=True)
def _is_hidden(data: Any, now: Any, count: int) -> bool:  # pragma: no cover - compiled
    """Tell whether an attribute takes the element out of sight."""
    for i in range(count):
        begin, size = now[SPANS + 4 * i], now[SPANS + 4 * i + 1] - now[SPANS + 4 * i]
        first = data[begin] | 32
        if size == 6 and first == 104:
            if hash_range(data, begin, begin + 6) == _HIDDEN:
                return True
        elif (
            size == 11
            and first == 97
            and hash_range(data, begin, begin + 11) == _ARIA_HIDDEN
            and hash_range(data, now[SPANS + 4 * i + 2], now[SPANS + 4 * i + 3]) == _TRUE
        ):
            return True
    return False


@njit(cache=True, nogil=True)
def note_element(
    data: Any, count: int, key: int, flags: int, book: Any, now: Any, out: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Note what a start tag says; give HIDE if the element is out of sight, and the row its text belongs to, or -1."""
    depth = now[DEPTH]
    foreign = now[STACK + 6 * (depth - 1) + FOREIGN] if depth > 0 else _ZERO
    if (foreign in (SVG, MATH)) and not flags & tags_of.BREAKOUT:
        return _ZERO, _NO_ROW
    if key in (_A, _AREA_TAG):
        _note_link(data, count, key, book, now, out)
    elif key in (_META_TAG, _LINK_TAG, _BASE_TAG):
        if now[OPEN + _TEMPLATE] == 0:
            _note_head(data, count, key, book, now, out)
        return _ZERO, _NO_ROW
    elif key in (_IMG, _IMAGE):
        if now[HIDDEN] < 0:
            _note_image(data, count, book, now, out)
        return _ZERO, _NO_ROW
    elif key == _HTML:
        _keep(
            data,
            _find(data, now, count, _LANG),
            book,
            now,
            out,
            put_row(now, LANGUAGE, _ZERO),
            _FIRST,
        )
        return _ZERO, _NO_ROW
    elif key == _TIME_TAG:
        when = _find(data, now, count, _DATETIME)
        if when >= 0 and now[HIDDEN] < 0:
            _keep(data, when, book, now, out, put_row(now, TIME, _ZERO), _FIRST)
    elif key == _SCRIPT:
        kind = _find(data, now, count, _TYPE)
        if kind >= 0 and hash_range(data, now[SPANS + 4 * kind + 2], now[SPANS + 4 * kind + 3]) == _LD_JSON:
            now[NOTED] = put_row(now, DATA, _ZERO) + 1
        return _ZERO, _NO_ROW
    elif key == _BODY:
        return _ZERO, _NO_ROW
    row = _NO_ROW
    if now[HIDDEN] < 0:
        if flags & _IS_HEADING:
            level = np.int64(1)
            for i in range(6):
                if _LEVELS[i] == key:
                    level = np.int64(i + 1)
            row = put_row(now, HEADING, level)
        elif flags & _IS_EMPHASIS:
            row = put_row(now, EMPHASIS, _ZERO)
    return _HIDE if count > 0 and not flags & _VOID and _is_hidden(data, now, count) else _ZERO, row
