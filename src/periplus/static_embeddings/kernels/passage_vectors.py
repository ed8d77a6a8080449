"""Vectors of passages: the sums of the vectors of their word pieces; and their similarity to a query.

Of the vector of a passage, the signs of its components are stored: 24 bytes for 192 of them. Ranking by them was not
worse than by bytes of eight bits, see docs/decisions/046-static-embeddings.md.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import prefetch_bytes
from periplus.accel.pointers import borrow
from periplus.static_embeddings.kernels.numbered_words import (
    NumberedTexts,
    borrow_texts,
    find_numbered_word,
    is_plain,
    no_numbers,
)
from periplus.static_embeddings.kernels.word_memory import (
    WordMemory,
    allocate_memory,
    borrow_memory,
    find_short_word,
)
from periplus.static_embeddings.kernels.word_pieces import (
    MAX_WORD,
    PieceTable,
    Scratch,
    borrow_lookups,
    find_pieces,
    next_word,
    small_table,
)

__all__ = ["TextCounts", "embed_documents", "embed_text", "score_documents", "warm"]

_PIECES_AT_ONCE: Final = 128
"""Pieces that are found before their vectors are added."""
_QUERY_MEMORY: Final = 1 << 4
"""Words of a query whose pieces are remembered."""
_LINE: Final = 64
"""Bytes that a processor reads at once: a row of 192 is three times as many."""


class TextCounts(NamedTuple):
    """What a text consists of."""

    words: int
    whole: int
    """Words that are one piece."""
    pieces: int


@njit(cache=True, nogil=True)
def _allocate() -> Scratch:
    """Return memory for reading words, and for the pieces that are added at once."""
    pieces = np.zeros(_PIECES_AT_ONCE + MAX_WORD, np.int32)
    return Scratch(np.zeros(MAX_WORD, np.uint8), pieces, np.zeros(2, np.int64))


# Products and sums in one instruction. The order of sums is that of the pieces, however many are added at a time.
@njit(cache=True, nogil=True, fastmath={"nsz", "contract"})
def _add_rows(total: Any, vectors: Any, scales: Any, pieces: Any, count: int) -> None:
    """Add the vectors of pieces to a sum, four at a time: they come from memory side by side."""
    number = 0
    while number + 4 <= count:
        one, two, three, four = pieces[number], pieces[number + 1], pieces[number + 2], pieces[number + 3]
        scale, second, third, fourth = scales[one], scales[two], scales[three], scales[four]
        for i in range(len(total)):
            value = total[i] + np.float32(vectors[one, i]) * scale
            value = value + np.float32(vectors[two, i]) * second
            value = value + np.float32(vectors[three, i]) * third
            total[i] = value + np.float32(vectors[four, i]) * fourth
        number += 4
    while number < count:
        row = pieces[number]
        scale = scales[row]
        for i in range(len(total)):
            total[i] += np.float32(vectors[row, i]) * scale
        number += 1


@njit(cache=True, nogil=True)
def _write_signs(total: Any, signs: Any, row: int) -> None:
    """Write the sign of each component of a sum, eight to a byte, the first in the lowest bit."""
    for byte in range(signs.shape[1]):
        bits = 0
        for i in range(8):
            bits |= int(total[8 * byte + i] > 0) << i
        signs[row, byte] = bits


@njit(cache=True, nogil=True)
def _add_words(table: Any, data: Any, at: int, end: int, most: int, room: Any, total: Any, counts: Any) -> int:
    """Add the pieces of up to `most` words to a sum; count them, and return where to go on, -1 at the end.

    The row of a piece is asked for when the piece is found: it is there when it is added.
    """
    scratch, memory = room
    lookups, text = borrow_lookups(table), borrow(data)
    word, pieces, pending = borrow(scratch.word), borrow(scratch.pieces), borrow(scratch.pending)
    memo = borrow_memory(memory, text, at, end)
    vectors, width = borrow(table.vectors), table.vectors.shape[1]
    words = whole = used = sum_of_pieces = 0
    while words < most:
        count = np.int64(-1)
        if pending[0] >= pending[1]:
            at, count = find_short_word(lookups, memo, at, word, pieces, used)
        if count < 0:
            at, length = next_word(lookups, text, at, end, pending, word)
            if not length:
                at = -1
                break
            count = find_pieces(lookups, word, length, pieces, used) if length > 0 else 0
        words += 1
        whole += count == 1
        for number in range(used, used + count):
            row = np.int64(pieces[number]) * width
            prefetch_bytes(vectors, row)
            prefetch_bytes(vectors, row + _LINE)
            prefetch_bytes(vectors, row + 2 * _LINE)
        used += count
        if used >= _PIECES_AT_ONCE:
            _add_rows(total, table.vectors, table.scales, scratch.pieces, used)
            sum_of_pieces += used
            used = 0
    _add_rows(total, table.vectors, table.scales, scratch.pieces, used)
    counts[0] += words
    counts[1] += whole
    counts[2] += sum_of_pieces + used
    return at


@njit(cache=True, nogil=True)
def _add_numbers(
    table: Any, texts: Any, at: int, inside: int, end: int, most: int, room: Any, total: Any, counts: Any
) -> tuple[int, int]:
    """Do what `_add_words` does for a text whose words have numbers.

    Return where to go on: -1 at the end, -2 if a word may have been cut; and how much of that word was read.
    """
    scratch, _ = room
    lookups, numbered = borrow_lookups(table), borrow_texts(texts)
    word, pieces = borrow(scratch.word), borrow(scratch.pieces)
    words = whole = used = sum_of_pieces = 0
    while words < most:
        if at >= end:
            at = -1
            break
        at, inside, count = find_numbered_word(lookups, numbered, at, inside, word, pieces, used)
        if count == -2:
            return -2, inside
        if count < 0:
            continue
        words += 1
        whole += count == 1
        used += count
        if used >= _PIECES_AT_ONCE:
            _add_rows(total, table.vectors, table.scales, scratch.pieces, used)
            sum_of_pieces += used
            used = 0
    _add_rows(total, table.vectors, table.scales, scratch.pieces, used)
    counts[0] += words
    counts[1] += whole
    counts[2] += sum_of_pieces + used
    return at, inside


@njit(cache=True, nogil=True)
def _embed_numbers(
    table: Any, texts: Any, document: int, limits: Any, room: Any, sums: Any, signs: Any, used: int, counts: Any
) -> int:
    """Write the vectors of a document whose words have numbers; return how many, -1 if they do not say all of it."""
    title, total = sums
    max_title, max_words, max_passages = limits
    title[:] = 0
    at, end = texts.titles[document, 0], texts.titles[document, 1]
    at, inside = _add_numbers(table, texts, at, 0, end, max_title, room, title, counts)
    if at == -2:
        return -1
    title_pieces = counts[2]
    at, end, inside = texts.bodies[document, 0], texts.bodies[document, 1], 0
    passages = 0
    for number in range(max_passages):
        if at < 0:
            break
        before = counts[2]
        total[:] = title
        at, inside = _add_numbers(table, texts, at, inside, end, max_words, room, total, counts)
        if at == -2:
            return -1
        if counts[2] > before or (number == 0 and title_pieces > 0):
            _write_signs(total, signs, used + passages)
            passages += 1
    return passages


@njit(cache=True, nogil=True)
def _has_plain_texts(data: Any, titles: Any, bodies: Any, document: int, texts: Any) -> bool:
    """Return whether the words of a document have numbers that say all of it."""
    if not len(texts.titles):
        return False
    raw, is_alike = borrow(data), borrow(texts.is_alike)
    return is_plain(raw, titles[document, 0], titles[document, 1], is_alike) and is_plain(
        raw, bodies[document, 0], bodies[document, 1], is_alike
    )


@njit(cache=True, nogil=True)
def embed_documents(
    table: PieceTable,
    data: Any,
    titles: Any,
    bodies: Any,
    limits: tuple[int, int, int],
    memory: WordMemory,
    texts: NumberedTexts,
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
    memory: of the same table, for no other call at the same time; it remembers the pieces of short words.
    texts: the same titles and bodies as numbers of words, or none.
    signs: receives a row for each passage, the signs of its vector, uint8 (rows, width / 8).
    rows: receives how many passages each document has, int32.
    counts: receives the columns of `TextCounts` of each document, int32 (documents, 3).

    Returns
    -------
    The number of rows written.
    """
    scratch = _allocate()
    room = scratch, memory
    width = table.vectors.shape[1]
    title, total = np.empty(width, np.float32), np.empty(width, np.float32)
    sums = title, total
    max_title, max_words, max_passages = limits
    used = 0
    for document in range(len(titles)):
        counts[document, :] = 0
        rows[document] = 0
        if titles[document, 0] == titles[document, 1] and bodies[document, 0] == bodies[document, 1]:
            continue
        if _has_plain_texts(data, titles, bodies, document, texts):
            passages = _embed_numbers(table, texts, document, limits, room, sums, signs, used, counts[document])
            if passages >= 0:
                rows[document] = passages
                used += passages
                continue
            counts[document, :] = 0
        title[:] = 0
        scratch.pending[:] = 0
        _add_words(table, data, titles[document, 0], titles[document, 1], max_title, room, title, counts[document])
        title_pieces = counts[document, 2]
        at, end = bodies[document, 0], bodies[document, 1]
        scratch.pending[:] = 0
        passages = 0
        for number in range(max_passages):
            if at < 0:
                break
            before = counts[document, 2]
            total[:] = title
            at = _add_words(table, data, at, end, max_words, room, total, counts[document])
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
    counts[:] = 0
    out[:] = 0
    room = _allocate(), allocate_memory(table, _QUERY_MEMORY)
    _add_words(table, data, 0, len(data), len(data), room, out, counts)
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
    memory = allocate_memory(table, _QUERY_MEMORY)
    embed_documents(table, data, spans, spans, (1, 1, 1), memory, no_numbers(), signs, rows, counts)
    vector, scores = np.zeros(8, np.float32), np.zeros(1, np.float32)
    embed_text(table, data, vector, np.zeros(3, np.int32))
    start = np.zeros(2, np.uint32)
    signs.flags.writeable = start.flags.writeable = False
    score_documents(signs, start, vector, rows, scores)
