"""A table of distinct words: hash each word, and assign it a number the first time it is seen."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.text.kernels.word_slots import WordSlots, fill_slot, find_slot

__all__ = ["add_words", "count_different", "gather_words", "hash_words"]

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@njit(cache=True, nogil=True)
def hash_words(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:  # pragma: no cover - compiled
    """Return the 64-bit hash of each word, never 0.

    Parameters
    ----------
    blob, start: the words in UTF-8, and the offset of each; one offset more than words.
    """
    hashes = np.empty(len(start) - 1, np.uint64)
    for word in range(len(hashes)):
        hashed = _SEED
        for at in range(start[word], start[word + 1]):
            hashed = (hashed ^ np.uint64(blob[at])) * _PRIME
        hashes[word] = hashed | np.uint64(1)
    return hashes


@njit(cache=True, nogil=True)
def add_words(
    blob: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
    languages: npt.NDArray[np.uint8],
    words: WordSlots,
    count: int,
    numbers: npt.NDArray[np.int32],
) -> int:  # pragma: no cover - compiled
    """Add words to a table that has room for them; return its number of words.

    Parameters
    ----------
    blob, starts, hashes, languages: the words, their offsets, hashes and language numbers.
    words, count: the table, and how many words it has.
    numbers: the id of each word, filled in.
    """
    for word in range(len(starts) - 1):
        number, slot = find_slot(words, hashes[word])
        if number < 0:
            number = np.int64(count)
            fill_slot(words, slot, hashes[word], number)
            words.hashes[count], words.languages[count] = hashes[word], languages[word]
            at = words.starts[count]
            for i in range(starts[word], starts[word + 1]):
                words.blob[at] = blob[i]
                at += 1
            count += 1
            words.starts[count] = at
        numbers[word] = number
    return count


@njit(cache=True, nogil=True)
def count_different(
    blob: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    other_blob: npt.NDArray[np.uint8],
    other_starts: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int32],
) -> int:  # pragma: no cover - compiled
    """Return how many words are not the same as those that they have the numbers of in another table.

    Parameters
    ----------
    blob, starts: the words, and the offset of each.
    other_blob, other_starts: the words of the other table.
    numbers: the number of each word there.
    """
    different = 0
    for word in range(len(starts) - 1):
        begin, other = starts[word], other_starts[numbers[word]]
        size = starts[word + 1] - begin
        same = size == other_starts[numbers[word] + 1] - other
        at = 0
        while same and at < size:
            same = blob[begin + at] == other_blob[other + at]
            at += 1
        different += not same
    return different


@njit(cache=True, nogil=True)
def gather_words(
    blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:  # pragma: no cover - compiled
    """Return some words of a table, one after the other, and the offset of each.

    Parameters
    ----------
    blob, starts: the words of the table, and the offset of each.
    numbers: which words.
    """
    offsets = np.zeros(len(numbers) + 1, np.int64)
    for at in range(len(numbers)):
        offsets[at + 1] = offsets[at] + starts[numbers[at] + 1] - starts[numbers[at]]
    out = np.empty(offsets[-1], np.uint8)
    for at in range(len(numbers)):
        begin, to = starts[numbers[at]], offsets[at]
        for i in range(offsets[at + 1] - to):
            out[to + i] = blob[begin + i]
    return out, offsets


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, start = np.frombuffer(b"abcd", np.uint8), np.array([0, 2, 4])
    for pieces in (blob, blob.copy()):
        hash_words(pieces, start)
    table = WordSlots(
        np.zeros(8, np.uint64),
        np.zeros(4, np.uint64),
        np.zeros(5, np.int64),
        np.zeros(4, np.uint8),
        np.zeros(8, np.uint8),
    )
    word = np.frombuffer(b"a", np.uint8)
    add_words(
        word, np.array([0, 1], np.int64), np.ones(1, np.uint64), table.languages[:1], table, 0, np.zeros(1, np.int32)
    )
    numbers = np.zeros(2, np.int32)
    for pieces in (blob, blob.copy()):
        count_different(blob, start, pieces, start, numbers)
        count_different(blob.copy(), start, pieces, start, numbers)
    gather_words(blob, start, numbers)
