"""The best few of many: a heap of scores and document numbers whose top is the worst kept."""

from typing import Any

from periplus.accel import njit

__all__ = ["push", "sift", "sort_best_first", "worse"]


@njit(cache=True, nogil=True, forceinline=True)
def worse(scores: Any, documents: Any, a: int, b: int) -> bool:  # pragma: no cover - compiled
    """Order of results: higher score first, then lower document number."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and documents[a] > documents[b])


@njit(cache=True, nogil=True, forceinline=True)
def sift(scores: Any, documents: Any, at: int, size: int) -> None:  # pragma: no cover - compiled
    """Let the entry at `at` sink to its place in a heap whose top is the worst."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and worse(scores, documents, child + 1, child):
            child += 1
        if not worse(scores, documents, child, at):
            return
        scores[at], scores[child] = scores[child], scores[at]
        documents[at], documents[child] = documents[child], documents[at]
        at = child


@njit(cache=True, nogil=True, forceinline=True)
def push(scores: Any, documents: Any, size: int, score: Any, document: int) -> int:  # pragma: no cover - compiled
    """Offer a document to the heap of the best; give the heap's size."""
    if size < len(scores):
        at = size
        scores[at], documents[at] = score, document
        while at > 0 and worse(scores, documents, at, (at - 1) >> 1):
            up = (at - 1) >> 1
            scores[at], scores[up] = scores[up], scores[at]
            documents[at], documents[up] = documents[up], documents[at]
            at = up
        return size + 1
    if score > scores[0] or (score == scores[0] and document < documents[0]):
        scores[0], documents[0] = score, document
        sift(scores, documents, 0, size)
    return size


@njit(cache=True, nogil=True)
def sort_best_first(scores: Any, documents: Any, size: int) -> None:  # pragma: no cover - compiled
    """Sort a heap of `size` entries in place."""
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        documents[0], documents[last] = documents[last], documents[0]
        sift(scores, documents, 0, last)
