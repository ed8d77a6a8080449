"""A hash table of words, by open addressing: finds the number of a word by its hash."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["WordSlots", "fill_slot", "find_slot", "find_slot_of", "first_number", "rehash"]

_ONE = np.uint64(1)
_HALF, _LOWER_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
"""Bits of a slot below the hash."""


class WordSlots(NamedTuple):
    """An open-addressing hash table of words, each with its language number."""

    slots: npt.NDArray[np.uint64]
    """A power of two: the upper half of the hash of a word, and below it its id plus one; 0 for a free slot."""
    hashes: npt.NDArray[np.uint64]
    """By word."""
    starts: npt.NDArray[np.int64]
    """Offset of each word in `blob`; one offset more than words."""
    languages: npt.NDArray[np.uint8]
    blob: npt.NDArray[np.uint8]


@njit(cache=True, nogil=True, forceinline=True)
def find_slot(words: WordSlots, hashed: Any) -> tuple[int, Any]:  # pragma: no cover - compiled
    """Return the id of a word by its mixed hash, -1 if it is new, and its slot or the free one for it."""
    return find_slot_of(words.slots, words.hashes, np.uint64(len(words.slots) - 1), hashed)


@njit(cache=True, nogil=True, forceinline=True)
def find_slot_of(slots: Any, hashes: Any, mask: Any, hashed: Any) -> tuple[int, Any]:  # pragma: no cover - compiled
    """Return the same, given slots and hashes, borrowed or not, and the number of slots less one."""
    slot = hashed & mask
    while True:
        entry = slots[slot]
        if entry == 0:
            return np.int64(-1), slot
        if (entry ^ hashed) >> _HALF == 0:
            number = np.int64(entry & _LOWER_HALF) - 1
            if hashes[number] == hashed:
                return number, slot
        slot = (slot + _ONE) & mask


@njit(cache=True, nogil=True, forceinline=True)
def first_number(slots: Any, mask: Any, hashed: Any) -> int:  # pragma: no cover - compiled
    """Return the id in the first slot where a word may be, which is that of most words, 0 if the slot is free."""
    return max(np.int64(slots[hashed & mask] & _LOWER_HALF) - 1, np.int64(0))


@njit(cache=True, nogil=True, forceinline=True)
def fill_slot(words: WordSlots, slot: Any, hashed: Any, number: int) -> None:  # pragma: no cover - compiled
    """Write a word into a free slot."""
    words.slots[slot] = (hashed & ~_LOWER_HALF) | np.uint64(number + 1)


@njit(cache=True, nogil=True)
def rehash(words: WordSlots, count: int) -> None:  # pragma: no cover - compiled
    """Insert the first `count` words into empty slots again, after the table has grown."""
    mask = np.uint64(len(words.slots) - 1)
    for number in range(count):
        slot = words.hashes[number] & mask
        while words.slots[slot] != 0:
            slot = (slot + _ONE) & mask
        fill_slot(words, slot, words.hashes[number], number)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    none, start = np.zeros(1, np.uint64), np.zeros(2, np.int64)
    rehash(WordSlots(none, none.copy(), start, np.zeros(1, np.uint8), np.zeros(1, np.uint8)), 0)
