"""Statistics over the segments of one index: frequent terms, terms of languages, cooccurrences."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from periplus.index.collection.collection_view import FrequentTerms
from periplus.index.collection.merged_terms import select_numbers, select_prefix
from periplus.index.kernels import document_sets, postings_scan
from periplus.index.kernels.term_dictionary import ENTRY_FREQUENCY
from periplus.index.segment import Segment

__all__ = ["count_together", "frequent_numbers", "frequent_terms", "have_terms", "terms_with_character"]


def frequent_terms(segments: Sequence[Segment], prefix: bytes, most: int) -> FrequentTerms:
    """Return the `most` most frequent terms with a prefix over all segments, and how many have it."""
    if len(segments) == 1:
        return segments[0].frequent_terms(prefix, most)
    return select_prefix([segment.packed_terms for segment in segments], prefix, most)


def frequent_numbers(segments: Sequence[Segment], low: int, high: int, most: int) -> FrequentTerms:
    """Return the same of terms that are integers from `low` to `high`."""
    if len(segments) == 1:
        return segments[0].frequent_numbers(low, high, most)
    return select_numbers([segment.packed_terms for segment in segments], low, high, most)


def terms_with_character(segments: Sequence[Segment], character: bytes) -> dict[bytes, int]:
    """Return the terms that begin or end with a character of a script without spaces, with their frequencies."""
    frequencies: dict[bytes, int] = {}
    for segment in segments:
        for term, frequency in segment.terms_with_character(character):
            frequencies[term] = frequencies.get(term, 0) + frequency
    return frequencies


def have_terms(
    segments: Sequence[Segment], terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
) -> npt.NDArray[np.bool_]:
    """Return of each term whether any document in the languages of its group has it."""
    present = np.zeros(len(terms), np.bool_)
    of_term = np.array(groups, np.int64)
    for segment in segments:
        documents = [segment.documents_in_languages(numbers) for numbers in languages]
        starts = np.zeros(len(documents) + 1, np.int64)
        np.cumsum([len(group) for group in documents], out=starts[1:])
        if starts[-1]:
            present |= postings_scan.any_document_has(
                segment.pinned_postings.addresses,
                segment.find_terms(terms),
                of_term,
                np.concatenate(documents),
                starts,
            )
    return present


def count_together(segments: Sequence[Segment], term: bytes, others: Sequence[bytes]) -> list[int]:
    """Return how many documents have a term together with each of `others`."""
    counts = np.zeros(len(others), np.int64)
    for segment in segments:
        entries = segment.find_terms((term, *others))
        if entries[0, ENTRY_FREQUENCY]:
            counts += document_sets.count_shared(segment.pinned_postings.addresses, entries)
    return counts.tolist()
