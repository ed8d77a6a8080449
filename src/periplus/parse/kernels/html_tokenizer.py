"""The states of the WHATWG tokenizer over UTF-8, each as one loop: tags, comments, raw text.

Every function goes forward only and says where it stopped, so that all of them together are linear. Nothing is
copied: a tag comes back as offsets into the page.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, before_byte
from periplus.parse.kernels.html_tables import (
    ATTRIBUTE_BITS,
    ATTRIBUTE_HASHES,
    ATTRIBUTE_SLOTS,
    LONGEST_NAME,
    NAME_OF,
    SIZE_OF,
)

__all__ = [
    "MOST_ATTRIBUTES",
    "SPANS",
    "end_of_bogus",
    "end_of_comment",
    "end_of_raw",
    "end_of_script",
    "find_byte",
    "hash_range",
    "read_attribute",
    "read_attributes",
    "read_name",
]

MOST_ATTRIBUTES = 32
"""Attributes that anything is known of, each with its own number."""
SPANS = 32
"""Where in the state the values of the last tag's attributes are: begin and end of each, by its number."""
ATTRIBUTE, TAG_ENDS, TAG_CLOSES, PAGE_ENDS = (np.int64(number) for number in range(4))
"""What comes next in a tag."""

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_LESS, _GREATER = np.uint8(60), np.uint8(62)
_NONE = np.int64(0)


@njit(cache=True, nogil=True, forceinline=True)
def _is_blank(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == 32 or (byte >= 9 and byte <= 13 and byte != 11)


@njit(cache=True, nogil=True, forceinline=True)
def _mix(hashed: Any, byte: Any) -> Any:  # pragma: no cover - compiled
    """Hash one byte more, ASCII letters made small."""
    if byte >= 65 and byte <= 90:
        byte = byte | np.uint8(32)
    return (hashed ^ np.uint64(byte)) * _PRIME


@njit(cache=True, nogil=True)
def hash_range(data: Any, begin: int, end: int) -> np.int64:  # pragma: no cover - compiled
    """Hash bytes with ASCII letters made small."""
    hashed = _SEED
    for at in range(begin, end):
        hashed = _mix(hashed, data[at])
    return np.int64(hashed >> np.uint64(1))


@njit(cache=True, nogil=True)
def find_byte(data: Any, at: int, end: int, byte: int) -> int:  # pragma: no cover - compiled
    """Give the place of the next such byte, or the end."""
    while at + LANES <= end:
        step = before_byte(data, at, byte)
        at += step
        if step < LANES:
            return at
    while at < end and data[at] != byte:
        at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def read_name(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read the name of a tag; give its hash and the place after it."""
    hashed = _SEED
    while at < end:
        byte = data[at]
        if byte <= 62 and (byte == 62 or byte == 47 or _is_blank(byte)):
            break
        hashed = _mix(hashed, byte)
        at += 1
    return np.int64(hashed >> np.uint64(1)), at


@njit(cache=True, nogil=True, forceinline=True)
def read_attribute(
    data: Any, at: int, end: int
) -> tuple[int, int, int, int, int, int, int]:  # pragma: no cover - compiled
    """Read what comes next in a tag: what it is, the place after it, its hash, begin and end of name and of value."""
    while True:
        while at < end and _is_blank(data[at]):
            at += 1
        if at >= end:
            return PAGE_ENDS, at, _NONE, at, at, at, at
        if data[at] == 62:
            return TAG_ENDS, at + 1, _NONE, at, at, at, at
        if data[at] != 47:
            break
        if at + 1 < end and data[at + 1] == 62:
            return TAG_CLOSES, at + 2, _NONE, at, at, at, at
        at += 1
    begin = at
    hashed = _mix(_SEED, data[at])  # also an '=', which may begin a name
    at += 1
    while at < end:
        byte = data[at]
        if byte <= 62 and (byte == 61 or byte == 62 or byte == 47 or _is_blank(byte)):
            break
        hashed = _mix(hashed, byte)
        at += 1
    stop = at
    while at < end and _is_blank(data[at]):
        at += 1
    value = value_end = at
    if at < end and data[at] == 61:
        at += 1
        while at < end and _is_blank(data[at]):
            at += 1
        value = at
        if at < end and (data[at] == 34 or data[at] == 39):
            value = at + 1
            at = find_byte(data, value, end, data[at])
            value_end = at
            at += 1
        else:
            while at < end and data[at] != 62 and not _is_blank(data[at]):
                at += 1
            value_end = at
    return ATTRIBUTE if at < end else PAGE_ENDS, at, np.int64(hashed >> np.uint64(1)), begin, stop, value, value_end


@njit(cache=True, nogil=True, forceinline=True)
def read_attributes(
    data: Any, at: int, end: int, book: Any, now: Any
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read a tag from behind its name; give (known attributes, whether it closes itself, place after it).

    Known attributes are a bit each; their values are in `now` from SPANS on. A tag that never ends gives a place of -1.
    """
    have = _NONE
    if at < end and data[at] == 62:
        return have, _NONE, at + 1
    while True:
        what, at, hashed, _, _, value, value_end = read_attribute(data, at, end)
        if what != ATTRIBUTE:
            return have, np.int64(what == TAG_CLOSES), at if what != PAGE_ENDS else np.int64(-1)
        slot = hashed & (ATTRIBUTE_SLOTS - 1)
        if book[ATTRIBUTE_HASHES + slot] != hashed:
            continue
        number = book[ATTRIBUTE_BITS + slot]
        if not (have >> number) & 1:
            have |= np.int64(1) << number
            now[SPANS + 2 * number], now[SPANS + 2 * number + 1] = value, value_end


@njit(cache=True, nogil=True)
def end_of_bogus(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Give the place of the '>' that ends a doctype or a bogus comment."""
    return find_byte(data, at, end, _GREATER)


@njit(cache=True, nogil=True)
def end_of_comment(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """From behind '<!--': give where the comment's text ends, and the place after the comment."""
    if at < end and data[at] == 62:
        return at, at + 1
    if at + 1 < end and data[at] == 45 and data[at + 1] == 62:
        return at, at + 2
    begin = at
    while at < end:
        at = find_byte(data, at, end, _GREATER)
        if at < end:
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
        at = find_byte(data, at, end, _LESS)
        if at + 1 < end and data[at + 1] == 47 and _is_named(data, at + 2, end, book, key):
            return at
        at += 1
    return end


@njit(cache=True, nogil=True)
def end_of_script(data: Any, at: int, end: int, book: Any, key: int) -> int:  # pragma: no cover - compiled
    """Give the place of the '</script' that ends a script, with its escaped and double escaped states."""
    escaped = 0
    while at < end:
        if escaped == 0:
            at = find_byte(data, at, end, _LESS)
            if at >= end:
                break
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
