"""Text made fit to be shown: runs of white space become one space, and zero bytes are left out."""

from typing import Any

from periplus.accel import njit

__all__ = ["put_clean"]


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
def put_clean(data: Any, at: int, end: int, out: Any, to: int, most: int) -> int:  # pragma: no cover - compiled
    """Write the UTF-8 from `at` to `end`, cleaned, up to `most` characters of it; give the place after it."""
    spaced = False
    while at < end:
        space = _space_at(data, at, end)
        if space:
            at += space
            if spaced:
                continue
            if most <= 0:
                break
            out[to] = 32
            to += 1
            most -= 1
            spaced = True
            continue
        spaced = False
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
