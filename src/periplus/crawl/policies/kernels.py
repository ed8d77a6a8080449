"""Kernel of near-duplicate detection: from the main content of a page in ASCII to its simhash."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow, keep
from periplus.parse.html.kernels.folded_words import MARGIN, hash_folded_words
from periplus.parse.kernels.html_tokenizer import find_byte
from periplus.text.kernels.simhash import SHINGLE, mix

__all__ = ["hash_content", "warm"]

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_ZERO, _NINE, _UPPER_A, _UPPER_Z, _A, _Z = (np.uint8(ord(character)) for character in "09AZaz")
_TO_LOWER, _BETWEEN = np.uint8(32), np.uint8(0)
_ONE, _THREE, _FIVE = np.uint64(1), np.uint64(3), np.uint64(5)
_NO_LETTER = np.uint8(255)
_BYTES, _BYTE, _MOST_VOTES = np.uint64(0x0101010101010101), np.uint64(255), 255


@njit(cache=True, nogil=True)
def _append(data: Any, begin: int, end: int, out: Any, used: int, is_first: bool) -> int:
    """Copy a piece behind what is there, with a newline before it unless it is the first; return the length of all."""
    if not is_first:
        out[used] = _NEWLINE
        used += 1
    for at in range(end - begin):
        out[used + at] = data[begin + at]
    return used + end - begin


@njit(cache=True, nogil=True)
def _find_last_space(text: Any, begin: int, end: int) -> int:
    """Return where the last space is, `begin` if there is none."""
    for at in range(end - 1, begin - 1, -1):
        if text[at] == _SPACE:
            return at
    return begin


@njit(cache=True, nogil=True)
def _select_lines(text: Any, size: int, shortest: int, out: Any) -> int:
    """Copy the lines that are not short, with a newline between them; return their length."""
    used, begin = 0, 0
    while begin <= size:
        end = find_byte(text, begin, size, _NEWLINE)
        if end - begin >= shortest:
            used = _append(text, begin, end, out, used, used == 0)
        begin = end + 1
    return used


@njit(cache=True, nogil=True)
def _sample(text: Any, size: int, length: int, out: Any) -> int:
    """Copy the beginning, the middle and the end of a text, cut at spaces; return their length."""
    half = size // 2
    middle = find_byte(text, half, half + length, _NEWLINE)
    middle = half if middle >= half + length else middle
    last = size - length
    while last < size and text[last] != _SPACE:
        last += 1
    used = _append(text, 0, _find_last_space(text, 0, length), out, 0, True)
    used = _append(text, middle, _find_last_space(text, middle, min(size, middle + length)), out, used, False)
    return _append(text, min(size, last + 1), size, out, used, False)


@njit(cache=True, nogil=True)
def _fold(data: Any, size: int, out: Any) -> None:
    """Write what each byte of a text in ASCII counts as: letters in lower case, digits, 0 between words."""
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[at]
        is_upper = (byte >= _UPPER_A) & (byte <= _UPPER_Z)
        is_kept = ((byte >= _A) & (byte <= _Z)) | ((byte >= _ZERO) & (byte <= _NINE))
        out[at] = byte | _TO_LOWER if is_upper else (byte if is_kept else _BETWEEN)


@njit(cache=True, nogil=True)
def _count_lanes(shingles: Any, first: int, last: int, votes: Any) -> None:
    """Add to the votes of each bit how many of at most 255 shingles have it: every eighth bit is a byte of one sum."""
    a = b = c = d = e = f = g = h = np.uint64(0)
    for number in range(first, last):
        shingle = shingles[number]
        a += shingle & _BYTES
        b += shingle >> np.uint64(1) & _BYTES
        c += shingle >> np.uint64(2) & _BYTES
        d += shingle >> np.uint64(3) & _BYTES
        e += shingle >> np.uint64(4) & _BYTES
        f += shingle >> np.uint64(5) & _BYTES
        g += shingle >> np.uint64(6) & _BYTES
        h += shingle >> np.uint64(7) & _BYTES
    for byte in range(8):
        shift, bit = np.uint64(8 * byte), 8 * byte
        votes[bit] += np.int64(a >> shift & _BYTE)
        votes[bit + 1] += np.int64(b >> shift & _BYTE)
        votes[bit + 2] += np.int64(c >> shift & _BYTE)
        votes[bit + 3] += np.int64(d >> shift & _BYTE)
        votes[bit + 4] += np.int64(e >> shift & _BYTE)
        votes[bit + 5] += np.int64(f >> shift & _BYTE)
        votes[bit + 6] += np.int64(g >> shift & _BYTE)
        votes[bit + 7] += np.int64(h >> shift & _BYTE)


@njit(cache=True, nogil=True)
def _count_bits(shingles: Any, first: int, count: int) -> Any:
    """Return a hash with the bits that more than half of the shingles have, from the first one on."""
    votes, result = np.zeros(64, np.int64), np.uint64(0)
    for begin in range(first, count, _MOST_VOTES):
        _count_lanes(shingles, begin, min(begin + _MOST_VOTES, count), borrow(votes))
    for bit in range(64):
        result |= np.uint64(2 * votes[bit] > count - first) << np.uint64(bit)
    keep((votes,))
    return result


@njit(cache=True, nogil=True)
def _simhash(data: Any, size: int, text: Any, edges: Any, words: Any, shingles: Any) -> Any:
    """Return what `simhash_text` returns for a text in ASCII; behind `text` there are zeros."""
    _fold(data, size, text)
    count = hash_folded_words(text, size, _NO_LETTER, edges, words)
    if count == 0:
        return np.uint64(0)
    for number in range(count):
        words[number] |= _ONE
    for number in range(count):
        second = words[number - 1] if number > 0 else np.uint64(0)
        first = words[number - 2] if number > 1 else np.uint64(0)
        shingles[number] = mix(first * _THREE + mix(second * _FIVE + mix(words[number])))
    result = _count_bits(shingles, min(count, SHINGLE) - 1, count)
    return result | np.uint64(result == 0)


@njit(cache=True, nogil=True)
def _simhash_ascii(data: Any, size: int) -> Any:
    text, edges = np.empty(size + MARGIN, np.uint8), np.empty(size + 4, np.int64)
    text[size:] = _BETWEEN
    words, shingles = np.empty(size // 2 + 1, np.uint64), np.empty(size // 2 + 1, np.uint64)
    result = _simhash(borrow(data), size, borrow(text), borrow(edges), borrow(words), borrow(shingles))
    keep((text, edges, words, shingles))
    return result


@njit(cache=True, nogil=True)
def hash_content(data: Any, spans: Any, shortest: int, paragraph: int, length: int) -> Any:
    """Return the simhash of the main content of a page, 0 if it is too short.

    Parameters: data (uint8 array), the text of the page in ASCII; spans (int64 array), begins and ends of the parts of
    its main content; shortest, characters below which nothing is hashed; paragraph, characters below which a line is
    left out if enough remains; length, characters of each of the three samples of a long text.
    """
    total = -1
    for number in range(0, len(spans), 2):
        total += spans[number + 1] - spans[number] + 1
    if total < shortest:
        return np.uint64(0)
    room = max(total, 3 * length) + 2
    joined, lines = np.empty(room, np.uint8), np.empty(room, np.uint8)
    size = 0
    for number in range(0, len(spans), 2):
        size = _append(borrow(data), spans[number], spans[number + 1], borrow(joined), size, number == 0)
    kept = _select_lines(borrow(joined), size, paragraph, borrow(lines))
    if kept >= max(shortest, size // 2):
        joined, lines, size = lines, joined, kept
    if size > 3 * length:
        size = _sample(borrow(joined), size, length, borrow(lines))
        joined, lines = lines, joined
    result = _simhash_ascii(joined, size)
    keep((joined, lines))
    return result


def warm() -> None:
    """Call every kernel once with the types that the crawl uses."""
    data = np.frombuffer(b"The tides of the harbour\nin 2024", np.uint8)
    hash_content(data, np.array((0, 24), np.int64), 1, 2, 8)
