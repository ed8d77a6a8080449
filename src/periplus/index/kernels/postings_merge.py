"""Turns postings back into tokens, for merging segments: two passes of counting sort, without comparisons.

Tokens of several segments are put in the order of their new documents, then of their new terms, for as many terms at a
time as memory allows. The result is what `forward_index.sort_tokens` returns for the same documents, so that a merged
segment equals the one that a build would have written.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.inversion import FIELD_SHIFT, FIELDS, SortedTokens
from periplus.index.kernels.positions import read_position_count, read_position_delta, skip_position_deltas
from periplus.index.kernels.postings_format import ESCAPED
from periplus.index.kernels.postings_reader import PostingsReader, make_tiny_postings, term_entry
from periplus.index.kernels.postings_scan import POSITIONS_SIZED, read_postings
from periplus.index.kernels.term_dictionary import TermTable
from periplus.index.kernels.term_packing import make_tiny_terms

__all__ = [
    "MergeSource",
    "collect_tokens",
    "count_tokens",
    "mark_fields",
    "max_impacts",
    "measure_tokens",
    "sort_by_term",
]


class MergeSource(NamedTuple):
    """Some terms of a segment that is merged, and the new numbers of its terms and documents."""

    terms: TermTable
    """The unpacked dictionary of the segment."""
    first: int
    last: int
    """The terms from `first` up to, not including, `last`."""
    numbers: npt.NDArray[np.int64]
    """The new number of each term of the segment."""
    documents: npt.NDArray[np.int64]
    """The new number of each document, -1 for those that are left out."""


@njit(cache=True, nogil=True)
def _max_frequency(source: MergeSource) -> int:  # pragma: no cover - compiled
    """Return the frequency of the most frequent term."""
    most = 0
    for term in range(source.first, source.last):
        most = max(most, source.terms.frequency[term])
    return most


@njit(cache=True, nogil=True)
def measure_tokens(
    postings: PostingsReader, source: MergeSource, lengths: npt.NDArray[np.int32], totals: npt.NDArray[np.int64]
) -> int:  # pragma: no cover - compiled
    """Measure the fields of the merged documents, and count the tokens of the merged terms.

    Parameters
        postings, source: a segment, and what becomes of it
        lengths: tokens by new document and field; updated
        totals: tokens by new term; updated
    Returns
        the number of the first term whose positions do not fill their range, -1 if there is none
    """
    most = _max_frequency(source)
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position, new = entry.positions, source.numbers[term]
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, code = source.documents[documents[n]], codes[n] & ESCAPED
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(postings.positions, position)
            for field in range(FIELDS):
                if not (masks[n] >> field) & 1:
                    continue
                times = np.int64(code + 1)
                if code == ESCAPED:
                    times, position = read_position_count(postings.positions, position)
                where = np.int64(0)
                for _ in range(times):
                    step, position = read_position_delta(postings.positions, position)
                    where += step
                if document >= 0:
                    lengths[document, field] = max(lengths[document, field], where + 1)
                    totals[new] += times
        if position != source.terms.position_end[term]:
            return term
    return -1


@njit(cache=True, nogil=True)
def count_tokens(
    postings: PostingsReader, source: MergeSource, counts: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    """Add the tokens of each new document to `counts`."""
    most = _max_frequency(source)
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position = entry.positions
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, times = source.documents[documents[n]], np.int64(codes[n] & ESCAPED) + 1
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(postings.positions, position)
            if times <= ESCAPED:
                position = skip_position_deltas(postings.positions, position, times)
            else:
                mask, times = masks[n], np.int64(0)
                while mask:
                    mask &= mask - np.uint8(1)
                    count, position = read_position_count(postings.positions, position)
                    position = skip_position_deltas(postings.positions, position, count)
                    times += count
            if document >= 0:
                counts[document] += times


@njit(cache=True, nogil=True)
def collect_tokens(
    postings: PostingsReader,
    source: MergeSource,
    base: int,
    cursors: npt.NDArray[np.int64],
    terms: npt.NDArray[np.int32],
    positions: npt.NDArray[np.uint32],
) -> None:  # pragma: no cover - compiled
    """Copy tokens to where those of their new document are.

    Parameters
        postings, source: a segment, and what becomes of it
        base: the number of the first term in hand
        cursors: by new document, where its next token goes; advanced
        terms, positions: the new term (counted from `base`) and the position of each token; filled
    """
    most = _max_frequency(source)
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position, new = entry.positions, source.numbers[term] - base
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, code = source.documents[documents[n]], codes[n] & ESCAPED
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(postings.positions, position)
            for field in range(FIELDS):
                if not (masks[n] >> field) & 1:
                    continue
                times = np.int64(code + 1)
                if code == ESCAPED:
                    times, position = read_position_count(postings.positions, position)
                where = np.int64(0)
                for _ in range(times):
                    step, position = read_position_delta(postings.positions, position)
                    where += step
                    if document >= 0:
                        terms[cursors[document]] = new
                        positions[cursors[document]] = (field << FIELD_SHIFT) | where
                        cursors[document] += 1


@njit(cache=True, nogil=True)
def sort_by_term(
    starts: npt.NDArray[np.int64], terms: npt.NDArray[np.int32], positions: npt.NDArray[np.uint32], count: int
) -> SortedTokens:  # pragma: no cover - compiled
    """Sort tokens by term, then document.

    Parameters
        starts: where the tokens of each document begin
        terms, positions: term and position of each token, document after document
        count: how many terms there are
    """
    begin = np.zeros(count + 1, np.int64)
    for term in terms:
        begin[term + 1] += 1
    for term in range(count):
        begin[term + 1] += begin[term]
    cursors = begin[:-1].copy()
    by_document = np.empty(len(terms), np.int32)
    by_position = np.empty(len(terms), np.uint32)
    for document in range(len(starts) - 1):
        for token in range(starts[document], starts[document + 1]):
            at = cursors[terms[token]]
            cursors[terms[token]] = at + 1
            by_document[at] = document
            by_position[at] = positions[token]
    return SortedTokens(begin, by_document, by_position)


@njit(cache=True, nogil=True)
def max_impacts(postings: PostingsReader, terms: TermTable) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Return the highest impact that each term has in any document of a segment."""
    most = terms.frequency.max() if len(terms.frequency) else 0
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    highest = np.zeros(len(terms.frequency), np.uint8)
    for term in range(len(terms.frequency)):
        count = read_postings(postings, term_entry(terms, term), documents, codes, masks, impacts)
        for n in range(count):
            highest[term] = max(highest[term], impacts[n])
    return highest


