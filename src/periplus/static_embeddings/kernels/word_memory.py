"""The pieces of short words of ASCII, remembered: most words of a text were in the text before.

A text is folded first, by a loop without branches, so that the end of a word is found 32 bytes at a time. A word of up
to 16 letters, or as many digits, is two integers, by which its pieces are found in a table that has one place for each
word: a word that is not there takes the place of another. Other words are left to `word_pieces.next_word`.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64
from periplus.accel.pointers import borrow
from periplus.accel.simd import scan_to_byte
from periplus.static_embeddings.kernels.word_pieces import PieceTable, find_pieces

__all__ = ["WordMemory", "allocate_memory", "borrow_memory", "find_short_word", "fold_text"]

_FOLDED: Final = 2_048
"""Bytes of a text that are folded; behind them, words are read one character at a time."""
_MARGIN: Final = 64
"""Zeros behind a folded text, which is read many bytes at a time."""
_MAX_LETTERS: Final = 16
_ROW: Final = 4
"""Integers for each word, of which one is not used: the letters, and the pieces."""
_PIECE_BITS: Final = 20
_MAX_PIECE: Final = (1 << _PIECE_BITS) - 1
_MAX_PIECES: Final = 3
"""Pieces that fit into an integer behind three bits for their number, plus one."""
_UPPER_A, _UPPER_Z, _A, _Z, _ZERO, _NINE = (np.uint8(ord(character)) for character in "AZaz09")
_ASCII_END, _TO_LOWER = np.uint8(128), np.uint8(32)
_NOTHING: Any = np.uint8(0)
_HIGH_BITS, _LETTER_BITS = np.uint64(0x8080808080808080), np.uint64(0x4040404040404040)
_PRIME, _SPREAD = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
_HALF, _COUNT_MASK, _PIECE_MASK = np.uint64(32), np.uint64(7), np.uint64(_MAX_PIECE)
_MASKS = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(17)], np.uint64)
"""By the size of a word, which of its first eight bytes belong to it ..."""
_NEXT_MASKS = np.array([(1 << 8 * max(0, size - 8)) - 1 for size in range(17)], np.uint64)
"""... and which of the next eight."""


class WordMemory(NamedTuple):
    """A text that is folded, and the pieces of words."""

    text: npt.NDArray[np.uint8]
    rows: npt.NDArray[np.uint64]
    """A power of two of rows."""


@njit(cache=True, nogil=True)
def allocate_memory(table: PieceTable, words: int) -> WordMemory:
    """Return a memory for a power of two of words; it is of no use where ASCII means something else to the table."""
    folded = _FOLDED
    for code in range(128):
        is_digit, letter = 48 <= code <= 57, code | 32
        if table.kinds[code] != (code if is_digit else letter if 97 <= letter <= 122 else 0):
            folded = 0
    return WordMemory(np.empty(folded + _MARGIN, np.uint8), np.zeros(_ROW * words, np.uint64))


@njit(cache=True, nogil=True)
def _fold(data: Any, begin: int, size: int, out: Any) -> None:
    """Write what each byte counts as: ASCII letters in lower case, digits, bytes above 127; 0 for all others."""
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[begin + at]
        is_upper = (byte >= _UPPER_A) & (byte <= _UPPER_Z)
        is_kept = ((byte >= _A) & (byte <= _Z)) | ((byte >= _ZERO) & (byte <= _NINE)) | (byte >= _ASCII_END)
        out[at] = byte + _TO_LOWER if is_upper else (byte if is_kept else _NOTHING)
    for at in range(size, size + _MARGIN):
        out[at] = _NOTHING


@njit(cache=True, nogil=True, forceinline=True)
def borrow_memory(memory: WordMemory) -> Any:
    """Return the arrays of a memory as pointers, each with its length; the caller keeps them alive."""
    return borrow(memory.text), len(memory.text), borrow(memory.rows), len(memory.rows)


@njit(cache=True, nogil=True, forceinline=True)
def fold_text(memory: Any, data: Any, begin: int, end: int) -> Any:
    """Fold the beginning of a text; return what `find_short_word` needs of it and of a memory.

    Parameters
    ----------
    memory: from `borrow_memory`.
    data: UTF-8, borrowed.
    begin, end: where the text is in it.
    """
    text, room, rows, size = memory
    limit = max(begin, min(end, begin + room - _MARGIN))
    _fold(data, begin, limit - begin, text)
    return text, rows, np.uint64(size // _ROW - 1), begin, limit, limit == end


@njit(cache=True, nogil=True, forceinline=True)
def find_short_word(lookups: Any, memo: Any, at: int, word: Any, out: Any, used: int) -> tuple[int, int]:
    """Read the next word, if it is short and of ASCII letters or of digits, and write its pieces behind `used` others.

    memo: from `fold_text`; word: room for its letters; lookups, out, used: as those of `find_pieces`.

    Return where to go on, and how many pieces the word has: -1 if the word is another or there is none.
    """
    text, rows, mask, begin, limit, is_end = memo
    while at < limit and text[at - begin] == 0:
        at += 1
    if at >= limit:
        return at, np.int64(-1)
    size = scan_to_byte(text, at - begin, _NOTHING)
    if size > _MAX_LETTERS or (at + size == limit and not is_end):
        return at, np.int64(-1)
    low = load_uint64(text, at - begin) & _MASKS[size]
    high = load_uint64(text, at - begin + 8) & _NEXT_MASKS[size]
    letters, next_letters = low & _LETTER_BITS, high & _LETTER_BITS
    is_word = letters == _MASKS[size] & _LETTER_BITS and next_letters == _NEXT_MASKS[size] & _LETTER_BITS
    if (low | high) & _HIGH_BITS or not (is_word or letters | next_letters == 0):
        return at, np.int64(-1)
    mixed = (low * _PRIME ^ high) * _SPREAD
    row = _ROW * np.int64((mixed >> _HALF) & mask)
    found = rows[row + 2]
    if found != 0 and rows[row] == low and rows[row + 1] == high:
        count = np.int64(found & _COUNT_MASK) - 1
        for number in range(count):
            out[used + number] = np.int32((found >> np.uint64(3 + _PIECE_BITS * number)) & _PIECE_MASK)
        return at + size, count
    for letter in range(size):
        word[letter] = text[at - begin + letter]
    count = find_pieces(lookups, word, size, out, used)
    value, is_small = np.uint64(count + 1), count <= _MAX_PIECES
    for number in range(min(count, _MAX_PIECES)):
        is_small &= out[used + number] <= _MAX_PIECE
        value |= np.uint64(out[used + number]) << np.uint64(3 + _PIECE_BITS * number)
    if is_small:
        rows[row], rows[row + 1], rows[row + 2] = low, high, value
    return at + size, count
