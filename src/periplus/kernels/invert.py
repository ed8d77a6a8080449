"""Tokens to postings: sort by term, weigh, quantise, cut into blocks.

A position is a 32-bit number: the field in the upper 3 bits, the place within the field in the lower 29.
A block is BLOCK neighbouring documents. See docs/formats/segment.md for what the arrays mean on disk.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = [
    "BLOCK",
    "FIELDS",
    "FIELD_SHIFT",
    "LEVELS",
    "Postings",
    "Sorted",
    "build_postings",
    "count_postings",
    "room",
    "sort_tokens",
]

BLOCK = 64
"""Documents in a block: their set is one 64-bit word."""
FIELDS = 6
FIELD_SHIFT = 29
LEVELS = 255
"""Impacts are 1..LEVELS; LEVELS is a term weight of 1."""


class Sorted(NamedTuple):
    """Tokens in the order of their terms; within a term by document, then position."""

    starts: npt.NDArray[np.int64]
    """Where each term's tokens begin; one more than there are terms."""
    documents: npt.NDArray[np.int32]
    positions: npt.NDArray[np.uint32]


class Postings(NamedTuple):
    """What `build_postings` fills. Lengths come from `count_postings`."""

    frequency: npt.NDArray[np.int32]
    """Documents of each term."""
    term_block: npt.NDArray[np.int64]
    """Where each term's blocks begin; one more than there are terms."""
    term_max: npt.NDArray[np.uint8]
    block: npt.NDArray[np.uint32]
    """Block number of each entry."""
    block_max: npt.NDArray[np.uint8]
    block_posting: npt.NDArray[np.uint32]
    """Where each entry's postings begin; one more than there are entries."""
    block_position: npt.NDArray[np.uint32]
    """Where each entry's positions begin, in bytes; one more than there are entries."""
    offset: npt.NDArray[np.uint8]
    """Document number within its block."""
    impact: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    """Fields the term occurs in."""
    positions: npt.NDArray[np.uint8]
    """For each posting: how many, the first, then the differences, as variable-length numbers."""


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
def _width(value: int) -> int:  # pragma: no cover - compiled
    """Give the bytes that a variable-length number takes."""
    width = 1
    while value >= 128:
        value >>= 7
        width += 1
    return width


@njit(cache=True, nogil=True)
def count_postings(tokens: Sorted) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Give how many postings, block entries and bytes of positions there will be."""
    postings, entries, size = 0, 0, 0
    for term in range(len(tokens.starts) - 1):
        last = -1
        at, end = tokens.starts[term], tokens.starts[term + 1]
        while at < end:
            document = tokens.documents[at]
            postings += 1
            if last < 0 or document // BLOCK != last // BLOCK:
                entries += 1
            last = document
            begin = at
            before = np.int64(0)
            while at < end and tokens.documents[at] == document:
                size += _width(np.int64(tokens.positions[at]) - before)
                before = np.int64(tokens.positions[at])
                at += 1
            size += _width(at - begin)
    return postings, entries, size


@njit(cache=True, nogil=True)
def _put(out: npt.NDArray[np.uint8], at: int, value: int) -> int:  # pragma: no cover - compiled
    """Write a variable-length number; give the place after it."""
    while value >= 128:
        out[at] = np.uint8((value & 127) | 128)
        value >>= 7
        at += 1
    out[at] = np.uint8(value)
    return at + 1


@njit(cache=True, nogil=True)
def build_postings(
    tokens: Sorted, scale: npt.NDArray[np.float32], k1: float, out: Postings
) -> None:  # pragma: no cover - compiled
    """Fill `out`. scale: what one occurrence counts, by document and field (BM25F weight over length norm)."""
    posting, entry, at_byte = 0, 0, 0
    for term in range(len(tokens.starts) - 1):
        out.term_block[term] = entry
        at, end = tokens.starts[term], tokens.starts[term + 1]
        last = -1
        frequency = 0
        highest = 0
        while at < end:
            document = tokens.documents[at]
            if last < 0 or document // BLOCK != last // BLOCK:
                out.block[entry] = document // BLOCK
                out.block_posting[entry] = posting
                out.block_position[entry] = at_byte
                out.block_max[entry] = 0
                entry += 1
            last = document
            begin = at
            weight = 0.0
            mask = 0
            while at < end and tokens.documents[at] == document:
                field = tokens.positions[at] >> np.uint32(FIELD_SHIFT)
                weight += np.float64(scale[document, field])
                mask |= 1 << field
                at += 1
            at_byte = _put(out.positions, at_byte, at - begin)
            before = np.int64(0)
            for i in range(begin, at):
                at_byte = _put(out.positions, at_byte, np.int64(tokens.positions[i]) - before)
                before = np.int64(tokens.positions[i])
            impact = max(1, min(LEVELS, int(np.ceil(LEVELS * weight / (k1 + weight)))))
            out.offset[posting] = document % BLOCK
            out.impact[posting] = impact
            out.mask[posting] = mask
            out.block_max[entry - 1] = max(out.block_max[entry - 1], impact)
            highest = max(highest, impact)
            posting += 1
            frequency += 1
        out.frequency[term] = frequency
        out.term_max[term] = highest
    out.term_block[len(tokens.starts) - 1] = entry
    out.block_posting[entry] = posting
    out.block_position[entry] = at_byte


def room(terms: int, postings: int, entries: int, size: int) -> Postings:
    """Make empty arrays for `build_postings`."""
    return Postings(
        np.zeros(terms, np.int32),
        np.zeros(terms + 1, np.int64),
        np.zeros(terms, np.uint8),
        np.zeros(entries, np.uint32),
        np.zeros(entries, np.uint8),
        np.zeros(entries + 1, np.uint32),
        np.zeros(entries + 1, np.uint32),
        np.zeros(postings, np.uint8),
        np.zeros(postings, np.uint8),
        np.zeros(postings, np.uint8),
        np.zeros(size, np.uint8),
    )


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    tokens = sort_tokens(np.zeros(1, np.int32), np.ones(1, np.int32), 1)
    postings, entries, size = count_postings(tokens)
    build_postings(tokens, np.ones((1, FIELDS), np.float32), 1.2, room(1, postings, entries, size))