@njit(cache=True, nogil=True)
def mark_fields(
    postings: PostingsReader, terms: TermTable, documents: int
) -> npt.NDArray[np.uint8]:  # pragma: no cover - compiled
    """Return for each document of a segment a bit for each field that has a term in it."""
    most = terms.frequency.max() if len(terms.frequency) else 0
    numbers, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    fields = np.zeros(documents, np.uint8)
    for term in range(len(terms.frequency)):
        for n in range(read_postings(postings, term_entry(terms, term), numbers, codes, masks, impacts)):
            fields[numbers[n]] |= masks[n]
    return fields


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    postings, counts = make_tiny_postings(), np.zeros(1, np.int64)
    dictionary = make_tiny_terms()
    source = MergeSource(dictionary, 0, 1, np.zeros(1, np.int64), np.zeros(64, np.int64))
    terms, positions = np.zeros(1, np.int32), np.zeros(1, np.uint32)
    measure_tokens(postings, source, np.zeros((1, FIELDS), np.int32), counts)
    count_tokens(postings, source, counts)
    collect_tokens(postings, source, 0, np.zeros(1, np.int64), terms, positions)
    sort_by_term(np.array([0, 1], np.int64), terms, positions, 1)
    max_impacts(postings, dictionary)
    mark_fields(postings, dictionary, 64)
