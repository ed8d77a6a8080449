"""Candidates of several shards in the order of one index, and what selection reads of some of them."""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["find_rows", "merge_candidates", "warm"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _comes_first(
    one: int, other: int, named: Any, scores: Any, segments: Any, documents: Any
) -> bool:  # pragma: no cover - compiled
    """Return whether a candidate comes before another that stands behind it; of equal ones the first stays first."""
    if named[one] != named[other]:
        return bool(named[one])
    first, second = scores[one], scores[other]
    if first != second and not (np.isnan(first) and np.isnan(second)):
        return not np.isnan(first) and (np.isnan(second) or bool(first > second))
    if segments[one] != segments[other]:
        return bool(segments[one] < segments[other])
    return bool(documents[one] <= documents[other])


@njit(cache=True, nogil=True)
def _sort(named: Any, scores: Any, segments: Any, documents: Any) -> Any:  # pragma: no cover - compiled
    """Return the order of candidates: sorted runs, as each shard sends one, are merged until one is left."""
    count = len(scores)
    order, other = np.arange(count), np.empty(count, np.int64)
    runs = 0
    while runs != 1:
        runs = begin = 0
        while begin < count:
            middle = begin + 1
            while middle < count and _comes_first(order[middle - 1], order[middle], named, scores, segments, documents):
                middle += 1
            end = middle + 1 if middle < count else middle
            while end < count and _comes_first(order[end - 1], order[end], named, scores, segments, documents):
                end += 1
            left, right = begin, middle
            for place in range(begin, end):
                if right >= end or (
                    left < middle and _comes_first(order[left], order[right], named, scores, segments, documents)
                ):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
            runs += 1
            begin = end
        order, other = other, order
        if count == 0:
            break
    return order


@njit(cache=True, nogil=True)
def merge_candidates(
    segments: Any, documents: Any, scores: Any, keys: Any, features: Any, parts: Any, name: int
) -> Any:  # pragma: no cover - compiled
    """Return order, segments, documents, scores, keys and features of candidates: named ones first, then by score.

    Columns are those of all shards, one after the other. parts: for each shard its candidates, how many of them have
    features, and by how much its segments are numbered on; name: the column of the feature that named candidates have.
    Features are those of the first rows, up to the first without any.
    """
    count = len(scores)
    numbered, named = np.empty(count, np.int32), np.zeros(count, np.bool_)
    places = np.full(count, -1, np.int64)
    row = place = 0
    for part in range(len(parts)):
        for n in range(parts[part, 0]):
            numbered[row] = segments[row] + parts[part, 2]
            if n < parts[part, 1]:
                places[row] = place
                named[row] = features[place, name] > 0
                place += 1
            row += 1
    order = _sort(named, scores, numbered, documents)
    own_segments, own_documents = np.empty(count, np.int32), np.empty(count, np.int32)
    own_scores, own_keys = np.empty(count, np.float32), np.empty(count, np.uint64)
    measured = 0
    for n in range(count):
        row = order[n]
        own_segments[n], own_documents[n] = numbered[row], documents[row]
        own_scores[n], own_keys[n] = scores[row], keys[row]
        if measured == n and places[row] >= 0:
            measured += 1
    rows = np.empty((measured, features.shape[1]))
    for n in range(measured):
        rows[n] = features[places[order[n]]]
    return order, own_segments, own_documents, own_scores, own_keys, rows


@njit(cache=True, nogil=True)
def find_rows(
    segments: Any, documents: Any, words: Any, wanted_segments: Any, wanted_documents: Any
) -> Any:  # pragma: no cover - compiled
    """Return the rows of some documents among those of others, by segment and document; zeros where there is none."""
    size = 16
    while size < 2 * len(documents):
        size *= 2
    mask = np.uint64(size - 1)
    table = np.full(size, -1, np.int64)
    for row in range(len(documents)):
        key = np.uint64(segments[row]) << np.uint64(32) | np.uint64(documents[row])
        slot = (key * _FACTOR >> np.uint64(32)) & mask
        while table[slot] >= 0 and (segments[table[slot]] != segments[row] or documents[table[slot]] != documents[row]):
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = row
    found = np.zeros((len(wanted_documents), words.shape[1]), np.uint64)
    for n in range(len(wanted_documents)):
        key = np.uint64(wanted_segments[n]) << np.uint64(32) | np.uint64(wanted_documents[n])
        slot = (key * _FACTOR >> np.uint64(32)) & mask
        while table[slot] >= 0:
            row = table[slot]
            if segments[row] == wanted_segments[n] and documents[row] == wanted_documents[n]:
                found[n] = words[row]
                break
            slot = (slot + np.uint64(1)) & mask
    return found


def warm() -> None:
    """Compile the kernels with the types used in production."""
    numbers, scores = np.zeros(2, np.int32), np.zeros(2, np.float32)
    parts = np.array([[1, 1, 0], [1, 1, 1]], np.int64)
    merge_candidates(numbers, numbers, scores, np.zeros(2, np.uint64), np.zeros((2, 3)), parts, 1)
    find_rows(numbers, numbers, np.zeros((2, 3), np.uint64), numbers, numbers)
