"""The states of the WHATWG tokenizer over UTF-8, each as one loop: tags, comments, raw text.

Every function only advances and returns where it stopped, so that all of them together are linear. Nothing is copied:
a tag is returned as offsets into the page.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.simd import LANES, scan_to_byte
from periplus.parse.kernels.html_state import SPANS
from periplus.parse.kernels.html_tables import (
    ATTRIBUTE_BITS,
    ATTRIBUTE_HASHES,
    ATTRIBUTE_SLOTS,
    CARRIAGE_RETURN,
    DOUBLE_QUOTE,
    EQUALS,
    EXCLAMATION,
    GREATER_THAN,
    HYPHEN,
    LESS_THAN,
    MAX_NAME,
    NAME_OF,
    SINGLE_QUOTE,
    SIZE_OF,
    SLASH,
    SPACE,
    TAB,
)

__all__ = [
    "find_bogus_end",
    "find_byte",
    "find_comment_end",
    "find_raw_end",
    "find_script_end",
    "hash_range",
    "read_attribute",
    "read_attributes",
    "read_name",
]

ATTRIBUTE, TAG_ENDS, TAG_CLOSES, PAGE_ENDS = (np.int64(number) for number in range(4))
"""What comes next in a tag."""

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_LESS, _GREATER = np.uint8(60), np.uint8(62)
_NONE = np.int64(0)


@njit(cache=True, nogil=True, forceinline=True)
def _is_blank(byte: int) -> bool:  # pragma: no cover - compiled
    return byte == SPACE or (byte >= TAB and byte <= CARRIAGE_RETURN and byte != 11)


@njit(cache=True, nogil=True, forceinline=True)
def _hash_byte(hashed: Any, byte: Any) -> Any:  # pragma: no cover - compiled
    """Return the hash with one more byte, ASCII letters in lower case."""
    if byte >= 65 and byte <= 90:
        byte = byte | np.uint8(32)
    return (hashed ^ np.uint64(byte)) * _PRIME


@njit(cache=True, nogil=True)
def hash_range(data: Any, begin: int, end: int) -> np.int64:  # pragma: no cover - compiled
    """Return the hash of bytes, ASCII letters in lower case.

    Parameters
    ----------
    data, begin, end
        Bytes, and the range of them that is meant.

    Returns
    -------
    63 bits of FNV-1a.
    """
    hashed = _SEED
    for at in range(begin, end):
        hashed = _hash_byte(hashed, data[at])
    return np.int64(hashed >> np.uint64(1))


@njit(cache=True, nogil=True)
def find_byte(data: Any, at: int, end: int, byte: int) -> int:  # pragma: no cover - compiled
    """Return the offset of the next such byte, or `end`.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    byte
        The byte (uint8).

    Returns
    -------
    Its offset.
    """
    while at + LANES <= end:
        step = scan_to_byte(data, at, byte)
        if step < LANES:
            return at + step
        at += LANES  # Not `step`: the next bytes are looked at before it is known what these have.
    while at < end and data[at] != byte:
        at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def read_name(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read the name of a tag.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    Its hash, and the offset behind it.
    """
    hashed = _SEED
    while at < end:
        byte = data[at]
        if byte <= GREATER_THAN and (byte == GREATER_THAN or byte == SLASH or _is_blank(byte)):
            break
        hashed = _hash_byte(hashed, byte)
        at += 1
    return np.int64(hashed >> np.uint64(1)), at


@njit(cache=True, nogil=True, forceinline=True)
def read_attribute(
    data: Any, at: int, end: int
) -> tuple[int, int, int, int, int, int, int]:  # pragma: no cover - compiled
    """Read what comes next in a tag.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    What it is (ATTRIBUTE, TAG_ENDS, TAG_CLOSES or PAGE_ENDS), the offset behind it, the hash of its name, begin and
    end of its name, begin and end of its value.
    """
    while True:
        while at < end and _is_blank(data[at]):
            at += 1
        if at >= end:
            return PAGE_ENDS, at, _NONE, at, at, at, at
        if data[at] == GREATER_THAN:
            return TAG_ENDS, at + 1, _NONE, at, at, at, at
        if data[at] != SLASH:
            break
        if at + 1 < end and data[at + 1] == GREATER_THAN:
            return TAG_CLOSES, at + 2, _NONE, at, at, at, at
        at += 1
    begin = at
    hashed = _hash_byte(_SEED, data[at])  # also an '=', which may begin a name
    at += 1
    while at < end:
        byte = data[at]
        if byte <= GREATER_THAN and (byte == EQUALS or byte == GREATER_THAN or byte == SLASH or _is_blank(byte)):
            break
        hashed = _hash_byte(hashed, byte)
        at += 1
    stop = at
    while at < end and _is_blank(data[at]):
        at += 1
    value = value_end = at
    if at < end and data[at] == EQUALS:
        at += 1
        while at < end and _is_blank(data[at]):
            at += 1
        value = at
        if at < end and (data[at] == DOUBLE_QUOTE or data[at] == SINGLE_QUOTE):
            value = at + 1
            at = find_byte(data, value, end, data[at])
            value_end = at
            at += 1
        else:
            while at < end and data[at] != GREATER_THAN and not _is_blank(data[at]):
                at += 1
            value_end = at
    return ATTRIBUTE if at < end else PAGE_ENDS, at, np.int64(hashed >> np.uint64(1)), begin, stop, value, value_end


