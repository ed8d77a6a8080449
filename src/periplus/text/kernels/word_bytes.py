"""Words as bytes: texts folded by a vector loop, ends of words found 32 bytes at a time, hashed by eight bytes.

Texts and words are read many bytes at a time, so `MARGIN` bytes behind them must exist.
"""

from typing import Any, Final

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64
from periplus.accel.simd import LANES, scan_to_byte

__all__ = ["MARGIN", "fold_bytes", "hash_bytes", "run_size"]

MARGIN: Final = 64
"""Bytes behind a folded text, all 0, and behind a word that is hashed, whatever they are."""
_UPPER_A, _UPPER_Z, _A, _Z, _ZERO, _NINE = (np.uint8(ord(character)) for character in "AZaz09")
_ASCII_END, _TO_LOWER = np.uint8(128), np.uint8(32)
_NOTHING: Any = np.uint8(0)
_PRIME, _SPREAD = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
_HALF, _ONE = np.uint64(32), np.uint64(1)
_HIGH_BITS = np.uint64(0x8080808080808080)
_AT_ONCE: Final = 8
"""Bytes that are hashed at a time."""
_MASKS = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(17)], np.uint64)
"""By the size of a word, which of its first eight bytes belong to it ..."""
_NEXT_MASKS = np.array([(1 << 8 * max(0, size - 8)) - 1 for size in range(17)], np.uint64)
"""... and which of the next eight."""


@njit(cache=True, nogil=True)
def fold_bytes(data: Any, begin: int, size: int, out: Any) -> None:  # pragma: no cover - compiled
    """Write what each byte of a text counts as: ASCII letters in lower case, 0 for bytes between words.

    Parameters
        data, begin, size: bytes, borrowed, and where the text is in them
        out: room for `MARGIN` bytes more than the text has, borrowed
    """
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[begin + at]
        is_upper = (byte >= _UPPER_A) & (byte <= _UPPER_Z)
        is_kept = ((byte >= _A) & (byte <= _Z)) | ((byte >= _ZERO) & (byte <= _NINE)) | (byte >= _ASCII_END)
        out[at] = byte + _TO_LOWER if is_upper else (byte if is_kept else _NOTHING)
    for at in range(size, size + MARGIN):
        out[at] = _NOTHING


@njit(cache=True, nogil=True, forceinline=True)
def run_size(text: Any, at: int) -> int:  # pragma: no cover - compiled
    """Return how many bytes from `at` on are not 0."""
    size = scan_to_byte(text, at, _NOTHING)
    while size % LANES == 0 and text[at + size] != 0:
        size += scan_to_byte(text, at + size, _NOTHING)
    return size


@njit(cache=True, nogil=True, forceinline=True)
def hash_bytes(text: Any, at: int, size: int) -> Any:  # pragma: no cover - compiled
    """Return the hash of `size` bytes at `at`, never 0, and whether any of them is above 127."""
    low = load_uint64(text, at) & _MASKS[min(size, 16)]
    high = load_uint64(text, at + _AT_ONCE) & _NEXT_MASKS[min(size, 16)]
    bits = low | high
    mixed = (low ^ np.uint64(size)) * _PRIME
    mixed = (mixed ^ (mixed >> _HALF) ^ high) * _SPREAD
    for step in range(2 * _AT_ONCE, size, _AT_ONCE):
        rest = load_uint64(text, at + step) & _MASKS[min(size - step, 16)]
        bits |= rest
        mixed = (mixed ^ (mixed >> _HALF) ^ rest) * _SPREAD
    return (mixed ^ (mixed >> _HALF)) | _ONE, bits & _HIGH_BITS != 0
