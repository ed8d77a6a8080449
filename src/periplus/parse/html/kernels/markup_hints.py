"""What markup and text of a page can have at all, by a few letters that they would have to have: one pass for each."""

from typing import Any, Final

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow

__all__ = [
    "FRAMES",
    "METHODS",
    "SUBSCRIPTIONS",
    "WALLS",
    "find_hints",
    "find_hints_in_markup",
    "find_hints_in_text",
    "find_text_hints",
]

FRAMES: Final = 1
"""A tag begins with the letters 'fra' or 'ifr', in any case."""
WALLS: Final = 2
"""The letters 'wall' are there, in lower case."""
METHODS: Final = 1
"""The letters 'GET' or 'POST' are there."""
SUBSCRIPTIONS: Final = 2
"""A text in ASCII has five letters, in any case, of each hint at a paywall that it has."""
_LESS, _F, _R, _A, _I, _W, _L = (np.uint8(ord(letter)) for letter in "<fraiwl")
_B, _C, _D, _E, _N, _O, _S, _U, _V, _BLANK, _TO_LOWER = (np.uint8(ord(letter)) for letter in "bcdenosuv  ")
_UPPER_G, _UPPER_E, _UPPER_T, _UPPER_P, _UPPER_O, _UPPER_S = (np.uint8(ord(letter)) for letter in "GETPOS")
_UPPER_F, _UPPER_R, _UPPER_A, _UPPER_I = (np.uint8(ord(letter)) for letter in "FRAI")


@njit(cache=True, nogil=True)
def find_hints_in_markup(data: Any, size: int) -> int:
    """Return what `find_hints` does; data (borrowed uint8), of `size` bytes."""
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
    return find_hints_in_markup(borrow(data), len(data))


def find_hints(data: bytes) -> int:
    """Return which of the hints are in markup, as bits."""
    return int(_find_in(np.frombuffer(data, np.uint8)))


@njit(cache=True, nogil=True)
def find_hints_in_text(data: Any, size: int) -> int:
    """Return what `find_text_hints` does; data (borrowed uint8), of `size` bytes."""
    methods = walls = False
    for at in range(size - 4):  # As above.
        first, second, third, fourth, fifth = data[at], data[at + 1], data[at + 2], data[at + 3], data[at + 4]
        methods |= (first == _UPPER_G) & (second == _UPPER_E) & (third == _UPPER_T)
        methods |= (first == _UPPER_P) & (second == _UPPER_O) & (third == _UPPER_S) & (fourth == _UPPER_T)
        first, second, third = first | _TO_LOWER, second | _TO_LOWER, third | _TO_LOWER
        fourth, fifth = fourth | _TO_LOWER, fifth | _TO_LOWER
        is_scri = (second == _S) & (third == _C) & (fourth == _R) & (fifth == _I)
        walls |= ((first == _B) | (first == _U)) & is_scri  # 'subscri', 'suscriptores'
        is_onn, is_bon = (third == _O) & (fourth == _N), (third == _B) & (fourth == _O)
        walls |= (first == _A) & (second == _B) & (is_onn | is_bon) & (fifth == _N)  # 'abonn', 'abbonati'
        walls |= (
            (first == _U) & (second == _E) & (third == _BLANK) & (fourth == _R) & (fifth == _E)
        )  # 'continue reading'
        walls |= (
            (first == _V) & (second == _E) & (third == _D) & (fourth == _BLANK) & (fifth == _F)
        )  # 'is reserved for'
    for at in range(max(0, size - 4), size - 2):  # where no five letters begin, any three with these
        methods |= (data[at] == _UPPER_G) & (data[at + 1] == _UPPER_E)
        methods |= (data[at] == _UPPER_P) & (data[at + 1] == _UPPER_O)
    return (METHODS if methods else 0) | (SUBSCRIPTIONS if walls else 0)


@njit(cache=True, nogil=True)
def _find_in_text(data: Any) -> int:
    return find_hints_in_text(borrow(data), len(data))


def find_text_hints(text: bytes | memoryview) -> int:
    """Return which of the hints are in a text, as bits: all that are, and now and then one that is not."""
    return int(_find_in_text(np.frombuffer(text, np.uint8)))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    find_text_hints(b"text")
    find_hints(b"<iframe>")
