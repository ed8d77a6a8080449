"""Postings back to tokens: what merging segments needs, in two passes of counting sort and without comparisons.

Tokens of several segments are put in the order of their new documents, then of their new terms. What comes out is what
`invert.sort_tokens` gives for the same documents, so that a merged segment is the one a build would have made.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.invert import BLOCK, FIELD_SHIFT, FIELDS, PLAIN, Sorted
from periplus.kernels.lexicon import Terms
from periplus.kernels.lists import BODY, Lists, get_entry, get_place, make_tiny_lists

__all__ = ["highest_impacts", "sort_by_term", "take_tokens"]


@njit(cache=True, nogil=True)
def _entry_tokens(
    lists: Lists,
    at: int,
    stop: int,
    position: int,
    first: int,
    documents: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int32],
    number: int,
    terms: npt.NDArray[np.int32],
    positions: npt.NDArray[np.uint32],
) -> int:  # pragma: no cover - compiled
    """Take one entry's tokens; give where its positions end. See `take_tokens`."""
    while at < stop:
        byte = np.int64(lists.stream[at])
        code = byte >> 6
        mask = np.int64(lists.stream[at + 1]) if code == PLAIN else np.int64(BODY)
        document = documents[first + (byte & 63)]
        for field in range(FIELDS):
            if not (mask >> field) & 1:
                continue
            count = code + 1
            if code == PLAIN:
                count, position = get_place(lists.positions, position)
            where = np.int64(0)
            for _ in range(count):
                step, position = get_place(lists.positions, position)
                where += step
                if document < 0:
                    continue
                if len(terms):
                    terms[place[document]] = number
                    positions[place[document]] = (field << FIELD_SHIFT) | where
                else:
                    lengths[document, field] = max(lengths[document, field], where + 1)
                place[document] += 1
        at += 3 if code == PLAIN else 1
    return position


@njit(cache=True, nogil=True)
def take_tokens(
    lists: Lists,
    held: Terms,
    numbers: npt.NDArray[np.int64],
    documents: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int32],
    terms: npt.NDArray[np.int32],
    positions: npt.NDArray[np.uint32],
) -> None:  # pragma: no cover - compiled
    """Go over all tokens of a segment, with the new number of each document in `documents` (-1: left out).

    Without room in `terms`, count them in `place` by new document, and note field lengths. With it, put each token,
    with its new term from `numbers`, where `place` says that its document goes on.
    """
    position = np.int64(0)
    for term in range(len(held.frequency)):
        at = held.stream_end[term - 1] if term else np.int64(0)
        end, row = held.stream_end[term], held.row[term]
        block = np.int64(-1)
        while at < end:
            if row >= 0:
                block += 1
                stop = np.int64(lists.dense_start[row, block + 1])
            else:
                step, _, at, stop = get_entry(lists.stream, at)
                block += step
            position = _entry_tokens(
                lists, at, stop, position, block * BLOCK, documents, place, lengths, numbers[term], terms, positions
            )
            at = stop


@njit(cache=True, nogil=True)
def sort_by_term(
    starts: npt.NDArray[np.int64], terms: npt.NDArray[np.int32], positions: npt.NDArray[np.uint32], count: int
) -> Sorted:  # pragma: no cover - compiled
    """Sort tokens, which are in the order of their documents (that begin at `starts`), by their terms."""
    begin = np.zeros(count + 1, np.int64)
    for term in terms:
        begin[term + 1] += 1
    for term in range(count):
        begin[term + 1] += begin[term]
    place = begin[:-1].copy()
    by_document = np.empty(len(terms), np.int32)
    by_position = np.empty(len(terms), np.uint32)
    for document in range(len(starts) - 1):
        for token in range(starts[document], starts[document + 1]):
            to = place[terms[token]]
            place[terms[token]] = to + 1
            by_document[to] = document
            by_position[to] = positions[token]
    return Sorted(begin, by_document, by_position)


@njit(cache=True, nogil=True)
def highest_impacts(lists: Lists, held: Terms) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Give the highest impact that each term has in any document."""
    highest = np.zeros(len(held.frequency), np.uint8)
    for term in range(len(held.frequency)):
        at = held.stream_end[term - 1] if term else np.int64(0)
        end, row = held.stream_end[term], held.row[term]
        if row >= 0:
            highest[term] = lists.dense_max[row].max()
            continue
        block = np.int64(-1)
        while at < end:
            step, _, at, stop = get_entry(lists.stream, at)
            block += step
            while at < stop:
                byte = np.int64(lists.stream[at])
                code = byte >> 6
                plain = (block * PLAIN + code) * BLOCK + (byte & 63)
                impact = lists.stream[at + 2] if code == PLAIN else lists.plain_impact[plain]
                highest[term] = max(highest[term], impact)
                at += 3 if code == PLAIN else 1
    return highest


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists, documents, place = make_tiny_lists(), np.zeros(64, np.int64), np.zeros(1, np.int64)
    one = np.ones(1, np.int64)
    held = Terms(np.zeros(1, np.uint8), one, np.ones(1, np.int32), 2 * one, 0 * one, one, np.full(1, -1, np.int32))
    terms, positions, lengths = np.zeros(1, np.int32), np.zeros(1, np.uint32), np.zeros((1, FIELDS), np.int32)
    take_tokens(lists, held, np.zeros(1, np.int64), documents, place, lengths, terms, positions)
    sort_by_term(np.array([0, 1], np.int64), terms, positions, 1)
    highest_impacts(lists, held)
