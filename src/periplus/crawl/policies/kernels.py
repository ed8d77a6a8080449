"""Kernel of near-duplicate detection: from the main content of a page in ASCII to its simhash."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.kernels.html_tokenizer import find_byte
from periplus.text.kernels.simhash import simhash_text

__all__ = ["hash_content", "warm"]

_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)


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
    if size <= 3 * length:
        return simhash_text(joined[:size])
    return simhash_text(lines[: _sample(borrow(joined), size, length, borrow(lines))])


def warm() -> None:
    """Call every kernel once with the types that the crawl uses."""
    data = np.frombuffer(b"The tides of the harbour\nin 2024", np.uint8)
    hash_content(data, np.array((0, 24), np.int64), 1, 2, 8)
