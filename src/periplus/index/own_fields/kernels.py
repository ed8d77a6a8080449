"""Loops over columns of own fields: sets of documents within a range or with keywords, and counts of a matching set.

A set has one 64-bit word for each block of 64 documents, as the sets of a query have.
"""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["count_words", "gather_values", "mark_range", "mark_words"]

_ONE = np.uint64(1)
_SHIFT = np.uint64(6)
_MASK = np.uint64(63)

Sets = npt.NDArray[np.uint64]


@njit(cache=True, nogil=True)
def mark_range(values: npt.NDArray[np.float64], low: float, high: float, sets: Sets) -> None:  # pragma: no cover
    """Add the documents whose value is from `low` to `high`; one without a value (NaN) has none in any range."""
    for document in range(len(values)):
        value = values[document]
        if low <= value and value <= high:
            sets[document >> 6] |= _ONE << (np.uint64(document) & _MASK)


@njit(cache=True, nogil=True)
def mark_words(
    start: npt.NDArray[np.int64], words: npt.NDArray[np.uint32], wanted: npt.NDArray[np.bool_], sets: Sets
) -> None:  # pragma: no cover - compiled
    """Add the documents with a wanted keyword; `words[start[d] : start[d + 1]]` are those of document d."""
    for document in range(len(start) - 1):
        for at in range(start[document], start[document + 1]):
            if wanted[words[at]]:
                sets[document >> 6] |= _ONE << (np.uint64(document) & _MASK)
                break


@njit(cache=True, nogil=True)
def count_words(
    start: npt.NDArray[np.int64], words: npt.NDArray[np.uint32], sets: Sets, counts: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    """Count the documents of a set by keyword, of which each document has every one once at most."""
    for document in range(len(start) - 1):
        if sets[document >> 6] >> (np.uint64(document) & _MASK) & _ONE:
            for at in range(start[document], start[document + 1]):
                counts[words[at]] += 1


@njit(cache=True, nogil=True)
def gather_values(
    values: npt.NDArray[np.float64], sets: Sets, out: npt.NDArray[np.float64]
) -> int:  # pragma: no cover - compiled
    """Write the values of the documents of a set that have one; return how many there are."""
    count = 0
    for document in range(len(values)):
        if sets[document >> 6] >> (np.uint64(document) & _MASK) & _ONE and values[document] == values[document]:
            out[count] = values[document]
            count += 1
    return count


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    values, sets = np.zeros(1), np.zeros(1, np.uint64)
    start, words = np.array([0, 1], np.int64), np.zeros(1, np.uint32)
    for array in (values, start, words):
        array.flags.writeable = False  # as mapped ones are
    mark_range(values, 0.0, 1.0, sets)
    mark_words(start, words, np.ones(1, np.bool_), sets)
    count_words(start, words, sets, np.zeros(1, np.int64))
    gather_values(values, sets, np.zeros(1))
