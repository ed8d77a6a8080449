"""Where snippets are written: cleaned text in pieces, marked or not, and the sentence that answers."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.search.kernels.clean_text import GROWTH, put_clean

__all__ = ["SnippetBuffer", "closing", "make_buffer", "write_tokens"]

_CLOSING = 8
"""Bytes of punctuation behind the last word of a sentence."""
_MORE = np.frombuffer("… ".encode() + " …".encode(), np.uint8)
"""What stands before and behind a piece from within a text: four bytes each."""


class SnippetBuffer(NamedTuple):
    """Where snippets are written."""

    text: npt.NDArray[np.uint8]
    """UTF-8, piece after piece."""
    pieces: npt.NDArray[np.int64]
    """Of each piece: where it ends in `text`, and whether it is marked."""
    ends: npt.NDArray[np.int64]
    """By snippet: how many pieces there are up to its end."""
    has: npt.NDArray[np.bool_]
    """By snippet and word: whether the document has the word, in any field."""
    answers: npt.NDArray[np.int64]
    """By snippet: where the sentence that answers begins and ends in `text`; the same twice if there is none."""


@njit(cache=True, nogil=True)
def _put_piece(
    buffer: SnippetBuffer, first: int, count: int, text: int, end: int, mark: int
) -> int:  # pragma: no cover
    """Add the piece that ends at `end` of the sheet's text, begun at `text`; join it to its like. Give the count."""
    if text == end:
        return count
    pieces = buffer.pieces
    if count > first and pieces[count - 1, 1] == mark:
        pieces[count - 1, 0] = end
        return count
    if mark and count > first + 1 and pieces[count - 2, 1] == 1:
        # Words marked one after the other, with one space between them, become one mark.
        gap = pieces[count - 2, 0]
        if pieces[count - 1, 0] == gap + 1 and buffer.text[gap] == 32:
            pieces[count - 2, 0] = end
            return count - 1
    pieces[count, 0], pieces[count, 1] = end, mark
    return count + 1


@njit(cache=True, nogil=True)
def _put_unmarked(
    data: Any, at: int, end: int, stop: int, floor: int, answer: Any, bounds: Any, text: Any, out: int
) -> int:  # pragma: no cover - compiled
    """Write the bytes from `at` to `end`; note in `bounds` where those of the answer begin and end. Give the end."""
    for side in range(2):
        if at <= answer[side] <= end:
            out = put_clean(data, at, answer[side], text, out, stop, floor)
            bounds[side] = out
            at = answer[side]
    return put_clean(data, at, end, text, out, stop, floor)


@njit(cache=True, nogil=True)
def closing(data: Any, stop: int, spans: Any, used: int, end: int) -> int:  # pragma: no cover - compiled
    """Return where the punctuation ends that is right behind the token before `end`.

    Parameters
    ----------
    data, stop: UTF-8, and where the text ends in it.
    spans, used: begin and end of each token, and how many tokens there are.
    end: a token, or `used`.

    Returns
    -------
    A byte of `data`; at most `_CLOSING` behind the token.
    """
    at = np.int64(spans[end - 1, 1])
    after = stop if end >= used else np.int64(spans[end, 0])
    last = at
    while last < min(after, at + _CLOSING) and data[last] > 32:
        last += 1
    # Characters of several bytes are taken whole or not at all.
    while at < last < after and data[last] & 0xC0 == 0x80:
        last -= 1
    return max(at, last)


@njit(cache=True, nogil=True)
def write_tokens(
    data: Any,
    stop: int,
    spans: Any,
    used: int,
    begin: int,
    end: int,
    marked: Any,
    answer: Any,
    buffer: SnippetBuffer,
    bounds: Any,
    first: int,
    count: int,
    out: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write some tokens of a text as a piece of a snippet.

    Parameters
    ----------
    data, stop: UTF-8, and where the text ends in it.
    spans, used: begin and end of each token, and how many tokens there are.
    begin, end: the tokens to write, from `begin` up to `end`.
    marked: those of them that are marked, ascending.
    answer: where the sentence that answers begins and ends in `data`; -1 twice if there is none.
    buffer: where to write.
    bounds: where to write the begin and the end of that sentence in the buffer's text.
    first: how many pieces there were before this snippet; if that is not `count`, this continues it.
    count, out: pieces and bytes that are written so far.

    Returns
    -------
    Pieces and bytes that are written then.
    """
    text, floor = buffer.text, np.int64(spans[0, 0])
    if count > first:
        text[out] = 32
        count = _put_piece(buffer, first, count, out, out + 1, 0)
        out += 1
    elif begin > 0:
        text[out : out + 4] = _MORE[:4]
        count = _put_piece(buffer, first, count, out, out + 4, 0)
        out += 4
    at = np.int64(spans[begin, 0])
    for token in marked:
        start, after = max(at, np.int64(spans[token, 0])), np.int64(spans[token, 1])
        done = _put_unmarked(data, at, start, stop, floor, answer, bounds, text, out)
        count = _put_piece(buffer, first, count, out, done, 0)
        out = put_clean(data, start, after, text, done, stop, -1)
        count = _put_piece(buffer, first, count, done, out, 1)
        at = max(at, after)
    last = max(np.int64(spans[end - 1, 1]), answer[1])
    done = _put_unmarked(data, at, last, stop, floor, answer, bounds, text, out)
    count = _put_piece(buffer, first, count, out, done, 0)
    out = done
    if end < used:
        text[out : out + 4] = _MORE[4:]
        done = out + 4
    else:
        done = put_clean(data, last, stop, text, out, 3, -1)
        while done > out and text[done - 1] == 32:
            done -= 1
    return _put_piece(buffer, first, count, out, done, 0), done


def make_buffer(snippets: int, words: int, size: int, chars: int) -> SnippetBuffer:
    """Make room for snippets of about `chars` characters, half as many again for a sentence that answers.

    size: bytes of all texts.
    """
    # A piece may run over its length by one token, and a token may be as long as a text; nothing is written twice.
    return SnippetBuffer(
        np.empty(GROWTH * size + 32 * snippets, np.uint8),
        np.empty((snippets * (4 * chars + 16), 2), np.int64),
        np.zeros(snippets, np.int64),
        np.zeros((snippets, words), np.bool_),
        np.zeros((snippets, 2), np.int64),
    )
