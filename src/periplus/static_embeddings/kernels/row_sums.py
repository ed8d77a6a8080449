"""Sums of the vectors of word pieces, and the signs that are stored of them. All arrays are borrowed."""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["add_rows", "clear_sum", "write_signs"]


# Products and sums in one instruction. The order of sums is that of the pieces, however many are added at a time.
@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def add_rows(total: Any, vectors: Any, scales: Any, width: int, pieces: Any, count: int) -> None:
    """Add the vectors of pieces to a sum, four at a time: they come from memory side by side."""
    number = 0
    while number + 4 <= count:
        one, two, three, four = pieces[number], pieces[number + 1], pieces[number + 2], pieces[number + 3]
        scale, second, third, fourth = scales[one], scales[two], scales[three], scales[four]
        first, after, behind, last = width * one, width * two, width * three, width * four
        for i in range(width):
            value = total[i] + np.float32(vectors[first + i]) * scale
            value = value + np.float32(vectors[after + i]) * second
            value = value + np.float32(vectors[behind + i]) * third
            total[i] = value + np.float32(vectors[last + i]) * fourth
        number += 4
    while number < count:
        row = width * pieces[number]
        scale = scales[pieces[number]]
        for i in range(width):
            total[i] += np.float32(vectors[row + i]) * scale
        number += 1


@njit(cache=True, nogil=True)
def write_signs(total: Any, signs: Any, width: int, row: int) -> None:
    """Write the sign of each component of a sum, eight to a byte, the first in the lowest bit."""
    size = width // 8
    for byte in range(size):
        bits = 0
        for i in range(8):
            bits |= int(total[8 * byte + i] > 0) << i
        signs[size * row + byte] = bits


@njit(cache=True, nogil=True, forceinline=True)
def clear_sum(total: Any, width: int) -> None:
    """Set all components of a sum to 0."""
    for i in range(width):
        total[i] = np.float32(0)
