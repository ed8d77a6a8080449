"""Terms of several dictionaries as one dictionary, whole or in a range."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.index.collection import kernels
from periplus.index.collection.collection_view import FrequentTerms
from periplus.index.kernels import frequent_terms
from periplus.index.kernels.term_dictionary import MAX_TERM, TermDictionary

__all__ = ["merge_dictionaries", "select_numbers", "select_prefix", "sum_frequencies"]

_FIRST_AFTER: Final = b"\xff" * MAX_TERM
"""Sorts behind all terms: no byte of UTF-8 is so high."""


class _PageRun(NamedTuple):
    """A run of pages of a dictionary."""

    dictionary: TermDictionary
    pages: npt.NDArray[np.int64]
    """The first, and the one after the last."""


def merge_dictionaries(dictionaries: Sequence[TermDictionary]) -> TermDictionary:
    """Return the terms of several dictionaries with the sums of their frequencies; entries have nothing else."""
    return _merge([_PageRun(terms, np.array([0, len(terms.page_start) - 1], np.int64)) for terms in dictionaries])


def select_prefix(dictionaries: Sequence[TermDictionary], prefix: bytes, most: int) -> FrequentTerms:
    """Return the most frequent terms with a prefix, by their frequencies in all dictionaries, and how many have it."""
    return frequent_terms.select_prefix(_merge_range(dictionaries, prefix, prefix + _FIRST_AFTER), prefix, most)


def select_numbers(dictionaries: Sequence[TermDictionary], low: int, high: int, most: int) -> FrequentTerms:
    """Return the same of terms that are integers from `low` to `high`."""
    return frequent_terms.select_numbers(_merge_range(dictionaries, b"0", b":"), low, high, most)


def sum_frequencies(dictionaries: Sequence[TermDictionary], terms: Sequence[bytes]) -> list[int]:
    """Return the document frequencies of terms, summed over dictionaries."""
    starts = np.zeros(len(terms) + 1, np.int64)
    np.cumsum([len(term) for term in terms], out=starts[1:])
    blob = np.frombuffer(b"".join(terms) or b"\0", np.uint8)
    sums = np.zeros(len(terms), np.int64)
    for dictionary in dictionaries:
        if kernels.add_frequencies(dictionary, blob, starts, sums):
            raise _damaged()
    counts: list[int] = sums.tolist()
    return counts


def _merge_range(dictionaries: Sequence[TermDictionary], first: bytes, last: bytes) -> TermDictionary:
    """Return the pages with the terms of a range, merged."""
    bounds = [np.frombuffer(term or b"\0", np.uint8) for term in (first, last[:MAX_TERM])]
    filled = [terms for terms in dictionaries if len(terms.page_start) > 1]
    return _merge([_PageRun(terms, np.array(kernels.find_pages(terms, *bounds), np.int64)) for terms in filled])


def _merge(runs: Sequence[_PageRun]) -> TermDictionary:
    """Merge runs of pages, the smallest first."""
    if not runs:
        runs = [_PageRun(_frozen(np.zeros(0, np.uint8), np.zeros(1, np.int64)), np.zeros(2, np.int64))]
    left = sorted(runs, key=_run_bytes, reverse=True)
    if len(left) == 1:
        left.append(_PageRun(_frozen(np.zeros(0, np.uint8), np.zeros(1, np.int64)), np.zeros(2, np.int64)))
    while len(left) > 1:
        merged = _merge_two(left.pop(), left.pop())
        left.append(_PageRun(merged, np.array([0, len(merged.page_start) - 1], np.int64)))
        left.sort(key=_run_bytes, reverse=True)
    return left[0].dictionary


def _run_bytes(run: _PageRun) -> int:
    start = run.dictionary.page_start
    return int(start[run.pages[1]] - start[run.pages[0]])


def _merge_two(one: _PageRun, other: _PageRun) -> TermDictionary:
    pages = np.empty(kernels.max_merged_bytes(*one, *other), np.uint8)
    start = np.zeros(int(np.diff(one.pages)[0] + np.diff(other.pages)[0]) + 1, np.int64)
    count, _ = kernels.merge_pages(*one, *other, pages, start)
    if count == kernels.DAMAGED:
        raise _damaged()
    return _frozen(pages[: start[count]].copy(), start[: count + 1].copy())


def _frozen(pages: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]) -> TermDictionary:
    """Return a dictionary without postings; read-only, as those of segments are."""
    zeros = (np.zeros(len(start) - 1, np.int64) for _ in range(2))
    dictionary = TermDictionary(pages, start, *zeros)
    for array in dictionary:
        array.flags.writeable = False
    return dictionary


def _damaged() -> CorruptFile:
    return CorruptFile("A page of the term dictionary is damaged.", "Run: periplus index check.")
