"""The lexicon: terms in byte order, in pages of PAGE, each term written as what differs from the one before.

A page is one run of bytes: for each term the bytes shared with the one before (0 for the first), the bytes that
follow, then how many documents have it and how long its parts are. See docs/formats/segment.md.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "MAX_TERM",
    "NOWHERE",
    "PAGE",
    "Lexicon",
    "Terms",
    "find_term",
    "get_number",
    "make_tiny_terms",
    "pack_terms",
    "put_number",
    "unpack_terms",
]

PAGE = 16
MAX_TERM = 255
"""Longest term, in bytes."""
NOWHERE = (0, 0, 0, 0, 0, 0, 0, -1)


class Lexicon(NamedTuple):
    """A packed lexicon."""

    pages: npt.NDArray[np.uint8]
    page_start: npt.NDArray[np.int64]
    """Where each page begins; one more than there are pages."""
    page_stream: npt.NDArray[np.int64]
    """Where the parts of each page's first term begin: postings and positions."""
    page_position: npt.NDArray[np.int64]


class Terms(NamedTuple):
    """An unpacked lexicon: the terms, and where the parts of each begin and end."""

    blob: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    frequency: npt.NDArray[np.int32]
    stream_end: npt.NDArray[np.int64]
    position_end: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    """How its postings are written: see `pack`."""
    row: npt.NDArray[np.int32]
    """The first of its groups."""
    heads: npt.NDArray[np.int32]
    """How many block bytes it has."""
    wide: npt.NDArray[np.int32]
    """Its number among the wide terms, -1 if it is not one."""


