"""Vectors of passages: the sums of the vectors of their word pieces.

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
from periplus.static_embeddings.kernels.row_sums import add_rows, clear_sum, write_signs
from periplus.static_embeddings.kernels.word_memory import (
    WordMemory,
    allocate_memory,
    borrow_memory,
    find_short_word,
    fold_text,
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

__all__ = ["TextCounts", "embed_documents", "embed_text", "warm"]

_PIECES_AT_ONCE: Final = 128
"""Pieces that are found before their vectors are added."""
_QUERY_MEMORY: Final = 1 << 4
"""Words of a query whose pieces are remembered."""
_LINE: Final = 64
"""Bytes that a processor reads at once: a row of 192 is three times as many."""
_COLUMNS: Final = 3
"""Columns of `TextCounts`."""


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


class _Pointers(NamedTuple):
    """What all texts of a call are read with, borrowed: counting references to arrays took a quarter of the time."""

    lookups: Any
    """From `borrow_lookups`."""
    vectors: Any
    """A row of `width` elements for each piece."""
    scales: Any
    width: int
    memory: Any
    """From `borrow_memory`."""
    word: Any
    pieces: Any
    pending: Any
    """Of `Scratch`."""


@njit(cache=True, nogil=True, forceinline=True)
def _borrow(table: PieceTable, memory: WordMemory, scratch: Scratch) -> Any:
    """Return what texts are read with; the caller keeps all of it alive."""
    return _Pointers(
        borrow_lookups(table),
        borrow(table.vectors.reshape(-1)),
        borrow(table.scales),
        table.vectors.shape[1],
        borrow_memory(memory),
        borrow(scratch.word),
        borrow(scratch.pieces),
        borrow(scratch.pending),
    )


@njit(cache=True, nogil=True)
def _add_words(model: _Pointers, text: Any, at: int, end: int, most: int, total: Any, counts: Any, column: int) -> int:
    """Add the pieces of up to `most` words to a sum; count them from `column` on, and return where to go on, -1 at the
    end.

    The row of a piece is asked for when the piece is found: it is there when it is added.
    """
    lookups, vectors, scales, width, memory, word, pieces, pending = model
    memo = fold_text(memory, text, at, end)
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
            row = int(pieces[number]) * width
            prefetch_bytes(vectors, row)
            prefetch_bytes(vectors, row + _LINE)
            prefetch_bytes(vectors, row + 2 * _LINE)
        used += count
        if used >= _PIECES_AT_ONCE:
            add_rows(total, vectors, scales, width, pieces, used)
            sum_of_pieces += used
            used = 0
    add_rows(total, vectors, scales, width, pieces, used)
    counts[column] += words
    counts[column + 1] += whole
    counts[column + 2] += sum_of_pieces + used
    return at


@njit(cache=True, nogil=True)
def _add_numbers(
    model: _Pointers,
    numbered: Any,
    at: int,
    inside: int,
    end: int,
    most: int,
    total: Any,
    counts: Any,
    column: int,
) -> tuple[int, int]:
    """Do what `_add_words` does for a text whose words have numbers.

    Return where to go on: -1 at the end, -2 if a word may have been cut; and how much of that word was read.
    """
    lookups, vectors, scales, width, _, word, pieces, _ = model
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
            add_rows(total, vectors, scales, width, pieces, used)
            sum_of_pieces += used
            used = 0
    add_rows(total, vectors, scales, width, pieces, used)
    counts[column] += words
    counts[column + 1] += whole
    counts[column + 2] += sum_of_pieces + used
    return at, inside


@njit(cache=True, nogil=True)
def _embed_numbers(
    model: _Pointers,
    numbered: Any,
    titles: Any,
    bodies: Any,
    document: int,
    limits: Any,
    title: Any,
    total: Any,
    signs: Any,
    used: int,
    counts: Any,
) -> int:
    """Write the vectors of a document whose words have numbers; return how many, -1 if they do not say all of it."""
    width, column = model.width, _COLUMNS * document
    max_title, max_words, max_passages = limits
    clear_sum(title, width)
    at, end = titles[2 * document], titles[2 * document + 1]
    at, inside = _add_numbers(model, numbered, at, 0, end, max_title, title, counts, column)
    if at == -2:
        return -1
    title_pieces = counts[column + 2]
    at, end, inside = bodies[2 * document], bodies[2 * document + 1], 0
    passages = 0
    for number in range(max_passages):
        if at < 0:
            break
        before = counts[column + 2]
        for i in range(width):
            total[i] = title[i]
        at, inside = _add_numbers(model, numbered, at, inside, end, max_words, total, counts, column)
        if at == -2:
            return -1
        if counts[column + 2] > before or (number == 0 and title_pieces > 0):
            write_signs(total, signs, width, used + passages)
            passages += 1
    return passages


@njit(cache=True, nogil=True)
def _embed_text(
    model: _Pointers,
    data: Any,
    titles: Any,
    bodies: Any,
    document: int,
    limits: Any,
    title: Any,
    total: Any,
    signs: Any,
    used: int,
    counts: Any,
) -> int:
    """Write the vectors of a document from its bytes; return how many."""
    width, column, pending = model.width, _COLUMNS * document, model.pending
    max_title, max_words, max_passages = limits
    clear_sum(title, width)
    pending[0] = pending[1] = 0
    _add_words(model, data, titles[2 * document], titles[2 * document + 1], max_title, title, counts, column)
    title_pieces = counts[column + 2]
    at, end = bodies[2 * document], bodies[2 * document + 1]
    pending[0] = pending[1] = 0
    passages = 0
    for number in range(max_passages):
        if at < 0:
            break
        before = counts[column + 2]
        for i in range(width):
            total[i] = title[i]
        at = _add_words(model, data, at, end, max_words, total, counts, column)
        if counts[column + 2] > before or (number == 0 and title_pieces > 0):
            write_signs(total, signs, width, used + passages)
            passages += 1
    return passages


@njit(cache=True, nogil=True, forceinline=True)
def _has_plain_texts(data: Any, titles: Any, bodies: Any, document: int, is_alike: Any) -> bool:
    """Return whether the words of a document have numbers that say all of it."""
    first, end = 2 * document, 2 * document + 1
    return is_plain(data, titles[first], titles[end], is_alike) and is_plain(data, bodies[first], bodies[end], is_alike)


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
    width = table.vectors.shape[1]
    sums = np.empty(width, np.float32), np.empty(width, np.float32)
    return _embed_all(table, data, titles, bodies, limits, memory, texts, signs, rows, counts, _allocate(), sums)


@njit(cache=True, nogil=True)
def _embed_all(
    table: Any,
    data: Any,
    titles: Any,
    bodies: Any,
    limits: Any,
    memory: Any,
    texts: Any,
    signs: Any,
    rows: Any,
    counts: Any,
    scratch: Any,
    sums: Any,
) -> int:
    """Do what `embed_documents` does; what is borrowed here is an argument, and so it lives."""
    model, raw, numbered = _borrow(table, memory, scratch), borrow(data), borrow_texts(texts)
    alike, has_numbers = borrow(texts.is_alike), len(texts.titles) > 0
    title_bytes, body_bytes = borrow(titles.reshape(-1)), borrow(bodies.reshape(-1))
    title_words, body_words = borrow(texts.titles.reshape(-1)), borrow(texts.bodies.reshape(-1))
    out, counted = borrow(signs.reshape(-1)), borrow(counts.reshape(-1))
    title, total = borrow(sums[0]), borrow(sums[1])
    used = 0
    for document in range(len(titles)):
        first, end, column = 2 * document, 2 * document + 1, _COLUMNS * document
        counted[column] = counted[column + 1] = counted[column + 2] = rows[document] = 0
        if title_bytes[first] == title_bytes[end] and body_bytes[first] == body_bytes[end]:
            continue
        passages = np.int64(-1)
        if has_numbers and _has_plain_texts(raw, title_bytes, body_bytes, document, alike):
            passages = _embed_numbers(
                model, numbered, title_words, body_words, document, limits, title, total, out, used, counted
            )
        if passages < 0:
            counted[column] = counted[column + 1] = counted[column + 2] = 0
            passages = _embed_text(
                model, raw, title_bytes, body_bytes, document, limits, title, total, out, used, counted
            )
        rows[document] = passages
        used += passages
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
    _add_text(table, data, out, counts, allocate_memory(table, _QUERY_MEMORY), _allocate())
    length = np.sqrt((out * out).sum())
    if length > 0:
        out[:] = out / length


@njit(cache=True, nogil=True)
def _add_text(table: Any, data: Any, out: Any, counts: Any, memory: Any, scratch: Any) -> None:
    """Add all words of a text; what is borrowed here is an argument, and so it lives."""
    model = _borrow(table, memory, scratch)
    _add_words(model, borrow(data), 0, len(data), len(data), borrow(out), borrow(counts), 0)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    table, data, spans = small_table(), np.frombuffer(b"ab a", np.uint8), np.array([[0, 2]], np.int64)
    signs, rows, counts = np.zeros((2, 1), np.uint8), np.zeros(1, np.int32), np.zeros((1, 3), np.int32)
    memory = allocate_memory(table, _QUERY_MEMORY)
    embed_documents(table, data, spans, spans, (1, 1, 1), memory, no_numbers(), signs, rows, counts)
    embed_text(table, data, np.zeros(8, np.float32), np.zeros(3, np.int32))
