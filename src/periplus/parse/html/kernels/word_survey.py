"""What the flags of a page need to know of its words, without an object for each of them."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["hash_words", "survey_words"]

_SPACE = 32
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_FILTER = np.uint64(255)


@njit(cache=True, nogil=True)
def _survey(data: Any, listed: Any, is_listed: Any, long_word: int, slots: Any, times: Any) -> Any:
    words, most, found = 0, 0, False
    mask = np.uint64(len(slots) - 1)
    value, length = _OFFSET, 0
    for position in range(len(data) + 1):
        byte = data[position] if position < len(data) else np.uint8(_SPACE)
        if byte != _SPACE:
            value = (value ^ np.uint64(byte)) * _PRIME
            length += 1
            continue
        if length == 0:
            continue
        words += 1
        if is_listed[value & _FILTER]:
            for other in listed:
                found |= other == value
        if length > long_word:
            slot = (value >> np.uint64(20)) & mask
            while times[slot] and slots[slot] != value:
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = value
            times[slot] += 1
            most = max(most, times[slot])
        value, length = _OFFSET, 0
    return words, most, found


def survey_words(data: bytes, listed: npt.NDArray[np.uint64], long_word: int) -> tuple[int, int, bool]:
    """Return the number of words in `data`, how often the most frequent long one is there, and whether a listed one is.

    Parameters: data, words with spaces between them; listed (uint64 array), from `hash_words`; long_word, words of more
    bytes than this are long. Two words with one hash, of which there may be some, count as one: the second result may
    be too high and the third true by chance, never the reverse.
    """
    is_listed = _filter_of(listed.tobytes())
    size = 1 << (2 * (len(data) // (long_word + 2) + 1)).bit_length()
    slots, times = np.empty(size, np.uint64), np.zeros(size, np.int32)
    words, most, found = _survey(np.frombuffer(data, np.uint8), listed, is_listed, long_word, slots, times)
    return int(words), int(most), bool(found)


@lru_cache(8)
def _filter_of(listed: bytes) -> npt.NDArray[np.bool_]:
    """Return which last bytes the listed hashes have."""
    is_listed = np.zeros(256, np.bool_)
    is_listed[np.frombuffer(listed, np.uint64) & _FILTER] = True
    return is_listed


@njit(cache=True, nogil=True)
def _hash(data: Any) -> Any:
    value = _OFFSET
    for byte in data:
        value = (value ^ np.uint64(byte)) * _PRIME
    return value


def hash_words(words: list[bytes]) -> npt.NDArray[np.uint64]:
    """Return the hashes of words that `survey_words` looks for."""
    return np.array([_hash(np.frombuffer(word, np.uint8)) for word in words], np.uint64)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    survey_words(b"some words", hash_words([b"some"]), 4)
