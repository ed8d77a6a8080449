"""Quantised vectors: similarity to a query, nearest documents, and lists of neighbours (an inverted file index).

A vector of length 1 is stored as integers from -127 to 127 and a scale. Rows are in the order of their lists (one list
contains all of them), so that a search reads contiguous memory; `rows` has the rows of each document.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels import topk_heap

__all__ = ["VectorStore", "assign_centres", "find_nearest", "quantise", "score_documents", "warm"]

_LARGEST: Final = 127


class VectorStore(NamedTuple):
    """The vectors of one segment."""

    vectors: npt.NDArray[np.int8]
    """A row for each passage, in the order of lists."""
    scales: npt.NDArray[np.float32]
    owners: npt.NDArray[np.int32]
    """The document of each passage."""
    start: npt.NDArray[np.int64]
    """Offset of each document's passages in `rows`."""
    rows: npt.NDArray[np.int32]
    centres: npt.NDArray[np.float32]
    list_start: npt.NDArray[np.int64]
    """Offset of each list in `vectors`."""


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return vectors as bytes, and the scale of each."""
    highest = np.abs(vectors).max(axis=1, initial=1e-12)
    scales = (highest / _LARGEST).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


# Summation in any order is what allows vector instructions. There are no nans.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _dot(query: Any, vectors: Any, row: int) -> Any:
    """Return the dot product of a query and one row."""
    total = np.float32(0)
    for i in range(len(query)):
        total += query[i] * np.float32(vectors[row, i])
    return total


@njit(cache=True, nogil=True)
def score_documents(store: VectorStore, query: Any, documents: Any, out: Any) -> None:
    """Write the cosine of each document's best passage.

    Parameters
    ----------
    store: the vectors of a segment.
    query: the vector of the query, float32 of length 1.
    documents: the documents to score, int32.
    out: receives a score for each of `documents`, float32; nan for a document without passages.
    """
    for number in range(len(documents)):
        document = documents[number]
        best = np.float32(np.nan)
        for at in range(store.start[document], store.start[document + 1]):
            row = store.rows[at]
            value = _dot(query, store.vectors, row) * store.scales[row]
            if not value <= best:
                best = value
        out[number] = best


@njit(cache=True, nogil=True)
def find_nearest(store: VectorStore, query: Any, alive: Any, probe: int, documents: Any, scores: Any) -> int:
    """Find the live documents nearest to a query; a document counts by its best passage.

    Parameters
    ----------
    store: the vectors of a segment.
    query: the vector of the query, float32 of length 1.
    alive: whether each document is live.
    probe: number of lists to search, those whose centres are nearest.
    documents, scores: receive the nearest documents and their cosines, in no order.

    Returns
    -------
    The number of documents written.
    """
    lists = len(store.list_start) - 1
    distances = np.empty(lists, np.float32)
    for number in range(lists):
        distances[number] = -_dot(query, store.centres, number)
    order = np.argsort(distances) if probe < lists else np.arange(lists)
    count = 0
    for number in order[:probe]:
        for row in range(store.list_start[number], store.list_start[number + 1]):
            value = _dot(query, store.vectors, row) * store.scales[row]
            if (count < len(documents) or value > scores[0]) and alive[store.owners[row]]:
                count = _offer(documents, scores, count, store.owners[row], value)
    return count


@njit(cache=True, nogil=True)
def _offer(documents: Any, scores: Any, count: int, document: int, value: Any) -> int:
    """Add a document to the best ones, or raise its score; return the number of documents."""
    for at in range(count):
        if documents[at] == document:
            if value > scores[at]:
                scores[at] = value
                topk_heap.sift_down(scores, documents, at, count)
            return count
    return topk_heap.push(scores, documents, count, value, document)


@njit(cache=True, nogil=True)
def assign_centres(vectors: Any, centres: Any, out: Any) -> None:
    """Write the number of the centre nearest to each vector.

    Parameters
    ----------
    vectors: quantised vectors, int8; their scales do not matter.
    centres: the centres, float32 of length 1.
    out: receives the number of a centre for each vector, int32.
    """
    query = np.empty(vectors.shape[1], np.float32)
    for row in range(len(vectors)):
        for i in range(len(query)):
            query[i] = vectors[row, i]
        best = np.float32(-np.inf)
        for number in range(len(centres)):
            value = _dot(query, centres, number)
            if value > best:
                best, out[row] = value, number


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    vectors, scales = quantise(np.eye(2, 4, dtype=np.float32))
    offsets = np.arange(3, dtype=np.int64)
    rows, centres = np.arange(2, dtype=np.int32), np.eye(2, 4, dtype=np.float32)
    store = VectorStore(vectors, scales, rows, offsets, rows.copy(), centres, offsets.copy())
    documents, scores = np.arange(2, dtype=np.int32), np.empty(2, np.float32)
    for array in store:
        array.flags.writeable = False
    query = np.ones(4, np.float32)
    score_documents(store, query, documents, scores)
    find_nearest(store, query, np.ones(2, np.bool_), 1, documents, scores)
    assign_centres(store.vectors, np.eye(2, 4, dtype=np.float32), documents)