@njit(cache=True, nogil=True, forceinline=True)
def read_attributes(
    data: Any, at: int, end: int, tables: Any, state: Any
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read a tag from behind its name on; the values of known attributes go to the state from SPANS on.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    state
        The state of the scan, laid out as in `html_state`.

    Returns
    -------
    A bit for each known attribute, 1 if the tag ends in '/>', and the offset behind the tag, -1 if it never ends.
    """
    attributes = _NONE
    if at < end and data[at] == GREATER_THAN:
        return attributes, _NONE, at + 1
    while True:
        what, at, hashed, _, _, value, value_end = read_attribute(data, at, end)
        if what != ATTRIBUTE:
            return attributes, np.int64(what == TAG_CLOSES), at if what != PAGE_ENDS else np.int64(-1)
        slot = hashed & (ATTRIBUTE_SLOTS - 1)
        if tables[ATTRIBUTE_HASHES + slot] != hashed:
            continue
        number = tables[ATTRIBUTE_BITS + slot]
        if not (attributes >> number) & 1:
            attributes |= np.int64(1) << number
            state[SPANS + 2 * number], state[SPANS + 2 * number + 1] = value, value_end


@njit(cache=True, nogil=True)
def find_bogus_end(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the offset of the '>' that ends a doctype or a bogus comment.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    Its offset, or `end`.
    """
    return find_byte(data, at, end, _GREATER)


@njit(cache=True, nogil=True)
def find_comment_end(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where a comment ends that begins with the '<!--' before `at`.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.

    Returns
    -------
    The offset behind its text, and the offset behind the comment.
    """
    if at < end and data[at] == GREATER_THAN:
        return at, at + 1
    if at + 1 < end and data[at] == HYPHEN and data[at + 1] == GREATER_THAN:
        return at, at + 2
    begin = at
    while at < end:
        at = find_byte(data, at, end, _GREATER)
        if at < end:
            if at - 2 >= begin and data[at - 1] == HYPHEN and data[at - 2] == HYPHEN:
                return at - 2, at + 1
            if at - 3 >= begin and data[at - 1] == EXCLAMATION and data[at - 2] == HYPHEN and data[at - 3] == HYPHEN:
                return at - 3, at + 1
        at += 1
    # At the end of the page the dashes that might have closed it are not part of it.
    if end - begin >= 3 and data[end - 1] == EXCLAMATION and data[end - 2] == HYPHEN and data[end - 3] == HYPHEN:
        return end - 3, end
    cut = end
    while cut > begin and end - cut < 2 and data[cut - 1] == HYPHEN:
        cut -= 1
    return cut, end


@njit(cache=True, nogil=True)
def _matches_name(data: Any, at: int, end: int, tables: Any, key: int) -> bool:  # pragma: no cover - compiled
    """Return whether the tag name at `at` is that of element `key`."""
    size = tables[SIZE_OF + key]
    if at + size >= end:
        return False
    for i in range(size):
        byte = data[at + i]
        if byte >= 65 and byte <= 90:
            byte = byte + np.uint8(32)
        if byte != tables[NAME_OF + MAX_NAME * key + i]:
            return False
    byte = data[at + size]
    return byte == GREATER_THAN or byte == SLASH or _is_blank(byte)


@njit(cache=True, nogil=True)
def find_raw_end(data: Any, at: int, end: int, tables: Any, key: int) -> int:  # pragma: no cover - compiled
    """Return the offset of the '</name' that ends raw text.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    key
        Number of the element.

    Returns
    -------
    Its offset, or `end`.
    """
    while at < end:
        at = find_byte(data, at, end, _LESS)
        if at + 1 < end and data[at + 1] == SLASH and _matches_name(data, at + 2, end, tables, key):
            return at
        at += 1
    return end


@njit(cache=True, nogil=True)
def find_script_end(data: Any, at: int, end: int, tables: Any, key: int) -> int:  # pragma: no cover - compiled
    """Return the offset of the '</script' that ends a script, with its escaped and double escaped states.

    Parameters
    ----------
    data, at, end
        Bytes of the page, the offset to begin at, and the offset to stop at.
    tables
        The lookup tables, as `html_tables.build_tables` returns them.
    key
        Number of the element.

    Returns
    -------
    Its offset, or `end`.
    """
    escaped = 0
    while at < end:
        if escaped == 0:
            at = find_byte(data, at, end, _LESS)
            if at >= end:
                break
        byte = data[at]
        if byte == LESS_THAN:
            if at + 1 < end and data[at + 1] == SLASH:
                if _matches_name(data, at + 2, end, tables, key):
                    if escaped < 2:
                        return at
                    escaped = 1
            elif escaped == 1 and _matches_name(data, at + 1, end, tables, key):
                escaped = 2
            elif (
                escaped == 0
                and at + 3 < end
                and data[at + 1] == EXCLAMATION
                and data[at + 2] == HYPHEN
                and data[at + 3] == HYPHEN
            ):
                escaped = 1
                at += 1  # the dashes may be the ones that end it
        elif (
            byte == HYPHEN and escaped > 0 and at + 2 < end and data[at + 1] == HYPHEN and data[at + 2] == GREATER_THAN
        ):
            escaped = 0
        at += 1
    return end
