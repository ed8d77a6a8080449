"""Elements that state something beyond their text: each becomes a row of offsets."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, copy_lanes, scan_to_reference
from periplus.parse.kernels.html_entities import decode_reference
from periplus.parse.kernels.html_state import (
    BASE_ROW,
    HIDDEN_LEVEL,
    IMAGE_ROW,
    JSON_LD_ROW,
    LANGUAGE_ROW,
    LINK_MARKERS,
    LINK_ROW,
    MARKERS,
    MAX_ROWS,
    META_ROW,
    OPEN_COUNTS,
    OPEN_LINK,
    REFERENCE_ROW,
    ROW_BEGIN,
    ROW_COUNT,
    ROW_END,
    ROW_KIND,
    ROW_NUMBER,
    ROW_TABLE,
    ROW_WIDTH,
    SCRIPT_ROW,
    SPANS,
    TEXT_END,
    TIME_ROW,
    TITLE_ROW,
    VALUE_1,
    VALUE_2,
    VALUE_3,
    VALUES_END,
    VALUES_LIMIT,
)
from periplus.parse.kernels.html_tables import AMPERSAND, CARRIAGE_RETURN, NEWLINE, SPACE, TAB
from periplus.parse.kernels.html_tags import ATTRIBUTE, ELEMENT, hash_name
from periplus.parse.kernels.html_tokenizer import hash_range
from periplus.parse.kernels.html_tree import end_link

__all__ = ["append_row", "append_title", "first_present", "record_link", "record_other", "store_attribute"]

NOFOLLOW, SPONSORED, UGC, AUTHOR = np.int64(1), np.int64(2), np.int64(4), np.int64(8)
"""Bits of the number of a link row, by the words of its rel attribute."""

_ZERO = np.int64(0)
_NO_ROW = np.int64(-1)
_MAX_GROWTH = np.int64(3)
"""A zero byte becomes three bytes."""
_IN_ATTRIBUTE, _IN_TEXT = np.int64(1), np.int64(0)
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
    ELEMENT[name] for name in ["a", "area", "meta", "link", "img", "image", "base"]
)
_HTML, _TIME_TAG, _SCRIPT, _TEMPLATE = (ELEMENT[name] for name in ["html", "time", "script", "template"])


@njit(cache=True, nogil=True)
def _is_blank(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == SPACE or (byte >= TAB and byte <= CARRIAGE_RETURN)


@njit(cache=True, nogil=True)
def append_row(state: Any, kind: int, number: int) -> int:  # pragma: no cover - compiled
    """Append a row whose text begins here.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    kind, number
        The first two columns of the row.

    Returns
    -------
    Index of the row, -1 if there are too many.
    """
    row = state[ROW_COUNT]
    if row >= state[MAX_ROWS]:
        return _NO_ROW
    state[ROW_COUNT] = row + 1
    for column in range(ROW_WIDTH):
        state[ROW_TABLE + ROW_WIDTH * row + column] = 0
    state[ROW_TABLE + ROW_WIDTH * row + ROW_KIND], state[ROW_TABLE + ROW_WIDTH * row + ROW_NUMBER] = kind, number
    state[ROW_TABLE + ROW_WIDTH * row + ROW_BEGIN] = state[ROW_TABLE + ROW_WIDTH * row + ROW_END] = state[TEXT_END]
    return row


@njit(cache=True, nogil=True)
def decode_value(
    data: Any, begin: int, end: int, inside: int, tables: Any, state: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Append a value to the output, with its character references decoded.

    Parameters
    ----------
    data, begin, end
        Bytes, and the range of them that is meant.
    inside
        1 for the value of an attribute, 0 for text.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.

    Returns
    -------
    Offset of the value in `out`; it ends at `state[VALUES_END]`.
    """
    used = state[VALUES_END]
    start = used
    if used + _MAX_GROWTH * (end - begin) > state[VALUES_LIMIT]:
        end = min(end, begin + (state[VALUES_LIMIT] - used) // _MAX_GROWTH)
    while begin < end:
        if begin + LANES <= end:
            step = scan_to_reference(data, begin)
            copy_lanes(data, begin, out, used)
            begin += step
            used += step
            if step == LANES:
                continue
        byte = data[begin]
        if byte == AMPERSAND:
            begin, used = decode_reference(data, begin, end, inside, tables, out, used)
        elif byte == 0:
            out[used], out[used + 1], out[used + 2] = 0xEF, 0xBF, 0xBD
            used += 3
            begin += 1
        else:
            if byte != CARRIAGE_RETURN:
                out[used] = byte
                used += 1
            elif begin + 1 >= end or data[begin + 1] != NEWLINE:
                out[used] = NEWLINE
                used += 1
            begin += 1
    state[VALUES_END] = used
    return start


@njit(cache=True, nogil=True)
def store_attribute(
    data: Any, attributes: int, attribute: int, tables: Any, state: Any, out: Any, row: int, column: int
) -> None:  # pragma: no cover - compiled
    """Store the value of an attribute in a row, if the tag has it.

    Parameters
    ----------
    data
        Bytes of the page.
    attributes
        Bits of the attributes that the tag has; their values are in the state from SPANS on.
    attribute
        Number of the attribute.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.
    row, column
        The row, or -1, and VALUE_1, VALUE_2 or VALUE_3.
    """
    if (attributes >> attribute) & 1 and row >= 0:
        begin = decode_value(
            data, state[SPANS + 2 * attribute], state[SPANS + 2 * attribute + 1], _IN_ATTRIBUTE, tables, state, out
        )
        state[ROW_TABLE + ROW_WIDTH * row + column], state[ROW_TABLE + ROW_WIDTH * row + column + 1] = (
            begin,
            state[VALUES_END],
        )


@njit(cache=True, nogil=True)
def append_title(
    data: Any, begin: int, end: int, tables: Any, state: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Append the row of the title of the page.

    Parameters
    ----------
    data, begin, end
        Bytes, and the range of them that is meant.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.
    out
        Output bytes: text from the start, values from `state[VALUES_BEGIN]` on.
    """
    row = append_row(state, TITLE_ROW, _ZERO)
    if row >= 0:
        state[ROW_TABLE + ROW_WIDTH * row + VALUE_1] = decode_value(data, begin, end, _IN_TEXT, tables, state, out)
        state[ROW_TABLE + ROW_WIDTH * row + VALUE_1 + 1] = state[VALUES_END]


@njit(cache=True, nogil=True)
def _parse_rel(data: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the bits of the words in a rel attribute: NOFOLLOW, SPONSORED, UGC, AUTHOR."""
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
def first_present(state: Any, attributes: int, preferred: int, fallback: int) -> int:  # pragma: no cover - compiled
    """Return the preferred attribute if the tag has it with a value, else the fallback.

    Parameters
    ----------
    state
        The state of the scan, laid out as in `html_state`.
    attributes
        Bits of the attributes that the tag has; their values are in the state from SPANS on.
    preferred, fallback
        Numbers of attributes.

    Returns
    -------
    One of the two numbers.
    """
    has_value = (attributes >> preferred) & 1 and state[SPANS + 2 * preferred] < state[SPANS + 2 * preferred + 1]
    return preferred if has_value else fallback


@njit(cache=True, nogil=True)
def record_link(
    data: Any, attributes: int, key: int, tables: Any, state: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Record a link, whose text continues until it is closed.

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
    """
    end_link(state)
    if not (attributes >> _HREF) & 1 or state[HIDDEN_LEVEL] >= 0:
        return
    relations = _ZERO
    if (attributes >> _REL) & 1:
        relations = _parse_rel(data, state[SPANS + 2 * _REL], state[SPANS + 2 * _REL + 1])
    row = append_row(state, LINK_ROW, relations)
    store_attribute(data, attributes, _HREF, tables, state, out, row, VALUE_1)
    store_attribute(
        data,
        attributes,
        _ARIA_LABEL if (attributes >> _ARIA_LABEL) & 1 else _TITLE_NAME,
        tables,
        state,
        out,
        row,
        VALUE_3,
    )
    if key == _AREA_TAG:
        store_attribute(data, attributes, _ALT, tables, state, out, row, VALUE_2)
    else:
        state[OPEN_LINK], state[LINK_MARKERS] = row, state[MARKERS]


@njit(cache=True, nogil=True)
def _record_image(data: Any, attributes: int, tables: Any, state: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Record an image; the alternative text of the first image in a link may stand for the link's text."""
    link = state[OPEN_LINK]
    source = first_present(state, attributes, _SRC, _LAZY)
    row = append_row(state, IMAGE_ROW, state[SPANS + 2 * source] if (attributes >> source) & 1 else _ZERO)
    store_attribute(data, attributes, source, tables, state, out, row, VALUE_1)
    store_attribute(data, attributes, _ALT, tables, state, out, row, VALUE_2)
    store_attribute(
        data, attributes, first_present(state, attributes, _ARIA_LABEL, _TITLE_NAME), tables, state, out, row, VALUE_3
    )
    if (
        link >= 0
        and row >= 0
        and state[ROW_TABLE + ROW_WIDTH * link + VALUE_2] == state[ROW_TABLE + ROW_WIDTH * link + VALUE_2 + 1]
    ):
        state[ROW_TABLE + ROW_WIDTH * link + VALUE_2] = state[ROW_TABLE + ROW_WIDTH * row + VALUE_2]
        state[ROW_TABLE + ROW_WIDTH * link + VALUE_2 + 1] = state[ROW_TABLE + ROW_WIDTH * row + VALUE_2 + 1]


@njit(cache=True, nogil=True)
def _record_metadata(
    data: Any, attributes: int, key: int, tables: Any, state: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Record <meta>, <link> or <base>."""
    if key == _META_TAG:
        row = append_row(state, META_ROW, _ZERO)
        name = first_present(state, attributes, _NAME, first_present(state, attributes, _PROPERTY, _ITEMPROP))
        store_attribute(data, attributes, name, tables, state, out, row, VALUE_1)
        store_attribute(data, attributes, _CONTENT, tables, state, out, row, VALUE_2)
        store_attribute(data, attributes, _HTTP_EQUIV, tables, state, out, row, VALUE_3)
    elif key == _LINK_TAG:
        row = append_row(state, REFERENCE_ROW, _ZERO)
        store_attribute(data, attributes, _REL, tables, state, out, row, VALUE_1)
        store_attribute(data, attributes, _HREF, tables, state, out, row, VALUE_2)
        store_attribute(data, attributes, _TYPE, tables, state, out, row, VALUE_3)
    elif (attributes >> _HREF) & 1:
        store_attribute(data, attributes, _HREF, tables, state, out, append_row(state, BASE_ROW, _ZERO), VALUE_1)


@njit(cache=True, nogil=True)
def record_other(
    data: Any, attributes: int, key: int, tables: Any, state: Any, out: Any
) -> bool:  # pragma: no cover - compiled
    """Record metadata, an image, a language, a date or a JSON-LD script.

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
    Whether the element has no other effect.
    """
    if key in (_META_TAG, _LINK_TAG, _BASE_TAG):
        if state[OPEN_COUNTS + _TEMPLATE] == 0:
            _record_metadata(data, attributes, key, tables, state, out)
    elif key in (_IMG, _IMAGE):
        if state[HIDDEN_LEVEL] < 0:
            _record_image(data, attributes, tables, state, out)
    elif key == _HTML:
        store_attribute(data, attributes, _LANG, tables, state, out, append_row(state, LANGUAGE_ROW, _ZERO), VALUE_1)
    elif key == _TIME_TAG:
        if (attributes >> _DATETIME) & 1 and state[HIDDEN_LEVEL] < 0:
            store_attribute(
                data, attributes, _DATETIME, tables, state, out, append_row(state, TIME_ROW, _ZERO), VALUE_1
            )
        return False
    elif key == _SCRIPT and (attributes >> _TYPE) & 1:
        begin, end = state[SPANS + 2 * _TYPE], state[SPANS + 2 * _TYPE + 1]
        if hash_range(data, begin, min(end, begin + _LD_JSON_SIZE)) == _LD_JSON:
            state[SCRIPT_ROW] = append_row(state, JSON_LD_ROW, _ZERO) + 1
    return True
