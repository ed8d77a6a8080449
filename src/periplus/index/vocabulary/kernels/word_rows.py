"""A table of the words of titles, from which a scan of bodies learns all that it needs of a word by one look-up.

A row is half a line of a cache: the hash of a word, the name that is this word alone, its number among the words whose
documents are counted, and for the words that follow it in names one bit each, by their hashes. Most words of a body
follow a word that they do not follow in any name: that ends there.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow

__all__ = [
    "ENTRY",
    "WORD",
    "WordRows",
    "add_following",
    "add_word",
    "add_words",
    "find_row",
    "find_rows",
    "first_row",
    "get_number",
    "make_rows",
    "may_follow",
    "may_have_row",
    "row_masks",
    "search_row",
    "set_number",
]

WORD, ENTRY = 1, 2
"""Numbers in a row: among the words whose documents are counted, and of the name; -1 for none."""
_ROW: Final = 4
"""Integers of 64 bits in a row."""
_NUMBERS, _FOLLOWING, _FOLLOWING_CAPITAL = 1, 2, 3
"""Columns behind the hash, which is 0 in a row that is free: both numbers plus one, and bits of the words that follow,
without and with a capital."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT, _ONE, _BITS = np.uint64(36), np.uint64(1), np.uint64(63)
_HALF, _LOWER_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_BIT_SHIFT, _WORD_SHIFT = np.uint64(58), np.uint64(6)
_FILTER_BITS: Final = 2
"""Bits of the filter for each row."""


class WordRows(NamedTuple):
    """Words of titles."""

    rows: npt.NDArray[np.uint64]
    """A hash table: `_ROW` integers for each row. A power of two of them, twice as many as words at least."""
    filter: npt.NDArray[np.uint64]
    """A bit for each word, by its hash: it fits a cache, so that the look-up of most other words ends here."""


def make_rows(words: int) -> WordRows:
    """Return an empty table that has room for so many words."""
    rows = 1 << max(6, (2 * words).bit_length())
    return WordRows(np.zeros(_ROW * rows, np.uint64), np.zeros(rows * _FILTER_BITS // 64, np.uint64))


@njit(cache=True, nogil=True, forceinline=True)
def find_row(rows: Any, mask: Any, filters: Any, filter_mask: Any, hashed: Any) -> int:  # pragma: no cover - compiled
    """Return where the row of a word begins, -1 if it has none.

    Parameters
        rows, filters: those of a table, borrowed
        mask, filter_mask: the number of rows, and of bits of the filter, less one
        hashed: the hash of the word
    """
    return search_row(rows, mask, hashed) if may_have_row(filters, filter_mask, hashed) else np.int64(-1)


@njit(cache=True, nogil=True, forceinline=True)
def may_have_row(filters: Any, filter_mask: Any, hashed: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a word may have a row; it has none where this is false."""
    bit = (hashed >> _SHIFT) & filter_mask
    return (filters[np.int64(bit >> _WORD_SHIFT)] >> (bit & _BITS)) & _ONE != 0


@njit(cache=True, nogil=True, forceinline=True)
def first_row(mask: Any, hashed: Any) -> int:  # pragma: no cover - compiled
    """Return where the row begins at which a word is looked for first."""
    return _ROW * np.int64((hashed >> _ONE) & mask)


@njit(cache=True, nogil=True, forceinline=True)
def search_row(rows: Any, mask: Any, hashed: Any) -> int:  # pragma: no cover - compiled
    """Return where the row of a word begins, -1 if it has none, without the filter."""
    slot = np.int64((hashed >> _ONE) & mask)
    while True:
        entry = rows[_ROW * slot]
        if entry == hashed:
            return _ROW * slot
        if entry == 0:
            return np.int64(-1)
        slot = np.int64((np.uint64(slot) + _ONE) & mask)


@njit(cache=True, nogil=True, forceinline=True)
def get_number(rows: Any, row: int, which: int) -> int:  # pragma: no cover - compiled
    """Return one of the numbers of a row, -1 for none."""
    numbers = rows[row + _NUMBERS]
    return np.int64(numbers >> _HALF if which == WORD else numbers & _LOWER_HALF) - 1


@njit(cache=True, nogil=True, forceinline=True)
def set_number(rows: Any, row: int, which: int, number: int) -> None:  # pragma: no cover - compiled
    """Set one of the numbers of a row, which has none yet."""
    value = np.uint64(number + 1)
    rows[row + _NUMBERS] |= value << _HALF if which == WORD else value


@njit(cache=True, nogil=True, forceinline=True)
def may_follow(rows: Any, row: int, hashed: Any, capital: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a word may follow that of a row in a name; it does not where this is false."""
    bits = rows[row + _FOLLOWING + np.int64(capital)]
    return (bits >> (hashed >> _BIT_SHIFT)) & _ONE != 0


@njit(cache=True, nogil=True)
def add_following(rows: Any, row: int, hashed: Any, capital: Any) -> None:  # pragma: no cover - compiled
    """Note that a word follows that of a row in a name."""
    rows[row + _FOLLOWING + np.int64(capital)] |= _ONE << (hashed >> _BIT_SHIFT)


@njit(cache=True, nogil=True)
def add_word(table: WordRows, hashed: Any) -> int:  # pragma: no cover - compiled
    """Return where the row of a word begins, a new one if it has none."""
    mask = np.uint64(len(table.rows) // _ROW - 1)
    slot = (hashed >> _ONE) & mask
    while table.rows[_ROW * np.int64(slot)] != 0 and table.rows[_ROW * np.int64(slot)] != hashed:
        slot = (slot + _ONE) & mask
    table.rows[_ROW * np.int64(slot)] = hashed
    bit = (hashed >> _SHIFT) & np.uint64(64 * len(table.filter) - 1)
    table.filter[np.int64(bit >> _WORD_SHIFT)] |= _ONE << (bit & _BITS)
    return _ROW * np.int64(slot)


@njit(cache=True, nogil=True)
def add_words(hashes: npt.NDArray[np.uint64], table: WordRows) -> None:  # pragma: no cover - compiled
    """Add distinct words whose documents are counted, each with its place as number."""
    for number in range(len(hashes)):
        set_number(table.rows, add_word(table, hashes[number]), WORD, number)


@njit(cache=True, nogil=True)
def find_rows(hashes: npt.NDArray[np.uint64], table: WordRows) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return where the rows of words begin, -1 for those that have none."""
    found = np.empty(len(hashes), np.int64)
    _find_all(hashes, table, found)
    return found


@njit(cache=True, nogil=True)
def _find_all(hashes: Any, table: WordRows, found: Any) -> None:  # pragma: no cover - compiled
    rows, filters = borrow(table.rows), borrow(table.filter)
    mask, filter_mask = row_masks(table)
    for word in range(len(hashes)):
        found[word] = find_row(rows, mask, filters, filter_mask, hashes[word])


@njit(cache=True, nogil=True, forceinline=True)
def row_masks(table: WordRows) -> Any:  # pragma: no cover - compiled
    """Return the number of rows, and of bits of the filter, less one each."""
    return np.uint64(len(table.rows) // _ROW - 1), np.uint64(64 * len(table.filter) - 1)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    table = make_rows(1)
    add_words(np.ones(1, np.uint64), table)
    find_rows(np.ones(1, np.uint64), table)
