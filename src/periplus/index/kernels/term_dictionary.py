"""The term dictionary: terms in byte order, in pages of PAGE terms, each front-coded against the one before.

A page is one run of bytes: for each term the number of bytes shared with the one before (0 for the first), the bytes
that follow, then its document frequency and the sizes of its postings and positions. See docs/formats/segment.md.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "ABSENT_TERM",
    "ENTRY_BEGIN",
    "ENTRY_BITSET_ROW",
    "ENTRY_ENCODING",
    "ENTRY_END",
    "ENTRY_FIRST_GROUP",
    "ENTRY_FREQUENCY",
    "ENTRY_HEADERS",
    "ENTRY_POSITIONS",
    "LONG_SHARED",
    "MAX_TERM",
    "MIN_ENTRY",
    "PAGE",
    "SHORT",
    "SHORT_ADDED",
    "SHORT_SHARED",
    "SINGLE",
    "SINGLE_POSITIONS",
    "SINGLE_POSTINGS",
    "TermDictionary",
    "TermEntry",
    "TermTable",
    "compare_first",
    "entry_of_row",
    "find_page",
    "find_term",
    "locate_term",
    "read_bounded_varint",
    "read_page_entry",
    "read_varint",
    "write_varint",
]

int64: Any = np.int64
"""The type of kernels' numbers, for a type checker any type: an int64 of a kernel is an `int` in Python."""
PAGE = 16
"""Terms in a page: a lookup is a binary search over pages and a scan of one."""
MAX_TERM = 255
"""Longest term, in bytes."""
MAX_VARINT = 9
"""Most bytes of an integer of 63 bits."""
MIN_ENTRY = 3
"""Fewest bytes of a term in a page: a head, one byte of its own, and its sizes."""
SHORT, SHORT_SHARED, SHORT_ADDED = 128, 7, 8
"""Set in the head of a term that shares so few bytes with the one before, and adds so few; both are in the head."""
SINGLE, SINGLE_POSTINGS, SINGLE_POSITIONS = 64, 3, 63
"""Set in the head of one that a single document has, whose sizes are at most these; they take one byte together."""
LONG_SHARED = 1
"""The second byte of a number of shared bytes that is 128 or more; no byte that a short head is followed by."""


class TermEntry(NamedTuple):
    """Where the postings of one term are in a segment, and how they are encoded."""

    frequency: int
    """Documents that have the term; 0 if the segment does not have it."""
    begin: int
    """Where its postings begin in `stream`."""
    end: int
    """Where its postings end in `stream`."""
    positions: int
    """Where its positions begin in `positions`."""
    encoding: int
    """`SPARSE`, `BLOCKED` or `BITSET` of `postings_format`."""
    first_group: int
    """Its first row in `groups`."""
    headers: int
    """How many block headers it has; 0 if sparse."""
    bitset_row: int
    """Its row among the terms with bitsets, -1 if it has none."""


ENTRY_FREQUENCY, ENTRY_BEGIN, ENTRY_END, ENTRY_POSITIONS = 0, 1, 2, 3
ENTRY_ENCODING, ENTRY_FIRST_GROUP, ENTRY_HEADERS, ENTRY_BITSET_ROW = 4, 5, 6, 7
"""Columns of an int64 array with a `TermEntry` in each row."""
ABSENT_TERM = TermEntry(0, 0, 0, 0, 0, 0, 0, -1)


class TermDictionary(NamedTuple):
    """A packed term dictionary, as it is on disk."""

    pages: npt.NDArray[np.uint8]
    page_start: npt.NDArray[np.int64]
    """Where each page begins; one more than there are pages."""
    page_stream: npt.NDArray[np.int64]
    """Where the postings of each page's first term begin."""
    page_position: npt.NDArray[np.int64]
    """Where the positions of each page's first term begin."""


