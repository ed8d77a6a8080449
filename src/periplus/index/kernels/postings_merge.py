"""Postings back to tokens: what merging segments needs, in two passes of counting sort and without comparisons.

Tokens of several segments are put in the order of their new documents, then of their new terms, for as many terms at a
time as memory allows. What comes out is what `drafts.sort_tokens` gives for the same documents, so that a merged
segment is the one a build would have made.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.inversion import FIELD_SHIFT, FIELDS, Sorted
from periplus.index.kernels.positions import get_place, skip_places
from periplus.index.kernels.postings_format import FAT
from periplus.index.kernels.postings_reader import SIZED, Lists, make_tiny_lists, place_of, read_all
from periplus.index.kernels.term_dictionary import Terms, make_tiny_terms

__all__ = ["Part", "count_tokens", "highest_impacts", "sort_by_term", "survey", "take_tokens"]


class Part(NamedTuple):
    """Some terms of a segment, and what becomes of them and of its documents."""

    held: Terms
    first: int
    last: int
    """The terms from `first` up to, not including, `last`."""
    numbers: npt.NDArray[np.int64]
    """The new number of each term of the segment."""
    documents: npt.NDArray[np.int64]
    """The new number of each document, -1 for those that are left out."""


@njit(cache=True, nogil=True)
def _longest(part: Part) -> int:  # pragma: no cover - compiled
    """Give the frequency of the most frequent term."""
    most = 0
    for term in range(part.first, part.last):
        most = max(most, part.held.frequency[term])
    return most


@njit(cache=True, nogil=True)
def survey(
    lists: Lists, part: Part, lengths: npt.NDArray[np.int32], totals: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    """Note how long each field of each new document is, and how many tokens each new term has."""
    most = _longest(part)
    olds, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(part.first, part.last):
        place = place_of(part.held, term)
        position, new = place[3], part.numbers[term]
        for n in range(read_all(lists, place, olds, codes, masks, impacts)):
            document, code = part.documents[olds[n]], codes[n] & FAT
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
                if document >= 0:
                    lengths[document, field] = max(lengths[document, field], where + 1)
                    totals[new] += times


@njit(cache=True, nogil=True)
def count_tokens(lists: Lists, part: Part, counts: npt.NDArray[np.int64]) -> None:  # pragma: no cover - compiled
    """Count the tokens of each new document."""
    most = _longest(part)
    olds, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(part.first, part.last):
        place = place_of(part.held, term)
        position = place[3]
        for n in range(read_all(lists, place, olds, codes, masks, impacts)):
            document, times = part.documents[olds[n]], np.int64(codes[n] & FAT) + 1
            if codes[n] & SIZED:
                _, position = get_place(lists.positions, position)
            if times <= FAT:
                position = skip_places(lists.positions, position, times)
            else:
                mask, times = masks[n], np.int64(0)
                while mask:
                    mask &= mask - np.uint8(1)
                    there, position = get_place(lists.positions, position)
                    position = skip_places(lists.positions, position, there)
                    times += there
            if document >= 0:
                counts[document] += times


@njit(cache=True, nogil=True)
def take_tokens(
    lists: Lists,
    part: Part,
    base: int,
    place: npt.NDArray[np.int64],
    terms: npt.NDArray[np.int32],
    positions: npt.NDArray[np.uint32],
) -> None:  # pragma: no cover - compiled
    """Put each token, with its new term (counted from `base`), where `place` says that its document goes on."""
    most = _longest(part)
    olds, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(part.first, part.last):
        whole = place_of(part.held, term)
        position, new = whole[3], part.numbers[term] - base
        for n in range(read_all(lists, whole, olds, codes, masks, impacts)):
            document, code = part.documents[olds[n]], codes[n] & FAT
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
                    if document >= 0:
                        terms[place[document]] = new
                        positions[place[document]] = (field << FIELD_SHIFT) | where
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
    lists, counts = make_tiny_lists(), np.zeros(1, np.int64)
    held = make_tiny_terms()
    part = Part(held, 0, 1, np.zeros(1, np.int64), np.zeros(64, np.int64))
    terms, positions = np.zeros(1, np.int32), np.zeros(1, np.uint32)
    survey(lists, part, np.zeros((1, FIELDS), np.int32), counts)
    count_tokens(lists, part, counts)
    take_tokens(lists, part, 0, np.zeros(1, np.int64), terms, positions)
    sort_by_term(np.array([0, 1], np.int64), terms, positions, 1)
    highest_impacts(lists, held)
