"""Kernels of word pairs: positions of frequent terms, in order, the pairs among them, and lists of their documents."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit, popcount
from periplus.accel.pointers import borrow
from periplus.index.dense_blocks.kernels import (
    are_shared,
    dense_codes,
    dense_documents,
    enter_impacts,
    is_dense,
    read_impact,
)
from periplus.index.kernels.forward_index import DocumentTokens
from periplus.index.kernels.inversion import FIELDS
from periplus.index.kernels.positions import read_positions, skip_positions
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SKIP_STEP,
    long_length,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import (
    TINY_ENTRY,
    PostingsReader,
    enter_block,
    group_offsets,
    make_tiny_postings,
    read_escaped,
)
from periplus.index.kernels.term_dictionary import entry_of_row, read_bounded_varint, write_varint

__all__ = [
    "CURSOR_COLUMNS",
    "MAX_TERMS",
    "expand_list",
    "gather_positions",
    "list_pairs",
    "list_token_pairs",
]

MAX_TERMS = 64
"""Terms among which pairs are looked for: the number of one takes six bits of a key."""
CURSOR_HEADER, CURSOR_BLOCK, CURSOR_POSTINGS, CURSOR_POSITIONS = 0, 1, 2, 3
CURSOR_COLUMNS = 4
"""Columns of a cursor: the next header of a term, the block before it, where its postings and its positions begin."""
_TERM_BITS, _POSITION_BITS = 6, 32
_TERM = MAX_TERMS - 1
_ONE_BYTE = 128
"""Numbers below take one byte."""


@njit(cache=True, nogil=True)
def _gather_block(
    postings: PostingsReader, at: int, stop: int, position: int, prefix: int, term: int, room: Any, keys: Any, used: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write the keys of one block of a term from `used` on; return how many there are then, -1 if there is no room.

    prefix: number of the block's first document. Returned second is the offset after its positions.
    """
    stream, number, escaped = postings.stream, np.int64(0), np.int64(0)
    is_set, begin, left, low, high = is_dense(stream, at, stop), at, np.uint64(0), np.uint64(0), np.uint64(0)
    kind, impacts_at, is_shared = np.int64(0), np.int64(0), False
    if is_set:
        is_shared = are_shared(stream, at)
        left = dense_documents(stream, at)
        low, high = dense_codes(stream, at, popcount(left))
        kind, impacts_at = enter_impacts(stream, at, popcount(left))
    while at < stop:
        if is_set:
            code = np.int64(((low if number < BLOCK // 2 else high) >> np.uint64(2 * (number & 31))) & np.uint64(3))
            offset, mask, number = lowest_bit(left), np.int64(BODY_ONLY), number + 1
            left &= left - np.uint64(1)
            if code == ESCAPED:
                mask, _ = read_impact(stream, kind, impacts_at, escaped)
                escaped += 1
            at = begin if left else stop
        else:
            byte = np.int64(stream[at])
            code, offset, mask = byte >> 6, byte & (BLOCK - 1), np.int64(BODY_ONLY)
            at += 1
            if code == ESCAPED:
                mask, _, at = read_escaped(stream, at)
        size = read_positions(postings, position, code, mask, room)
        if not is_shared or at == stop:
            position = skip_positions(postings.positions, postings.is_packed, position, code, mask)
        if used + size > len(keys):
            return -1, position
        document = (prefix + offset) << (_POSITION_BITS + _TERM_BITS)
        for n in range(size):
            keys[used + n] = document | room[n] << _TERM_BITS | term
        used += size
    return used, position


@njit(cache=True, nogil=True)
def gather_positions(
    postings: PostingsReader,
    entries: npt.NDArray[np.int64],
    cursors: npt.NDArray[np.int64],
    first: int,
    last: int,
    room: npt.NDArray[np.int64],
    keys: npt.NDArray[np.int64],
) -> int:  # pragma: no cover - compiled
    """Read the positions that terms have in some blocks.

    Parameters
        postings, entries: the segment, and rows of its dictionary, of terms that are encoded as bitsets
        cursors: by term, how far it has been read, with the columns CURSOR_*; moved on
        first, last: the first block, and the one after the last
        room: for the positions of one term in one document; further ones are left out
        keys: filled with document (from the first of these blocks on), position and number of the term, by term
    Returns
        how many there are; -1 if there is no room for them
    """
    stream, used = postings.stream, np.int64(0)
    for term in range(len(entries)):
        entry = entry_of_row(entries, term)
        headers, lengths = entry.begin + 2, entry.begin + 2 + entry.headers
        n, block = cursors[term, CURSOR_HEADER], cursors[term, CURSOR_BLOCK]
        at, position = cursors[term, CURSOR_POSTINGS], cursors[term, CURSOR_POSITIONS]
        if n == 0:
            block = np.int64(-1)
            at, position = group_offsets(postings, entry, 0)
        while n < entry.headers:
            head = np.int64(stream[headers + n])
            step = head & 15
            length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
            following = block + (skipped_blocks(head) if step == SKIP_STEP else step + 1)
            if following >= last:
                break
            block = following
            if step == SKIP_STEP:
                at += 1
            else:
                size = long_length(np.int64(stream[at]), postings.sized) - 1 if length == LONG_BLOCK else length
                at, position = enter_block(postings, entry, n, at, position)
                prefix = (block - first) * BLOCK
                used, position = _gather_block(postings, at, at + size + 1, position, prefix, term, room, keys, used)
                if used < 0:
                    return -1
                at += size + 1
            n += 1
        cursors[term, CURSOR_HEADER], cursors[term, CURSOR_BLOCK] = n, block
        cursors[term, CURSOR_POSTINGS], cursors[term, CURSOR_POSITIONS] = at, position
    return used


@njit(cache=True, nogil=True, forceinline=True)
def _varint_size(value: int) -> int:  # pragma: no cover - compiled
    """Return the bytes that a number takes."""
    size = 1
    while value >= 128:
        value >>= 7
        size += 1
    return size


@njit(cache=True, nogil=True, forceinline=True)
def _count_pair(
    pair: int, document: int, last: Any, counted: Any, end: Any, out: Any
) -> None:  # pragma: no cover - compiled
    """Count a document of a pair, unless it is the one that was counted last, and write it if the pair is listed."""
    step = document - last[pair]
    if step:
        last[pair] = document
        counted[pair] += 1 if step < _ONE_BYTE else _varint_size(step)
        at = end[pair]
        if at >= 0:
            end[pair] = write_varint(out, at, step)


@njit(cache=True, nogil=True)
def list_pairs(
    keys: npt.NDArray[np.int64],
    first: int,
    last: npt.NDArray[np.int64],
    counted: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> None:  # pragma: no cover - compiled
    """Count the documents of each pair, and write those of pairs that are listed.

    Parameters
        keys: as those of `gather_positions`, ascending
        first: number of the document that is 0 in them
        last: by both terms, the document that was counted last, -1 at first; written
        counted: by both terms, the bytes of their list; added to
        end: by both terms, where their list ends so far, moved on; -1 for pairs that are not listed
        out: filled with the steps from document to document
    """
    terms, last_of, counted_of, end_of = last.shape[1], last.reshape(-1), counted.reshape(-1), end.reshape(-1)
    for i in range(len(keys)):
        place = keys[i] >> _TERM_BITS
        n = i + 1
        while n < len(keys) and keys[n] >> _TERM_BITS <= place + 1:
            if keys[n] >> _TERM_BITS == place + 1:
                document = first + (place >> _POSITION_BITS)
                pair = (keys[i] & _TERM) * terms + (keys[n] & _TERM)
                _count_pair(pair, document, last_of, counted_of, end_of, out)
            n += 1


@njit(cache=True, nogil=True)
def _find_pairs(
    words: Any, lengths: Any, at: int, numbers: Any, most: int, in_document: Any, terms: int, found: Any
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Find the pairs of a document; return how many there are, and at how many positions these terms are.

    Parameters
        words, at, lengths: tokens, where those of the document begin, and how many each field has
        numbers: of each word the number of its term, or -1
        most: positions of a term that are read
        in_document: how many there were, by term, all 0
        terms: how many terms there are
        found: receives the number of the first term of each pair, times `terms`, plus that of the second
    """
    pairs, positions = 0, 0
    is_long = lengths.sum() > most
    for field in range(len(lengths)):
        before = np.int64(-1)
        for place in range(at, at + lengths[field]):  # Without branches: nobody can tell which words are frequent.
            number = np.int64(numbers[np.uint64(words[place])])
            if is_long and number >= 0:
                in_document[number] += 1
                number = number if in_document[number] <= most else np.int64(-1)
            found[pairs] = before * terms + number
            pairs += 1 + ((before | number) >> 63)
            positions += 1 + (number >> 63)
            before = number
        at += lengths[field]
    return pairs, positions


@njit(cache=True, nogil=True)
def list_token_pairs(
    texts: DocumentTokens,
    numbers: npt.NDArray[np.int8],
    limits: tuple[int, int],
    last: npt.NDArray[np.int64],
    counted: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint8],
) -> bool:  # pragma: no cover - compiled
    """Do the same for all documents of a build, from their tokens: nothing has to be sorted.

    Parameters
        texts: the documents
        numbers: of each word the number of its term, -1 for those that are not among the most frequent
        limits: positions of a term in a document that are read, and positions of all in a block
        last, counted, end, out: as for `list_pairs`
    Returns
        whether no block has more positions
    """
    longest = np.int64(0)
    for document in range(len(texts.begin)):
        longest = max(longest, texts.lengths[document].sum())
    room = np.empty(longest + 1, np.int16), np.zeros(MAX_TERMS, np.int64)
    by_pair = last.reshape(-1), counted.reshape(-1), end.reshape(-1)
    return _list_token_pairs(texts, numbers, limits, last.shape[1], by_pair, out, room)


@njit(cache=True, nogil=True)
def _list_token_pairs(
    texts: DocumentTokens, numbers: Any, limits: tuple[int, int], terms: int, by_pair: Any, out: Any, room: Any
) -> bool:  # pragma: no cover - compiled
    """Do what `list_token_pairs` does; what is borrowed here is an argument, and so it lives."""
    words, lengths, number_of = borrow(texts.words), texts.lengths, borrow(numbers)
    last, counted, end = borrow(by_pair[0]), borrow(by_pair[1]), borrow(by_pair[2])
    found, in_document, lists = borrow(room[0]), room[1], borrow(out)
    in_block = 0
    for document in range(len(texts.begin)):
        if document % BLOCK == 0:
            in_block = 0
        in_document[:] = 0
        at = texts.begin[document]
        pairs, positions = _find_pairs(words, lengths[document], at, number_of, limits[0], in_document, terms, found)
        for i in range(pairs):
            _count_pair(np.int64(found[i]), document, last, counted, end, lists)
        in_block += positions
        if in_block > limits[1]:
            return False
    return True


@njit(cache=True, nogil=True)
def expand_list(
    lists: npt.NDArray[np.uint8], begin: int, end: int, sets: npt.NDArray[np.uint64]
) -> None:  # pragma: no cover - compiled
    """Add the documents of a list to sets by block; a damaged list ends where it leads to no document.

    Parameters
        lists, begin, end: lists of documents, and where that of a pair begins and ends
        sets: a 64-bit word for each block
    """
    document, at = np.int64(-1), np.int64(begin)
    while at < end:
        step, at = read_bounded_varint(lists, at, end)
        if at <= 0 or step <= 0:
            return
        document += step
        if document >> 6 >= len(sets):
            return
        sets[document >> 6] |= np.uint64(1) << np.uint64(document & (BLOCK - 1))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    keys = np.zeros(8, np.int64)
    entries = np.array([TINY_ENTRY], np.int64)
    gather_positions(
        make_tiny_postings(), entries[:0], np.zeros((0, CURSOR_COLUMNS), np.int64), 0, 1, keys, keys.copy()
    )
    table = np.full((1, 1), -1, np.int64)
    lists = np.zeros(8, np.uint8)
    list_pairs(keys[:0], 0, table, table.copy(), table.copy(), lists)
    tokens = np.zeros(1, np.int32)
    tokens.flags.writeable = False
    texts = DocumentTokens(tokens, np.zeros(1, np.int64), np.eye(1, FIELDS, dtype=np.int32))
    list_token_pairs(texts, np.full(1, -1, np.int8), (1, 1), table, table.copy(), table.copy(), lists)
    for part in (lists, lists.copy()):
        part.flags.writeable = part is not lists
        expand_list(part, 0, 0, np.zeros(1, np.uint64))
