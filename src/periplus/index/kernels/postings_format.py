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
from periplus.index.packed_integers.kernels import bit_width

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
    "SHARED",
    "SIZED",
    "SKIP_STEP",
    "SPARSE",
    "UNSIZED",
    "TermPostings",
    "bound_level",
    "choose_encoding",
    "group_count",
    "group_shift",
    "long_length",
    "posting_size",
    "read_escaped",
    "sized_first",
    "sized_positions",
    "skipped_blocks",
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
"""In the low half of a header: skip this many blocks, the term is in none of them, and so many more for each step of
the upper half (0 up to format 4)."""
BOUND_LEVELS = 16
"""Steps of the upper bound in a header, which has four bits for it."""
LONG_BLOCK = 3
"""The length code of a block whose postings take more than three bytes: a byte with their length is before them, and
the size of their positions before those, unless that byte says it, too."""
SIZED, UNSIZED = 160, 256
"""From which value on that byte says it, too; no value up to format 4. Below, it is the length less four."""
_SIZED_LENGTHS = 8
"""The lengths of postings, from four on, of which it may say it ..."""
_SIZED_STEPS = 12
"""... and the sizes of positions for each, from one less than the length on."""
SHARED = 128
"""Added to the mask of a dense block with all of its documents whose impacts are packed; and to their width if all of
its postings have the same positions, which are written once. Up to format 4 there are none."""
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
    block_first: npt.NDArray[np.uint8]
    """The byte before the postings of a long block if it says the size of their positions, too, otherwise 0; SHARED if
    all postings have the same positions. Filled before those above."""


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


@njit(cache=True, nogil=True, forceinline=True)
def skipped_blocks(head: int) -> int:  # pragma: no cover - compiled
    """Return how many blocks a header skips whose low half is SKIP_STEP."""
    return SKIP_STEP + SKIP_STEP * (head >> 4)


@njit(cache=True, nogil=True, forceinline=True)
def long_length(first: int, sized: int) -> int:  # pragma: no cover - compiled
    """Return the length of the postings of a long block.

    Parameters
        first: the byte before them
        sized: SIZED or UNSIZED, as the segment has it
    """
    return LONG_BLOCK + 1 + (first & (_SIZED_LENGTHS - 1) if first >= sized else first)


@njit(cache=True, nogil=True, forceinline=True)
def sized_positions(first: int) -> int:  # pragma: no cover - compiled
    """Return the size of the positions of a long block whose first byte says it."""
    return LONG_BLOCK + (first & (_SIZED_LENGTHS - 1)) + ((first - SIZED) >> 3)


@njit(cache=True, nogil=True)
def sized_first(length: int, positions: int) -> int:  # pragma: no cover - compiled
    """Return the first byte of a long block that says the length of its postings and the size of positions, 0 if none.

    A block of these lengths is never dense.
    """
    above = positions - length + 1
    if length > LONG_BLOCK + _SIZED_LENGTHS or above < 0 or above >= _SIZED_STEPS:
        return 0
    return SIZED + _SIZED_LENGTHS * above + length - LONG_BLOCK - 1


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
def _impact_range(postings: TermPostings, begin: Any, end: Any) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the lowest and the highest impact of the postings from `begin` to `end`."""
    least, highest = np.int64(255), np.int64(0)
    for i in range(begin, end):
        least, highest = min(least, np.int64(postings.impact[i])), max(highest, np.int64(postings.impact[i]))
    return least, highest


@njit(cache=True, nogil=True)
def _write_all(
    postings: TermPostings, begin: Any, end: Any, is_shared: bool, out: Any, at: int
) -> int:  # pragma: no cover - compiled
    """Write what a dense block has that has all of its documents: mask, least impact, width, and the rest of each."""
    least, highest = _impact_range(postings, begin, end)
    width = np.int64(bit_width(highest - least))
    out[at], out[at + 1] = postings.mask[begin] | np.uint8(SHARED), np.uint8(least)
    out[at + 2], out[at + 3] = np.uint8(width | SHARED * is_shared), 0  # A dense block is longer than one posting.
    at += 3
    word, filled = np.int64(0), np.int64(0)
    for i in range(begin, end):
        word |= (np.int64(postings.impact[i]) - least) << filled
        filled += width
        while filled >= 8:
            out[at] = np.uint8(word & 255)
            at, word, filled = at + 1, word >> 8, filled - 8
    return at if width else at + 1


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
        least, highest = _impact_range(postings, begin, end)
        return DENSE_ALL, 4 + max(1, BLOCK // 8 * bit_width(highest - least))
    dense = _DENSE_HEAD + (count + 3) // 4 + escaped
    kind = DENSE_PLAIN
    if escaped and some != BODY_ONLY:
        kind = DENSE_SAME if some == common else DENSE_MASKED
        dense += 1 if some == common else escaped
    return (kind, dense) if dense < size else (-1, size)


@njit(cache=True, nogil=True)
def _write_dense(
    postings: TermPostings, begin: Any, end: Any, kind: int, is_shared: bool, out: Any, at: int
) -> int:  # pragma: no cover - compiled
    """Write the postings from `begin` to `end`, all of one block; return the offset after the last byte."""
    out[at] = np.uint8(DENSE_MARK | kind << _BLOCK_SHIFT)
    at += 1
    if kind == DENSE_ALL:
        return _write_all(postings, begin, end, is_shared, out, at)
    documents, codes, codes_at = np.uint64(0), np.int64(0), at + BLOCK // 8
    mask, is_masked, after = np.uint8(0), kind == DENSE_MASKED, codes_at + (np.int64(end - begin) + 3) // 4
    for i in range(begin, end):
        if postings.code[i] == ESCAPED:
            mask = postings.mask[i]
    if kind == DENSE_SAME:
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
        documents |= np.uint64(1) << np.uint64(postings.document[i] & (BLOCK - 1))
        codes |= code << 2 * (number & 3)
        if number & 3 == 3 or i + np.uint64(1) == end:
            out[codes_at + (number >> 2)] = np.uint8(codes)
            codes = np.int64(0)
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
            steps: Any = min((step - 1) // SKIP_STEP, BOUND_LEVELS)
            out[at] = np.uint8(SKIP_STEP | (steps - 1) << 4)
            at += 1
            step -= SKIP_STEP * steps
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
            last += skipped_blocks(np.int64(out[headers + n]))
            out[at] = 0  # One byte, so that lengths can be added up without reading headers.
            at += 1
            continue
        last += step + 1
        length, stop = np.int64(postings.block_size[block]), np.uint64(postings.block_end[block])
        kind, sized = postings.block_kind[block], postings.block_first[block]
        block += 1
        out[lengths + (n >> 2)] |= np.uint8(
            (length - 1 if length <= LONG_BLOCK else np.int64(LONG_BLOCK)) << 2 * (n & 3)
        )
        if length > LONG_BLOCK:
            out[at] = sized if sized >= SIZED else np.uint8(length - LONG_BLOCK - 1)
            at += 1
        if kind >= 0:
            at = _write_dense(postings, i, stop, kind, sized == SHARED, out, at)
            i = stop
        while i < stop:
            code = postings.code[i]
            out[at] = np.uint8((postings.document[i] & (BLOCK - 1)) | code << 6)
            at += 1
            if code == ESCAPED:
                at = _write_escaped(postings, i, out, at)
            i += np.uint64(1)
    return at, number
