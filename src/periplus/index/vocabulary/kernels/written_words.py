"""Cuts titles and bodies into words as they are written.

Words are runs of letters, digits and all bytes above 127 except punctuation, hashed without regard to the case of ASCII
letters. A text is folded first, by a loop without branches, so that the end of a word is found 32 bytes at a time, and
words are hashed eight bytes at a time. Arrays are borrowed: counting references took a quarter of the time.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.text.kernels.word_bytes import MARGIN, fold_bytes, hash_bytes, run_size

__all__ = [
    "MARGIN",
    "UNLIMITED",
    "WrittenWords",
    "allocate_words",
    "borrow_words",
    "longest_text",
    "split_text",
    "split_words",
]

UNLIMITED: Final = 1 << 62
"""Bytes of a text that is read whole, however long it is."""
_MAX_GAP: Final = 3
"""Bytes between two words of one name."""
_CASED: Final = 0x2000
"""Code points below which letters have a case: Latin, Greek, Cyrillic, Armenian, Georgian."""
_IS_CAPITAL = np.array([chr(point).isupper() for point in range(_CASED)])


class WrittenWords(NamedTuple):
    """The words of one text."""

    hash: npt.NDArray[np.uint64]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    capital: npt.NDArray[np.uint8]
    """1 where a word begins with a capital."""
    joined: npt.NDArray[np.uint8]
    """Whether a word may belong to the same name as the one before it: 2 yes, 1 behind a comma or full stop, 0 no."""
    depth: npt.NDArray[np.int8]
    """1 within brackets, 2 within quotation marks."""
    line: npt.NDArray[np.int32]


@njit(cache=True, nogil=True)
def allocate_words(size: int) -> WrittenWords:  # pragma: no cover - compiled
    """Return room for the words of a text."""
    return WrittenWords(
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.uint8),
        np.empty(size, np.uint8),
        np.empty(size, np.int8),
        np.empty(size, np.int32),
    )


@njit(cache=True, nogil=True, forceinline=True)
def borrow_words(words: WrittenWords) -> Any:  # pragma: no cover - compiled
    """Return the same words as pointers; the caller keeps the arrays alive."""
    return WrittenWords(
        borrow(words.hash),
        borrow(words.begin),
        borrow(words.end),
        borrow(words.capital),
        borrow(words.joined),
        borrow(words.depth),
        borrow(words.line),
    )


@njit(cache=True, nogil=True)
def longest_text(begin: Any, end: Any, most: int) -> int:  # pragma: no cover - compiled
    """Return the bytes of the longest of some texts, `most` at most."""
    size = 0
    for text in range(len(begin)):
        size = max(size, min(most, end[text] - begin[text]))
    return size


@njit(cache=True, nogil=True, forceinline=True)
def _mark_size(text: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the bytes of a sign of the general, the CJK or the full-width punctuation, or 0.

    They are U+2000 to U+206F, U+3000 to U+303F less the letters U+3005 to U+3007, and U+FF00 to U+FF0F.
    """
    if at + 2 < end and text[at] >= 0xE2:
        second, third = text[at + 1], text[at + 2]
        if text[at] == 0xE2 and (second == 0x80 or second == 0x81):
            return 3
        if text[at] == 0xE3 and second == 0x80 and not 0x85 <= third <= 0x87:
            return 3
        if text[at] == 0xEF and second == 0xBC and third < 0x90:
            return 3
    if text[at] == 0xC2 and at + 1 < end and text[at + 1] < 0xBF:
        return 2
    return 0


