"""Rows for media, figures, tables with a class, microdata, and styles that may hide an element."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels.html_rows import append_row, first_present, store_attribute
from periplus.parse.kernels.html_state import (
    CAPTION_ROW,
    FIGURE_ROW,
    HIDDEN_LEVEL,
    MEDIA_ROW,
    NEXT_ROW,
    PROPERTY_ROW,
    ROW_TABLE,
    ROW_WIDTH,
    SPANS,
    STYLE_ROW,
    TABLE_ROW,
    VALUE_1,
    VALUE_2,
    VALUE_3,
)
from periplus.parse.kernels.html_tables import COLON, HYPHEN, SPACE
from periplus.parse.kernels.html_tags import ATTRIBUTE, ELEMENT

__all__ = ["chain_rows", "record_embedded", "record_global_attributes"]

AUDIO, VIDEO, SOURCE, TRACK, EMBED = (np.int64(kind) for kind in range(5))
"""Numbers of media rows; <object> counts as EMBED."""

_ZERO, _NO_ROW = np.int64(0), np.int64(-1)
_ALT, _LABEL, _WORDS, _TITLE, _CLASS = (ATTRIBUTE[name] for name in ["alt", "aria-label", "label", "title", "class"])
_SRC, _LAZY, _DATA, _POSTER, _TYPE = (ATTRIBUTE[name] for name in ["src", "data-src", "data", "poster", "type"])
_ITEMPROP, _ITEMSCOPE, _CONTENT, _DATETIME, _STYLE = (
    ATTRIBUTE[name] for name in ["itemprop", "itemscope", "content", "datetime", "style"]
)
_VIDEO, _AUDIO, _SOURCE, _TRACK = (ELEMENT[name] for name in ["video", "audio", "source", "track"])
_FIGURE, _FIGCAPTION, _TABLE = (ELEMENT[name] for name in ["figure", "figcaption", "table"])


@njit(cache=True, nogil=True)
def chain_rows(state: Any, row: int, after: int) -> int:  # pragma: no cover - compiled
    """Chain a new row to another of the same element, so that both end with it.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    row
        The earlier row, or -1.
    after
        The new row, or -1.

    Returns
    -------
    The row to continue the chain from.
    """
    if after < 0:
        return row
    state[ROW_TABLE + ROW_WIDTH * after + NEXT_ROW] = row + 1
    return after


@njit(cache=True, nogil=True)
def _record_media(
    data: Any, attributes: int, key: int, tables: Any, state: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Record audio, video, another source of one, a text track, or embedded content."""
    number = EMBED
    if key == _VIDEO:
        number = VIDEO
    elif key == _AUDIO:
        number = AUDIO
    elif key == _SOURCE:
        number = SOURCE
    elif key == _TRACK:
        number = TRACK
    row = append_row(state, MEDIA_ROW, number)
    words = first_present(
        state,
        attributes,
        _ALT,
        first_present(state, attributes, _LABEL, first_present(state, attributes, _TITLE, _WORDS)),
    )
    store_attribute(
        data,
        attributes,
        first_present(state, attributes, _SRC, first_present(state, attributes, _LAZY, _DATA)),
        tables,
        state,
        out,
        row,
        VALUE_1,
    )
    store_attribute(data, attributes, words, tables, state, out, row, VALUE_2)
    store_attribute(data, attributes, _TYPE if number == EMBED else _POSTER, tables, state, out, row, VALUE_3)


@njit(cache=True, nogil=True)
def record_embedded(
    data: Any, attributes: int, key: int, tables: Any, state: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Record media, a figure, a caption or a table with a class.

    Parameters
    ----------
    data
        Bytes of the page.
    attributes
        Bits of the attributes that the tag has; their values are in the state from SPANS on.
    key
        Number of the element; negative, and made of the hash of its name, if it is not known.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.

    Returns
    -------
    The row that the text of the element belongs to, or -1.
    """
    if state[HIDDEN_LEVEL] >= 0:
        return _NO_ROW
    if key == _FIGURE:
        return append_row(state, FIGURE_ROW, _ZERO)
    if key == _FIGCAPTION:
        return append_row(state, CAPTION_ROW, _ZERO)
    if key == _TABLE:
        if (attributes >> _CLASS) & 1:
            row = append_row(state, TABLE_ROW, state[SPANS + 2 * _CLASS + 1])
            store_attribute(data, attributes, _CLASS, tables, state, out, row, VALUE_1)
        return _NO_ROW
    _record_media(data, attributes, key, tables, state, out)
    return _NO_ROW


@njit(cache=True, nogil=True)
def _may_hide(data: Any, begin: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether a style may hide its element: by display, visibility, size, opacity or a negative offset."""
    for at in range(begin + 1, end - 1):
        if data[at] != COLON:
            continue
        before, after = data[at - 1] | 32, data[at + 1]
        if after == SPACE and at + 2 < end:
            after = data[at + 2]
        if before == 121 and (after | 32 == 110 or after | 32 == 104 or after == 48):
            return True
        if (before == 101 and after == 48) or (before == 116 and after == HYPHEN):
            return True
    return False


@njit(cache=True, nogil=True)
def record_global_attributes(
    data: Any, attributes: int, tables: Any, state: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Record microdata, and a style that may hide the element.

    Parameters
    ----------
    data
        Bytes of the page.
    attributes
        Bits of the attributes that the tag has; their values are in the state from SPANS on.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.

    Returns
    -------
    The row that the text of the element belongs to, or -1.
    """
    row = _NO_ROW
    if state[HIDDEN_LEVEL] >= 0:
        return row
    if (attributes >> _ITEMPROP) & 1:
        row = append_row(state, PROPERTY_ROW, (attributes >> _ITEMSCOPE) & 1)
        store_attribute(data, attributes, _ITEMPROP, tables, state, out, row, VALUE_1)
        store_attribute(
            data, attributes, first_present(state, attributes, _CONTENT, _DATETIME), tables, state, out, row, VALUE_2
        )
    if (attributes >> _STYLE) & 1 and _may_hide(data, state[SPANS + 2 * _STYLE], state[SPANS + 2 * _STYLE + 1]):
        style = append_row(state, STYLE_ROW, _ZERO)
        store_attribute(data, attributes, _STYLE, tables, state, out, style, VALUE_1)
        row = chain_rows(state, row, style)
    return row
