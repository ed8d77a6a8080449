"""Postings back to tokens: what merging segments needs, in two passes of counting sort and without comparisons.

Tokens of several segments are put in the order of their new documents, then of their new terms. What comes out is what
`invert.sort_tokens` gives for the same documents, so that a merged segment is the one a build would have made.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.invert import FIELD_SHIFT, FIELDS, Sorted
from periplus.kernels.lexicon import Terms, make_tiny_terms
from periplus.kernels.lists import SIZED, Lists, Place, make_tiny_lists, read_all
from periplus.kernels.pack import FAT
from periplus.kernels.places import get_place

__all__ = ["highest_impacts", "place_of", "sort_by_term", "take_tokens"]


@njit(cache=True, nogil=True)
def place_of(held: Terms, term: int) -> Place:  # pragma: no cover - compiled
    """Give the place of a term by its number."""
    begin = held.stream_end[term - 1] if term else np.int64(0)
    position = held.position_end[term - 1] if term else np.int64(0)
    return (
        np.int64(held.frequency[term]),
        begin,
        held.stream_end[term],
        position,
        np.int64(held.kind[term]),
        np.int64(held.row[term]),
        np.int64(held.heads[term]),
        np.int64(held.wide[term]),
    )


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
    most = held.frequency.max() if len(held.frequency) else 0
    olds, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    position = np.int64(0)
    for term in range(len(held.frequency)):
        count = read_all(lists, place_of(held, term), olds, codes, masks, impacts)
        for n in range(count):
            document, code = documents[olds[n]], codes[n] & FAT
            if codes[n] & SIZED:
                _, position = get_place(lists.positions, position)
            for field in range(FIELDS):
                if not (masks[n] >> field) & 1:
                    continue
                times = np.int64(code + 1)
                if code == FAT:
                    times, position = get_place(lists.positions, position)
                where = np.int64(0)
                for _ in range(times):
                    step, position = get_place(lists.positions, position)
                    where += step
                    if document < 0:
                        continue
                    if len(terms):
                        terms[place[document]] = numbers[term]
                        positions[place[document]] = (field << FIELD_SHIFT) | where
                    else:
                        lengths[document, field] = max(lengths[document, field], where + 1)
                    place[document] += 1


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
    most = held.frequency.max() if len(held.frequency) else 0
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    highest = np.zeros(len(held.frequency), np.uint8)
    for term in range(len(held.frequency)):
        count = read_all(lists, place_of(held, term), documents, codes, masks, impacts)
        for n in range(count):
            highest[term] = max(highest[term], impacts[n])
    return highest


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists, documents, place = make_tiny_lists(), np.zeros(64, np.int64), np.zeros(1, np.int64)
    held = make_tiny_terms()
    terms, positions, lengths = np.zeros(1, np.int32), np.zeros(1, np.uint32), np.zeros((1, FIELDS), np.int32)
    take_tokens(lists, held, np.zeros(1, np.int64), documents, place, lengths, terms, positions)
    sort_by_term(np.array([0, 1], np.int64), terms, positions, 1)
    highest_impacts(lists, held)
