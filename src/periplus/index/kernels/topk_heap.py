"""The top k of many documents: a binary heap of scores and document numbers, the lowest ranked on top."""

from typing import Any

from periplus.accel import njit

__all__ = ["push", "ranks_below", "sift_down", "sort_best_first"]


@njit(cache=True, nogil=True, forceinline=True)
def ranks_below(scores: Any, documents: Any, a: int, b: int) -> bool:  # pragma: no cover - compiled
    """Return whether entry `a` ranks below entry `b`: by higher score first, then lower document number."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and documents[a] > documents[b])


@njit(cache=True, nogil=True, forceinline=True)
def sift_down(scores: Any, documents: Any, at: int, size: int) -> None:  # pragma: no cover - compiled
    """Move the entry at `at` down until the heap of `size` entries is in order again."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and ranks_below(scores, documents, child + 1, child):
            child += 1
        if not ranks_below(scores, documents, child, at):
            return
        scores[at], scores[child] = scores[child], scores[at]
        documents[at], documents[child] = documents[child], documents[at]
        at = child


@njit(cache=True, nogil=True, forceinline=True)
def push(scores: Any, documents: Any, size: int, score: Any, document: int) -> int:  # pragma: no cover - compiled
    """Add a document, if it is among the best.

    Parameters
        scores, documents: arrays of k elements, the heap
        size: how many of them are used
        score, document: the document to add
    Returns
        how many are used now
    """
    if size < len(scores):
        at = size
        scores[at], documents[at] = score, document
        while at > 0 and ranks_below(scores, documents, at, (at - 1) >> 1):
            up = (at - 1) >> 1
            scores[at], scores[up] = scores[up], scores[at]
            documents[at], documents[up] = documents[up], documents[at]
            at = up
        return size + 1
    if score > scores[0] or (score == scores[0] and document < documents[0]):
        scores[0], documents[0] = score, document
        sift_down(scores, documents, 0, size)
    return size


@njit(cache=True, nogil=True)
def sort_best_first(scores: Any, documents: Any, size: int) -> None:  # pragma: no cover - compiled
    """Sort a heap of `size` entries in place, highest ranked first."""
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        documents[0], documents[last] = documents[last], documents[0]
        sift_down(scores, documents, 0, last)
