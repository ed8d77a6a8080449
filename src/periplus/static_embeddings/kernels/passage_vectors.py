"""Vectors of passages: the sums of the vectors of their word pieces; and their similarity to a query.

Of the vector of a passage, the signs of its components are stored: 32 bytes for 256 of them. Ranking by them was not
worse than by bytes of eight bits, see docs/decisions/046-static-embeddings.md.
"""

from typing import Any, NamedTuple

import numpy as np

from periplus.accel import njit
from periplus.static_embeddings.kernels.word_pieces import MAX_WORD, PieceTable, find_pieces, next_word, small_table

__all__ = ["TextCounts", "embed_documents", "embed_text", "score_documents", "warm"]


class TextCounts(NamedTuple):
    """What a text consists of."""

    words: int
    whole: int
    """Words that are one piece."""
    pieces: int


# Summation in any order is what allows vector instructions. There are no nans.
@njit(cache=True, nogil=True, forceinline=True, fastmath={"reassoc", "nsz", "contract"})
def _add_row(total: Any, vectors: Any, row: int, scale: Any) -> None:
    """Add the vector of a piece to a sum."""
    for i in range(len(total)):
        total[i] += np.float32(vectors[row, i]) * scale


@njit(cache=True, nogil=True)
def _write_signs(total: Any, signs: Any, row: int) -> None:
    """Write the sign of each component of a sum, eight to a byte, the first in the lowest bit."""
    for byte in range(signs.shape[1]):
        bits = 0
        for i in range(8):
            bits |= int(total[8 * byte + i] > 0) << i
        signs[row, byte] = bits


@njit(cache=True, nogil=True, forceinline=True)
def _add_words(table: Any, data: Any, at: int, end: int, most: int, buffers: Any, total: Any, counts: Any) -> int:
    """Add the pieces of up to `most` words to a sum; count them, and return where to go on."""
    word, pieces, pending = buffers
    words = 0
    while words < most:
        at, length = next_word(table, data, at, end, pending, word)
        if not length:
            return -1
        words += 1
        count = find_pieces(table, word, length, pieces) if length > 0 else 0
        for number in range(count):
            _add_row(total, table.vectors, pieces[number], table.scales[pieces[number]])
        counts[0] += 1
        counts[1] += count == 1
        counts[2] += count
    return at


@njit(cache=True, nogil=True)
def embed_documents(
    table: PieceTable,
    data: Any,
    titles: Any,
    bodies: Any,
    limits: tuple[int, int, int],
    signs: Any,
    rows: Any,
    counts: Any,
) -> int:
    """Write the vectors of the passages of documents.

    A passage is the title and some words of the body; a document without pieces has none.

    Parameters
    ----------
    table: the table.
    data: UTF-8, uint8, with titles and bodies in it.
    titles, bodies: where each begins and ends, int64 (documents, 2).
    limits: words of a title, words of the body in one passage, and passages of one document, at most.
    signs: receives a row for each passage, the signs of its vector, uint8 (rows, width / 8).
    rows: receives how many passages each document has, int32.
    counts: receives the columns of `TextCounts` of each document, int32 (documents, 3).

    Returns
    -------
    The number of rows written.
    """
    buffers = np.zeros(MAX_WORD, np.uint8), np.zeros(MAX_WORD, np.int32), np.zeros(2, np.int64)
    width = table.vectors.shape[1]
    title, total = np.empty(width, np.float32), np.empty(width, np.float32)
    max_title, max_words, max_passages = limits
    used = 0
    for document in range(len(titles)):
        counts[document, :] = 0
        title[:] = 0
        buffers[2][:] = 0
        _add_words(table, data, titles[document, 0], titles[document, 1], max_title, buffers, title, counts[document])
        title_pieces = counts[document, 2]
        at, end = bodies[document, 0], bodies[document, 1]
        buffers[2][:] = 0
        passages = 0
        for number in range(max_passages):
            if at < 0:
                break
            before = counts[document, 2]
            total[:] = title
            at = _add_words(table, data, at, end, max_words, buffers, total, counts[document])
            if counts[document, 2] > before or (number == 0 and title_pieces > 0):
                _write_signs(total, signs, used)
                used += 1
                passages += 1
        rows[document] = passages
    return used


@njit(cache=True, nogil=True)
def embed_text(table: PieceTable, data: Any, out: Any, counts: Any) -> None:
    """Write the vector of a text, of length 1, or zeros if it has no pieces.

    Parameters
    ----------
    table: the table.
    data: UTF-8, uint8.
    out: receives the vector, float32 (width).
    counts: receives `TextCounts`, int32 (3).
    """
    buffers = np.zeros(MAX_WORD, np.uint8), np.zeros(MAX_WORD, np.int32), np.zeros(2, np.int64)
    counts[:] = 0
    out[:] = 0
    _add_words(table, data, 0, len(data), len(data), buffers, out, counts)
    length = np.sqrt((out * out).sum())
    if length > 0:
        out[:] = out / length


@njit(cache=True, nogil=True)
def score_documents(signs: Any, start: Any, query: Any, documents: Any, out: Any) -> None:
    """Write how similar each document's best passage is to a query.

    A passage is known by the signs of its components only, as if they were all of one size, so the similarity is
    about four fifths of the cosine. Eight components at a time are looked up in a table of sums.

    Parameters
    ----------
    signs: a row for each passage, as `embed_documents` writes them.
    start: the first row of each document, and the end of the last, uint32 (documents + 1).
    query: the vector of the query, float32 of length 1.
    documents: the documents to score, int32.
    out: receives a score for each, float32; nan for a document without passages.
    """
    groups = signs.shape[1]
    sums = np.empty((groups, 256), np.float32)
    size = np.float32(1 / np.sqrt(np.float64(len(query))))
    for group in range(groups):
        lowest = np.float32(0)
        for i in range(8):
            lowest -= query[8 * group + i] * size
        sums[group, 0] = lowest
        for i in range(8):
            step = np.float32(2) * query[8 * group + i] * size
            for bits in range(1 << i):
                sums[group, bits + (1 << i)] = sums[group, bits] + step
    for number in range(len(documents)):
        document = documents[number]
        best = np.float32(np.nan)
        for row in range(start[document], start[document + 1]):
            value = np.float32(0)
            for group in range(groups):
                value += sums[group, signs[row, group]]
            if not value <= best:
                best = value
        out[number] = best


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    table, data, spans = small_table(), np.frombuffer(b"ab a", np.uint8), np.array([[0, 2]], np.int64)
    signs, rows, counts = np.zeros((2, 1), np.uint8), np.zeros(1, np.int32), np.zeros((1, 3), np.int32)
    embed_documents(table, data, spans, spans, (1, 1, 1), signs, rows, counts)
    vector, scores = np.zeros(8, np.float32), np.zeros(1, np.float32)
    embed_text(table, data, vector, np.zeros(3, np.int32))
    start = np.zeros(2, np.uint32)
    signs.flags.writeable = start.flags.writeable = False
    score_documents(signs, start, vector, rows, scores)
