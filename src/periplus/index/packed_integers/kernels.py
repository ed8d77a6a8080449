"""Packs integers in blocks of 64, each with a minimum and the bits that the rest of its numbers need.

A block is one byte, its width; its minimum, as a variable-length integer; and for each number what it is above that, in
so many bits, low bits first. Of ascending numbers, the differences may be packed instead. See docs/formats/segment.md.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64
from periplus.index.kernels.term_dictionary import read_bounded_varint, write_varint

__all__ = [
    "MAX_PACKED_BLOCK",
    "MAX_WIDTH",
    "PACKED_BLOCK",
    "bit_width",
    "pack_fixed",
    "pack_integers",
    "put_bits",
    "read_fixed",
    "unpack_integers",
]

PACKED_BLOCK = 64
"""Numbers of a block; the last may have fewer."""
MAX_WIDTH = 56
"""Most bits of a number: wherever it begins in a byte, it ends within eight."""
MAX_PACKED_BLOCK = 1 + 8 + PACKED_BLOCK * MAX_WIDTH // 8
"""Most bytes of a block."""
_WORD = 8
_BYTE_BITS = 8


@njit(cache=True, nogil=True, forceinline=True)
def put_bits(
    word: Any, filled: int, value: Any, bits: int, out: Any, at: int
) -> tuple[Any, int, int]:  # pragma: no cover
    """Write bits behind others, low bits of a byte first.

    Parameters
        word, filled: uint64 with the bits that no byte has yet, and how many these are, fewer than eight
        value, bits: what is written, and how many bits it takes, at most MAX_WIDTH
        out, at: uint8 array, and where its next byte is
    Returns
        `word`, `filled` and `at` for what follows; if `filled` is not 0 at the end, `word` is the last byte
    """
    word |= np.uint64(value) << np.uint64(filled)
    filled += bits
    while filled >= _BYTE_BITS:
        out[at] = np.uint8(word & np.uint64(255))
        word >>= np.uint64(_BYTE_BITS)
        filled -= _BYTE_BITS
        at += 1
    return word, filled, at


@njit(cache=True, nogil=True)
def bit_width(value: int) -> int:  # pragma: no cover - compiled
    """Return how many bits a number takes."""
    width = 0
    while value:
        value >>= 1
        width += 1
    return width


@njit(cache=True, nogil=True)
def pack_integers(
    values: npt.NDArray[np.int64], differences: bool, out: npt.NDArray[np.uint8]
) -> int:  # pragma: no cover - compiled
    """Pack integers.

    Parameters
        values: from 0 to 2 ** MAX_WIDTH - 1; ascending for differences
        differences: whether the differences to the number before are packed; that of the first is to 0
        out: MAX_PACKED_BLOCK bytes for each block, filled
    Returns
        how many bytes were used
    """
    at, last = np.int64(0), np.int64(0)
    block = np.empty(PACKED_BLOCK, np.int64)
    for first in range(0, len(values), PACKED_BLOCK):
        count = min(PACKED_BLOCK, len(values) - first)
        for n in range(count):
            block[n] = values[first + n] - last
            if differences:
                last = values[first + n]
        least = block[:count].min()
        width = bit_width(block[:count].max() - least)
        out[at] = np.uint8(width)
        begin = write_varint(out, at + 1, least)
        at = begin + (count * width + 7) // 8
        out[begin:at] = 0
        for n in range(count):
            bit = n * width
            place, word = begin + (bit >> 3), np.uint64(block[n] - least) << np.uint64(bit & 7)
            while word:
                out[place] |= np.uint8(word & np.uint64(255))
                word >>= np.uint64(8)
                place += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def _load(packed: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Return the eight bytes at an offset; those beyond the array are zeros."""
    if at + _WORD <= len(packed):
        return load_uint64(packed, at)
    word = np.uint64(0)
    for n in range(len(packed) - at):
        word |= np.uint64(packed[at + n]) << np.uint64(8 * n)
    return word


@njit(cache=True, nogil=True, forceinline=True)
def read_fixed(packed: Any, n: int, width: int) -> int:  # pragma: no cover - compiled
    """Return number `n` of those that `pack_fixed` packed; beyond the array there are zeros."""
    bit = n * width
    word = _load(packed, bit >> 3) >> np.uint64(bit & 7)
    return np.int64(word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@njit(cache=True, nogil=True)
def pack_fixed(
    values: npt.NDArray[np.int64], width: int, out: npt.NDArray[np.uint8]
) -> None:  # pragma: no cover - compiled
    """Pack integers of the same width, so that each can be read by itself.

    Parameters
        values, width: from 0 to 2 ** width - 1; at most MAX_WIDTH bits
        out: zeros, enough bytes for all of them; filled
    """
    for n in range(len(values)):
        place, word = (n * width) >> 3, np.uint64(values[n]) << np.uint64((n * width) & 7)
        while word:
            out[place] |= np.uint8(word & np.uint64(255))
            word >>= np.uint64(8)
            place += 1


@njit(cache=True, nogil=True)
def unpack_integers(packed: Any, differences: bool, most: int, values: Any) -> bool:  # pragma: no cover - compiled
    """Unpack integers, whose bytes may be damaged.

    Parameters
        packed: what `pack_integers` wrote
        differences: as it was packed
        most: the highest number that an element of `values` has room for
        values: an array of any type of integers, of as many elements as were packed; filled
    Returns
        whether the bytes are those of so many numbers, none of them too high
    """
    at, end, last = np.int64(0), np.int64(len(packed)), np.int64(0)
    limit = min(np.int64(most) + 1, np.int64(1) << np.int64(MAX_WIDTH))
    for first in range(0, len(values), PACKED_BLOCK):
        count = min(PACKED_BLOCK, len(values) - first)
        if at >= end or packed[at] > MAX_WIDTH:
            return False
        width = np.int64(packed[at])
        least, at = read_bounded_varint(packed, at + 1, end)
        if at < 0 or least >= limit or at + (count * width + 7) // 8 > end:
            return False
        mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
        for n in range(count):
            bit = n * width
            value = least + np.int64((_load(packed, at + (bit >> 3)) >> np.uint64(bit & 7)) & mask) + last
            if value >= limit:
                return False
            values[first + n] = value
            if differences:
                last = value
        at += (count * width + 7) // 8
    return at == end


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    packed, values = np.zeros(MAX_PACKED_BLOCK, np.uint8), np.zeros(1, np.int64)
    pack_integers(values, True, packed)
    pack_fixed(values, 1, packed)
    packed.flags.writeable = False
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64, np.int32, np.int64):
        unpack_integers(packed, True, 1, np.zeros(1, kind))
