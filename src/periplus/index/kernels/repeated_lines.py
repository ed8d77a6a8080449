"""Lines of text that many pages of a site have: counted in a bounded hash table, and separated from the others.

A line is what is between two newlines, without the white space around it. It counts once for each page, in each scope
of the page: its host, and the first folder of its path. The entry of a scope with line 0 counts the pages themselves.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "LineTable",
    "SplitTexts",
    "count_lines",
    "insert_entries",
    "make_table",
    "mark_pages",
    "split_lines",
]

KEY, COUNT = 0, 1
"""Columns of the entries."""
COUNT_MASK, PAGE_SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
SCOPES = 2
"""Scopes of a page."""
MIN_PAGES = 5
"""Pages that must have a line for it to be repeated."""
MIN_SHARE, MIN_SHORT_SHARE = 0.25, 0.5
"""Share of the pages of a scope that must have it; short lines are often headings, such as 'Examples'."""
SHORT_LINE = 20
"""Bytes below which a line is short."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NEWLINE, _SPACE = 10, 32


class LineTable(NamedTuple):
    """A hash table with open addressing; the number of slots is a power of two."""

    entries: npt.NDArray[np.uint64]
    """Rows, so that a slot is one access to memory: KEY of a line in a scope, 0 where the slot is empty; COUNT of the
    pages that have it in the lower half, the page that was counted last in the upper half."""
    used: npt.NDArray[np.int64]
    """One number: slots in use. Beyond three quarters of them, no line is added."""


class SplitTexts(NamedTuple):
    """Texts in two parts, one after the other: lines that are their own, and lines that are repeated."""

    own: npt.NDArray[np.uint8]
    own_end: npt.NDArray[np.int64]
    """By text: where its part ends."""
    repeated: npt.NDArray[np.uint8]
    repeated_end: npt.NDArray[np.int64]


def make_table(slots: int) -> LineTable:
    """Return an empty table."""
    return LineTable(np.zeros((slots, 2), np.uint64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True, forceinline=True)
def _line_key(line: Any, scope: Any) -> Any:  # pragma: no cover - compiled
    key = (line ^ scope) * _MIX
    key ^= key >> np.uint64(29)
    return key if key else np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def _find_slot(entries: Any, key: Any) -> Any:  # pragma: no cover - compiled
    """Return the slot of a key, or the empty one where it belongs."""
    within = np.uint64(len(entries) - 1)
    slot = key & within
    while entries[slot, KEY] != 0 and entries[slot, KEY] != key:
        slot = (slot + np.uint64(1)) & within
    return slot


@njit(cache=True, nogil=True, forceinline=True)
def _next_line(data: Any, at: int, end: int) -> tuple[int, int, int, Any]:  # pragma: no cover - compiled
    """Return where the line at `at` begins and ends without white space, where the next begins, and its hash.

    The hash of a line without letters or digits is 0: it says nothing, and stays where it is.
    """
    while at < end and data[at] <= _SPACE and data[at] != _NEWLINE:
        at += 1
    begin = stop = at
    hashed, prefix, has_word = _OFFSET, _OFFSET, False
    while at < end and data[at] != _NEWLINE:
        byte = data[at]
        hashed = (hashed ^ np.uint64(byte)) * _PRIME
        at += 1
        if byte > _SPACE:
            stop, prefix = at, hashed
            has_word = has_word or byte >= 128 or (48 <= byte <= 57) or (97 <= (byte | 32) <= 122)
    return begin, stop, at + 1, prefix if has_word else np.uint64(0)


@njit(cache=True, nogil=True)
def _add(table: LineTable, key: Any, page: int) -> None:  # pragma: no cover - compiled
    """Count a key for a page, once."""
    entries, mark = table.entries, np.uint64(page)
    slot = _find_slot(entries, key)
    if entries[slot, KEY] == 0:
        if table.used[0] * 4 >= len(entries) * 3:
            return
        entries[slot, KEY] = key
        table.used[0] += 1
    value = entries[slot, COUNT]
    if value >> PAGE_SHIFT != mark:
        entries[slot, COUNT] = mark << PAGE_SHIFT | ((value & COUNT_MASK) + np.uint64(1))


@njit(cache=True, nogil=True)
def insert_entries(
    keys: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint32], table: LineTable
) -> None:  # pragma: no cover - compiled
    """Add entries to a table, as far as it has room; a key of 0 is none.

    Parameters
        keys, counts: the entries
        table: updated
    """
    for entry in range(len(keys)):
        slot = _find_slot(table.entries, keys[entry])
        is_empty = table.entries[slot, KEY] == 0
        if keys[entry] and not (is_empty and table.used[0] * 4 >= len(table.entries) * 3):
            table.used[0] += is_empty
            table.entries[slot, KEY] = keys[entry]
            table.entries[slot, COUNT] += np.uint64(counts[entry])


@njit(cache=True, nogil=True)
def count_lines(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    scopes: npt.NDArray[np.uint64],
    is_counted: npt.NDArray[np.bool_],
    first_page: int,
    table: LineTable,
) -> None:  # pragma: no cover - compiled
    """Count the lines of some pages.

    Parameters
        data, bounds: the texts of all pages, and where each begins and ends
        scopes: by page, hashes of its scopes
        is_counted: by page, whether it counts
        first_page: a number for the first page, above 0 and above those of earlier calls
        table: updated
    """
    for text in range(len(scopes)):
        if not is_counted[text]:
            continue
        page = first_page + text
        for scope in range(SCOPES):
            _add(table, _line_key(np.uint64(0), scopes[text, scope]), page)
        at = bounds[text]
        while at < bounds[text + 1]:
            _, _, at, line = _next_line(data, at, bounds[text + 1])
            if line:
                for scope in range(SCOPES):
                    _add(table, _line_key(line, scopes[text, scope]), page)


