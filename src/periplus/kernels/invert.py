"""Tokens to postings: sort by term, weigh, quantise, cut into blocks.

A position is a 32-bit number: the field in the upper 3 bits, the place within the field in the lower 29.
A block is BLOCK neighbouring documents. An entry is one term in one block; a posting is one document of it. How they
are packed is drawn in docs/formats/segment.md: most postings are one byte, most entries two or three.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.lexicon import put_number

__all__ = [
    "BLOCK",
    "DENSE",
    "FIELDS",
    "FIELD_SHIFT",
    "GROUP",
    "LEVELS",
    "PLAIN",
    "SHORT",
    "Postings",
    "Sorted",
    "build_postings",
    "count_postings",
    "is_dense",
    "room",
    "sort_tokens",
]

BLOCK = 64
"""Documents in a block: their set is one 64-bit word."""
FIELDS = 6
FIELD_SHIFT = 29
LEVELS = 255
"""Impacts are 1..LEVELS; LEVELS is a term weight of 1."""
PLAIN = 3
"""A posting in the body only, with up to this many occurrences, is one byte; its impact is looked up."""
GROUP = 16
"""Entries whose positions' size is noted together."""
SHORT = 192
"""Numbers of positions below this take one byte."""
DENSE = 8
"""Terms with at least this many postings a block on average are dense."""


class Sorted(NamedTuple):
    """Tokens in the order of their terms; within a term by document, then position."""

    starts: npt.NDArray[np.int64]
    """Where each term's tokens begin; one more than there are terms."""
    documents: npt.NDArray[np.int32]
    positions: npt.NDArray[np.uint32]


class Postings(NamedTuple):
    """What `build_postings` fills. Lengths come from `count_postings`; the byte arrays are cut to what was used."""

    frequency: npt.NDArray[np.int32]
    """Documents of each term."""
    stream_end: npt.NDArray[np.int64]
    """Where each term's entries end in `stream`; for a dense term, where the one before ends."""
    size_end: npt.NDArray[np.int64]
    """Where each term's sizes end in `sizes`."""
    position_end: npt.NDArray[np.int64]
    """Where each term's positions end in `positions`."""
    row: npt.NDArray[np.int32]
    """A dense term's row in the dense arrays, -1 for others."""
    stream: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    dense_max: npt.NDArray[np.uint8]
    """By row and block: the highest impact, 0 where the term is not."""
    dense_start: npt.NDArray[np.uint32]
    """By row and block: where the block's postings begin in `stream`; one more than there are blocks."""
    dense_position: npt.NDArray[np.uint32]
    """By row and block: where the block's positions begin in `positions`; one more than there are blocks."""
    plain_impact: npt.NDArray[np.uint8]
    """By block, occurrences less one (0 to 2) and offset: the impact of a term that is in the body only."""


@njit(cache=True, nogil=True)
def sort_tokens(
    terms: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32], count: int
) -> Sorted:  # pragma: no cover - compiled
    """Sort tokens (in the order documents, fields, places; `lengths` by document and field) by their terms."""
    starts = np.zeros(count + 1, np.int64)
    for term in terms:
        starts[term + 1] += 1
    for term in range(count):
        starts[term + 1] += starts[term]
    place = starts[:-1].copy()
    documents = np.empty(len(terms), np.int32)
    positions = np.empty(len(terms), np.uint32)
    token = 0
    for text in range(len(lengths)):
        tag = np.uint32(text % FIELDS) << np.uint32(FIELD_SHIFT)
        for i in range(lengths[text]):
            at = place[terms[token]]
            place[terms[token]] = at + 1
            documents[at] = text // FIELDS
            positions[at] = tag | np.uint32(i)
            token += 1
    return Sorted(starts, documents, positions)


