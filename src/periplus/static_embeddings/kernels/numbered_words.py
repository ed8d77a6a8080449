"""The pieces of words that are numbered already: a build has split its texts, and each distinct word is read once.

Words of the build and of the table are not the same, but in most texts they say the same: a word of the build that
consists of letters or of digits of ASCII is a word of the table, another is several ('2nd') or none ('+'). Texts with
characters that the two read differently are left to `word_pieces.next_word`.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64
from periplus.accel.pointers import borrow
from periplus.static_embeddings.kernels.word_pieces import MAX_WORD, TABLE_SIZE, code_point, find_pieces

__all__ = ["LONGEST", "NumberedTexts", "borrow_texts", "find_numbered_word", "is_plain", "no_numbers"]

LONGEST: Final = 64
"""Bytes of a numbered word from which on it may have been cut."""
_PIECE_BITS: Final = 20
_MAX_PIECE: Final = (1 << _PIECE_BITS) - 1
_MAX_PIECES: Final = 3
"""Pieces that fit into an integer behind three bits for their number, plus one."""
_OTHER: Final = 7
"""In those bits: a word that is several words of the table or none, or has more pieces."""
_COUNT_MASK, _PIECE_MASK = np.uint64(7), np.uint64(_MAX_PIECE)
_FIRST, _SECOND, _THIRD = (np.uint64(3 + _PIECE_BITS * number) for number in range(_MAX_PIECES))
_HIGH_BITS, _ASCII_END, _AT_ONCE = np.uint64(0x8080808080808080), 128, 8
_ZERO, _NINE, _A, _Z = 48, 57, 97, 122


class NumberedTexts(NamedTuple):
    """Titles and bodies of documents as numbers of words."""

    numbers: npt.NDArray[np.int32]
    titles: npt.NDArray[np.int64]
    bodies: npt.NDArray[np.int64]
    """Where in `numbers` those of each document begin and end; no rows if there are none."""
    blob: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int64]
    """The words, folded, by number."""
    is_alike: npt.NDArray[np.uint8]
    """By code point, 1 if splitting and the table make the same of it: a separator, nothing, a letter, a digit."""
    rows: npt.NDArray[np.uint64]
    """By number, the pieces of the first words, 0 for one that was not read yet. They are filled in."""


def no_numbers() -> NumberedTexts:
    """Return what stands for texts whose words have no numbers."""
    spans, blob = np.zeros((0, 2), np.int64), np.frombuffer(b"", np.uint8)
    none = np.zeros(1, np.uint8)
    return NumberedTexts(np.zeros(0, np.int32), spans, spans, blob, np.zeros(1, np.int64), none, np.zeros(0, np.uint64))


@njit(cache=True, nogil=True, forceinline=True)
def borrow_texts(texts: NumberedTexts) -> Any:
    """Return the words of texts and their pieces as pointers, and how many have a row; the caller keeps them alive."""
    return borrow(texts.numbers), borrow(texts.blob), borrow(texts.start), borrow(texts.rows), len(texts.rows)


@njit(cache=True, nogil=True)
def is_plain(data: Any, begin: int, end: int, is_alike: Any) -> bool:
    """Return whether all characters of a text beyond ASCII mean the same to both.

    Parameters
    ----------
    data: UTF-8, borrowed.
    begin, end: where the text is in it.
    is_alike: of `NumberedTexts`, borrowed.
    """
    at = begin
    while at < end:
        while at + _AT_ONCE <= end and not load_uint64(data, at) & _HIGH_BITS:
            at += _AT_ONCE
        stop = min(end, at + _AT_ONCE)
        while at < stop:
            size = 1
            if data[at] >= _ASCII_END:
                code, size = code_point(data, at, end)
                if code >= TABLE_SIZE or is_alike[code] == 0:
                    return False
            at += size
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _run_end(blob: Any, at: int, end: int) -> int:
    """Return the end of the letters, or digits, that begin at a place; the place itself if there are none."""
    first = at
    is_digit = _ZERO <= blob[at] <= _NINE
    while at < end and (_ZERO <= blob[at] <= _NINE if is_digit else _A <= blob[at] <= _Z):
        at += 1
    return at if at > first else first


@njit(cache=True, nogil=True, forceinline=True)
def _read_run(lookups: Any, blob: Any, begin: int, end: int, word: Any, out: Any, used: int) -> int:
    """Write the pieces of letters or digits of a word behind `used` others; return how many there are."""
    if end - begin > MAX_WORD:
        return 0
    for letter in range(end - begin):
        word[letter] = blob[begin + letter]
    return find_pieces(lookups, word, end - begin, out, used)


@njit(cache=True, nogil=True)
def _read_word(lookups: Any, texts: Any, number: int, word: Any, out: Any, used: int) -> Any:
    """Find the pieces of a word for the first time; return its row."""
    blob, start, rows, limit = texts[1:]
    begin, end = start[number], start[number + 1]
    row = np.uint64(_OTHER)
    if begin < end and _run_end(blob, begin, end) == end:
        count = _read_run(lookups, blob, begin, end, word, out, used)
        value, is_small = np.uint64(count + 1), count <= _MAX_PIECES
        for piece in range(min(count, _MAX_PIECES)):
            is_small &= out[used + piece] <= _MAX_PIECE
            value |= np.uint64(out[used + piece]) << np.uint64(3 + _PIECE_BITS * piece)
        if is_small:
            row = value
    if number < limit:
        rows[number] = row
    return row


@njit(cache=True, nogil=True, forceinline=True)
def find_numbered_word(
    lookups: Any, texts: Any, at: int, inside: int, word: Any, out: Any, used: int
) -> tuple[int, int, int]:
    """Write the pieces of the next word of the table behind `used` others, where there is room for four at least.

    Parameters
    ----------
    lookups, word, out, used: as those of `find_pieces`.
    texts: from `borrow_texts`.
    at, inside: which number, and how many bytes of its word were read before.

    Returns
    -------
    Where to go on, and how many pieces the word has: -1 if there is no word, -2 if it may have been cut.
    """
    number = np.int64(texts[0][at])
    row = texts[3][number] if number < texts[4] else np.uint64(0)
    if row == 0:
        row = _read_word(lookups, texts, number, word, out, used)
    count = np.int64(row & _COUNT_MASK) - 1
    if count <= _MAX_PIECES:  # Three are written, however many there are.
        out[used] = np.int32((row >> _FIRST) & _PIECE_MASK)
        out[used + 1] = np.int32((row >> _SECOND) & _PIECE_MASK)
        out[used + 2] = np.int32((row >> _THIRD) & _PIECE_MASK)
        return at + 1, np.int64(0), count
    blob, begin, end = texts[1], texts[2][number] + inside, texts[2][number + 1]
    if end - texts[2][number] >= LONGEST:
        return at, inside, np.int64(-2)
    while begin < end and _run_end(blob, begin, end) == begin:
        begin += 1
    if begin == end:
        return at + 1, np.int64(0), np.int64(-1)
    stop = _run_end(blob, begin, end)
    count = np.int64(_read_run(lookups, blob, begin, stop, word, out, used))
    if stop == end:
        return at + 1, np.int64(0), count
    return at, stop - texts[2][number], count
