"""How the postings of one term are encoded. Drawn byte by byte in docs/formats/segment.md.

SPARSE    few documents: a run of document deltas
BLOCKED   a header byte for each block the term is in, with a delta and an upper bound of its impacts, so that
          bounds are read without touching postings
BITSET    in most blocks: blocked, with twice as many skip entries (rows of `groups`), and the sets of its documents
          are made when the segment is opened
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "BITSET",
    "BITSET_DENSITY",
    "BLOCK",
    "BLOCKED",
    "BLOCKED_MIN_DOCUMENTS",
    "BODY_ONLY",
    "BOUND_LEVELS",
    "DENSE_ALL",
    "DENSE_MARK",
    "DENSE_MASKED",
    "DENSE_PLAIN",
    "DENSE_SAME",
    "ESCAPED",
    "LONG_BLOCK",
    "SKIP_STEP",
    "SPARSE",
    "TermPostings",
    "bound_level",
    "choose_encoding",
    "group_count",
    "group_shift",
    "posting_size",
    "read_escaped",
    "write_blocked",
]

BLOCK = 64
"""Documents in a block: their set is one 64-bit word."""
_BLOCK_SHIFT = 6
"""A document's number shifted right by this many bits is that of its block."""
ESCAPED = 3
"""The code of a posting whose impact is written out; smaller codes mean code + 1 occurrences, all in the body."""
SPARSE, BLOCKED, BITSET = 0, 1, 2
"""Encodings of a term's postings; part of the format."""
BLOCKED_MIN_DOCUMENTS = 256
"""Terms in at least this many documents are blocked: below, headers would take more room than they save time."""
BITSET_DENSITY = 2 * BLOCK
"""Terms in at least one of so many documents have a bitset: on average, one in every second block."""
BODY_ONLY = 32
"""The mask of fields of a posting that is in the body only."""
SKIP_STEP = 15
"""In the low half of a header: skip this many blocks, the term is in none of them."""
BOUND_LEVELS = 16
"""Steps of the upper bound in a header, which has four bits for it."""
LONG_BLOCK = 3
"""The length code of a block whose postings take more than three bytes: their length less four is written before them,
and the size of their positions before those."""
DENSE_MARK = BLOCK - 1
"""The low bits of the first byte of a long block that is dense: as a posting, it would have none behind it."""
DENSE_PLAIN, DENSE_SAME, DENSE_MASKED, DENSE_ALL = 0, 1, 2, 3
"""The upper bits: escaped postings are in the body only, in the same fields, in different ones; or the block has all of
its documents, all escaped and in the same fields."""
_DENSE_LEAST = 12
"""Blocks of fewer bytes are never dense."""
_DENSE_HEAD = 9
"""Bytes before the codes of a dense block."""


class TermPostings(NamedTuple):
    """The postings of one term before they are written; arrays have an element for each document of the segment."""

    document: npt.NDArray[np.int32]
    code: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    impact: npt.NDArray[np.uint8]
    position: npt.NDArray[np.int64]
    """Where its positions begin, relative to those of the term; one more than there are postings."""
    block_end: npt.NDArray[np.int64]
    """Where the postings of each block that the term is in end; an element for each block of the segment."""
    block_size: npt.NDArray[np.int32]
    """The bytes that they take."""
    block_max: npt.NDArray[np.uint8]
    """Their highest impact."""
    block_kind: npt.NDArray[np.int8]
    """How they are dense; -1 if they are not."""


@njit(cache=True, nogil=True)
def choose_encoding(frequency: int, documents: int) -> int:  # pragma: no cover - compiled
    """Return the encoding of a term of this document frequency, in a segment of so many documents."""
    if frequency < BLOCKED_MIN_DOCUMENTS:
        return SPARSE
    return BITSET if frequency * BITSET_DENSITY >= documents else BLOCKED


@njit(cache=True, nogil=True, forceinline=True)
def group_shift(encoding: int) -> int:  # pragma: no cover - compiled
    """Return how many headers there are for each row of `groups`, as a power of two: 32, or 16 of a bitset."""
    return 6 - encoding


@njit(cache=True, nogil=True, forceinline=True)
def group_count(headers: int, encoding: int) -> int:  # pragma: no cover - compiled
    """Return how many rows of `groups` a term has."""
    shift = group_shift(encoding)
    return (headers + (1 << shift) - 1) >> shift


