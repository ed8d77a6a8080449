"""Inverts tokens in the order of their terms: weighs and quantizes postings, and encodes them.

A position is a 32-bit number: the field in the upper 3 bits, the offset within the field in the lower 29.
A posting is one document that has a term. How postings are encoded is in `postings_format`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SHARED,
    SPARSE,
    TermPostings,
    choose_encoding,
    group_count,
    posting_size,
    sized_first,
    write_blocked,
)
from periplus.index.position_lists.kernels import write_list, write_position_delta
from periplus.index.sparse_postings.kernels import write_sparse

__all__ = [
    "BLOCK",
    "BODY_FIELD",
    "FIELDS",
    "FIELD_SHIFT",
    "MAX_IMPACT",
    "Postings",
    "SortedTokens",
    "allocate_postings",
    "build_postings",
    "count_postings",
]

FIELDS = 7
BODY_FIELD = 5
"""The field of the body. Only the boilerplate has a higher number."""
FIELD_SHIFT = 29
"""A position shifted right by this many bits is its field."""
MAX_IMPACT = 255
"""Impacts are 1 to MAX_IMPACT, which is a term weight of 1: one byte each."""
_OFFSET = (1 << FIELD_SHIFT) - 1
"""The bits of a position that are its offset in its field."""
_MASKED = 4
"""The bytes of a posting, in a block, that is not in the body only."""
_IN_BODY = np.uint32(BODY_FIELD) << np.uint32(FIELD_SHIFT)
_AFTER_BODY = np.uint32(BODY_FIELD + 1) << np.uint32(FIELD_SHIFT)
"""Positions from the first up to, not including, the second are in the body."""


class SortedTokens(NamedTuple):
    """Tokens in the order of their terms; within a term by document, then position."""

    starts: npt.NDArray[np.int64]
    """Where each term's tokens begin; one more than there are terms."""
    documents: npt.NDArray[np.int32]
    positions: npt.NDArray[np.uint32]


class Postings(NamedTuple):
    """The encoded postings of some terms, filled by `build_postings`."""

    frequency: npt.NDArray[np.int32]
    """Documents of each term, from `count_postings`."""
    stream_end: npt.NDArray[np.int64]
    """Where each term's postings end in `stream`."""
    position_end: npt.NDArray[np.int64]
    """Where each term's positions end in `positions`."""
    encoding: npt.NDArray[np.uint8]
    """How they are encoded: SPARSE, BLOCKED or BITSET."""
    first_group: npt.NDArray[np.int32]
    """Its first row in `groups`."""
    headers: npt.NDArray[np.int32]
    """How many block headers it has; 0 if sparse."""
    stream: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    groups: npt.NDArray[np.uint32]
    """Skip entries, one for every 32 headers (16 of a bitset): block (from 1), bytes of postings and of positions."""
    bitset_terms: npt.NDArray[np.int64]
    """Of each term encoded as a bitset: where its postings begin, and how many headers it has."""
    plain_impact: npt.NDArray[np.uint8]
    """The impact of one to three occurrences in the body alone, by block, occurrences less one, and offset."""