@njit(cache=True, nogil=True)
def count_postings(tokens: Sorted, documents: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Give how many postings, block entries and dense terms there will be."""
    postings, entries, dense = 0, 0, 0
    for term in range(len(tokens.starts) - 1):
        last, frequency = -1, 0
        for at in range(tokens.starts[term], tokens.starts[term + 1]):
            document = tokens.documents[at]
            if document != last:
                frequency += 1
                entries += last < 0 or document // BLOCK != last // BLOCK
                last = document
        postings += frequency
        dense += is_dense(frequency, documents)
    return postings, entries, dense


@njit(cache=True, nogil=True)
def is_dense(frequency: int, documents: int) -> bool:  # pragma: no cover - compiled
    """Say whether a term is in so many documents that its blocks are kept as plain arrays."""
    return documents >= 4 * BLOCK and frequency * BLOCK >= DENSE * documents


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _impact(weight: float, k1: float) -> int:  # pragma: no cover - compiled
    """Quantise a term weight, upwards."""
    return max(1, min(LEVELS, int(np.ceil(LEVELS * weight / (k1 + weight)))))


@njit(cache=True, nogil=True)
def _put_positions(
    tokens: Sorted, begin: int, end: int, plain: bool, out: npt.NDArray[np.uint8], at: int
) -> int:  # pragma: no cover - compiled
    """Write one posting's positions: places and differences; field by field with a count unless it is plain."""
    i = begin
    while i < end:
        field = tokens.positions[i] >> np.uint32(FIELD_SHIFT)
        stop = i
        while stop < end and tokens.positions[stop] >> np.uint32(FIELD_SHIFT) == field:
            stop += 1
        if not plain:
            at = _put_place(out, at, stop - i)
        before = np.int64(0)
        while i < stop:
            place = np.int64(tokens.positions[i] & np.uint32((1 << FIELD_SHIFT) - 1))
            at = _put_place(out, at, place - before)
            before = place
            i += 1
    return at


@njit(cache=True, nogil=True)
def build_postings(
    tokens: Sorted, scale: npt.NDArray[np.float32], k1: float, out: Postings
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Fill `out`; give how many bytes of stream, sizes and positions were used.

    scale: what one occurrence counts, by document and field (BM25F weight over length norm).
    """
    documents = len(scale)
    for document in range(documents):
        weight = 0.0
        for times in range(PLAIN):
            weight += np.float64(scale[document, FIELDS - 1])
            place = (document // BLOCK * PLAIN + times) * BLOCK + document % BLOCK
            out.plain_impact[place] = _impact(weight, k1)
    at_stream, at_size, at_position, row = 0, 0, 0, 0
    packed = np.empty(BLOCK * 3, np.uint8)
    for term in range(len(tokens.starts) - 1):
        at, end = tokens.starts[term], tokens.starts[term + 1]
        frequency, last = 0, -1
        for i in range(at, end):
            frequency += tokens.documents[i] != last
            last = tokens.documents[i]
        dense = is_dense(frequency, documents)
        out.row[term] = row if dense else -1
        previous, grouped, group_position = -1, 0, at_position
        while at < end:
            block = tokens.documents[at] // BLOCK
            used, count, highest, first_position = 0, 0, 0, at_position  # of this entry
            while at < end and tokens.documents[at] // BLOCK == block:
                document = tokens.documents[at]
                begin = at
                weight = 0.0
                mask = 0
                while at < end and tokens.documents[at] == document:
                    field = tokens.positions[at] >> np.uint32(FIELD_SHIFT)
                    weight += np.float64(scale[document, field])
                    mask |= 1 << field
                    at += 1
                plain = mask == 1 << (FIELDS - 1) and at - begin <= PLAIN
                at_position = _put_positions(tokens, begin, at, plain, out.positions, at_position)
                if plain:
                    packed[used] = document % BLOCK | (at - begin - 1) << 6
                    place = (block * PLAIN + at - begin - 1) * BLOCK + document % BLOCK
                    impact = int(out.plain_impact[place])
                    used += 1
                else:
                    impact = _impact(weight, k1)
                    packed[used] = document % BLOCK | PLAIN << 6
                    packed[used + 1] = mask
                    packed[used + 2] = impact
                    used += 3
                highest = max(highest, impact)
                count += 1
            if dense:
                for missing in range(previous + 1, block + 1):
                    out.dense_start[row, missing] = at_stream
                    out.dense_position[row, missing] = first_position
                out.dense_max[row, block] = highest
            else:
                kind = count if count == 1 or (count <= PLAIN and used == count) else 0
                at_stream = put_number(out.stream, at_stream, (block - previous) * 4 + kind)
                if kind == 0:
                    out.stream[at_stream] = used
                    out.stream[at_stream + 1] = highest
                    at_stream += 2
                grouped += 1
                if grouped % GROUP == 0:
                    at_size = put_number(out.sizes, at_size, at_position - group_position)
                    group_position = at_position
            for i in range(used):
                out.stream[at_stream + i] = packed[i]
            at_stream += used
            previous = block
        if dense:
            for missing in range(previous + 1, out.dense_start.shape[1]):
                out.dense_start[row, missing] = at_stream
                out.dense_position[row, missing] = at_position
            row += 1
        out.frequency[term] = frequency
        out.stream_end[term] = at_stream
        out.size_end[term] = at_size
        out.position_end[term] = at_position
    return at_stream, at_size, at_position


def room(terms: int, tokens: int, documents: int, postings: int, entries: int, dense: int) -> Postings:
    """Make arrays for `build_postings`, as large as they can ever get; memory that is not touched is not taken."""
    blocks = -(-documents // BLOCK)
    return Postings(
        np.zeros(terms, np.int32),
        np.zeros(terms, np.int64),
        np.zeros(terms, np.int64),
        np.zeros(terms, np.int64),
        np.zeros(terms, np.int32),
        np.empty(3 * postings + 7 * entries, np.uint8),
        np.empty(5 * entries, np.uint8),
        np.empty(6 * tokens + 2 * FIELDS * postings, np.uint8),
        np.zeros((dense, blocks), np.uint8),
        np.zeros((dense, blocks + 1), np.uint32),
        np.zeros((dense, blocks + 1), np.uint32),
        np.zeros(blocks * PLAIN * BLOCK, np.uint8),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    tokens = sort_tokens(np.zeros(1, np.int32), np.ones(1, np.int32), 1)
    counts = count_postings(tokens, 1)
    build_postings(tokens, np.ones((1, FIELDS), np.float32), 1.2, room(1, 1, 1, *counts))
