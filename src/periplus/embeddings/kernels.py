"""Vectors of meaning, cut to bytes: how near they are to a query, which are nearest, and lists of neighbours.

A vector of length 1 is kept as whole numbers from -127 to 127 and a scale. Rows stand in the order of their lists (one
list is all of them), so that a search reads whole stretches of memory; `rows` finds those of a document.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels import topk_heap

__all__ = ["Store", "assign", "nearest", "quantise", "score", "warm"]


class Store(NamedTuple):
    """The vectors of one segment."""

    vectors: npt.NDArray[np.int8]
    """A passage a row, in the order of lists."""
    scales: npt.NDArray[np.float32]
    owners: npt.NDArray[np.int32]
    """The document of each passage."""
    start: npt.NDArray[np.int64]
    """Where each document's passages begin in `rows`."""
    rows: npt.NDArray[np.int32]
    centres: npt.NDArray[np.float32]
    list_start: npt.NDArray[np.int64]
    """Where each list begins in `vectors`."""


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Cut vectors to bytes, each by its own scale."""
    highest = np.abs(vectors).max(axis=1, initial=1e-12)
    scales = (highest / 127).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


# Sums may be taken in any order, or no lane of the processor could work beside another. There are no nans.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _near(query: Any, vectors: Any, row: int) -> Any:
    """Multiply a query with one row."""
    total = np.float32(0)
    for i in range(len(query)):
        total += query[i] * np.float32(vectors[row, i])
    return total


@njit(cache=True, nogil=True)
def score(store: Store, query: Any, documents: Any, out: Any) -> None:
    """Give the cosine of the best passage of each document; one without passages gets nan."""
    for number in range(len(documents)):
        document = documents[number]
        best = np.float32(np.nan)
        for at in range(store.start[document], store.start[document + 1]):
            row = store.rows[at]
            value = _near(query, store.vectors, row) * store.scales[row]
            if not value <= best:
                best = value
        out[number] = best


@njit(cache=True, nogil=True)
def nearest(store: Store, query: Any, alive: Any, probe: int, documents: Any, scores: Any) -> int:
    """Fill `documents` and `scores` with the nearest living documents, in no order; give how many there are.

    Looks into the `probe` lists whose centres are nearest. A document counts by its best passage.
    """
    lists = len(store.list_start) - 1
    towards = np.empty(lists, np.float32)
    for number in range(lists):
        towards[number] = -_near(query, store.centres, number)
    order = np.argsort(towards) if probe < lists else np.arange(lists)
    found = 0
    for number in order[:probe]:
        for row in range(store.list_start[number], store.list_start[number + 1]):
            value = _near(query, store.vectors, row) * store.scales[row]
            if (found < len(documents) or value > scores[0]) and alive[store.owners[row]]:
                found = _offer(documents, scores, found, store.owners[row], value)
    return found


@njit(cache=True, nogil=True)
def _offer(documents: Any, scores: Any, found: int, document: int, value: Any) -> int:
    """Put a document among the best, at its best score; give how many there are."""
    for at in range(found):
        if documents[at] == document:
            if value > scores[at]:
                scores[at] = value
                topk_heap.sift_down(scores, documents, at, found)
            return found
    return topk_heap.push(scores, documents, found, value, document)


@njit(cache=True, nogil=True)
def assign(vectors: Any, centres: Any, out: Any) -> None:
    """Give the nearest centre of each vector (as bytes; its scale does not matter)."""
    query = np.empty(vectors.shape[1], np.float32)
    for row in range(len(vectors)):
        for i in range(len(query)):
            query[i] = vectors[row, i]
        best = np.float32(-np.inf)
        for number in range(len(centres)):
            value = _near(query, centres, number)
            if value > best:
                best, out[row] = value, number


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    vectors, scales = quantise(np.eye(2, 4, dtype=np.float32))
    place = np.arange(3, dtype=np.int64)
    two, centres = np.arange(2, dtype=np.int32), np.eye(2, 4, dtype=np.float32)
    store = Store(vectors, scales, two, place, two.copy(), centres, place.copy())
    documents, scores = np.arange(2, dtype=np.int32), np.empty(2, np.float32)
    for array in store:
        array.flags.writeable = False
    query = np.ones(4, np.float32)
    score(store, query, documents, scores)
    nearest(store, query, np.ones(2, np.bool_), 1, documents, scores)
    assign(store.vectors, np.eye(2, 4, dtype=np.float32), documents)
