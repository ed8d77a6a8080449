"""Tokens in the order of their terms to postings: weigh, quantise, cut into blocks.

A position is a 32-bit number: the field in the upper 3 bits, the place within the field in the lower 29.
A posting is one document that has a term. How postings are written is in `pack`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY,
    FAT,
    IS_SPARSE,
    IS_WIDE,
    LONG,
    Gathered,
    count_groups,
    kind_of,
    posting_length,
    put_blocks,
    put_sparse,
)
from periplus.index.kernels.term_dictionary import put_number

__all__ = [
    "BLOCK",
    "FIELDS",
    "FIELD_SHIFT",
    "LEVELS",
    "SHORT",
    "Postings",
    "Sorted",
    "build_postings",
    "count_postings",
    "make_room",
]

FIELDS = 6
FIELD_SHIFT = 29
LEVELS = 255
"""Impacts are 1..LEVELS; LEVELS is a term weight of 1."""
SHORT = 192
"""Numbers of positions below this take one byte."""
_IN_BODY = np.uint32(FIELDS - 1) << np.uint32(FIELD_SHIFT)
"""Positions from here on are in the body."""


class Sorted(NamedTuple):
    """Tokens in the order of their terms; within a term by document, then position."""

    starts: npt.NDArray[np.int64]
    """Where each term's tokens begin; one more than there are terms."""
    documents: npt.NDArray[np.int32]
    positions: npt.NDArray[np.uint32]


class Postings(NamedTuple):
    """What `build_postings` fills. Lengths come from `count_postings`; arrays are cut to what was used."""

    frequency: npt.NDArray[np.int32]
    """Documents of each term, from `count_postings`."""
    stream_end: npt.NDArray[np.int64]
    """Where each term's postings end in `stream`."""
    position_end: npt.NDArray[np.int64]
    """Where each term's positions end in `positions`."""
    kind: npt.NDArray[np.uint8]
    """How it is written: sparse, middling or wide."""
    row: npt.NDArray[np.int32]
    """The first of its rows in `groups`."""
    heads: npt.NDArray[np.int32]
    """Its block bytes; 0 for a sparse term."""
    stream: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    groups: npt.NDArray[np.uint32]
    """Before every 32 block bytes (16 of a wide term): the block (from 1), bytes of postings, bytes of positions."""
    wide: npt.NDArray[np.int64]
    """Of each wide term: where its postings begin, and its block bytes."""
    plain_impact: npt.NDArray[np.uint8]
    """By block, occurrences less one (0 to 2) and offset: the impact of a term that is in the body only."""