@njit(cache=True, nogil=True)
def count_postings(
    tokens: SortedTokens, documents: int, frequencies: npt.NDArray[np.int32]
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Count postings, so that arrays for them can be allocated.

    Parameters
        tokens: the tokens of some terms
        documents: how many documents the segment has
        frequencies: documents by term; filled
    Returns
        how many postings, at most how many bytes and groups, and how many terms with bitsets there are
    """
    postings, size, groups, bitset_count = 0, 0, 0, 0
    skips = documents // BLOCK // 15 + 1
    for term in range(len(tokens.starts) - 1):
        last, frequency = -1, 0
        for at in range(tokens.starts[term], tokens.starts[term + 1]):
            frequency += tokens.documents[at] != last
            last = tokens.documents[at]
        encoding = choose_encoding(frequency, documents)
        frequencies[term] = frequency
        postings += frequency
        size += 7 * frequency
        if encoding != SPARSE:
            size += 2 * skips + 8
            groups += group_count(frequency + skips, encoding)
        bitset_count += encoding == BITSET
    return postings, size, groups, bitset_count


@njit(cache=True, nogil=True, forceinline=True)
def _impact(weight: float, k1: float) -> int:  # pragma: no cover - compiled
    """Return the impact of a term weight, rounded up."""
    return max(1, min(MAX_IMPACT, int(np.ceil(MAX_IMPACT * weight / (k1 + weight)))))


@njit(cache=True, nogil=True, forceinline=True)
def _write_positions(
    tokens: SortedTokens, begin: Any, end: Any, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write the positions of one field: the first, then deltas; return the offset after them."""
    before = np.int64(0)
    for i in range(begin, end):
        offset = np.int64(tokens.positions[i] & np.uint32(_OFFSET))
        at = write_position_delta(out, at, offset - before)
        before = offset
    return at


@njit(cache=True, nogil=True)
def _write_fields(
    tokens: SortedTokens, begin: Any, end: Any, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write the positions of an escaped posting, field by field, packed."""
    while begin < end:
        field = tokens.positions[begin] >> np.uint32(FIELD_SHIFT)
        stop = begin
        while stop < end and tokens.positions[stop] >> np.uint32(FIELD_SHIFT) == field:
            stop += np.uint64(1)
        at = write_list(tokens.positions, begin, stop, np.uint32(_OFFSET), out, at)
        begin = stop
    return at


@njit(cache=True, nogil=True)
def _insert_size(positions: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Insert the size of a block's positions before them; return where they end then."""
    block_size = end - begin
    space = write_position_delta(positions, end, block_size) - end  # Written behind them only to see how long it is.
    for at in range(end - 1, begin - 1, -1):
        positions[at + space] = positions[at]
    write_position_delta(positions, begin, block_size)
    return end + space


@njit(cache=True, nogil=True)
def _are_same(
    out: TermPostings, first: Any, count: Any, positions: Any, begin: int, end: int
) -> bool:  # pragma: no cover - compiled
    """Return whether all documents of a block have a posting in the same fields, with the same positions.

    Parameters
        out, first, count: postings; those of the block begin at `first`, and there are `count` in all
        positions, begin, end: the positions of the block
    """
    size = (end - begin) // BLOCK
    if np.int64(count - first) != BLOCK or size * BLOCK != end - begin:
        return False
    for i in range(first + np.uint64(1), count):
        if out.mask[i] != out.mask[first] or out.position[i] - out.position[i - np.uint64(1)] != size:
            return False
    at = begin + size
    while at < end and positions[at] == positions[at - size]:
        at += 1
    return bool(at == end)


@njit(cache=True, nogil=True)
def _end_block(
    out: TermPostings, block: int, first: Any, count: Any, size: int, positions: Any, begin: int, end: int
) -> int:  # pragma: no cover - compiled
    """Note, or insert, the size of the positions of a block that is not sparse; return where they end then.

    Parameters
        out, block: postings, and how many blocks are before this one
        first, count: its first posting, and how many there are up to its end
        size: the bytes of its postings, if it is not dense
        positions, begin, end: its positions
    """
    out.block_first[block] = 0
    if size <= LONG_BLOCK:
        return end
    if size == BLOCK * _MASKED and _are_same(out, first, count, positions, begin, end):
        out.block_first[block] = SHARED
        return _insert_size(positions, begin, begin + (end - begin) // BLOCK)
    out.block_first[block] = sized_first(size, end - begin)
    return end if out.block_first[block] else _insert_size(positions, begin, end)


@njit(cache=True, nogil=True)
def _collect(
    tokens: SortedTokens,
    term: int,
    encoding: int,
    scale: Any,
    k1: float,
    plain_impact: Any,
    out: TermPostings,
    positions: Any,
    begin: int,
) -> int:  # pragma: no cover - compiled
    """Collect the postings of a term in `out`, and write its positions from `begin` on; return how many postings."""
    at, end, count = np.uint64(tokens.starts[term]), np.uint64(tokens.starts[term + 1]), np.uint64(0)
    at_position = begin
    block, block_size, block_position, block_begin, blocks = np.int64(-1), 0, begin, count, 0
    while at < end:
        document = np.int64(tokens.documents[at])
        if document // BLOCK != block:
            if block_size and encoding != SPARSE:
                at_position = _end_block(
                    out, blocks, block_begin, count, block_size, positions, block_position, at_position
                )
                blocks += 1
            block, block_size, block_position, block_begin = document // BLOCK, 0, at_position, count
        first = at
        at += np.uint64(1)
        while at < end and tokens.documents[at] == document:
            at += np.uint64(1)
        times = np.int64(at - first)
        out.document[count] = document
        out.position[count] = at_position - begin
        is_short = times <= ESCAPED and tokens.positions[first] >= _IN_BODY
        if is_short and tokens.positions[at - np.uint64(1)] < _AFTER_BODY:  # Positions ascend: all are in the body.
            at_position = _write_positions(tokens, first, at, positions, at_position)
            out.impact[count] = plain_impact[np.uint64((block * ESCAPED + times - 1) * BLOCK + document % BLOCK)]
            out.code[count] = times - 1
            out.mask[count] = BODY_ONLY
        else:
            mask, weight = 0, 0.0
            for i in range(first, at):
                field = np.int64(tokens.positions[i] >> np.uint32(FIELD_SHIFT))
                mask |= 1 << field
                weight += np.float64(scale[document * FIELDS + field])
            at_position = _write_fields(tokens, first, at, positions, at_position)
            out.impact[count] = _impact(weight, k1)
            out.code[count] = ESCAPED
            out.mask[count] = mask
        block_size += posting_size(out.code[count], out.mask[count])
        count += np.uint64(1)
    if block_size and encoding != SPARSE:
        at_position = _end_block(out, blocks, block_begin, count, block_size, positions, block_position, at_position)
    out.position[count] = at_position - begin
    return np.int64(count)


@njit(cache=True, nogil=True)
def _fill_plain_impacts(scale: Any, k1: float, out: Any) -> None:  # pragma: no cover - compiled
    """Compute the impact of one to three occurrences in the body of each document."""
    for document in range(len(scale)):
        weight = 0.0
        for times in range(ESCAPED):
            weight += np.float64(scale[document, BODY_FIELD])
            out[(document // BLOCK * ESCAPED + times) * BLOCK + document % BLOCK] = _impact(weight, k1)


@njit(cache=True, nogil=True)
def build_postings(
    tokens: SortedTokens, scale: npt.NDArray[np.float32], k1: float, out: Postings
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Encode the postings of some terms.

    Parameters
        tokens: their tokens
        scale: weight of one occurrence by document and field (BM25F weight over length norm)
        k1: saturation of BM25
        out: arrays from `allocate_postings`; filled
    Returns
        how many bytes of `stream` and of `positions`, and how many rows of `groups` were used
    """
    documents = len(scale)
    blocks = -(-documents // BLOCK)
    _fill_plain_impacts(scale, k1, out.plain_impact)
    collected = TermPostings(
        np.empty(documents, np.int32),
        np.empty(documents, np.uint8),
        np.empty(documents, np.uint8),
        np.empty(documents, np.uint8),
        np.empty(documents + 1, np.int64),
        np.empty(blocks, np.int64),
        np.empty(blocks, np.int32),
        np.empty(blocks, np.uint8),
        np.empty(blocks, np.int8),
        np.empty(blocks, np.uint8),
    )
    return _build(tokens, scale.reshape(-1), k1, out, out.groups.reshape(-1), out.bitset_terms.reshape(-1), collected)


@njit(cache=True, nogil=True)
def _build(
    all_tokens: SortedTokens, weights: Any, k1: float, out: Postings, rows: Any, bitset_rows: Any, room: TermPostings
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Do what `build_postings` does; what is borrowed here is an argument, and so it lives.

    With arrays, half of the time was counting references to them.
    """
    terms, documents = len(all_tokens.starts) - 1, len(weights) // FIELDS
    tokens = SortedTokens(borrow(all_tokens.starts), borrow(all_tokens.documents), borrow(all_tokens.positions))
    collected = TermPostings(
        borrow(room.document),
        borrow(room.code),
        borrow(room.mask),
        borrow(room.impact),
        borrow(room.position),
        borrow(room.block_end),
        borrow(room.block_size),
        borrow(room.block_max),
        borrow(room.block_kind),
        borrow(room.block_first),
    )
    scale, plain_impact, stream = borrow(weights), borrow(out.plain_impact), borrow(out.stream)
    positions, groups, bitset_terms = borrow(out.positions), borrow(rows), borrow(bitset_rows)
    at, at_position, group, bitset_count = 0, 0, 0, 0
    for term in range(terms):
        encoding = choose_encoding(out.frequency[term], documents)
        count = _collect(tokens, term, encoding, scale, k1, plain_impact, collected, positions, at_position)
        at_position += collected.position[count]
        out.first_group[term], out.headers[term] = 0, 0
        if encoding == SPARSE:
            at = write_sparse(collected, count, -(-documents // BLOCK), stream, at)
        else:
            begin = at
            at, headers = write_blocked(collected, count, encoding, stream, at, groups, group)
            out.first_group[term], out.headers[term] = group, headers
            group += group_count(headers, encoding)
            if encoding == BITSET:
                bitset_terms[2 * bitset_count], bitset_terms[2 * bitset_count + 1] = begin, headers
                bitset_count += 1
        out.encoding[term] = encoding
        out.stream_end[term] = at
        out.position_end[term] = at_position
    return at, at_position, group


def allocate_postings(tokens: SortedTokens, documents: int) -> Postings:
    """Return arrays for `build_postings`, as large as they can get; the system provides memory as it is touched."""
    terms = len(tokens.starts) - 1
    frequencies = np.zeros(terms, np.int32)
    postings, size, groups, bitset_count = count_postings(tokens, documents, frequencies)
    blocks = -(-documents // BLOCK)
    return Postings(
        frequencies,
        np.zeros(terms, np.int64),
        np.zeros(terms, np.int64),
        np.zeros(terms, np.uint8),
        np.zeros(terms, np.int32),
        np.zeros(terms, np.int32),
        np.empty(size, np.uint8),
        np.empty(6 * len(tokens.documents) + (2 * FIELDS + 6) * postings + 8, np.uint8),
        np.empty((groups, 3), np.uint32),
        np.zeros((bitset_count, 2), np.int64),
        np.zeros(blocks * ESCAPED * BLOCK, np.uint8),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    tokens = SortedTokens(np.array([0, 1], np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint32))
    build_postings(tokens, np.ones((1, FIELDS), np.float32), 1.2, allocate_postings(tokens, 1))
