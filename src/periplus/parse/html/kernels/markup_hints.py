"""What the markup of a page can have at all, by a few letters that it would have to have: one pass for all of them."""

from typing import Any, Final

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow

__all__ = ["FRAMES", "WALLS", "find_hints"]

FRAMES: Final = 1
"""A tag begins with the letters 'fra' or 'ifr', in any case."""
WALLS: Final = 2
"""The letters 'wall' are there, in lower case."""
_LESS, _F, _R, _A, _I, _W, _L = (np.uint8(ord(letter)) for letter in "<fraiwl")
_UPPER_F, _UPPER_R, _UPPER_A, _UPPER_I = (np.uint8(ord(letter)) for letter in "FRAI")


@njit(cache=True, nogil=True)
def _find_hints(data: Any, size: int) -> int:
    frames = walls = False
    for at in range(size - 3):  # Without a way out, so that many bytes are compared at a time.
        first, second, third, fourth = data[at], data[at + 1], data[at + 2], data[at + 3]
        is_f, is_r = (second == _F) | (second == _UPPER_F), (third == _R) | (third == _UPPER_R)
        is_a = (fourth == _A) | (fourth == _UPPER_A)
        is_i, is_fr = (second == _I) | (second == _UPPER_I), (third == _F) | (third == _UPPER_F)
        frames |= (first == _LESS) & ((is_f & is_r & is_a) | (is_i & is_fr & ((fourth == _R) | (fourth == _UPPER_R))))
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
