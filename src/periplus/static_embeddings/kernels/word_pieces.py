"""The word pieces of a text, in one pass over its bytes.

Text is decomposed (NFKD), marks are left out, letters are lower case. A word is a run of letters or a run of digits.
Its pieces are the longest that the vocabulary has, from left to right; pieces within a word are others than those at
its beginning. A word with a character that no piece has, or with more than MAX_WORD characters, has no pieces.

Pieces are found in a trie. A node has a set of the symbols that follow it, and its children are neighbours, so that the
child for a symbol is found by counting bits.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import popcount
from periplus.accel.pointers import borrow

__all__ = [
    "DROPPED",
    "EXPANDED",
    "MAX_WORD",
    "OTHER_DIGIT",
    "OTHER_LETTER",
    "SEPARATOR",
    "TABLE_SIZE",
    "PieceTable",
    "PieceTrie",
    "Scratch",
    "borrow_lookups",
    "build_trie",
    "code_point",
    "find_pieces",
    "is_sorted_vocabulary",
    "next_word",
    "small_table",
    "split_pieces",
    "warm",
]

SEPARATOR, DROPPED, OTHER_LETTER, OTHER_DIGIT, EXPANDED = 0, 1, 2, 3, 4
"""What a code point is, unless it is a letter or digit of ASCII, which is written as itself: it separates words, it is
left out, it is a letter or digit that no piece has, or it stands for several symbols."""
MAX_WORD: Final = 40
"""Characters of a word; longer ones have no pieces."""
TABLE_SIZE: Final = 0x30000
"""Code points from here on are separators."""
_LETTERS: Final = 10
"""Symbols are numbered: ten digits, then the letters."""
_ZERO, _NINE, _SMALL_A = 48, 57, 97
_ONE = np.uint64(1)


class PieceTrie(NamedTuple):
    """A trie of pieces; node 0 is the beginning of a word, node 1 any later position."""

    symbols: npt.NDArray[np.uint64]
    """The set of symbols that follow each node."""
    children: npt.NDArray[np.int32]
    """The first child of each node."""
    pieces: npt.NDArray[np.int32]
    """The piece that ends at each node, -1 for none."""


class PieceTable(NamedTuple):
    """Everything that turns text into vectors."""

    kinds: npt.NDArray[np.uint8]
    """What each code point is, see above."""
    expanded: npt.NDArray[np.int32]
    """Code points that stand for several symbols, ascending."""
    expansion_start: npt.NDArray[np.int32]
    expansions: npt.NDArray[np.uint8]
    """Their symbols, as kinds."""
    symbols: npt.NDArray[np.uint64]
    children: npt.NDArray[np.int32]
    pieces: npt.NDArray[np.int32]
    """The trie, see `PieceTrie`."""
    vectors: npt.NDArray[np.int8]
    """A row for each piece."""
    scales: npt.NDArray[np.float32]


class Scratch(NamedTuple):
    """Memory for reading words."""

    word: npt.NDArray[np.uint8]
    """The symbols of a word, MAX_WORD of them."""
    pieces: npt.NDArray[np.int32]
    pending: npt.NDArray[np.int64]
    """Begin and end of the symbols of an expanded code point that are not read yet."""


@njit(cache=True, nogil=True)
def build_trie(letters: Any, lengths: Any, first_inner: int) -> Any:
    """Build the trie of a vocabulary.

    Parameters
    ----------
    letters: the pieces one after the other, digits and lower-case letters of ASCII, uint8.
    lengths: the length of each, at least 1, uint8; pieces at the beginning of words come first, sorted, then others,
        sorted.
    first_inner: the number of the first piece that is found within words.

    Returns
    -------
    A tuple as `PieceTrie`.
    """
    count = len(lengths)
    starts = np.zeros(count + 1, np.int64)
    for piece in range(count):
        starts[piece + 1] = starts[piece] + lengths[piece]
    capacity = len(letters) + 2
    symbols, children = np.zeros(capacity, np.uint64), np.zeros(capacity, np.int32)
    pieces = np.full(capacity, -1, np.int32)
    # Pieces below each node are neighbours, since all are sorted: from low up to high.
    low, high, depth = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    high[0], low[1], high[1] = first_inner, first_inner, count
    used, node = 2, 0
    while node < used:
        at, end, level = low[node], high[node], depth[node]
        if at < end and level and lengths[at] == level:
            pieces[node] = at
            at += 1
        children[node] = used
        while at < end:
            byte = letters[starts[at] + level]
            symbols[node] |= _ONE << np.uint64(_symbol(byte))
            low[used], depth[used] = at, level + 1
            while at < end and letters[starts[at] + level] == byte:
                at += 1
            high[used] = at
            used += 1
        node += 1
    return symbols[:used].copy(), children[:used].copy(), pieces[:used].copy()


@njit(cache=True, nogil=True)
def is_sorted_vocabulary(letters: Any, lengths: Any, first_inner: int) -> bool:
    """Return whether pieces are distinct and sorted, those at the beginning of words and those within them.

    Parameters
    ----------
    letters, lengths, first_inner: as those of `build_trie`, which relies on this.

    Returns
    -------
    False if two neighbours are equal or in the wrong order.
    """
    at = 0
    for piece in range(len(lengths) - 1):
        size, following = int(lengths[piece]), int(lengths[piece + 1])
        behind = at + size
        common = 0
        while common < min(size, following) and letters[at + common] == letters[behind + common]:
            common += 1
        if piece + 1 != first_inner:
            if common == following:
                return False
            if common < size and letters[at + common] > letters[behind + common]:
                return False
        at = behind
    return True


@njit(cache=True, nogil=True, inline="always")
def _symbol(byte: Any) -> Any:
    """Return the number of a letter or digit."""
    return byte - _ZERO if byte <= _NINE else byte - _SMALL_A + _LETTERS


@njit(cache=True, nogil=True, forceinline=True)
def borrow_lookups(table: Any) -> Any:
    """Return the arrays that `next_word` and `find_pieces` read, as pointers: counting references would take longer.

    The caller keeps the table alive.
    """
    return (
        borrow(table.kinds),
        borrow(table.expanded),
        len(table.expanded),
        borrow(table.expansion_start),
        borrow(table.expansions),
        borrow(table.symbols),
        borrow(table.children),
        borrow(table.pieces),
    )


@njit(cache=True, nogil=True, forceinline=True)
def find_pieces(lookups: Any, word: Any, length: int, out: Any, used: int) -> int:
    """Write the pieces of a word behind `used` others; return how many there are, 0 if some part of it is none."""
    symbols, children, pieces = lookups[5:]
    at = count = 0
    while at < length:
        node = 0 if at == 0 else 1
        piece, end, position = -1, at, at
        while position < length:
            bit = _ONE << np.uint64(_symbol(word[position]))
            if not symbols[node] & bit:
                break
            node = children[node] + popcount(symbols[node] & (bit - _ONE))
            position += 1
            if pieces[node] >= 0:
                piece, end = pieces[node], position
        if piece < 0:
            return 0
        out[used + count] = piece
        count += 1
        at = end
    return count


@njit(cache=True, nogil=True)
def code_point(data: Any, at: int, end: int) -> tuple[int, int]:
    """Decode the code point at `at`; return it and its length. Invalid bytes are 0, a separator."""
    first = int(data[at])
    if first < 0xE0:
        if first >= 0xC2 and at + 1 < end:
            return ((first & 0x1F) << 6) | (int(data[at + 1]) & 0x3F), 2
        return 0, 1
    if first < 0xF0:
        if at + 2 < end:
            return ((first & 0x0F) << 12) | ((int(data[at + 1]) & 0x3F) << 6) | (int(data[at + 2]) & 0x3F), 3
        return 0, 1
    if first < 0xF5 and at + 3 < end:
        high = ((first & 0x07) << 18) | ((int(data[at + 1]) & 0x3F) << 12)
        return high | ((int(data[at + 2]) & 0x3F) << 6) | (int(data[at + 3]) & 0x3F), 4
    return 0, 1


@njit(cache=True, nogil=True)
def _find_expansion(lookups: Any, code: int) -> tuple[int, int]:
    """Return where the symbols of a code point begin and end; nothing for one that is not expanded."""
    expanded, high, start = lookups[1:4]
    low = 0
    while low < high:
        middle = (low + high) // 2
        if expanded[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low == lookups[2] or expanded[low] != code:
        return 0, 0
    return start[low], start[low + 1]


@njit(cache=True, nogil=True, forceinline=True)
def next_word(lookups: Any, data: Any, at: int, end: int, pending: Any, word: Any) -> tuple[int, int]:
    """Read the next word.

    Return where to go on, and the length of the word: -1 for one without pieces, 0 at the end of the text.
    """
    kinds, expansions = lookups[0], lookups[4]
    length = 0
    in_digits = False
    usable = True
    while at < end or pending[0] < pending[1]:
        size = 0
        if pending[0] < pending[1]:
            kind = expansions[pending[0]]
        else:
            code, size = int(data[at]), 1
            if code >= 0x80:
                code, size = code_point(data, at, end)
            kind = kinds[code] if code < TABLE_SIZE else np.uint8(SEPARATOR)
            if kind == EXPANDED:
                at += size
                pending[0], pending[1] = _find_expansion(lookups, code)
                continue
        if kind == SEPARATOR and length:
            break
        if kind > DROPPED:
            is_digit = kind == OTHER_DIGIT or _ZERO <= kind <= _NINE
            if length and is_digit != in_digits:
                break  # Read this symbol again, as the beginning of the next word.
            in_digits = is_digit
            usable = usable and kind > EXPANDED and length < MAX_WORD
            if usable:
                word[length] = kind
            length += 1
        if size:
            at += size
        else:
            pending[0] += 1
    return at, length if usable else -1


@njit(cache=True, nogil=True)
def split_pieces(table: PieceTable, data: Any, begin: int, end: int, out: Any) -> tuple[int, int]:
    """Write the pieces of a text.

    Parameters
    ----------
    table: the table.
    data: UTF-8, uint8.
    begin, end: where the text is in it.
    out: receives the numbers of pieces, int32, as many as fit.

    Returns
    -------
    How many pieces were written, and how many words were read; a word whose pieces do not all fit is the last.
    """
    scratch = Scratch(np.zeros(MAX_WORD, np.uint8), np.zeros(MAX_WORD, np.int32), np.zeros(2, np.int64))
    return _split(table, data, begin, end, out, scratch)


@njit(cache=True, nogil=True)
def _split(table: Any, data: Any, begin: int, end: int, out: Any, scratch: Any) -> tuple[int, int]:
    """Do what `split_pieces` does; what is borrowed here is an argument, and so it lives."""
    lookups, text = borrow_lookups(table), borrow(data)
    word, pieces, pending = borrow(scratch.word), borrow(scratch.pieces), borrow(scratch.pending)
    at, used, words = begin, 0, 0
    while used < len(out):
        at, length = next_word(lookups, text, at, end, pending, word)
        if not length:
            break
        words += 1
        count = find_pieces(lookups, word, length, pieces, 0) if length > 0 else 0
        for number in range(min(count, len(out) - used)):
            out[used] = pieces[number]
            used += 1
    return used, words


def small_table() -> PieceTable:
    """Return a table of a few pieces, for compiling."""
    letters, lengths = np.frombuffer(b"aba", np.uint8), np.array([1, 1, 1], np.uint8)
    letters.flags.writeable = lengths.flags.writeable = False
    trie = PieceTrie(*build_trie(letters, lengths, 2))
    kinds = np.zeros(TABLE_SIZE, np.uint8)
    kinds[97:100] = (97, 98, 99)
    integers, offsets = np.zeros(0, np.int32), np.zeros(1, np.int32)
    vectors, scales = np.ones((3, 8), np.int8), np.ones(3, np.float32)
    table = PieceTable(kinds, integers, offsets, np.zeros(0, np.uint8), *trie, vectors, scales)
    for array in table:
        array.flags.writeable = False
    is_sorted_vocabulary(letters, lengths, 2)
    return table


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    split_pieces(small_table(), np.frombuffer(b"ab a", np.uint8), 0, 4, np.zeros(4, np.int32))
