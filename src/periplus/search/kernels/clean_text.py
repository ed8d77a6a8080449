"""Text made fit to be shown: runs of white space become one space, and zero bytes are left out.

The end of a heading or of an item of a list becomes ' · ', so that it does not run into the sentence behind it.
"""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["GROWTH", "put_clean"]

GROWTH = 4
"""Bytes that one byte becomes at most."""
_LONGEST_HEADING = 60
"""Bytes; longer lines are taken for those of a paragraph that is broken into lines."""
_SEPARATOR = np.frombuffer(" · ".encode(), np.uint8)


@njit(cache=True, nogil=True, forceinline=True)
def _space_at(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the length of the Unicode white space at `at` in UTF-8, 0 if there is none."""
    first = data[at]
    if first < 0x80:
        return 1 if first == 32 or 9 <= first <= 13 or 28 <= first <= 31 else 0
    if first == 0xC2 and at + 1 < end:
        return 2 if data[at + 1] in (0x85, 0xA0) else 0
    if first < 0xE1 or first > 0xE3 or at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if first == 0xE2:
        if second == 0x80:
            return 3 if third <= 0x8A or third in (0xA8, 0xA9, 0xAF) else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    return 3 if (second, third) == ((0x9A, 0x80) if first == 0xE1 else (0x80, 0x80)) else 0


@njit(cache=True, nogil=True)
def _ends_heading(data: Any, floor: int, at: int, after: int) -> bool:  # pragma: no cover - compiled
    """Return whether a short line that ends at `at` stands by itself: no sentence ends there, and none goes on behind.

    `floor` is where the text begins, `after` where the next line does.
    """
    if at <= floor or (after < len(data) and 97 <= data[after] <= 122):
        return False
    last = data[at - 1]
    if last >= 0x80:
        if at - floor >= 3 and (data[at - 3], data[at - 2]) in ((0xE2, 0x80), (0xE3, 0x80), (0xEF, 0xBC)):
            return False  # punctuation of other scripts
    elif not (48 <= last <= 57 or 65 <= last <= 90 or 97 <= last <= 122 or last == 41):
        return False
    for before in range(at - 1, max(floor, at - _LONGEST_HEADING - 1) - 1, -1):
        if data[before] == 10:
            return True
    return at - floor <= _LONGEST_HEADING


@njit(cache=True, nogil=True)
def put_clean(
    data: Any, at: int, end: int, out: Any, to: int, most: int, floor: int
) -> int:  # pragma: no cover - compiled
    """Write the UTF-8 from `at` to `end`, cleaned, up to `most` characters of it; give the place after it.

    `floor` is where the text begins; -1 to write headings as any other text.
    """
    while at < end:
        space = _space_at(data, at, end)
        if space:
            begin, broken = at, False
            while space:
                broken |= data[at] == 10
                at += space
                space = _space_at(data, at, end) if at < end else 0
            if most <= 0:
                break
            if broken and floor >= 0 and _ends_heading(data, floor, begin, at):
                out[to : to + len(_SEPARATOR)] = _SEPARATOR
                to += len(_SEPARATOR)
            else:
                out[to] = 32
                to += 1
            most -= 1
            continue
        if data[at] == 0:
            at += 1
            continue
        if data[at] & 0xC0 != 0x80:
            if most <= 0:
                break
            most -= 1
        out[to] = data[at]
        to += 1
        at += 1
    return to
