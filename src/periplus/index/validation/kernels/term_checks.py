"""Validates the postings of one term before any other kernel reads them.

Kernels that match walk the bytes of postings without checking where they are. So a term that is looked up for the
first time is walked here once, with every offset checked; after that its bytes are known to keep within the arrays of
the segment. Positions are not walked: whoever reads them checks each offset.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.dense_blocks.kernels import dense_bytes, is_dense
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    ESCAPED,
    LONG_BLOCK,
    SIZED,
    SKIP_STEP,
    SPARSE,
    choose_encoding,
    group_count,
    group_shift,
    long_length,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import TINY_ENTRY, make_tiny_postings, term_entry
from periplus.index.kernels.term_dictionary import TermEntry, TermTable, read_bounded_varint
from periplus.index.kernels.term_packing import make_tiny_terms
from periplus.index.sparse_postings.kernels import is_valid_sparse

__all__ = ["SegmentArrays", "is_valid_term", "mark_valid", "validate_terms"]

_MAX_MASK = 127
"""The mask of all fields."""


class SegmentArrays(NamedTuple):
    """The arrays that postings are in."""

    stream: npt.NDArray[np.uint8]
    position_bytes: int
    """The size of the positions."""
    groups: npt.NDArray[np.uint32]
    wide: npt.NDArray[np.int64]
    """Of each term encoded as a bitset: where its postings begin, and how many headers it has."""
    documents: int
    """How many the segment has."""
    is_packed: int
    """Whether sparse postings are written in bits."""
    sized: int
    """As in `PostingsReader`."""
    validated: npt.NDArray[np.uint8]
    """A bit for each byte of the dictionary's pages, set for the first byte of a term that was found valid."""


@njit(cache=True, nogil=True, forceinline=True)
def _skip_escaped(stream: Any, at: int, end: int) -> int:  # pragma: no cover - compiled
    """Return the offset after what follows an escaped posting; -1 if it is damaged."""
    if at >= end:
        return np.int64(-1)
    if stream[at]:
        return np.int64(at + 1)
    if at + 3 > end or stream[at + 1] == 0 or stream[at + 1] > _MAX_MASK or stream[at + 2] == 0:
        return np.int64(-1)
    return np.int64(at + 3)


@njit(cache=True, nogil=True)
def _is_valid_sparse(stream: Any, entry: TermEntry, documents: int) -> bool:  # pragma: no cover - compiled
    """Return whether the postings of a sparse term, up to format 3, fill their range, and their documents exist."""
    at, document = entry.begin, np.int64(-1)
    for _ in range(entry.frequency):
        value, at = read_bounded_varint(stream, at, entry.end)
        step = value >> 2
        if at < 0 or step < 1 or step > documents:
            return False
        document += step
        if document >= documents:
            return False
        if value & 3 == ESCAPED:
            at = _skip_escaped(stream, at, entry.end)
            if at < 0:
                return False
    return at == entry.end


@njit(cache=True, nogil=True)
def _is_valid_block(stream: Any, at: int, stop: int, last: int) -> int:  # pragma: no cover - compiled
    """Return how many postings a block has, -1 if it is damaged; no document is above `last`, counted in the block."""
    if is_dense(stream, at, stop):
        return dense_bytes(stream, at, stop, last)
    count, before = np.int64(0), np.int64(-1)
    while at < stop:
        byte = np.int64(stream[at])
        offset = byte & (BLOCK - 1)
        if offset <= before or offset > last:
            return np.int64(-1)
        before = offset
        count += 1
        at += 1
        if byte >= ESCAPED << 6:
            at = _skip_escaped(stream, at, stop)
            if at < 0:
                return np.int64(-1)
    return count


