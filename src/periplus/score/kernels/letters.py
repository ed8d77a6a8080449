"""Letters of texts: which of them are the same but for case and accents, and the bucket that each is counted in."""

from typing import Any, Final

import numpy as np

from periplus.accel import njit
from periplus.text.kernels.word_bytes import MARGIN

__all__ = ["BUCKETS", "CYRILLIC", "LATIN", "OTHER", "fold_others", "fold_text"]

LATIN: Final = 26
CYRILLIC: Final = 32
_SCRIPTS: Final = (
    *((0x370, 0x3FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F)),
    *((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF)),
)
"""Greek, Hebrew, Arabic, Devanagari, Thai, kana, Chinese characters, Hangul: one bucket each."""
OTHER: Final = LATIN + CYRILLIC + len(_SCRIPTS)
BUCKETS: Final = OTHER + 1
"""Letters are counted in buckets: 26 Latin letters without accents, 32 Cyrillic ones, other scripts, the rest."""
_FOLDED: Final = (
    b"aaaaaaaceeeeiiiidnooooo-ouuuuytsaaaaaaaceeeeiiiidnooooo-ouuuuyty"
    b"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllllllln"
    b"nnnnnnnnoooooooorrrrrrsssssssstttttt" + b"uuuuuuuuuuuuwwyyyzzzzzzs"
)
"""Latin letters from U+00C0 to U+017F without their accents."""
_ASCII: Final = np.array([(c | 32) - 97 if 97 <= c | 32 <= 122 else -1 for c in range(128)], np.int64)
_FOLD: Final = np.frombuffer(_FOLDED, np.uint8)
_SCRIPT_BOUNDS: Final = np.array(_SCRIPTS, np.int64)
_SYMBOL_BOUNDS: Final = np.array([(0, 0x250), (0x2000, 0x2C00), (0x3000, 0x3040), (0xFE00, 0xFF21)], np.int64)
"""Ranges of symbols and punctuation."""
_A, _Z, _ASCII_END, _TO_LOWER, _NOTHING = np.uint8(97), np.uint8(122), np.uint8(128), np.uint8(32), np.uint8(0)


@njit(cache=True, nogil=True)
def _bucket(code: int) -> int:  # pragma: no cover - compiled
    """Return the bucket of a character, -1 if it is not a letter."""
    if code < 128:
        return _ASCII[code]
    if 0xC0 <= code < 0x180:
        return np.int64(_FOLD[code - 0xC0]) - 97 if _FOLD[code - 0xC0] != 45 else -1
    if 0x410 <= code < 0x450:
        return LATIN + ((code - 0x410) & 31)
    if 0x400 <= code < 0x500:  # Letters outside the alphabet that Russian and Ukrainian share.
        return LATIN + (5 if code == 0x451 or code == 0x401 or (code & ~0x50) == 0x404 else 8)
    for script in range(len(_SCRIPT_BOUNDS)):
        if _SCRIPT_BOUNDS[script, 0] <= code <= _SCRIPT_BOUNDS[script, 1]:
            return LATIN + CYRILLIC + script
    for symbols in range(len(_SYMBOL_BOUNDS)):
        if _SYMBOL_BOUNDS[symbols, 0] <= code < _SYMBOL_BOUNDS[symbols, 1]:
            return -1
    return OTHER


@njit(cache=True, nogil=True)
def _decode_character(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return one character of UTF-8 text, which may be malformed, and the offset behind it."""
    byte = np.int64(data[at])
    if byte < 0xC0:
        return byte if byte < 128 else 0, at + 1
    more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
    if at + more >= end:
        return 0, end
    code = byte & (0x3F >> more)
    for i in range(1, more + 1):
        code = (code << 6) | (np.int64(data[at + i]) & 63)
    return code, at + more + 1


@njit(cache=True, nogil=True)
def fold_text(data: Any, begin: int, size: int, out: Any) -> bool:  # pragma: no cover - compiled
    """Write ASCII letters in lower case, 0 for other ASCII, other bytes as they are; return whether there are any.

    Parameters
        data, begin, size: bytes, borrowed, and where the text is in them
        out: room for `MARGIN` bytes more than the text has, borrowed
    """
    others = _NOTHING
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[begin + at]
        low = byte | _TO_LOWER
        others |= byte
        out[at] = low if (low >= _A) & (low <= _Z) else (byte if byte >= _ASCII_END else _NOTHING)
    for at in range(size, size + MARGIN):
        out[at] = _NOTHING
    return others >= _ASCII_END


@njit(cache=True, nogil=True)
def fold_others(data: Any, begin: int, size: int, out: Any, counts: Any) -> int:  # pragma: no cover - compiled
    """Fold characters outside ASCII, too, and count those that are not Latin letters; return the size of the text then.

    A Latin letter becomes one of ASCII, a Cyrillic one a byte, other letters are bytes above 127, and all else is 0.

    Parameters
        data, begin, size: as for `fold_text`
        out: what that has written; changed
        counts: letters by bucket; added to
    """
    used, at, end = 0, begin, begin + size
    while at < end:
        if data[at] < _ASCII_END:
            out[used] = out[at - begin]
            used, at = used + 1, at + 1
            continue
        code, at = _decode_character(data, at, end)
        bucket = _bucket(code)
        if bucket < LATIN:
            out[used] = _A + np.uint8(bucket) if bucket >= 0 else _NOTHING
            used += 1
            continue
        counts[bucket] += 1
        if bucket < LATIN + CYRILLIC:
            out[used] = _ASCII_END + np.uint8(bucket)
            used += 1
            continue
        shift = 18 if code >= 0x10000 else 12 if code >= 0x800 else 6
        out[used] = np.uint8((0xF0 if shift == 18 else 0xE0 if shift == 12 else 0xC0) | (code >> shift))
        used += 1
        while shift > 0:
            shift -= 6
            out[used] = np.uint8(0x80 | ((code >> shift) & 63))
            used += 1
    for i in range(used, used + MARGIN):
        out[i] = _NOTHING
    return used