@njit(cache=True, nogil=True, forceinline=True)
def get_number(data: Any, at: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a variable-length number; give it and the place after it."""
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
def put_number(out: Any, at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a variable-length number; give the place after it."""
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@njit(cache=True, nogil=True)
def pack_terms(terms: Terms, out: Lexicon) -> int:  # pragma: no cover - compiled
    """Fill `out`; give how many bytes of pages were used."""
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
        at = put_number(out.pages, at, shared)
        at = put_number(out.pages, at, length - shared)
        for i in range(shared, length):
            out.pages[at] = terms.blob[begin + i]
            at += 1
        at = put_number(out.pages, at, terms.frequency[term])
        at = put_number(out.pages, at, (terms.stream_end[term] - stream) << 2 | terms.kind[term])
        if terms.kind[term] != 0:
            at = put_number(out.pages, at, terms.row[term])
            at = put_number(out.pages, at, terms.heads[term])
        if terms.wide[term] >= 0:
            at = put_number(out.pages, at, terms.wide[term])
        at = put_number(out.pages, at, terms.position_end[term] - position)
    out.page_start[len(out.page_start) - 1] = at
    return at


@njit(cache=True, nogil=True)
def _order_of_first(lexicon: Lexicon, page: int, term: Any) -> int:  # pragma: no cover - compiled
    """Compare a page's first term with `term`: -1 if it comes before, 0 if it is the same, 1 if it comes after."""
    _, at = get_number(lexicon.pages, lexicon.page_start[page])
    length, at = get_number(lexicon.pages, at)
    for i in range(min(length, len(term))):
        if lexicon.pages[at + i] != term[i]:
            return -1 if lexicon.pages[at + i] < term[i] else 1
    return 0 if length == len(term) else (-1 if length < len(term) else 1)


@njit(cache=True, nogil=True)
def find_term(
    lexicon: Lexicon, term: npt.NDArray[np.uint8]
) -> tuple[int, int, int, int, int, int, int, int]:  # pragma: no cover - compiled
    """Find a term; give its frequency (0 if it is not there), begin and end of postings, positions, kind, row, heads,
    number among the wide."""
    low, high = 0, len(lexicon.page_start) - 1
    while low < high:
        middle = (low + high) >> 1
        if _order_of_first(lexicon, middle, term) <= 0:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return NOWHERE
    page = low - 1
    at, end = lexicon.page_start[page], lexicon.page_start[page + 1]
    stream, position = lexicon.page_stream[page], lexicon.page_position[page]
    same = 0  # how many bytes of the wanted term the current one begins with
    while at < end:
        shared, at = get_number(lexicon.pages, at)
        added, at = get_number(lexicon.pages, at)
        if shared <= same:
            same = shared
            while same < len(term) and same - shared < added and lexicon.pages[at + same - shared] == term[same]:
                same += 1
        found = same == len(term) and shared + added == len(term)
        at += added
        frequency, at = get_number(lexicon.pages, at)
        coded, at = get_number(lexicon.pages, at)
        row, heads, wide = np.int64(0), np.int64(0), np.int64(-1)
        if coded & 3:
            row, at = get_number(lexicon.pages, at)
            heads, at = get_number(lexicon.pages, at)
        if coded & 3 == 2:
            wide, at = get_number(lexicon.pages, at)
        places, at = get_number(lexicon.pages, at)
        if found:
            return frequency, stream, stream + (coded >> 2), position, coded & 3, row, heads, wide
        stream += coded >> 2
        position += places
    return NOWHERE


@njit(cache=True, nogil=True)
def unpack_terms(lexicon: Lexicon, count: int) -> Terms:  # pragma: no cover - compiled
    """Unpack the whole lexicon of `count` terms."""
    blob = np.empty(count * MAX_TERM, np.uint8)
    start = np.zeros(count + 1, np.int64)
    frequency, kind = np.zeros(count, np.int32), np.zeros(count, np.uint8)
    row, heads, wide = np.zeros(count, np.int32), np.zeros(count, np.int32), np.full(count, -1, np.int32)
    stream_end, position_end = np.zeros(count, np.int64), np.zeros(count, np.int64)
    at, stream, position = np.int64(0), np.int64(0), np.int64(0)
    for term in range(count):
        shared, at = get_number(lexicon.pages, at)
        added, at = get_number(lexicon.pages, at)
        begin = start[term]
        for i in range(shared):
            blob[begin + i] = blob[start[term - 1] + i]
        for i in range(added):
            blob[begin + shared + i] = lexicon.pages[at + i]
        at += added
        start[term + 1] = begin + shared + added
        number, at = get_number(lexicon.pages, at)
        frequency[term] = number
        coded, at = get_number(lexicon.pages, at)
        kind[term] = coded & 3
        if coded & 3:
            number, at = get_number(lexicon.pages, at)
            row[term] = number
            number, at = get_number(lexicon.pages, at)
            heads[term] = number
        if coded & 3 == 2:
            number, at = get_number(lexicon.pages, at)
            wide[term] = number
        places, at = get_number(lexicon.pages, at)
        stream += coded >> 2
        position += places
        stream_end[term], position_end[term] = stream, position
    return Terms(blob[: start[count]].copy(), start, frequency, stream_end, position_end, kind, row, heads, wide)


def room(terms: Terms) -> Lexicon:
    """Make arrays for `pack_terms`, as large as they can get."""
    pages = -(-len(terms.frequency) // PAGE)
    size = len(terms.blob) + 40 * len(terms.frequency)
    starts = (np.zeros(pages + 1, np.int64), *(np.zeros(pages, np.int64) for _ in range(2)))
    return Lexicon(np.empty(size, np.uint8), *starts)


def make_tiny_terms() -> Terms:
    """Make a lexicon of one term that is in one document, once; with the types of production."""
    one = np.ones(1, np.int64)
    none = np.zeros(1, np.int32)
    name = np.frombuffer(b"a", np.uint8)
    return Terms(name, np.array([0, 1]), np.ones(1, np.int32), one, one, np.zeros(1, np.uint8), none, none, none - 1)


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    terms = make_tiny_terms()
    lexicon = room(terms)
    pack_terms(terms, lexicon)
    for array in lexicon:
        array.flags.writeable = False
    find_term(lexicon, np.frombuffer(b"a", np.uint8))
    unpack_terms(lexicon, 1)
