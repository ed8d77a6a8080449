"""Rows for what else a page shows and states: media, figures, tables with a class, microdata, styles that hide."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels.html_rows import FIRST, SECOND, THIRD, first_of, keep, put_row
from periplus.parse.kernels.html_tags import ATTRIBUTE, NUMBER
from periplus.parse.kernels.html_tokenizer import SPANS
from periplus.parse.kernels.html_tree import ALSO, CAPTION, FIGURE, HIDDEN, MEDIA, PROPERTY, ROW_TABLE, STYLE, TABLE_ROW

__all__ = ["follow", "note_anywhere", "note_shown"]

AUDIO, VIDEO, SOURCE, TRACK, EMBED = (np.int64(kind) for kind in range(5))
"""Numbers of rows of media; <object> is like <embed>."""

_ZERO, _NO_ROW = np.int64(0), np.int64(-1)
_ALT, _LABEL, _WORDS, _TITLE, _CLASS = (ATTRIBUTE[name] for name in ["alt", "aria-label", "label", "title", "class"])
_SRC, _LAZY, _DATA, _POSTER, _TYPE = (ATTRIBUTE[name] for name in ["src", "data-src", "data", "poster", "type"])
_ITEMPROP, _ITEMSCOPE, _CONTENT, _DATETIME, _STYLE = (
    ATTRIBUTE[name] for name in ["itemprop", "itemscope", "content", "datetime", "style"]
)
_VIDEO, _AUDIO, _SOURCE, _TRACK = (NUMBER[name] for name in ["video", "audio", "source", "track"])
_FIGURE, _FIGCAPTION, _TABLE = (NUMBER[name] for name in ["figure", "figcaption", "table"])


@njit(cache=True, nogil=True)
def follow(now: Any, row: int, after: int) -> int:  # pragma: no cover - compiled
    """Let one row for an element lead to another, so that both end with it; give the one to go on from."""
    if after < 0:
        return row
    now[ROW_TABLE + 10 * after + ALSO] = row + 1
    return after


@njit(cache=True, nogil=True)
def _note_media(data: Any, have: int, key: int, book: Any, now: Any, out: Any) -> None:  # pragma: no cover - compiled
    """A sound, a film, another form of one, a text track, or something embedded."""
    number = EMBED
    if key == _VIDEO:
        number = VIDEO
    elif key == _AUDIO:
        number = AUDIO
    elif key == _SOURCE:
        number = SOURCE
    elif key == _TRACK:
        number = TRACK
    row = put_row(now, MEDIA, number)
    words = first_of(now, have, _ALT, first_of(now, have, _LABEL, first_of(now, have, _TITLE, _WORDS)))
    keep(data, have, first_of(now, have, _SRC, first_of(now, have, _LAZY, _DATA)), book, now, out, row, FIRST)
    keep(data, have, words, book, now, out, row, SECOND)
    keep(data, have, _TYPE if number == EMBED else _POSTER, book, now, out, row, THIRD)


@njit(cache=True, nogil=True)
def note_shown(data: Any, have: int, key: int, book: Any, now: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Note media, a figure, a caption or a table; give the row that the text of the element belongs to, or -1."""
    if now[HIDDEN] >= 0:
        return _NO_ROW
    if key == _FIGURE:
        return put_row(now, FIGURE, _ZERO)
    if key == _FIGCAPTION:
        return put_row(now, CAPTION, _ZERO)
    if key == _TABLE:
        if (have >> _CLASS) & 1:
            row = put_row(now, TABLE_ROW, now[SPANS + 2 * _CLASS + 1])
            keep(data, have, _CLASS, book, now, out, row, FIRST)
        return _NO_ROW
    _note_media(data, have, key, book, now, out)
    return _NO_ROW


@njit(cache=True, nogil=True)
def _may_hide(data: Any, begin: int, end: int) -> bool:  # pragma: no cover - compiled
    """Tell whether a style is worth a look: a display or visibility, no size or opacity, a place outside."""
    for at in range(begin + 1, end - 1):
        if data[at] != 58:
            continue
        before, after = data[at - 1] | 32, data[at + 1]
        if after == 32 and at + 2 < end:
            after = data[at + 2]
        if before == 121 and (after | 32 == 110 or after | 32 == 104 or after == 48):
            return True
        if (before == 101 and after == 48) or (before == 116 and after == 45):
            return True
    return False


@njit(cache=True, nogil=True)
def note_anywhere(data: Any, have: int, book: Any, now: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Note microdata and a style that may hide the element; give the row its text belongs to, or -1."""
    row = _NO_ROW
    if now[HIDDEN] >= 0:
        return row
    if (have >> _ITEMPROP) & 1:
        row = put_row(now, PROPERTY, (have >> _ITEMSCOPE) & 1)
        keep(data, have, _ITEMPROP, book, now, out, row, FIRST)
        keep(data, have, first_of(now, have, _CONTENT, _DATETIME), book, now, out, row, SECOND)
    if (have >> _STYLE) & 1 and _may_hide(data, now[SPANS + 2 * _STYLE], now[SPANS + 2 * _STYLE + 1]):
        style = put_row(now, STYLE, _ZERO)
        keep(data, have, _STYLE, book, now, out, style, FIRST)
        row = follow(now, row, style)
    return row
