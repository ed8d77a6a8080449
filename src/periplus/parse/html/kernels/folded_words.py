"""Kernel of the words of folded text: all of them are found, then all are hashed, many at a time.

How long a word is cannot be predicted, and a wrong guess takes as long as a word. So there is no branch for a word but
where it is long, or has a number: its first eight letters are one number, of which a letter after the other is hashed.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit
from periplus.accel.pointers import borrow, keep
from periplus.accel.simd import LANES, mask_nonzero

__all__ = ["MARGIN", "hash_folded_words"]

MARGIN = 72
"""Zeros behind a text, which is read many bytes at a time."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SHORT = 8
"""Letters that are hashed of many words at a time."""
_BYTE, _ONE, _LETTER_BITS, _LAST_BIT = np.uint64(255), np.uint64(1), np.uint64(8), np.uint64(63)
_LANES, _ALL_BITS = np.uint64(LANES), np.uint64(2**64 - 1)
_LOW_BITS, _EVERY = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x0101010101010101)


@njit(cache=True, nogil=True)
def _find_words(text: Any, size: int, edges: Any) -> int:
    """Write begin and end of each word; return how many there are."""
    found, before = 0, np.uint64(0)
    for at in range(0, size + 1, 2 * LANES):  # What is behind the text is no letter.
        letters = mask_nonzero(text, at) | mask_nonzero(text, at + int(LANES)) << _LANES
        changes = letters ^ (letters << _ONE | before)
        before = letters >> _LAST_BIT
        while changes:
            edges[found] = at + lowest_bit(changes)
            found += 1
            changes &= changes - _ONE
    return found >> 1


@njit(cache=True, nogil=True, forceinline=True)
def _has_run(letters: Any) -> Any:
    """Return whether two of eight bytes next to each other are 0."""
    zeros = ~((letters & _LOW_BITS) + _LOW_BITS | letters | _LOW_BITS)  # the highest bit of each byte that is 0
    return zeros & zeros << _LETTER_BITS != 0


@njit(cache=True, nogil=True)
def _hash_letters(letters: Any, values: Any, count: int) -> None:
    """Continue each hash by the bytes of a number up to the first that is 0."""
    for word in range(count):
        value = values[word]
        for number in range(_SHORT):
            letter = letters[word] >> np.uint64(8 * number) & _BYTE
            value = (value ^ letter) * _PRIME if letter else value
        values[word] = value


@njit(cache=True, nogil=True)
def hash_folded_words(text: Any, size: int, merged: Any, edges: Any, values: Any) -> int:
    """Hash the words of a folded text by FNV-1a; a run of the letter `merged` counts as one letter.

    Parameters: text (borrowed uint8), 0 between words and in `MARGIN` bytes behind its end; size, its length; merged
    (uint8), a letter, 255 for none; edges (borrowed int64), receives begin and end of each word; values (borrowed
    uint64), receives their hashes. A text has `size // 2 + 1` words at most. Returns: how many there are.
    """
    count = _find_words(text, size, edges)
    letters, long_words = np.empty(count, np.uint64), np.empty(count, np.int64)
    slow_words = _hash_words(text, merged, edges, values, count, borrow(letters), borrow(long_words))
    for number in range(slow_words):
        _hash_slowly(text, merged, edges, values, long_words[number])
    keep((letters, long_words))
    return count


@njit(cache=True, nogil=True)
def _hash_words(text: Any, merged: Any, edges: Any, values: Any, count: int, letters: Any, chosen: Any) -> int:
    """Hash what can be hashed many words at a time; return how many others there are, which are `chosen` then."""
    repeated = np.uint64(merged) * _EVERY
    long_words, slow_words = 0, 0
    for word in range(count):
        begin, length = edges[2 * word], edges[2 * word + 1] - edges[2 * word]
        first = load_uint64(text, begin) & _ALL_BITS >> np.uint64(64 - 8 * min(length, _SHORT))
        letters[word], values[word] = first, _OFFSET
        chosen[long_words] = word
        long_words += (length > _SHORT) | _has_run(first ^ repeated)
    _hash_letters(letters, values, count)
    states = np.empty(long_words, np.uint64)
    for number in range(long_words):
        word = chosen[number]
        begin, length = edges[2 * word] + _SHORT, edges[2 * word + 1] - edges[2 * word] - _SHORT
        letters[number] = load_uint64(text, begin) & _ALL_BITS >> np.uint64(64 - 8 * min(max(length, 1), _SHORT))
        states[number] = values[word]
    _hash_letters(letters, borrow(states), long_words)
    for number in range(long_words):
        word = chosen[number]
        values[word] = states[number]
        begin, end = edges[2 * word], edges[2 * word + 1]
        is_slow = (end - begin <= _SHORT) | (end - begin > 2 * _SHORT)
        is_slow |= _has_run(load_uint64(text, begin) ^ repeated) | _has_run(letters[number] ^ repeated)
        is_slow |= (text[begin + _SHORT - 1] == merged) & (text[begin + _SHORT] == merged)
        chosen[slow_words] = word
        slow_words += is_slow
    keep((states,))
    return slow_words


@njit(cache=True, nogil=True)
def _hash_slowly(text: Any, merged: Any, edges: Any, values: Any, word: int) -> None:
    """Hash one word letter by letter."""
    value, last = _OFFSET, np.uint8(0)
    for at in range(edges[2 * word], edges[2 * word + 1]):
        letter = text[at]
        if letter != merged or last != merged:
            value = (value ^ np.uint64(letter)) * _PRIME
        last = letter
    values[word] = value