@njit(cache=True, nogil=True, forceinline=True)
def _count_of(table: LineTable, line: Any, scope: Any) -> int:  # pragma: no cover - compiled
    """Return how many pages of a scope have a line."""
    return np.int64(table.entries[_find_slot(table.entries, _line_key(line, scope)), COUNT] & COUNT_MASK)


@njit(cache=True, nogil=True)
def _is_repeated(table: LineTable, line: Any, size: int, scopes: Any, pages: Any) -> bool:  # pragma: no cover
    """Return whether a line is repeated in one of the scopes, which have so many pages."""
    share = MIN_SHORT_SHARE if size < SHORT_LINE else MIN_SHARE
    for scope in range(SCOPES):
        count = _count_of(table, line, scopes[scope])
        if count >= MIN_PAGES and count >= share * pages[scope]:
            return True
    return False


@njit(cache=True, nogil=True)
def _find_own_lines(
    data: Any, begin: int, end: int, scopes: Any, table: LineTable
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the first line that is not repeated begins, and where the last one ends; equal if there is none."""
    pages = np.zeros(SCOPES, np.int64)
    for scope in range(SCOPES):
        pages[scope] = _count_of(table, np.uint64(0), scopes[scope])
    if pages.max() < MIN_PAGES:
        return begin, begin
    first = last = end
    at = begin
    while at < end:
        line_begin = at
        text_begin, stop, at, line = _next_line(data, at, end)
        if line and not _is_repeated(table, line, stop - text_begin, scopes, pages):
            first, last = min(first, line_begin), stop
    return (first, last) if first < end else (begin, begin)


@njit(cache=True, nogil=True)
def split_lines(
    data: npt.NDArray[np.uint8],
    begins: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    scopes: npt.NDArray[np.uint64],
    least: int,
    table: LineTable,
) -> SplitTexts:  # pragma: no cover - compiled
    """Separate the repeated lines at the beginning and at the end of some texts from the others.

    Templates are around the content. Repeated lines within it are its own: headings of a form, inherited members.

    Parameters
        data, begins, ends: the texts, and where each begins and ends
        scopes: by text, hashes of its scopes
        least: bytes of its own that a text must have; otherwise all of it stays as it is
        table: lines that were counted
    Returns
        the lines of each text in two parts, each in their order, with a newline between two lines
    """
    size = (ends - begins).sum() + len(begins)
    own, repeated = np.empty(size, np.uint8), np.empty(size, np.uint8)
    own_end, repeated_end = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.int64)
    to_own, to_repeated = 0, 0
    for text in range(len(begins)):
        first, last = _find_own_lines(data, begins[text], ends[text], scopes[text], table)
        own_begin, repeated_begin, at, count = to_own, to_repeated, begins[text], 0
        while first < last and at < ends[text]:
            line_begin = at
            begin, stop, at, line = _next_line(data, at, ends[text])
            if line and (line_begin < first or line_begin >= last):
                if to_repeated > repeated_begin:
                    repeated[to_repeated] = _NEWLINE
                    to_repeated += 1
                repeated[to_repeated : to_repeated + stop - begin] = data[begin:stop]
                to_repeated += stop - begin
            else:
                line_end = min(at - 1, ends[text])
                if count:
                    own[to_own] = _NEWLINE
                    to_own += 1
                own[to_own : to_own + line_end - line_begin] = data[line_begin:line_end]
                to_own += line_end - line_begin
                count += 1
        if to_repeated == repeated_begin or to_own - own_begin < least:
            to_repeated, to_own = repeated_begin, own_begin + ends[text] - begins[text]
            own[own_begin:to_own] = data[begins[text] : ends[text]]
        own_end[text], repeated_end[text] = to_own, to_repeated
    return SplitTexts(own[:to_own], own_end, repeated[:to_repeated], repeated_end)


@njit(cache=True, nogil=True)
def mark_pages(
    keys: npt.NDArray[np.uint64], bits: npt.NDArray[np.uint8]
) -> npt.NDArray[np.bool_]:  # pragma: no cover - compiled
    """Mark pages in a set of bits by their keys.

    Parameters
        keys: of pages
        bits: as many bytes as a power of two; updated
    Returns
        by page, whether it was not marked before; some new ones are taken for marked, as the set is full
    """
    is_new = np.zeros(len(keys), np.bool_)
    within = np.uint64(8 * len(bits) - 1)
    for page in range(len(keys)):
        bit = (keys[page] * _MIX >> np.uint64(20)) & within
        mask = np.uint8(1 << (bit & np.uint64(7)))
        byte = np.int64(bit >> np.uint64(3))
        is_new[page] = bits[byte] & mask == 0
        bits[byte] |= mask
    return is_new


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, zero, end = np.frombuffer(b"a", np.uint8), np.zeros(1, np.int64), np.ones(1, np.int64)
    scopes, table = np.ones((1, SCOPES), np.uint64), make_table(64)
    count_lines(data, np.array([0, 1], np.int64), scopes, np.ones(1, np.bool_), 1, table)
    split_lines(data, zero, end, scopes, 1, table)
    insert_entries(np.ones(1, np.uint64), np.ones(1, np.uint32), table)
    mark_pages(np.ones(1, np.uint64), np.zeros(64, np.uint8))
