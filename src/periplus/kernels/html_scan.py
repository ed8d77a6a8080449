"""The states of the WHATWG tokenizer over UTF-8, each as one loop: tags, comments, raw text, character references.

Every function goes forward only and says where it stopped, so that all of them together are linear. Nothing is
copied but what a caller asks for: a tag comes back as offsets into the page.
"""

from typing import Any

import numpy as np
from numba import njit

from periplus.kernels.html_book import ENDS, FIRST, LATIN, LONGEST_NAME, NAME_OF, SIZE_OF, STARTS

__all__ = [
    "MOST_ATTRIBUTES",
    "SPANS",
    "end_of_bogus",
    "end_of_comment",
    "end_of_raw",
    "end_of_script",
    "hash_range",
    "read_reference",
    "read_tag",
]

MOST_ATTRIBUTES = 128
"""Attributes of one tag that are kept; the others are passed over."""
SPANS = 32
"""Where in the state the attributes of the last tag are: begin and end of name and of value, for each."""

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@njit(cache=True, nogil=True)
def _is_blank(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == 32 or (byte >= 9 and byte <= 13 and byte != 11)


@njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:  # pragma: no cover - compiled
    return (byte | 32) >= 97 and (byte | 32) <= 122


@njit(cache=True, nogil=True)
def hash_range(data: Any, begin: int, end: int) -> np.int64:  # pragma: no cover - compiled
    """Hash bytes with ASCII letters made small."""
    hashed = _SEED
    for at in range(begin, end):
        byte = data[at]
        if byte >= 65 and byte <= 90:
            byte = byte + np.uint8(32)
        hashed = (hashed ^ np.uint64(byte)) * _PRIME
    return np.int64(hashed >> np.uint64(1))


@njit(cache=True, nogil=True)
def read_tag(data: Any, at: int, end: int, now: Any) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Read a tag from its name on; give (end of the name, attributes, whether it closes itself, place after it).

    The attributes are in `now` from SPANS on. A tag that never ends gives a place of -1.
    """
    while at < end and not _is_blank(data[at]) and data[at] != 47 and data[at] != 62:
        at += 1
    named = at
    count = 0
    while True:
        while at < end and _is_blank(data[at]):
            at += 1
        if at >= end:
            return named, count, 0, -1
        if data[at] == 62:
            return named, count, 0, at + 1
        if data[at] == 47:
            if at + 1 < end and data[at + 1] == 62:
                return named, count, 1, at + 2
            at += 1
            continue
        begin = at
        at += 1  # also an '=', which may begin a name
        while at < end:
            byte = data[at]
            if byte == 61 or byte == 62 or byte == 47 or _is_blank(byte):
                break
            at += 1
        stop = at
        while at < end and _is_blank(data[at]):
            at += 1
        value = value_end = at
        if at < end and data[at] == 61:
            at += 1
            while at < end and _is_blank(data[at]):
                at += 1
            if at >= end:
                return named, count, 0, -1
            quote = data[at]
            if quote == 34 or quote == 39:
                at += 1
                value = at
                while at < end and data[at] != quote:
                    at += 1
                value_end = at
                at += 1
            else:
                value = at
                while at < end and data[at] != 62 and not _is_blank(data[at]):
                    at += 1
                value_end = at
        if at >= end:
            return named, count, 0, -1
        if count < MOST_ATTRIBUTES:
            place = SPANS + 4 * count
            now[place], now[place + 1], now[place + 2], now[place + 3] = begin, stop, value, value_end
            count += 1


@njit(cache=True, nogil=True)
def end_of_bogus(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Give the place of the '>' that ends a doctype or a bogus comment."""
    while at < end and data[at] != 62:
        at += 1
    return at


@njit(cache=True, nogil=True)
def end_of_comment(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """From behind '<!--': give where the comment's text ends, and the place after the comment."""
    if at < end and data[at] == 62:
        return at, at + 1
    if at + 1 < end and data[at] == 45 and data[at + 1] == 62:
        return at, at + 2
    begin = at
    while at < end:
        if data[at] == 62:
            if at - 2 >= begin and data[at - 1] == 45 and data[at - 2] == 45:
                return at - 2, at + 1
            if at - 3 >= begin and data[at - 1] == 33 and data[at - 2] == 45 and data[at - 3] == 45:
                return at - 3, at + 1
        at += 1
    # At the end of the page the dashes that might have closed it are not part of it.
    if end - begin >= 3 and data[end - 1] == 33 and data[end - 2] == 45 and data[end - 3] == 45:
        return end - 3, end
    cut = end
    while cut > begin and end - cut < 2 and data[cut - 1] == 45:
        cut -= 1
    return cut, end


@njit(cache=True, nogil=True)
def _is_named(data: Any, at: int, end: int, book: Any, key: int) -> bool:  # pragma: no cover - compiled
    """Tell whether the tag name at `at` is that of element `key`, and ends there."""
    size = book[SIZE_OF + key]
    if at + size >= end:
        return False
    for i in range(size):
        byte = data[at + i]
        if byte >= 65 and byte <= 90:
            byte = byte + np.uint8(32)
        if byte != book[NAME_OF + LONGEST_NAME * key + i]:
            return False
    byte = data[at + size]
    return byte == 62 or byte == 47 or _is_blank(byte)


@njit(cache=True, nogil=True)
def end_of_raw(data: Any, at: int, end: int, book: Any, key: int) -> int:  # pragma: no cover - compiled
    """Give the place of the '</name' that ends raw text, or the end."""
    while at < end:
        if data[at] == 60 and at + 1 < end and data[at + 1] == 47 and _is_named(data, at + 2, end, book, key):
            return at
        at += 1
    return end


@njit(cache=True, nogil=True)
def end_of_script(data: Any, at: int, end: int, book: Any, key: int) -> int:  # pragma: no cover - compiled
    """Give the place of the '</script' that ends a script, with its escaped and double escaped states."""
    escaped = 0
    while at < end:
        byte = data[at]
        if byte == 60:
            if at + 1 < end and data[at + 1] == 47:
                if _is_named(data, at + 2, end, book, key):
                    if escaped < 2:
                        return at
                    escaped = 1
            elif escaped == 1 and _is_named(data, at + 1, end, book, key):
                escaped = 2
            elif escaped == 0 and at + 3 < end and data[at + 1] == 33 and data[at + 2] == 45 and data[at + 3] == 45:
                escaped = 1
                at += 1  # the dashes may be the ones that end it
        elif byte == 45 and escaped > 0 and at + 2 < end and data[at + 1] == 45 and data[at + 2] == 62:
            escaped = 0
        at += 1
    return end


@njit(cache=True, nogil=True)
def _put(code: int, out: Any, used: int) -> int:  # pragma: no cover - compiled
    """Write a code point as UTF-8; give the place after it."""
    if code < 0x80:
        out[used] = code
        return used + 1
    if code < 0x800:
        out[used], out[used + 1] = 0xC0 | (code >> 6), 0x80 | (code & 0x3F)
        return used + 2
    if code < 0x10000:
        out[used], out[used + 1], out[used + 2] = 0xE0 | (code >> 12), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)
        return used + 3
    out[used], out[used + 1] = 0xF0 | (code >> 18), 0x80 | ((code >> 12) & 0x3F)
    out[used + 2], out[used + 3] = 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)
    return used + 4


