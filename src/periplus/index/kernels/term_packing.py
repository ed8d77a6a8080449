"""Packs terms into the pages of a term dictionary, and unpacks a whole dictionary."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import (
    LONG_SHARED,
    MAX_TERM,
    PAGE,
    SHORT,
    SHORT_ADDED,
    SHORT_SHARED,
    SINGLE,
    SINGLE_POSITIONS,
    SINGLE_POSTINGS,
    TermDictionary,
    TermTable,
    find_term,
    locate_term,
    read_page_entry,
    write_varint,
)

__all__ = ["allocate_dictionary", "make_tiny_dictionary", "make_tiny_terms", "pack_terms", "unpack_terms"]


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
        added, size, position_bytes = (
            length - shared,
            terms.stream_end[term] - stream,
            terms.position_end[term] - position,
        )
        is_short = term % PAGE != 0 and shared <= SHORT_SHARED and 0 < added <= SHORT_ADDED
        is_short = is_short and terms.blob[begin + shared] != LONG_SHARED
        is_single = is_short and terms.frequency[term] == 1 and terms.encoding[term] == 0
        is_single = is_single and size <= SINGLE_POSTINGS and position_bytes <= SINGLE_POSITIONS
        if is_short:
            out.pages[at] = SHORT | (SINGLE if is_single else 0) | shared << 3 | (added - 1)
            at += 1
        else:
            at = write_varint(out.pages, at, shared)
            at = write_varint(out.pages, at, added)
        for i in range(shared, length):
            out.pages[at] = terms.blob[begin + i]
            at += 1
        if is_single:
            out.pages[at] = size << 6 | position_bytes
            at += 1
            continue
        at = write_varint(out.pages, at, terms.frequency[term])
        at = write_varint(out.pages, at, size << 2 | terms.encoding[term])
        if terms.encoding[term] != 0:
            at = write_varint(out.pages, at, terms.first_group[term])
            at = write_varint(out.pages, at, terms.headers[term])
        if terms.bitset_row[term] >= 0:
            at = write_varint(out.pages, at, terms.bitset_row[term])
        at = write_varint(out.pages, at, position_bytes)
    out.page_start[len(out.page_start) - 1] = at
    return at


@njit(cache=True, nogil=True)
def _follows(blob: Any, before: int, begin: int, shared: int, added: int) -> bool:  # pragma: no cover - compiled
    """Return whether the term at `begin`, `shared + added` bytes long, sorts after the one from `before` to `begin`."""
    if shared > begin - before or added == 0:
        return False
    return shared == begin - before or blob[begin + shared] > blob[before + shared]


@njit(cache=True, nogil=True)
def unpack_terms(dictionary: TermDictionary, count: int) -> TermTable:  # pragma: no cover - compiled
    """Return the whole dictionary, unpacked.

    Parameters
        dictionary: the packed dictionary; its offsets are valid, its pages may be damaged
        count: how many terms it has, at most its bytes divided by MIN_ENTRY
    Returns
        the terms; fewer than `count` if one of them is damaged: those before it
    """
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
        entry = read_page_entry(dictionary.pages, at, len(dictionary.pages))
        begin = start[term]
        before = start[term - 1] if term else np.int64(0)
        is_first = term % PAGE == 0
        if entry.next < 0 or (is_first and (entry.shared or at != dictionary.page_start[term // PAGE])):
            count = term
            break
        for i in range(min(entry.shared, begin - before)):
            blob[begin + i] = blob[before + i]
        for i in range(entry.added):
            blob[begin + entry.shared + i] = dictionary.pages[entry.text + i]
        if term and not is_first and not _follows(blob, before, begin, entry.shared, entry.added):
            count = term
            break
        at = entry.next
        start[term + 1] = begin + entry.shared + entry.added
        frequency[term] = entry.frequency
        encoding[term] = entry.code & 3
        first_group[term], headers[term], bitset_row[term] = entry.first_group, entry.headers, entry.bitset_row
        if is_first and (
            stream != dictionary.page_stream[term // PAGE] or position != dictionary.page_position[term // PAGE]
        ):
            count = term
            break
        stream += entry.code >> 2
        position += entry.position_bytes
        stream_end[term], position_end[term] = stream, position
    return TermTable(
        blob[: start[count]].copy(),
        start[: count + 1].copy(),
        frequency[:count].copy(),
        stream_end[:count].copy(),
        position_end[:count].copy(),
        encoding[:count].copy(),
        first_group[:count].copy(),
        headers[:count].copy(),
        bitset_row[:count].copy(),
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


def make_tiny_dictionary() -> TermDictionary:
    """Return that dictionary packed; its arrays are read-only, as those of segments are."""
    terms = make_tiny_terms()
    dictionary = allocate_dictionary(terms)
    pack_terms(terms, dictionary)
    for array in dictionary:
        array.flags.writeable = False
    return dictionary


def warm() -> None:
    """Compile this module's kernels, and those of the dictionary, for the types that production uses."""
    dictionary = make_tiny_dictionary()
    locate_term(dictionary, np.frombuffer(b"a", np.uint8))
    find_term(dictionary, np.frombuffer(b"a", np.uint8))
    unpack_terms(dictionary, 1)
