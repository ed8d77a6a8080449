"""The most frequent terms of a range of the term dictionary: those with a prefix, or integers between two numbers.

Read from the packed dictionary, so that nothing has to be unpacked for it: a range is scanned once, and only the best
terms so far are kept, in a heap whose root is the one that the next better term replaces.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.errors import CorruptFile
from periplus.index.kernels.term_dictionary import MAX_TERM, TermDictionary, find_page, read_page_entry
from periplus.index.kernels.term_packing import make_tiny_dictionary

__all__ = ["MAX_DIGITS", "TermSelection", "select_numbers", "select_prefix"]

MAX_DIGITS = 18
"""Longer numbers are no integers of 64 bits, and are left out of ranges."""
_ZERO, _NINE = 48, 57


class TermSelection(NamedTuple):
    """Room for the most frequent terms: a row for each, in the order of a heap."""

    frequency: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    """The number of the term among those of the range: of equally frequent terms the first are kept."""
    length: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    """The row of `names` that has its bytes."""
    names: npt.NDArray[np.uint8]


def make_selection(most: int) -> TermSelection:
    """Return room for `most` terms."""
    frequency, order, length = (np.zeros(most, np.int64) for _ in range(3))
    return TermSelection(frequency, order, length, np.arange(most), np.zeros((most, MAX_TERM), np.uint8))


@njit(cache=True, nogil=True, forceinline=True)
def _is_worse(terms: TermSelection, one: int, other: int) -> bool:  # pragma: no cover - compiled
    """Return whether a term of the heap is replaced before another."""
    if terms.frequency[one] != terms.frequency[other]:
        return terms.frequency[one] < terms.frequency[other]
    return terms.order[one] > terms.order[other]


@njit(cache=True, nogil=True, forceinline=True)
def _swap(terms: TermSelection, one: int, other: int) -> None:  # pragma: no cover - compiled
    for column in (terms.frequency, terms.order, terms.length, terms.slot):
        column[one], column[other] = column[other], column[one]


@njit(cache=True, nogil=True)
def _offer(
    terms: TermSelection, count: int, frequency: int, order: int, name: Any, length: int
) -> int:  # pragma: no cover - compiled
    """Add a term to the heap, for the worst of it if it is full; return how many it has."""
    if len(terms.frequency) == 0:
        return 0
    full = count == len(terms.frequency)
    if full and frequency <= terms.frequency[0]:
        return count
    at = 0 if full else count
    terms.frequency[at], terms.order[at], terms.length[at] = frequency, order, length
    terms.names[terms.slot[at], :length] = name[:length]
    if not full:
        while at > 0 and _is_worse(terms, at, (at - 1) // 2):
            _swap(terms, at, (at - 1) // 2)
            at = (at - 1) // 2
        return count + 1
    while True:
        child = 2 * at + 1
        if child >= count:
            return count
        if child + 1 < count and _is_worse(terms, child + 1, child):
            child += 1
        if not _is_worse(terms, child, at):
            return count
        _swap(terms, at, child)
        at = child


@njit(cache=True, nogil=True)
def _number_in(name: Any, length: int, low: int, high: int) -> bool:  # pragma: no cover - compiled
    """Return whether a term is an integer from `low` to `high`."""
    if length > MAX_DIGITS:
        return False
    value = np.int64(0)
    for i in range(length):
        if not _ZERO <= name[i] <= _NINE:
            return False
        value = 10 * value + (np.int64(name[i]) - _ZERO)
    return low <= value <= high


@njit(cache=True, nogil=True)
def scan_terms(
    dictionary: TermDictionary, first: Any, numbers: bool, low: int, high: int, terms: TermSelection
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Scan a range of the dictionary for its most frequent terms.

    Parameters
        dictionary: the packed dictionary
        first: the prefix; for numbers, the least byte that one begins with
        numbers: whether the range is one of integers, from `low` to `high`
        terms: from `make_selection`; filled
    Returns
        how many terms it has, how many there are in the range, and how many were scanned: -1 if one is damaged
    """
    page = max(0, find_page(dictionary, first))
    name = np.empty(MAX_TERM, np.uint8)
    count, inside, scanned = 0, 0, 0
    at, last = dictionary.page_start[page], dictionary.page_start[len(dictionary.page_start) - 1]
    while at < last:
        entry = read_page_entry(dictionary.pages, at, last)
        if entry.next < 0:
            return count, inside, -1
        for i in range(entry.added):
            name[entry.shared + i] = dictionary.pages[entry.text + i]
        at, length, frequency = entry.next, entry.shared + entry.added, entry.frequency
        scanned += 1
        if numbers:
            if length and name[0] > _NINE:
                break
            if not _number_in(name, length, low, high):
                continue
        else:
            same = 0
            while same < len(first) and same < length and name[same] == first[same]:
                same += 1
            if same < len(first):
                if same < length and name[same] > first[same]:
                    break
                continue
        count = _offer(terms, count, frequency, inside, name, length)
        inside += 1
    return count, inside, scanned


def select_prefix(dictionary: TermDictionary, prefix: bytes, most: int) -> tuple[list[tuple[bytes, int]], int]:
    """Return the most frequent terms with a prefix, each with its frequency, and how many terms have it in all."""
    return _select(dictionary, prefix or b"\0", False, 0, 0, most)


def select_numbers(dictionary: TermDictionary, low: int, high: int, most: int) -> tuple[list[tuple[bytes, int]], int]:
    """Return the most frequent integers from `low` to `high`, each with its frequency, and how many there are."""
    return _select(dictionary, b"0", True, low, high, most)


def _select(
    dictionary: TermDictionary, first: bytes, numbers: bool, low: int, high: int, most: int
) -> tuple[list[tuple[bytes, int]], int]:
    terms = make_selection(most)
    count, inside, scanned = scan_terms(dictionary, np.frombuffer(first, np.uint8), numbers, low, high, terms)
    if scanned < 0:
        raise CorruptFile("A page of the term dictionary is damaged.", "Run: periplus index check.")
    frequency, order = terms.frequency[:count].tolist(), terms.order[:count].tolist()
    rows = sorted(range(count), key=lambda n: (-frequency[n], order[n]))
    return [(terms.names[terms.slot[n], : terms.length[n]].tobytes(), frequency[n]) for n in rows], inside


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    select_prefix(make_tiny_dictionary(), b"a", 1)
