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
    "MAX_TERM",
    "PAGE",
    "TermDictionary",
    "TermEntry",
    "TermTable",
    "compare_first",
    "entry_of_row",
    "find_page",
    "find_term",
    "make_tiny_terms",
    "pack_terms",
    "read_varint",
    "unpack_terms",
    "write_varint",
]

int64: Any = np.int64
"""The type of kernels' numbers, for a type checker any type: an int64 of a kernel is an `int` in Python."""
PAGE = 16
"""Terms in a page: a lookup is a binary search over pages and a scan of one."""
MAX_TERM = 255
"""Longest term, in bytes."""


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
def write_varint(out: Any, at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a variable-length integer at `at`; return the offset after it."""
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@njit(cache=True, nogil=True)
def pack_terms(terms: TermTable, out: TermDictionary) -> int:  # pragma: no cover - compiled
    """Pack terms.

    Parameters
        terms: the terms, in byte order
        out: arrays from `allocate_dictionary`, which are filled
    Returns
        how many bytes of `out.pages` were used
    """
    at = 0
    for term in range(len(terms.frequency)):
        begin, length = terms.start[term], terms.start[term + 1] - terms.start[term]
        stream = terms.stream_end[term - 1] if term else 0
        position = terms.position_end[term - 1] if term else 0
        shared = 0
        if term % PAGE == 0:
            page = term // PAGE
            out.page_start[page] = at
            out.page_stream[page], out.page_position[page] = stream, position
        else:
            before = terms.start[term - 1]
            most = min(length, begin - before)
            while shared < most and terms.blob[before + shared] == terms.blob[begin + shared]:
                shared += 1
        at = write_varint(out.pages, at, shared)
        at = write_varint(out.pages, at, length - shared)
        for i in range(shared, length):
            out.pages[at] = terms.blob[begin + i]
            at += 1
        at = write_varint(out.pages, at, terms.frequency[term])
        at = write_varint(out.pages, at, (terms.stream_end[term] - stream) << 2 | terms.encoding[term])
        if terms.encoding[term] != 0:
            at = write_varint(out.pages, at, terms.first_group[term])
            at = write_varint(out.pages, at, terms.headers[term])
        if terms.bitset_row[term] >= 0:
            at = write_varint(out.pages, at, terms.bitset_row[term])
        at = write_varint(out.pages, at, terms.position_end[term] - position)
    out.page_start[len(out.page_start) - 1] = at
    return at


@njit(cache=True, nogil=True)
def compare_first(dictionary: TermDictionary, page: int, term: Any) -> int:  # pragma: no cover - compiled
    """Return -1, 0 or 1: a page's first term sorts before, equals or sorts after `term`."""
    _, at = read_varint(dictionary.pages, dictionary.page_start[page])
    length, at = read_varint(dictionary.pages, at)
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
def find_term(dictionary: TermDictionary, term: npt.NDArray[np.uint8]) -> TermEntry:  # pragma: no cover - compiled
    """Look one term up.

    Parameters
        lexicon: the packed dictionary
        term: the bytes of the term, at least one
    Returns
        its entry; `ABSENT_TERM` if the dictionary does not have it
    """
    page = find_page(dictionary, term)
    if page < 0:
        return ABSENT_TERM
    at, end = dictionary.page_start[page], dictionary.page_start[page + 1]
    stream, position = dictionary.page_stream[page], dictionary.page_position[page]
    matching = 0  # How many bytes of the wanted term the current one begins with.
    while at < end:
        shared, at = read_varint(dictionary.pages, at)
        added, at = read_varint(dictionary.pages, at)
        if shared <= matching:
            matching = shared
            while (
                matching < len(term)
                and matching - shared < added
                and dictionary.pages[at + matching - shared] == term[matching]
            ):
                matching += 1
        found = matching == len(term) and shared + added == len(term)
        at += added
        frequency, at = read_varint(dictionary.pages, at)
        code, at = read_varint(dictionary.pages, at)
        first_group, headers, bitset_row = int64(0), int64(0), int64(-1)
        if code & 3:
            first_group, at = read_varint(dictionary.pages, at)
            headers, at = read_varint(dictionary.pages, at)
        if code & 3 == 2:
            bitset_row, at = read_varint(dictionary.pages, at)
        position_bytes, at = read_varint(dictionary.pages, at)
        if found:
            return TermEntry(
                frequency, stream, stream + (code >> 2), position, code & 3, first_group, headers, bitset_row
            )
        stream += code >> 2
        position += position_bytes
    return ABSENT_TERM


@njit(cache=True, nogil=True)
def unpack_terms(dictionary: TermDictionary, count: int) -> TermTable:  # pragma: no cover - compiled
    """Return the whole dictionary of `count` terms, unpacked."""
    blob = np.empty(count * MAX_TERM, np.uint8)
    start = np.zeros(count + 1, np.int64)
    frequency, encoding = np.zeros(count, np.int32), np.zeros(count, np.uint8)
    first_group, headers, bitset_row = (
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.full(count, -1, np.int32),
    )
    stream_end, position_end = np.zeros(count, np.int64), np.zeros(count, np.int64)
    at, stream, position = np.int64(0), np.int64(0), np.int64(0)
    for term in range(count):
        shared, at = read_varint(dictionary.pages, at)
        added, at = read_varint(dictionary.pages, at)
        begin = start[term]
        for i in range(shared):
            blob[begin + i] = blob[start[term - 1] + i]
        for i in range(added):
            blob[begin + shared + i] = dictionary.pages[at + i]
        at += added
        start[term + 1] = begin + shared + added
        number, at = read_varint(dictionary.pages, at)
        frequency[term] = number
        code, at = read_varint(dictionary.pages, at)
        encoding[term] = code & 3
        if code & 3:
            number, at = read_varint(dictionary.pages, at)
            first_group[term] = number
            number, at = read_varint(dictionary.pages, at)
            headers[term] = number
        if code & 3 == 2:
            number, at = read_varint(dictionary.pages, at)
            bitset_row[term] = number
        position_bytes, at = read_varint(dictionary.pages, at)
        stream += code >> 2
        position += position_bytes
        stream_end[term], position_end[term] = stream, position
    return TermTable(
        blob[: start[count]].copy(),
        start,
        frequency,
        stream_end,
        position_end,
        encoding,
        first_group,
        headers,
        bitset_row,
    )


def allocate_dictionary(terms: TermTable) -> TermDictionary:
    """Return arrays for `pack_terms`, as large as they can get."""
    pages = -(-len(terms.frequency) // PAGE)
    size = len(terms.blob) + 40 * len(terms.frequency)
    starts = (np.zeros(pages + 1, np.int64), *(np.zeros(pages, np.int64) for _ in range(2)))
    return TermDictionary(np.empty(size, np.uint8), *starts)


def make_tiny_terms() -> TermTable:
    """Return a dictionary of one term that occurs once, in one document; with the array types of a segment."""
    one = np.ones(1, np.int64)
    none = np.zeros(1, np.int32)
    name = np.frombuffer(b"a", np.uint8)
    return TermTable(
        name, np.array([0, 1]), np.ones(1, np.int32), one, one, np.zeros(1, np.uint8), none, none, none - 1
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    terms = make_tiny_terms()
    dictionary = allocate_dictionary(terms)
    pack_terms(terms, dictionary)
    for array in dictionary:
        array.flags.writeable = False
    find_term(dictionary, np.frombuffer(b"a", np.uint8))
    unpack_terms(dictionary, 1)
