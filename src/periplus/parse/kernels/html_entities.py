"""Character references: numbers, and the names of the standard, of which the longest match counts."""

from typing import Any

from periplus.accel import njit
from periplus.parse.kernels.html_tables import (
    AMPERSAND,
    EQUALS,
    HASH,
    REFERENCE_NAMES,
    REFERENCE_STARTS,
    REFERENCE_VALUES,
    SEMICOLON,
    WINDOWS_1252,
)

__all__ = ["decode_reference"]


@njit(cache=True, nogil=True)
def _is_letter(byte: int) -> bool:  # pragma: no cover - compiled
    return (byte | 32) >= 97 and (byte | 32) <= 122


@njit(cache=True, nogil=True)
def _encode_utf8(code: int, out: Any, used: int) -> int:  # pragma: no cover - compiled
    """Write a code point as UTF-8. Return the offset behind it."""
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
def _read_number(data: Any, at: int, end: int, tables: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the code point of the digits behind '&#', and the offset behind the reference; -1 if there is none."""
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
    if at < end and data[at] == SEMICOLON:
        at += 1
    if code == 0 or code > 0x10FFFF or (code >= 0xD800 and code <= 0xDFFF):
        code = 0xFFFD
    elif code >= 128 and code < 160:
        code = tables[WINDOWS_1252 + code - 128]
    return code, at


@njit(cache=True, nogil=True)
def _find_name(data: Any, at: int, end: int, tables: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the number of the longest name that begins at `at`, and the offset behind it; -1 if there is none."""
    low, high = tables[REFERENCE_STARTS + data[at]], tables[REFERENCE_STARTS + int(data[at]) + 1]
    reference = -1
    after = at
    depth = 0
    while low < high and at < end:
        byte = data[at]
        # Names from low to high share `depth` bytes: narrow them to those whose next byte is this one.
        left, right = low, high
        while left < right:
            middle = (left + right) >> 1
            start = tables[REFERENCE_NAMES + middle] + depth
            if start >= tables[REFERENCE_NAMES + middle + 1] or tables[start] < byte:
                left = middle + 1
            else:
                right = middle
        low = left
        right = high
        while left < right:
            middle = (left + right) >> 1
            start = tables[REFERENCE_NAMES + middle] + depth
            if start < tables[REFERENCE_NAMES + middle + 1] and tables[start] <= byte:
                left = middle + 1
            else:
                right = middle
        high = left
        depth += 1
        at += 1
        if low < high and tables[REFERENCE_NAMES + low + 1] - tables[REFERENCE_NAMES + low] == depth:
            reference, after = low, at
    return reference, after


@njit(cache=True, nogil=True)
def decode_reference(
    data: Any, at: int, end: int, in_attribute: int, tables: Any, out: Any, used: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Decode the character reference that the '&' at `at` begins, or copy the '&'.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    in_attribute
        1 in an attribute, where a name without ';' before a letter, a digit or '=' is not a reference.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    out, used
        Output bytes, and the offset to write at.

    Returns
    -------
    The offset behind the reference in `data`, and behind what was written in `out`.
    """
    if at + 1 < end and data[at + 1] == HASH:
        code, after = _read_number(data, at + 2, end, tables)
        if code >= 0:
            return after, _encode_utf8(code, out, used)
    elif at + 1 < end:
        reference, after = _find_name(data, at + 1, end, tables)
        if reference >= 0:
            bare = data[after - 1] != SEMICOLON
            if bare and in_attribute and after < end:
                byte = data[after]
                if byte == EQUALS or (byte >= 48 and byte <= 57) or _is_letter(byte):
                    reference = -1
            if reference >= 0:
                for i in range(tables[REFERENCE_VALUES + reference], tables[REFERENCE_VALUES + reference + 1]):
                    out[used] = tables[i]
                    used += 1
                return after, used
    out[used] = AMPERSAND
    return at + 1, used + 1
