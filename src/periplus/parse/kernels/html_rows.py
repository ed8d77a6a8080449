"""Elements that say something beyond their text: each becomes a row of offsets."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, before_reference, copy_lanes
from periplus.parse.kernels.html_entities import read_reference
from periplus.parse.kernels.html_tags import ATTRIBUTE, NUMBER, hash_name
from periplus.parse.kernels.html_tokenizer import SPANS, hash_range
from periplus.parse.kernels.html_tree import (
    BASE,
    COLUMNS,
    DATA,
    END_OF_VALUES,
    HIDDEN,
    IMAGE,
    LANGUAGE,
    LINK,
    LINK_MARKS,
    LINK_ROW,
    MARKS,
    META,
    MOST_ROWS,
    NOTED,
    OPEN,
    REFERENCE,
    ROW_TABLE,
    ROWS,
    TIME,
    TITLE,
    USED,
    VALUES,
    end_link,
)

__all__ = ["first_of", "keep", "note_link", "note_other", "put_row", "put_title"]

NOFOLLOW, SPONSORED, UGC, AUTHOR = np.int64(1), np.int64(2), np.int64(4), np.int64(8)
"""Bits of the number of a link: what its rel says."""

_ZERO = np.int64(0)
FIRST, SECOND, THIRD = np.int64(4), np.int64(6), np.int64(8)
"""Columns of values."""
_NO_ROW = np.int64(-1)
_MOST_GROWTH = np.int64(3)
"""A zero becomes three bytes."""
_INSIDE, _OUTSIDE = np.int64(1), np.int64(0)
_ALT, _LAZY, _ARIA_LABEL, _CONTENT, _DATETIME = (
    ATTRIBUTE[name] for name in ["alt", "data-src", "aria-label", "content", "datetime"]
)
_HREF, _HTTP_EQUIV, _ITEMPROP, _LANG, _NAME = (
    ATTRIBUTE[name] for name in ["href", "http-equiv", "itemprop", "lang", "name"]
)
_PROPERTY, _REL, _SRC, _TITLE_NAME, _TYPE = (ATTRIBUTE[name] for name in ["property", "rel", "src", "title", "type"])
_LD_JSON, _LD_JSON_SIZE = hash_name("application/ld+json"), np.int64(len("application/ld+json"))
_NOFOLLOW, _SPONSORED, _UGC, _AUTHOR = (hash_name(name) for name in ["nofollow", "sponsored", "ugc", "author"])

_A, _AREA_TAG, _META_TAG, _LINK_TAG, _IMG, _IMAGE, _BASE_TAG = (
    NUMBER[name] for name in ["a", "area", "meta", "link", "img", "image", "base"]
)
_HTML, _TIME_TAG, _SCRIPT, _TEMPLATE = (NUMBER[name] for name in ["html", "time", "script", "template"])


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
def _copy(
    data: Any, begin: int, end: int, inside: int, book: Any, now: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Decode an attribute's value to the end of `out`; give its begin."""
    used = now[VALUES]
    start = used
    if used + _MOST_GROWTH * (end - begin) > now[END_OF_VALUES]:
        end = min(end, begin + (now[END_OF_VALUES] - used) // _MOST_GROWTH)
    while begin < end:
        if begin + LANES <= end:
            step = before_reference(data, begin)
            copy_lanes(data, begin, out, used)
            begin += step
            used += step
            if step == LANES:
                continue
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
def keep(
    data: Any, have: int, attribute: int, book: Any, now: Any, out: Any, row: int, column: int
) -> None:  # pragma: no cover - compiled
    """Put the value of an attribute into a row, if the tag has it."""
    if (have >> attribute) & 1 and row >= 0:
        begin = _copy(data, now[SPANS + 2 * attribute], now[SPANS + 2 * attribute + 1], _INSIDE, book, now, out)
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
    """Read the words of rel that are about trust, and about who wrote the page."""
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
        elif word == _AUTHOR:
            bits |= AUTHOR
        begin = stop
    return bits


@njit(cache=True, nogil=True)
def first_of(now: Any, have: int, one: int, other: int) -> int:  # pragma: no cover - compiled
    """Give the first of two attributes if it is there and says something, else the second."""
    told = (have >> one) & 1 and now[SPANS + 2 * one] < now[SPANS + 2 * one + 1]
    return one if told else other


@njit(cache=True, nogil=True)
def note_link(data: Any, have: int, key: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """A new link; its text goes on until it is closed."""
    end_link(now)
    if not (have >> _HREF) & 1 or now[HIDDEN] >= 0:
        return
    relations = _ZERO
    if (have >> _REL) & 1:
        relations = _relations(data, now[SPANS + 2 * _REL], now[SPANS + 2 * _REL + 1])
    row = put_row(now, LINK_ROW, relations)
    keep(data, have, _HREF, book, now, out, row, FIRST)
    keep(data, have, _ARIA_LABEL if (have >> _ARIA_LABEL) & 1 else _TITLE_NAME, book, now, out, row, THIRD)
    if key == _AREA_TAG:
        keep(data, have, _ALT, book, now, out, row, SECOND)
    else:
        now[LINK], now[LINK_MARKS] = row, now[MARKS]


@njit(cache=True, nogil=True)
def _note_image(data: Any, have: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """An image; within a link its alternative text may stand for the link's."""
    link = now[LINK]
    source = first_of(now, have, _SRC, _LAZY)
    row = put_row(now, IMAGE, now[SPANS + 2 * source] if (have >> source) & 1 else _ZERO)
    keep(data, have, source, book, now, out, row, FIRST)
    keep(data, have, _ALT, book, now, out, row, SECOND)
    keep(data, have, first_of(now, have, _ARIA_LABEL, _TITLE_NAME), book, now, out, row, THIRD)
    if link >= 0 and row >= 0 and now[ROW_TABLE + 10 * link + 6] == now[ROW_TABLE + 10 * link + 7]:
        now[ROW_TABLE + 10 * link + 6] = now[ROW_TABLE + 10 * row + 6]
        now[ROW_TABLE + 10 * link + 7] = now[ROW_TABLE + 10 * row + 7]


@njit(cache=True, nogil=True)
def _note_head(data: Any, have: int, key: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Metadata: <meta>, <link> and <base>."""
    if key == _META_TAG:
        row = put_row(now, META, _ZERO)
        name = first_of(now, have, _NAME, first_of(now, have, _PROPERTY, _ITEMPROP))
        keep(data, have, name, book, now, out, row, FIRST)
        keep(data, have, _CONTENT, book, now, out, row, SECOND)
        keep(data, have, _HTTP_EQUIV, book, now, out, row, THIRD)
    elif key == _LINK_TAG:
        row = put_row(now, REFERENCE, _ZERO)
        keep(data, have, _REL, book, now, out, row, FIRST)
        keep(data, have, _HREF, book, now, out, row, SECOND)
        keep(data, have, _TYPE, book, now, out, row, THIRD)
    elif (have >> _HREF) & 1:
        keep(data, have, _HREF, book, now, out, put_row(now, BASE, _ZERO), FIRST)


@njit(cache=True, nogil=True)
def note_other(data: Any, have: int, key: int, book: Any, now: Any, out: Any) -> bool:  # pragma: no cover - compiled
    """Note metadata, an image or a date; tell whether that is all there is to the tag."""
    if key in (_META_TAG, _LINK_TAG, _BASE_TAG):
        if now[OPEN + _TEMPLATE] == 0:
            _note_head(data, have, key, book, now, out)
    elif key in (_IMG, _IMAGE):
        if now[HIDDEN] < 0:
            _note_image(data, have, book, now, out)
    elif key == _HTML:
        keep(data, have, _LANG, book, now, out, put_row(now, LANGUAGE, _ZERO), FIRST)
    elif key == _TIME_TAG:
        if (have >> _DATETIME) & 1 and now[HIDDEN] < 0:
            keep(data, have, _DATETIME, book, now, out, put_row(now, TIME, _ZERO), FIRST)
        return False
    elif key == _SCRIPT and (have >> _TYPE) & 1:
        begin, end = now[SPANS + 2 * _TYPE], now[SPANS + 2 * _TYPE + 1]
        if hash_range(data, begin, min(end, begin + _LD_JSON_SIZE)) == _LD_JSON:
            now[NOTED] = put_row(now, DATA, _ZERO) + 1
    return True