@njit(cache=True, nogil=True)
def _read_number(data: Any, at: int, end: int, book: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """From behind '&#': give the code point and the place after the reference; -1 if it is none."""
    base = 10
    if at < end and (data[at] | 32) == 120:
        base = 16
        at += 1
    begin = at
    code = 0
    while at < end:
        byte = int(data[at])
        if byte >= 48 and byte <= 57:
            digit = byte - 48
        elif base == 16 and (byte | 32) >= 97 and (byte | 32) <= 102:
            digit = (byte | 32) - 87
        else:
            break
        code = min(code * base + digit, 0x110000)
        at += 1
    if at == begin:
        return -1, at
    if at < end and data[at] == 59:
        at += 1
    if code == 0 or code > 0x10FFFF or (code >= 0xD800 and code <= 0xDFFF):
        code = 0xFFFD
    elif code >= 128 and code < 160:
        code = book[LATIN + code - 128]
    return code, at


@njit(cache=True, nogil=True)
def _find_name(data: Any, at: int, end: int, book: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Give the number of the longest name that begins at `at`, and the place after it; -1 if there is none."""
    low, high = book[FIRST + data[at]], book[FIRST + int(data[at]) + 1]
    found = -1
    place = at
    depth = 0
    while low < high and at < end:
        byte = data[at]
        # Names from low to high share `depth` bytes: narrow them to those whose next byte is this one.
        left, right = low, high
        while left < right:
            middle = (left + right) >> 1
            start = book[STARTS + middle] + depth
            if start >= book[STARTS + middle + 1] or book[start] < byte:
                left = middle + 1
            else:
                right = middle
        low = left
        right = high
        while left < right:
            middle = (left + right) >> 1
            start = book[STARTS + middle] + depth
            if start < book[STARTS + middle + 1] and book[start] <= byte:
                left = middle + 1
            else:
                right = middle
        high = left
        depth += 1
        at += 1
        if low < high and book[STARTS + low + 1] - book[STARTS + low] == depth:
            found, place = low, at
    return found, place


@njit(cache=True, nogil=True)
def read_reference(
    data: Any, at: int, end: int, inside: int, book: Any, out: Any, used: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Decode the reference at the '&' at `at`, or copy the '&'; give the places after it in `data` and in `out`.

    inside: in an attribute, where a name without ';' before a letter, a digit or '=' is no reference.
    """
    if at + 1 < end and data[at + 1] == 35:
        code, place = _read_number(data, at + 2, end, book)
        if code >= 0:
            return place, _put(code, out, used)
    elif at + 1 < end:
        found, place = _find_name(data, at + 1, end, book)
        if found >= 0:
            bare = data[place - 1] != 59
            if bare and inside and place < end:
                byte = data[place]
                if byte == 61 or (byte >= 48 and byte <= 57) or _is_letter(byte):
                    found = -1
            if found >= 0:
                for i in range(book[ENDS + found], book[ENDS + found + 1]):
                    out[used] = book[i]
                    used += 1
                return place, used
    out[used] = 38
    return at + 1, used + 1
