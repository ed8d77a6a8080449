"""Turns postings back into tokens, for merging segments.

Tokens of several segments are put side by side by their new terms, for as many terms at a time as memory allows; those
of one segment are in the order of its documents, so that each term has few ascending runs, which are merged. The result
is what `forward_index.sort_tokens` returns for the same documents, so that a merged segment equals the one that a build
would have written.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit
from periplus.index.kernels.inversion import FIELD_SHIFT, FIELDS, SortedTokens
from periplus.index.kernels.positions import (
    BYTES,
    enter_list,
    leave_list,
    read_position_delta,
    read_step,
    skip_position_deltas,
)
from periplus.index.kernels.postings_format import ESCAPED
from periplus.index.kernels.postings_reader import PostingsReader, make_tiny_postings, term_entry
from periplus.index.kernels.postings_scan import POSITIONS_SHARED, POSITIONS_SIZED, read_postings
from periplus.index.kernels.term_dictionary import TermTable
from periplus.index.kernels.term_packing import make_tiny_terms

__all__ = [
    "MergeSource",
    "collect_tokens",
    "count_tokens",
    "gather_tokens",
    "mark_fields",
    "max_impacts",
    "measure_tokens",
    "sort_by_document",
]

_DOCUMENT_SHIFT = np.uint64(32)
"""A token is one number: its document in the bits from here on, its position below."""


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


@njit(cache=True, nogil=True, forceinline=True)
def _leave(data: Any, at: int, count: int, width: int) -> int:  # pragma: no cover - compiled
    """Return the offset after so many positions, of a width that may be BYTES."""
    if width == BYTES:
        return skip_position_deltas(data, at, count)
    return leave_list(data, at, count, width)


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
    most, data, is_packed = _max_frequency(source), postings.positions, postings.is_packed
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position, new = entry.positions, source.numbers[term]
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, code = source.documents[documents[n]], codes[n] & ESCAPED
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(data, position)
            begin, is_shared = position, codes[n] & POSITIONS_SHARED
            mask = np.uint64(masks[n])
            while mask:
                field = np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                times, width = np.int64(code + 1), np.int64(BYTES)
                if code == ESCAPED:
                    times, width, position = enter_list(data, is_packed, position)
                where = np.int64(0)
                for number in range(times):
                    step, position = read_step(data, position, number, width)
                    where += step
                if width != BYTES:
                    position = leave_list(data, position, times, width)
                if document >= 0:
                    lengths[document, field] = max(lengths[document, field], where + 1)
                    totals[new] += times
            if is_shared:
                position = begin
        if position != source.terms.position_end[term]:
            return term
    return -1


@njit(cache=True, nogil=True)
def count_tokens(
    postings: PostingsReader, source: MergeSource, counts: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    """Add the tokens of each new document to `counts`."""
    most, data, is_packed = _max_frequency(source), postings.positions, postings.is_packed
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position = entry.positions
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, times = source.documents[documents[n]], np.int64(codes[n] & ESCAPED) + 1
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(data, position)
            begin, is_shared = position, codes[n] & POSITIONS_SHARED
            if times <= ESCAPED:
                position = skip_position_deltas(data, position, times)
            else:
                mask, times = masks[n], np.int64(0)
                while mask:
                    mask &= mask - np.uint8(1)
                    count, width, position = enter_list(data, is_packed, position)
                    position = _leave(data, position, count, width)
                    times += count
            if document >= 0:
                counts[document] += times
            if is_shared:
                position = begin


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
    most, data, is_packed = _max_frequency(source), postings.positions, postings.is_packed
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position, new = entry.positions, source.numbers[term] - base
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, code = source.documents[documents[n]], codes[n] & ESCAPED
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(data, position)
            begin, is_shared = position, codes[n] & POSITIONS_SHARED
            for field in range(FIELDS):
                if not (masks[n] >> field) & 1:
                    continue
                times, width = np.int64(code + 1), np.int64(BYTES)
                if code == ESCAPED:
                    times, width, position = enter_list(data, is_packed, position)
                where = np.int64(0)
                for number in range(times):
                    step, position = read_step(data, position, number, width)
                    where += step
                    if document >= 0:
                        terms[cursors[document]] = new
                        positions[cursors[document]] = (field << FIELD_SHIFT) | where
                        cursors[document] += 1
                if width != BYTES:
                    position = leave_list(data, position, times, width)
            if is_shared:
                position = begin


@njit(cache=True, nogil=True)
def gather_tokens(
    postings: PostingsReader,
    source: MergeSource,
    base: int,
    cursors: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.uint64],
) -> None:  # pragma: no cover - compiled
    """Copy tokens to where those of their new term are.

    Parameters
        postings, source: a segment, and what becomes of it
        base: the number of the first term in hand
        cursors: by new term (counted from `base`), where its next token goes; advanced
        tokens: new document and position of each token; filled
    """
    most, data, is_packed = _max_frequency(source), postings.positions, postings.is_packed
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    masks, impacts = np.empty(most, np.uint8), np.empty(most, np.uint8)
    for term in range(source.first, source.last):
        entry = term_entry(source.terms, term)
        position, new = entry.positions, source.numbers[term] - base
        at = cursors[new]
        for n in range(read_postings(postings, entry, documents, codes, masks, impacts)):
            document, code = source.documents[documents[n]], codes[n] & ESCAPED
            if codes[n] & POSITIONS_SIZED:
                _, position = read_position_delta(data, position)
            begin, is_shared = position, codes[n] & POSITIONS_SHARED
            mask = np.uint64(masks[n])
            while mask:
                field = np.int64(lowest_bit(mask))
                mask &= mask - np.uint64(1)
                times, width = np.int64(code + 1), np.int64(BYTES)
                if code == ESCAPED:
                    times, width, position = enter_list(data, is_packed, position)
                if document < 0:
                    position = _leave(data, position, times, width)
                    continue
                token = np.uint64(document) << _DOCUMENT_SHIFT | np.uint64(field << FIELD_SHIFT)
                for number in range(times):
                    step, position = read_step(data, position, number, width)
                    token += np.uint64(step)
                    tokens[at] = token
                    at += 1
                if width != BYTES:
                    position = leave_list(data, position, times, width)
            if is_shared:
                position = begin
        cursors[new] = at


@njit(cache=True, nogil=True)
def _merge_runs(one: Any, begin: int, middle: int, end: int, other: Any) -> None:  # pragma: no cover - compiled
    """Merge two ascending runs that are side by side into another array."""
    left, right, at = begin, middle, begin
    while left < middle and right < end:
        first, second = one[left], one[right]
        is_second = second < first
        other[at] = second if is_second else first
        right += is_second
        left += not is_second
        at += 1
    while left < middle:
        other[at] = one[left]
        left, at = left + 1, at + 1
    while right < end:
        other[at] = one[right]
        right, at = right + 1, at + 1


@njit(cache=True, nogil=True)
def sort_by_document(
    starts: npt.NDArray[np.int64], tokens: npt.NDArray[np.uint64]
) -> SortedTokens:  # pragma: no cover - compiled
    """Sort the tokens of each term by document and position: its ascending runs are merged, two at a time.

    Parameters
        starts: where the tokens of each term begin, and the end
        tokens: the tokens of all terms; changed
    """
    most = np.int64(0)
    for term in range(len(starts) - 1):
        most = max(most, starts[term + 1] - starts[term])
    scratch, bounds = np.empty(most, np.uint64), np.empty(most + 2, np.int64)
    documents, positions = np.empty(len(tokens), np.int32), np.empty(len(tokens), np.uint32)
    for term in range(len(starts) - 1):
        one = tokens[starts[term] : starts[term + 1]]
        other = scratch[: len(one)]
        runs, bounds[0] = 1, 0
        for n in range(1, len(one)):
            if one[n] < one[n - 1]:
                bounds[runs] = n
                runs += 1
        bounds[runs] = len(one)
        while runs > 1:
            merged = 0
            for run in range(0, runs, 2):
                last = min(run + 2, runs)
                _merge_runs(one, bounds[run], bounds[run + 1], bounds[last], other)
                merged += 1
                bounds[merged] = bounds[last]
            runs = merged
            one, other = other, one
        for n in range(len(one)):
            documents[starts[term] + n] = np.int32(one[n] >> _DOCUMENT_SHIFT)
            positions[starts[term] + n] = np.uint32(one[n] & np.uint64(0xFFFFFFFF))
    return SortedTokens(starts, documents, positions)


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
    gather_tokens(postings, source, 0, np.zeros(1, np.int64), np.zeros(1, np.uint64))
    sort_by_document(np.array([0, 1], np.int64), np.zeros(1, np.uint64))
    max_impacts(postings, dictionary)
    mark_fields(postings, dictionary, 64)