@njit(cache=True, nogil=True)
def count_postings(
    tokens: Sorted, documents: int, frequencies: npt.NDArray[np.int32]
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Fill `frequencies`; give how many postings there will be, bytes and groups at most, and wide terms."""
    postings, size, groups, wide = 0, 0, 0, 0
    far = documents // BLOCK // 15 + 1
    for term in range(len(tokens.starts) - 1):
        last, frequency = -1, 0
        for at in range(tokens.starts[term], tokens.starts[term + 1]):
            frequency += tokens.documents[at] != last
            last = tokens.documents[at]
        kind = kind_of(frequency, documents)
        frequencies[term] = frequency
        postings += frequency
        size += 7 * frequency
        if kind != IS_SPARSE:
            size += 2 * far + 8
            groups += count_groups(frequency + far, kind)
        wide += kind == IS_WIDE
    return postings, size, groups, wide


@njit(cache=True, nogil=True, forceinline=True)
def _put_place(out: npt.NDArray[np.uint8], at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a number of a position: one byte below SHORT, two below SHORT + 63 * 256, else 255 and a long form."""
    if value < SHORT:
        out[at] = np.uint8(value)
        return at + 1
    value -= SHORT
    if value < (255 - SHORT) * 256:
        out[at] = np.uint8(SHORT + (value >> 8))
        out[at + 1] = np.uint8(value & 255)
        return at + 2
    out[at] = np.uint8(255)
    return put_number(out, at + 1, value)


@njit(cache=True, nogil=True, forceinline=True)
def _impact(weight: float, k1: float) -> int:  # pragma: no cover - compiled
    """Quantise a term weight, upwards."""
    return max(1, min(LEVELS, int(np.ceil(LEVELS * weight / (k1 + weight)))))


@njit(cache=True, nogil=True, forceinline=True)
def _put_places(
    tokens: Sorted, begin: Any, end: Any, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write places of one field: the first, then differences."""
    before = np.int64(0)
    for i in range(begin, end):
        place = np.int64(tokens.positions[i] & np.uint32((1 << FIELD_SHIFT) - 1))
        at = _put_place(out, at, place - before)
        before = place
    return at


@njit(cache=True, nogil=True)
def _put_fields(
    tokens: Sorted, begin: Any, end: Any, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write the positions of a posting that is not plain, field by field with a count."""
    while begin < end:
        field = tokens.positions[begin] >> np.uint32(FIELD_SHIFT)
        stop = begin
        while stop < end and tokens.positions[stop] >> np.uint32(FIELD_SHIFT) == field:
            stop += np.uint64(1)
        at = _put_place(out, at, np.int64(stop - begin))
        at = _put_places(tokens, begin, stop, out, at)
        begin = stop
    return at


@njit(cache=True, nogil=True)
def _note_size(positions: Any, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """Put the size of a block's positions before them; give where they end then."""
    length = end - begin
    space = _put_place(positions, end, length) - end  # Written behind them only to see how long it is.
    for at in range(end - 1, begin - 1, -1):
        positions[at + space] = positions[at]
    _put_place(positions, begin, length)
    return end + space


@njit(cache=True, nogil=True)
def _gather(
    tokens: Sorted,
    term: int,
    kind: int,
    scale: Any,
    k1: float,
    plain_impact: Any,
    out: Gathered,
    positions: Any,
    begin: int,
) -> int:  # pragma: no cover - compiled
    """Put one term's postings into `out`, and its positions into `positions` from `begin`; give how many postings."""
    at, end, count = np.uint64(tokens.starts[term]), np.uint64(tokens.starts[term + 1]), np.uint64(0)
    at_position = begin
    block, length, block_position = np.int64(-1), 0, begin
    while at < end:
        document = np.int64(tokens.documents[at])
        if document // BLOCK != block:
            if length > LONG and kind != IS_SPARSE:
                at_position = _note_size(positions, block_position, at_position)
            block, length, block_position = document // BLOCK, 0, at_position
        first = at
        at += np.uint64(1)
        while at < end and tokens.documents[at] == document:
            at += np.uint64(1)
        times = np.int64(at - first)
        out.document[count] = document
        out.position[count] = at_position - begin
        if times <= FAT and tokens.positions[first] >= _IN_BODY:  # The body is the last field: it is in no other.
            at_position = _put_places(tokens, first, at, positions, at_position)
            out.impact[count] = plain_impact[np.uint64((block * FAT + times - 1) * BLOCK + document % BLOCK)]
            out.code[count] = times - 1
            out.mask[count] = BODY
        else:
            mask, weight = 0, 0.0
            for i in range(first, at):
                field = tokens.positions[i] >> np.uint32(FIELD_SHIFT)
                mask |= 1 << field
                weight += np.float64(scale[document, field])
            at_position = _put_fields(tokens, first, at, positions, at_position)
            out.impact[count] = _impact(weight, k1)
            out.code[count] = FAT
            out.mask[count] = mask
        length += posting_length(out.code[count], out.mask[count])
        count += np.uint64(1)
    if length > LONG and kind != IS_SPARSE:
        at_position = _note_size(positions, block_position, at_position)
    out.position[count] = at_position - begin
    return np.int64(count)


@njit(cache=True, nogil=True)
def _fill_plain(scale: Any, k1: float, out: Any) -> None:  # pragma: no cover - compiled
    """Work out the impact of one to three occurrences in the body of each document."""
    for document in range(len(scale)):
        weight = 0.0
        for times in range(FAT):
            weight += np.float64(scale[document, FIELDS - 1])
            out[(document // BLOCK * FAT + times) * BLOCK + document % BLOCK] = _impact(weight, k1)


@njit(cache=True, nogil=True)
def build_postings(
    tokens: Sorted, scale: npt.NDArray[np.float32], k1: float, out: Postings
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Fill `out`; give how many bytes of stream and positions and how many groups were used.

    scale: what one occurrence counts, by document and field (BM25F weight over length norm).
    """
    documents = len(scale)
    blocks = -(-documents // BLOCK)
    _fill_plain(scale, k1, out.plain_impact)
    gathered = Gathered(
        np.empty(documents, np.int32),
        np.empty(documents, np.uint8),
        np.empty(documents, np.uint8),
        np.empty(documents, np.uint8),
        np.empty(documents + 1, np.int64),
        np.empty(blocks, np.int64),
        np.empty(blocks, np.int32),
        np.empty(blocks, np.uint8),
    )
    at, at_position, group, wide = 0, 0, 0, 0
    for term in range(len(tokens.starts) - 1):
        kind = kind_of(out.frequency[term], documents)
        count = _gather(tokens, term, kind, scale, k1, out.plain_impact, gathered, out.positions, at_position)
        at_position += gathered.position[count]
        out.row[term], out.heads[term] = 0, 0
        if kind == IS_SPARSE:
            at = put_sparse(gathered, count, out.stream, at)
        else:
            begin = at
            at, heads = put_blocks(gathered, count, kind, out.stream, at, out.groups, group)
            out.row[term], out.heads[term] = group, heads
            group += count_groups(heads, kind)
            if kind == IS_WIDE:
                out.wide[wide, 0], out.wide[wide, 1] = begin, heads
                wide += 1
        out.kind[term] = kind
        out.stream_end[term] = at
        out.position_end[term] = at_position
    return at, at_position, group


def make_room(tokens: Sorted, documents: int) -> Postings:
    """Make arrays for `build_postings`, as large as they can ever get; memory that is not touched is not taken."""
    terms = len(tokens.starts) - 1
    frequencies = np.zeros(terms, np.int32)
    postings, size, groups, wide = count_postings(tokens, documents, frequencies)
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
        np.zeros((wide, 2), np.int64),
        np.zeros(blocks * FAT * BLOCK, np.uint8),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    tokens = Sorted(np.array([0, 1], np.int64), np.zeros(1, np.int32), np.zeros(1, np.uint32))
    build_postings(tokens, np.ones((1, FIELDS), np.float32), 1.2, make_room(tokens, 1))
