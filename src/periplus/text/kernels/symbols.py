"""Symbols that belong to a word: '#', '+' and '++' after it ('C#', 'Disney+', 'C++17'), a dot before it ('.net')."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["NON_JOINER", "is_leading_dot", "max_tokens", "parts_words", "symbol_length"]

_HASH, _PLUS = 35, 43
_OTHER, _DIGIT, _LETTER, _OPERATOR = 0, 1, 2, 3


def _class_table() -> npt.NDArray[np.uint8]:
    table = np.zeros(256, np.uint8)
    table[48:58] = _DIGIT
    table[65:91] = table[97:123] = _LETTER
    for byte in b"#+=":
        table[byte] = _OPERATOR
    return table


_CLASS = _class_table()
"""For each byte, whether it is an ASCII letter or digit, or makes an operator of a symbol before it ('+=')."""


def _opening_table() -> npt.NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[:33] = table[128:] = True
    for byte in b"\"'`([/,:=>":
        table[byte] = True
    return table


_OPENING = _opening_table()
"""For each byte, whether a dot behind it may belong to the word that follows."""


NON_JOINER = 0x200C
"""The zero-width non-joiner."""


@njit(cache=True, nogil=True, forceinline=True)
def parts_words(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether a zero-width non-joiner before `at` separates words, as it does in Arabic script.

    Parameters
        data, at, end: UTF-8 bytes, the offset after the non-joiner, and the end of the text
    Returns
        whether an Arabic letter follows; in Indic scripts it only shapes letters
    """
    return at < end and data[at] >= 0xD8 and data[at] <= 0xDB


@njit(cache=True, nogil=True, forceinline=True)
def symbol_length(data: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the bytes of the symbol at `at` that belongs to the word ending there, 0 if there is none.

    Parameters
    ----------
    data: UTF-8 bytes.
    at: where a word ends.
    end: where the text ends.
    """
    if at >= end or (data[at] != _HASH and data[at] != _PLUS):
        return 0
    length = 2 if data[at] == _PLUS and at + 1 < end and data[at + 1] == _PLUS else 1
    if at + length == end:
        return length
    kind = _CLASS[data[at + length]]
    return length if kind == _OTHER or (length == 2 and kind == _DIGIT) else 0  # 'C++17' has a symbol, 'a++b' has none


@njit(cache=True, nogil=True, forceinline=True)
def is_leading_dot(data: Any, at: int, begin: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether the dot at `at`, with no word before it, belongs to the word that follows.

    Parameters
    ----------
    data: UTF-8 bytes.
    at: offset of a dot.
    begin, end: where the text begins and ends.
    """
    return at + 1 < end and _CLASS[data[at + 1]] == _LETTER and (at == begin or _OPENING[data[at - 1]])


@njit(cache=True, nogil=True)
def max_tokens(size: int) -> int:  # pragma: no cover - compiled
    """Return how many tokens a text can have at most.

    Parameters
    ----------
    size: length of the text, in bytes.
    """
    return size - size // 4 + 2  # '.c# .c# ' has three in four bytes
