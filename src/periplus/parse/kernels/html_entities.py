"""Character references: numbers, and the names of the standard, the longest that is there."""

from typing import Any

from periplus.accel import njit
from periplus.parse.kernels.html_tables import ENDS, FIRST, LATIN, STARTS

__all__ = ["read_reference"]


@njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:  # pragma: no cover - compiled
    return (byte | 32) >= 97 and (byte | 32) <= 122


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
