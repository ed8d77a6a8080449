"""Term dictionaries of several segments as one: terms merged in their order, document frequencies summed.

Pages are read and written packed, one term at a time, so that merging takes no more memory than its result.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import (
    MAX_TERM,
    PAGE,
    TermDictionary,
    find_page,
    locate_term,
    read_page_entry,
    write_varint,
)
from periplus.index.kernels.term_packing import make_tiny_dictionary

__all__ = ["DAMAGED", "add_frequencies", "find_pages", "merge_pages"]

DAMAGED = -1
_ENTRY_BYTES = 12
"""Most bytes of a term besides its text: five integers, of which one is a frequency."""


@njit(cache=True, nogil=True)
def add_frequencies(dictionary: TermDictionary, blob: Any, starts: Any, out: Any) -> int:  # pragma: no cover - compiled
    """Look several terms up, and add their document frequencies.

    Parameters
        dictionary: the packed dictionary; its offsets are valid, its pages may be damaged
        blob: the bytes of all terms, one after the other
        starts: where each term begins in `blob`; one more than there are terms
        out: int64 array by term, to which frequencies are added
    Returns
        0, or `DAMAGED` if a page is
    """
    for number in range(len(starts) - 1):
        if starts[number] < starts[number + 1]:
            offset, entry = locate_term(dictionary, blob[starts[number] : starts[number + 1]])
            if offset < -1:
                return DAMAGED
            out[number] += entry.frequency
    return 0


@njit(cache=True, nogil=True)
def find_pages(dictionary: TermDictionary, first: Any, last: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Find the pages with the terms of a range.

    Parameters
        dictionary: the packed dictionary
        first, last: terms; the range is from the first to before the last
    Returns
        the first page, and the one after the last
    """
    begin = max(0, find_page(dictionary, first))
    return begin, max(begin, find_page(dictionary, last) + 1)


@njit(cache=True, nogil=True)
def _read_next(pages: Any, at: int, end: int, name: Any) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read the next term into `name`; return its length, its frequency and where the next begins, -1 if damaged."""
    entry = read_page_entry(pages, at, end)
    if entry.next < 0:
        return np.int64(0), np.int64(0), np.int64(-1)
    for i in range(entry.added):
        name[entry.shared + i] = pages[entry.text + i]
    return np.int64(entry.shared + entry.added), np.int64(entry.frequency), np.int64(entry.next)


@njit(cache=True, nogil=True)
def _compare(one: Any, size: int, other: Any, other_size: int) -> int:  # pragma: no cover - compiled
    """Return -1, 0 or 1: the first name sorts before, equals or sorts after the other."""
    for i in range(min(size, other_size)):
        if one[i] != other[i]:
            return -1 if one[i] < other[i] else 1
    return 0 if size == other_size else (-1 if size < other_size else 1)


@njit(cache=True, nogil=True)
def merge_pages(
    one: TermDictionary, one_pages: Any, other: TermDictionary, other_pages: Any, pages: Any, page_start: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Merge runs of pages of two dictionaries into pages of terms with the sums of their frequencies, and nothing else.

    Parameters
        one, other: the packed dictionaries; their offsets are valid, their pages may be damaged
        one_pages, other_pages: int64 arrays of the first page of each and the one after the last
        pages: uint8 array that is filled, of at least the size that `max_merged_bytes` returns
        page_start: int64 array that is filled, of one more than both runs have pages
    Returns
        how many pages and terms were written; both `DAMAGED` if a page is damaged
    """
    names = np.empty((2, MAX_TERM), np.uint8)
    before = np.empty(MAX_TERM, np.uint8)
    before_size = np.int64(0)
    at, end = one.page_start[one_pages[0]], one.page_start[one_pages[1]]
    other_at, other_end = other.page_start[other_pages[0]], other.page_start[other_pages[1]]
    size, frequency, other_size, other_frequency = np.int64(-1), np.int64(0), np.int64(-1), np.int64(0)
    written, terms = np.int64(0), np.int64(0)
    while True:
        if size < 0 and at < end:
            size, frequency, at = _read_next(one.pages, at, end, names[0])
            if at < 0:
                return DAMAGED, DAMAGED
        if other_size < 0 and other_at < other_end:
            other_size, other_frequency, other_at = _read_next(other.pages, other_at, other_end, names[1])
            if other_at < 0:
                return DAMAGED, DAMAGED
        if size < 0 and other_size < 0:
            break
        order = 1 if size < 0 else -1
        if size >= 0 and other_size >= 0:
            order = _compare(names[0], size, names[1], other_size)
        name, length = (names[1], other_size) if order > 0 else (names[0], size)
        total = (frequency if order <= 0 else np.int64(0)) + (other_frequency if order >= 0 else np.int64(0))
        same = np.int64(0)
        while same < min(length, before_size) and before[same] == name[same]:
            same += 1
        if terms and (same == length or (same < before_size and name[same] < before[same])):
            return DAMAGED, DAMAGED  # It does not sort after the one before.
        if terms // PAGE + 1 >= len(page_start):
            return DAMAGED, DAMAGED  # Pages of damaged bytes have more terms, or longer ones, than there is room for.
        if terms % PAGE == 0:
            page_start[terms // PAGE] = written
        shared = same if terms % PAGE else np.int64(0)
        if written + length - shared + _ENTRY_BYTES > len(pages):
            return DAMAGED, DAMAGED
        written = write_varint(pages, written, shared)
        written = write_varint(pages, written, length - shared)
        for i in range(shared, length):
            pages[written] = before[i] = name[i]
            written += 1
        before_size = length
        written = write_varint(pages, written, total)
        written = write_varint(pages, written, 0)  # Sparse, and without postings
        written = write_varint(pages, written, 0)  # and positions.
        terms += 1
        if order <= 0:
            size = np.int64(-1)
        if order >= 0:
            other_size = np.int64(-1)
    count = -(-terms // PAGE)
    page_start[count] = written
    return count, terms


def max_merged_bytes(
    one: TermDictionary,
    one_pages: npt.NDArray[np.int64],
    other: TermDictionary,
    other_pages: npt.NDArray[np.int64],
) -> int:
    """Return how many bytes `merge_pages` writes at most: the first term of each page is written whole."""
    size = 0
    for dictionary, (begin, end) in ((one, one_pages), (other, other_pages)):
        size += int(dictionary.page_start[end] - dictionary.page_start[begin])
        size += int(end - begin) * (MAX_TERM + PAGE * _ENTRY_BYTES)
    return size


def warm() -> None:
    """Compile this module's kernels for the types that production uses: dictionaries are read-only."""
    dictionary = make_tiny_dictionary()
    term = np.frombuffer(b"a", np.uint8)
    add_frequencies(dictionary, term, np.array([0, 1], np.int64), np.zeros(1, np.int64))
    find_pages(dictionary, term, np.frombuffer(b"b", np.uint8))
    whole = np.array([0, 1], np.int64)
    pages = np.empty(max_merged_bytes(dictionary, whole, dictionary, whole), np.uint8)
    merge_pages(dictionary, whole, dictionary, whole, pages, np.zeros(3, np.int64))