@njit(cache=True, nogil=True)
def _is_valid_blocked(arrays: SegmentArrays, entry: TermEntry) -> bool:  # pragma: no cover - compiled
    """Return whether headers, lengths, groups and postings of a term that is not sparse agree."""
    stream, end, documents = arrays.stream, entry.end, arrays.documents
    headers = entry.begin + 2
    lengths = headers + entry.headers
    first = lengths + (entry.headers + 3) // 4
    at, block, count = first, np.int64(-1), np.int64(0)
    shift = group_shift(entry.encoding)
    within_group = (1 << shift) - 1
    for n in range(entry.headers):
        if n & within_group == 0:
            row = entry.first_group + (n >> shift)
            if np.int64(arrays.groups[row, 0]) != block + 1 or np.int64(arrays.groups[row, 1]) != at - first:
                return False
        step = np.int64(stream[headers + n]) & 15
        code = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
        if step == SKIP_STEP:
            block += skipped_blocks(np.int64(stream[headers + n]))
            if code != 0 or at >= end:
                return False
            at += 1
            continue
        block += step + 1
        length = code + 1
        if code == LONG_BLOCK:
            if at >= end:
                return False
            length = long_length(np.int64(stream[at]), arrays.sized)
            at += 1
        if at + length > end or block * BLOCK >= documents:
            return False
        postings = _is_valid_block(stream, at, at + length, documents - 1 - block * BLOCK)
        if postings < 0:
            return False
        count += postings
        at += length
    return at == end and count == entry.frequency


@njit(cache=True, nogil=True)
def is_valid_term(arrays: SegmentArrays, entry: TermEntry) -> bool:  # pragma: no cover - compiled
    """Walk the postings of a term.

    Parameters
        arrays: of the segment; `groups` and `wide` have the right number of columns
        entry: of the term, from a dictionary that may be damaged
    Returns
        whether other kernels may read them: offsets and counts agree, and the documents ascend and exist
    """
    documents, size = arrays.documents, len(arrays.stream)
    if (
        entry.frequency < 1
        or entry.frequency > documents
        or entry.encoding != choose_encoding(entry.frequency, documents)
    ):
        return False
    if entry.begin < 0 or entry.end > size or entry.end <= entry.begin:
        return False
    if entry.positions < 0 or entry.positions > arrays.position_bytes:
        return False
    if entry.encoding == SPARSE and arrays.is_packed:
        return is_valid_sparse(arrays.stream, entry.begin, entry.end, entry.frequency, documents)
    if entry.encoding == SPARSE:
        return _is_valid_sparse(arrays.stream, entry, documents)
    if entry.headers < 1 or entry.headers > size or entry.first_group < 0 or entry.first_group > len(arrays.groups):
        return False
    if entry.first_group + group_count(entry.headers, entry.encoding) > len(arrays.groups):
        return False
    if entry.begin + 2 + entry.headers + (entry.headers + 3) // 4 > entry.end:
        return False
    if entry.encoding == BITSET:
        row = entry.bitset_row
        if row < 0 or row >= len(arrays.wide):
            return False
        if arrays.wide[row, 0] != entry.begin or arrays.wide[row, 1] != entry.headers:
            return False
    return _is_valid_blocked(arrays, entry)


@njit(cache=True, nogil=True, forceinline=True)
def mark_valid(arrays: SegmentArrays, offset: int, entry: TermEntry) -> bool:  # pragma: no cover - compiled
    """Validate a term unless that was done before.

    Parameters
        arrays: of the segment; `validated` is updated
        offset: where the term begins in the pages of the dictionary
        entry: of the term
    Returns
        whether other kernels may read its postings
    """
    # Threads may set bits of one byte at once: what is lost is only validated again.
    if arrays.validated[offset >> 3] >> np.uint8(offset & 7) & np.uint8(1):
        return True
    if not is_valid_term(arrays, entry):
        return False
    arrays.validated[offset >> 3] |= np.uint8(1 << (offset & 7))
    return True


@njit(cache=True, nogil=True)
def validate_terms(arrays: SegmentArrays, terms: TermTable) -> int:  # pragma: no cover - compiled
    """Validate all terms.

    Parameters
        arrays: of the segment
        terms: its unpacked dictionary
    Returns
        the number of the first that is damaged, -1 if none is
    """
    for term in range(len(terms.frequency)):
        if not is_valid_term(arrays, term_entry(terms, term)):
            return term
    return -1


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    tiny, wide = make_tiny_postings(), np.zeros((0, 2), np.int64)
    wide.flags.writeable = False
    arrays = SegmentArrays(tiny.stream, 1, tiny.groups, wide, 1, 1, SIZED, np.zeros(1, np.uint8))
    is_valid_term(arrays, TINY_ENTRY)
    validate_terms(arrays, make_tiny_terms())
