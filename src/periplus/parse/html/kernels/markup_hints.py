"""What the markup of a page can have at all, by a few letters that it would have to have: one pass for all of them."""

from typing import Any, Final

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow

__all__ = ["FRAMES", "WALLS", "find_hints"]

FRAMES: Final = 1
"""The letters 'fram' are there, in any case."""
WALLS: Final = 2
"""The letters 'wall' are there, in lower case."""
_F, _R, _A, _M = (np.uint8(ord(letter)) for letter in "fram")
_UPPER_F, _UPPER_R, _UPPER_A, _UPPER_M = (np.uint8(ord(letter)) for letter in "FRAM")
_W, _L = np.uint8(ord("w")), np.uint8(ord("l"))


@njit(cache=True, nogil=True)
def _find_hints(data: Any, size: int) -> int:
    frames = walls = False
    for at in range(size - 3):  # Without a way out, so that many bytes are compared at a time.
        first, second, third, fourth = data[at], data[at + 1], data[at + 2], data[at + 3]
        frames |= (
            ((first == _F) | (first == _UPPER_F))
            & ((second == _R) | (second == _UPPER_R))
            & ((third == _A) | (third == _UPPER_A))
            & ((fourth == _M) | (fourth == _UPPER_M))
        )
        walls |= (first == _W) & (second == _A) & (third == _L) & (fourth == _L)
    return (FRAMES if frames else 0) | (WALLS if walls else 0)


@njit(cache=True, nogil=True)
def _find_in(data: Any) -> int:
    return _find_hints(borrow(data), len(data))


def find_hints(data: bytes) -> int:
    """Return which of the hints are in markup, as bits."""
    return int(_find_in(np.frombuffer(data, np.uint8)))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    find_hints(b"<iframe>")