class TermTable(NamedTuple):
    """An unpacked term dictionary: the terms in order, one array for each part of their entries."""

    blob: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    frequency: npt.NDArray[np.int32]
    stream_end: npt.NDArray[np.int64]
    position_end: npt.NDArray[np.int64]
    encoding: npt.NDArray[np.uint8]
    """How its postings are encoded: see `postings_format`."""
    first_group: npt.NDArray[np.int32]
    """Its first row in `groups`."""
    headers: npt.NDArray[np.int32]
    """How many block headers it has."""
    bitset_row: npt.NDArray[np.int32]
    """Its row among the terms with bitsets, -1 if it has none."""


@njit(cache=True, nogil=True, forceinline=True)
def read_varint(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a variable-length integer, seven bits to a byte, low bits first.

    Parameters
        data: uint8 array
        at: where the integer begins
    Returns
        the integer, and the offset after it
    """
    value = np.int64(data[at])
    at += 1
    if value < 128:
        return value, at
    value &= 127
    shift = 7
    while True:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


@njit(cache=True, nogil=True, forceinline=True)
def read_bounded_varint(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a variable-length integer of bytes that may be damaged.

    Parameters
        data: uint8 array
        at, end: where the integer begins, and the offset that no byte of it may reach; `end` is within the array
    Returns
        the integer, and the offset after it: -1 if it does not end before `end`, or has more than 63 bits
    """
    if at < 0 or at >= end:
        return np.int64(0), np.int64(-1)
    value = np.int64(data[at])
    if value < 128:
        return value, np.int64(at + 1)
    value &= 127
    last = min(end, at + MAX_VARINT)
    at += 1
    shift = 7
    while at < last:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, np.int64(at)
    return np.int64(0), np.int64(-1)


@njit(cache=True, nogil=True, forceinline=True)
def write_varint(out: Any, at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a variable-length integer at `at`; return the offset after it."""
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1


class PageEntry(NamedTuple):
    """A term as a page has it."""

    shared: int
    """Bytes that it shares with the one before."""
    added: int
    """Bytes that follow."""
    text: int
    """Where those are in the pages."""
    frequency: int
    code: int
    """The size of its postings, and in the two low bits their encoding."""
    first_group: int
    headers: int
    bitset_row: int
    position_bytes: int
    next: int
    """Where the next term begins; -1 if this one is damaged."""


@njit(cache=True, nogil=True, forceinline=True)
def read_page_entry(pages: Any, at: int, end: int) -> PageEntry:  # pragma: no cover - compiled
    """Read one term of a page, whose bytes may be damaged.

    Parameters
        pages: of the dictionary
        at, end: where the term begins, and where its page ends
    Returns
        the term; `next` is -1 if it is longer than a term can be, or its bytes do not end within the page
    """
    head = int64(pages[at]) if at >= 0 and at + 1 < end else int64(0)
    if head >= SHORT and pages[at + 1] != LONG_SHARED:
        shared, added, at = (head >> 3) & SHORT_SHARED, (head & (SHORT_ADDED - 1)) + 1, int64(at + 1)
    else:
        head = int64(0)
        shared, at = read_bounded_varint(pages, at, end)
        added, at = read_bounded_varint(pages, at, end)
    text = at
    at = at + added if at >= 0 and shared + added <= MAX_TERM and added <= end - at else np.int64(-1)
    if head & SINGLE:
        sizes = int64(pages[at]) if 0 <= at < end else int64(0)
        at = int64(at + 1) if 0 <= at < end else int64(-1)
        size, position_bytes = (sizes >> 6) << 2, sizes & SINGLE_POSITIONS
        return PageEntry(shared, added, text, int64(1), size, int64(0), int64(0), int64(-1), position_bytes, int64(at))
    frequency, at = read_bounded_varint(pages, at, end)
    code, at = read_bounded_varint(pages, at, end)
    first_group, headers, bitset_row = int64(0), int64(0), int64(-1)
    if code & 3:
        first_group, at = read_bounded_varint(pages, at, end)
        headers, at = read_bounded_varint(pages, at, end)
    if code & 3 == 2:
        bitset_row, at = read_bounded_varint(pages, at, end)
    position_bytes, at = read_bounded_varint(pages, at, end)
    return PageEntry(shared, added, text, frequency, code, first_group, headers, bitset_row, position_bytes, int64(at))


@njit(cache=True, nogil=True)
def compare_first(dictionary: TermDictionary, page: int, term: Any) -> int:  # pragma: no cover - compiled
    """Return -1, 0 or 1: a page's first term sorts before, equals or sorts after `term`."""
    end = dictionary.page_start[page + 1]
    _, at = read_bounded_varint(dictionary.pages, dictionary.page_start[page], end)
    length, at = read_bounded_varint(dictionary.pages, at, end)
    if at < 0 or length > end - at:
        return -1  # Damaged: the page is searched, and that shows it.
    for i in range(min(length, len(term))):
        if dictionary.pages[at + i] != term[i]:
            return -1 if dictionary.pages[at + i] < term[i] else 1
    return 0 if length == len(term) else (-1 if length < len(term) else 1)


@njit(cache=True, nogil=True, forceinline=True)
def entry_of_row(rows: Any, row: int) -> TermEntry:  # pragma: no cover - compiled
    """Return a row of entries, with the columns ENTRY_*, as an entry."""
    return TermEntry(
        rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4], rows[row, 5], rows[row, 6], rows[row, 7]
    )


@njit(cache=True, nogil=True, forceinline=True)
def find_page(dictionary: TermDictionary, term: Any) -> int:  # pragma: no cover - compiled
    """Return the page that has a term, if any has it; -1 for a term before all others."""
    low, high = 0, len(dictionary.page_start) - 1
    while low < high:
        middle = (low + high) >> 1
        if compare_first(dictionary, middle, term) <= 0:
            low = middle + 1
        else:
            high = middle
    return low - 1


@njit(cache=True, nogil=True)
def locate_term(dictionary: TermDictionary, term: npt.NDArray[np.uint8]) -> tuple[int, TermEntry]:  # pragma: no cover
    """Look one term up.

    Parameters
        dictionary: the packed dictionary; its offsets are valid, its pages may be damaged
        term: the bytes of the term, at least one
    Returns
        where the term is in the pages, -1 if it is in none, -2 if its page is damaged; and its entry
    """
    page = find_page(dictionary, term)
    if page < 0:
        return np.int64(-1), ABSENT_TERM
    at, end = dictionary.page_start[page], dictionary.page_start[page + 1]
    stream, position = dictionary.page_stream[page], dictionary.page_position[page]
    matching = 0  # How many bytes of the wanted term the current one begins with.
    while at < end:
        entry = read_page_entry(dictionary.pages, at, end)
        if entry.next < 0:
            return np.int64(-2), ABSENT_TERM
        shared, added = entry.shared, entry.added
        if shared <= matching:
            matching = shared
            while (
                matching < len(term)
                and matching - shared < added
                and dictionary.pages[entry.text + matching - shared] == term[matching]
            ):
                matching += 1
        size = entry.code >> 2
        if matching == len(term) and shared + added == len(term):
            return at, TermEntry(
                entry.frequency,
                stream,
                stream + size,
                position,
                entry.code & 3,
                entry.first_group,
                entry.headers,
                entry.bitset_row,
            )
        stream += size
        position += entry.position_bytes
        at = entry.next
    return np.int64(-1), ABSENT_TERM


@njit(cache=True, nogil=True)
def find_term(dictionary: TermDictionary, term: npt.NDArray[np.uint8]) -> TermEntry:  # pragma: no cover - compiled
    """Look one term up, in a dictionary that is known to be valid; parameters as for `locate_term`.

    Returns
        its entry; `ABSENT_TERM` if the dictionary does not have it
    """
    return locate_term(dictionary, term)[1]
