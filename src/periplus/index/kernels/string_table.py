"""Tables of strings, each a blob and the offset of every string: reordered, merged; and texts in compressed blocks."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow

__all__ = ["locate_bodies", "merge_sorted", "reorder_strings"]


@njit(cache=True, nogil=True)
def _compare(blob: Any, one: int, one_end: int, other: int, other_end: int) -> int:  # pragma: no cover - compiled
    """Return a number below, at or above 0, as one string of a blob sorts before, equals or sorts after another."""
    for i in range(min(one_end - one, other_end - other)):
        if blob[one + i] != blob[other + i]:
            return np.int64(blob[one + i]) - np.int64(blob[other + i])
    return (one_end - one) - (other_end - other)


@njit(cache=True, nogil=True)
def merge_sorted(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    tables: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
    owners: npt.NDArray[np.int64],
) -> int:  # pragma: no cover - compiled
    """Merge tables of strings, each sorted and without duplicates, into one.

    Parameters
        blob: the bytes of all strings
        begin, end: where each string is in `blob`, table after table
        tables: where in `begin` each table begins, and the end of the last
        numbers: the new number of each string; filled
        owners: for each new number, one of the strings that have it; filled
    Returns
        how many strings the merged table has
    """
    at = tables[:-1].copy()
    count = 0
    while True:
        smallest = -1
        for table in range(len(at)):
            if at[table] == tables[table + 1]:
                continue
            row = at[table]
            if smallest < 0 or _compare(blob, begin[row], end[row], begin[smallest], end[smallest]) < 0:
                smallest = row
        if smallest < 0:
            return count
        for table in range(len(at)):
            row = at[table]
            if row < tables[table + 1] and _compare(blob, begin[row], end[row], begin[smallest], end[smallest]) == 0:
                numbers[row] = count
                at[table] += 1
        owners[count] = smallest
        count += 1


@njit(cache=True, nogil=True)
def _copy_strings(blob: Any, begin: Any, starts: Any, order: Any, out: Any) -> None:  # pragma: no cover - compiled
    source, target = borrow(blob), borrow(out)
    for number in range(len(order)):
        first, at = begin[order[number]], starts[number]
        for i in range(starts[number + 1] - at):
            target[at + i] = source[first + i]


def reorder_strings(
    blob: npt.NDArray[np.uint8],
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the strings that `order` selects, in that order: the new blob, and where each begins."""
    starts = np.zeros(len(order) + 1, np.int64)
    np.cumsum((end - begin)[order], out=starts[1:])
    out = np.empty(int(starts[-1]), np.uint8)
    _copy_strings(blob, begin, starts, order, out)
    return out, starts


@njit(cache=True, nogil=True)
def locate_bodies(
    first: npt.NDArray[np.uint32],
    ends: npt.NDArray[np.uint32],
    starts: npt.NDArray[np.uint64],
    documents: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return where bodies are.

    Parameters
        first: the first document of each block; one more than there are blocks
        ends: where the body of each document ends in its block
        starts: where each block begins, compressed; one more than there are blocks
        documents: numbers of documents
    Returns
        by document: its block, where its body begins and ends there, and where the block begins and ends, compressed
    """
    spans = np.empty((len(documents), 5), np.int64)
    for i in range(len(documents)):
        document = documents[i]
        low, high = np.int64(0), np.int64(len(first) - 1)
        while low + 1 < high:
            middle = (low + high) >> 1
            if np.int64(first[middle]) <= document:
                low = middle
            else:
                high = middle
        spans[i, 0] = low
        spans[i, 1] = ends[document - 1] if document > np.int64(first[low]) else 0
        spans[i, 2] = ends[document]
        spans[i, 3], spans[i, 4] = starts[low], starts[low + 1]
    return spans


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, zero, one = np.frombuffer(b"a", np.uint8).copy(), np.zeros(1, np.int64), np.ones(1, np.int64)
    merge_sorted(blob, zero, one, np.array([0, 1], np.int64), zero.copy(), zero.copy())
    reorder_strings(blob, zero, one, zero)
    first, ends, starts = np.array([0, 1], np.uint32), np.ones(1, np.uint32), np.array([0, 1], np.uint64)
    for array in (first, ends, starts):
        array.flags.writeable = False
    locate_bodies(first, ends, starts, np.zeros(1, np.int64))