@njit(cache=True, nogil=True, forceinline=True)
def _is_capital(data: Any, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Return whether a word begins with a capital; digits and letters without case are none."""
    byte = np.int64(data[at])
    if byte < 128:
        return 65 <= byte <= 90
    if byte < 0xE0 and at + 1 < end:
        return _IS_CAPITAL[(byte & 0x1F) << 6 | (np.int64(data[at + 1]) & 0x3F)]
    if byte == 0xE1 and at + 2 < end:
        return _IS_CAPITAL[0x1000 | (np.int64(data[at + 1]) & 0x3F) << 6 | (np.int64(data[at + 2]) & 0x3F)]
    return False


@njit(cache=True, nogil=True)
def _cut_run(text: Any, at: int, size: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the bytes of a run that come before the first sign of punctuation."""
    for place in range(at, at + size):
        if text[place] >= 128 and _mark_size(text, place, end):
            return place - at
    return size


@njit(cache=True, nogil=True)
def split_words(
    data: Any, begin: int, end: int, text: Any, words: WrittenWords, most: int
) -> int:  # pragma: no cover - compiled
    """Cut a text into words; return how many there are.

    Parameters
        data, begin, end: bytes, borrowed, and where the text is in them
        text: room for the folded text, borrowed: `MARGIN` bytes more than it has
        words, most: receives the words, borrowed, and how many it has room for
    """
    size = max(0, end - begin)
    fold_bytes(data, begin, size, text)
    count, at, line = 0, 0, 0
    inside, quoted, gap, breaks, comma = 0, False, 0, True, False
    while at < size and count < most:
        mark = 0
        if text[at] != 0:
            length = run_size(text, at)
            hashed, is_high = hash_bytes(text, at, length)
            if is_high:
                length = _cut_run(text, at, length, size)
                hashed, _ = hash_bytes(text, at, length)
            if length:
                first = begin + at
                words.hash[count] = hashed
                words.begin[count], words.end[count] = first, first + length
                words.capital[count] = _is_capital(data, first, first + length)
                words.joined[count] = 0 if breaks or gap > _MAX_GAP else 1 if comma else 2
                words.depth[count] = 1 if inside > 0 else 2 if quoted else 0
                words.line[count] = line
                count += 1
                gap, breaks, comma = 0, False, False
                at += length
                continue
            mark = _mark_size(text, at, size)
        byte = data[begin + at]
        if byte == 32:
            gap += 1
            at += 1
            continue
        is_wide = mark == 3 and byte == 0xEF
        if byte == 40 or (is_wide and text[at + 2] == 0x88):
            inside, breaks = inside + 1, True
        elif byte == 41 or (is_wide and text[at + 2] == 0x89):
            inside, breaks = max(0, inside - 1), True
        elif byte == 34:
            quoted, breaks = not quoted, True
        elif byte == 10:
            line, inside, quoted, breaks = line + 1, 0, False, True
        elif byte == 44 or (byte == 46 and gap == 0 and count > 0 and begin + at - words.begin[count - 1] > 1):
            comma = True  # Or a full stop, unless it is that of an initial.
        elif byte == 59 or byte == 58 or mark == 3:
            # Signs of the general punctuation are dashes and quotation marks; the apostrophe (U+2019) joins.
            is_general = mark == 3 and byte == 0xE2 and text[at + 1] == 0x80
            breaks = breaks or not (is_general and text[at + 2] == 0x99)
            if is_general and (text[at + 2] == 0x9C or text[at + 2] == 0x9D):
                quoted = text[at + 2] == 0x9C
        gap += 1
        at += max(1, mark)
    return count


@njit(cache=True, nogil=True)
def _split_one(data: Any, begin: int, end: int, text: Any, words: WrittenWords) -> int:  # pragma: no cover - compiled
    return split_words(borrow(data), begin, end, borrow(text), borrow_words(words), len(words.hash))


def split_text(data: npt.NDArray[np.uint8], most: int) -> tuple[WrittenWords, int]:
    """Return the words of one text, and how many there are, `most` at most: for tests, and for compiling."""
    words = allocate_words(most)
    return words, _split_one(data, 0, len(data), np.zeros(len(data) + MARGIN, np.uint8), words)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    longest_text(np.zeros(1, np.int64), np.ones(1, np.int64), 1)
    split_text(np.frombuffer(b"ab (c)", np.uint8), 4)