@njit(cache=True, nogil=True)
def bound_level(highest: int, low: int, high: int) -> int:  # pragma: no cover - compiled
    """Return the lowest level, 0 to 15, whose bound is not below `highest`; levels divide `low` to `high`."""
    return ((highest - low) * (BOUND_LEVELS - 1) + high - low - 1) // (high - low) if high > low else 0


@njit(cache=True, nogil=True, forceinline=True)
def _write_escaped(postings: TermPostings, i: int, out: Any, at: int) -> int:  # pragma: no cover - compiled
    """Write what follows an escaped posting: its impact if it is in the body only, else 0, its mask and its impact."""
    if postings.mask[i] != BODY_ONLY:
        out[at] = 0
        out[at + 1] = postings.mask[i]
        at += 2
    out[at] = postings.impact[i]
    return at + 1


@njit(cache=True, nogil=True, forceinline=True)
def read_escaped(stream: Any, at: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read what follows an escaped posting.

    Parameters
        stream: postings of the segment
        at: the offset after the posting's first byte or number
    Returns
        its mask of fields, its impact, and the offset after them
    """
    impact = np.int64(stream[at])
    if impact:
        return np.int64(BODY_ONLY), impact, at + 1
    return np.int64(stream[at + 1]), np.int64(stream[at + 2]), at + 3


@njit(cache=True, nogil=True, forceinline=True)
def posting_size(code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Return the bytes that a posting takes in a block."""
    return 1 if code < ESCAPED else (2 if mask == BODY_ONLY else 4)


@njit(cache=True, nogil=True)
def _find_dense(postings: TermPostings, begin: Any, end: Any, size: int) -> tuple[int, int]:  # pragma: no cover
    """Return how the postings from `begin` to `end`, all of one block, are dense, and the bytes that they take so.

    If these are not fewer than `size`, what they take otherwise: -1 and `size`.
    """
    count, escaped, some, common = np.int64(end - begin), 0, 0, 255
    for i in range(begin, end):
        if postings.code[i] == ESCAPED:
            escaped += 1
            some |= np.int64(postings.mask[i])
            common &= np.int64(postings.mask[i])
    if escaped == BLOCK and some == common:
        return DENSE_ALL, 2 + BLOCK
    dense = _DENSE_HEAD + (count + 3) // 4 + escaped
    kind = DENSE_PLAIN
    if escaped and some != BODY_ONLY:
        kind = DENSE_SAME if some == common else DENSE_MASKED
        dense += 1 if some == common else escaped
    return (kind, dense) if dense < size else (-1, size)


@njit(cache=True, nogil=True)
def _write_dense(postings: TermPostings, begin: Any, end: Any, kind: int, out: Any, at: int) -> int:  # pragma: no cover
    """Write the postings from `begin` to `end`, all of one block; return the offset after the last byte."""
    out[at] = np.uint8(DENSE_MARK | kind << _BLOCK_SHIFT)
    at += 1
    documents, codes, codes_at = np.uint64(0), np.int64(0), at + BLOCK // 8
    mask, is_masked, after = np.uint8(0), kind == DENSE_MASKED, codes_at + (np.int64(end - begin) + 3) // 4
    if kind == DENSE_ALL:
        after = at
    for i in range(begin, end):
        if postings.code[i] == ESCAPED:
            mask = postings.mask[i]
    if kind in (DENSE_SAME, DENSE_ALL):
        out[after] = mask
        after += 1
    for i in range(begin, end):
        code, number = np.int64(postings.code[i]), np.int64(i - begin)
        if code == ESCAPED:
            out[after] = postings.impact[i]
            after += 1
            if is_masked:
                out[after] = postings.mask[i]
                after += 1
        if kind == DENSE_ALL:
            continue
        documents |= np.uint64(1) << np.uint64(postings.document[i] & (BLOCK - 1))
        codes |= code << 2 * (number & 3)
        if number & 3 == 3 or i + np.uint64(1) == end:
            out[codes_at + (number >> 2)] = np.uint8(codes)
            codes = np.int64(0)
    if kind != DENSE_ALL:
        for byte in range(BLOCK // 8):
            out[at + byte] = np.uint8((documents >> np.uint64(8 * byte)) & np.uint64(255))
    return after


@njit(cache=True, nogil=True)
def _find_blocks(postings: TermPostings, count: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Fill in the blocks of the postings; return how many there are, and the lowest and highest of their maxima."""
    blocks, low, high = 0, np.int64(255), np.int64(0)
    at, stop, one = np.uint64(0), np.uint64(count), np.uint64(1)
    while at < stop:
        block, begin = postings.document[at] >> _BLOCK_SHIFT, at
        size, highest = 0, np.int64(0)
        while at < stop and postings.document[at] >> _BLOCK_SHIFT == block:
            size += posting_size(postings.code[at], postings.mask[at])
            highest = max(highest, np.int64(postings.impact[at]))
            at += one
        kind = -1
        if size >= _DENSE_LEAST:
            kind, size = _find_dense(postings, begin, at, size)
        postings.block_end[blocks] = at
        postings.block_kind[blocks] = kind
        postings.block_size[blocks] = size
        postings.block_max[blocks] = highest
        low, high = min(low, highest), max(high, highest)
        blocks += 1
    return blocks, low, high


@njit(cache=True, nogil=True)
def _write_headers(
    postings: TermPostings, blocks: int, low: int, high: int, out: Any, at: int
) -> int:  # pragma: no cover - compiled
    """Write the headers; return where they end."""
    last, begin = np.int64(-1), np.int64(0)
    for n in range(blocks):
        block = np.int64(postings.document[begin] >> _BLOCK_SHIFT)
        begin = postings.block_end[n]
        step = block - last
        last = block
        while step > SKIP_STEP:
            out[at] = np.uint8(SKIP_STEP)
            at += 1
            step -= SKIP_STEP
        out[at] = np.uint8((step - 1) | bound_level(np.int64(postings.block_max[n]), low, high) << 4)
        at += 1
    return at


@njit(cache=True, nogil=True)
def write_blocked(
    postings: TermPostings, count: int, encoding: int, out: Any, at: int, groups: Any, group: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write the postings of a term that is not sparse: headers, lengths, postings.

    Parameters
        postings, count: its postings, and how many there are
        encoding: BLOCKED or BITSET
        out, at: uint8 array, and where to write
        groups, group: rows of the segment, three numbers each, and the number of the term's first, which are filled
    Returns
        the offset after the last byte, and how many headers there are
    """
    blocks, low, high = _find_blocks(postings, count)
    out[at], out[at + 1] = np.uint8(low), np.uint8(high)
    headers = at + 2
    lengths = _write_headers(postings, blocks, low, high, out, headers)
    number = lengths - headers
    first = lengths + (number + 3) // 4
    for length_byte in range(lengths, first):
        out[length_byte] = 0
    at, i, last, block = first, np.uint64(0), -1, 0
    within_group = (1 << group_shift(encoding)) - 1
    for n in range(number):
        if n & within_group == 0:
            row = 3 * (group + (n >> group_shift(encoding)))
            groups[row], groups[row + 1], groups[row + 2] = last + 1, at - first, postings.position[i]
        step = np.int64(out[headers + n]) & 15
        if step == SKIP_STEP:
            last += SKIP_STEP
            out[at] = 0  # One byte, so that lengths can be added up without reading headers.
            at += 1
            continue
        last += step + 1
        length, stop = np.int64(postings.block_size[block]), np.uint64(postings.block_end[block])
        kind = postings.block_kind[block]
        block += 1
        out[lengths + (n >> 2)] |= np.uint8(
            (length - 1 if length <= LONG_BLOCK else np.int64(LONG_BLOCK)) << 2 * (n & 3)
        )
        if length > LONG_BLOCK:
            out[at] = np.uint8(length - LONG_BLOCK - 1)
            at += 1
        if kind >= 0:
            at = _write_dense(postings, i, stop, kind, out, at)
            i = stop
        while i < stop:
            code = postings.code[i]
            out[at] = np.uint8((postings.document[i] & (BLOCK - 1)) | code << 6)
            at += 1
            if code == ESCAPED:
                at = _write_escaped(postings, i, out, at)
            i += np.uint64(1)
    return at, number
