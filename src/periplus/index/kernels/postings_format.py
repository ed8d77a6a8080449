"""How the postings of one term are written: few ones as steps, many ones by blocks.

Drawn byte by byte in docs/formats/segment.md. A sparse term is a run of document steps; the others have a byte of step
and level for each block they are in, so that bounds are read without touching postings. Wide terms are in most blocks:
they have more places to begin at, and their sets of documents are kept in memory.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import put_number

__all__ = [
    "BLOCK",
    "BODY",
    "FAR",
    "FAT",
    "IS_MIDDLING",
    "IS_SPARSE",
    "IS_WIDE",
    "LEVEL_COUNT",
    "LONG",
    "MIDDLING",
    "WIDE",
    "Gathered",
    "count_groups",
    "kind_of",
    "level_of",
    "posting_length",
    "put_blocks",
    "put_sparse",
    "shift_of",
]

BLOCK = 64
"""Documents in a block: their set is one 64-bit word."""
_SHIFT = 6
"""A document's number by this many bits to the right is that of its block."""
FAT = 3
"""The code of a posting whose impact is written out; smaller codes are body only, code + 1 occurrences."""
IS_SPARSE, IS_MIDDLING, IS_WIDE = 0, 1, 2
MIDDLING = 256
"""Terms in at least this many documents are written by blocks."""
WIDE = 2 * BLOCK
"""Terms in at least one of so many documents are wide."""
BODY = 32
"""The mask of a posting that is in the body only."""
FAR = 15
"""In the low half of a block byte: go on by this many blocks, where the term is not."""
LEVEL_COUNT = 16
LONG = 3
"""The code of a block's postings that take more than three bytes: their length less four, and that of their positions,
is written before them."""


class Gathered(NamedTuple):
    """The postings of one term before they are written, by number: arrays as long as there are documents."""

    document: npt.NDArray[np.int32]
    code: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    impact: npt.NDArray[np.uint8]
    position: npt.NDArray[np.int64]
    """Where its positions begin, from those of the term; one more than there are postings."""
    block_end: npt.NDArray[np.int64]
    """Where the postings of each block that the term is in end; room for all blocks there are."""
    block_size: npt.NDArray[np.int32]
    """The bytes that they take."""
    block_high: npt.NDArray[np.uint8]
    """Their highest impact."""


@njit(cache=True, nogil=True)
def kind_of(frequency: int, documents: int) -> int:  # pragma: no cover - compiled
    """Say how a term is written."""
    if frequency < MIDDLING:
        return IS_SPARSE
    return IS_WIDE if frequency * WIDE >= documents else IS_MIDDLING


@njit(cache=True, nogil=True, forceinline=True)
def shift_of(kind: int) -> int:  # pragma: no cover - compiled
    """Say how many block bytes there are between two rows of `groups`, as a power of two: 32, or 16 of a wide term."""
    return 6 - kind


@njit(cache=True, nogil=True, forceinline=True)
def count_groups(heads: int, kind: int) -> int:  # pragma: no cover - compiled
    """Give how many rows of `groups` a term has."""
    shift = shift_of(kind)
    return (heads + (1 << shift) - 1) >> shift


@njit(cache=True, nogil=True)
def level_of(highest: int, low: int, high: int) -> int:  # pragma: no cover - compiled
    """Give the level, 0 to 15, whose impact is the least that is not below `highest`."""
    return ((highest - low) * (LEVEL_COUNT - 1) + high - low - 1) // (high - low) if high > low else 0


@njit(cache=True, nogil=True)
def put_sparse(gathered: Gathered, count: int, out: Any, at: int) -> int:  # pragma: no cover - compiled
    """Write steps from document to document; give where they end."""
    last = np.int64(-1)
    for i in range(count):
        document, code = np.int64(gathered.document[i]), np.int64(gathered.code[i])
        at = put_number(out, at, (document - last) << 2 | code)
        last = document
        if code == FAT:
            at = _put_fat(gathered, i, out, at)
    return at


@njit(cache=True, nogil=True, forceinline=True)
def _put_fat(gathered: Gathered, i: int, out: Any, at: int) -> int:  # pragma: no cover - compiled
    """Write what follows a fat posting: its impact if it is in the body only, else 0, its fields and its impact."""
    if gathered.mask[i] != BODY:
        out[at] = 0
        out[at + 1] = gathered.mask[i]
        at += 2
    out[at] = gathered.impact[i]
    return at + 1


@njit(cache=True, nogil=True, forceinline=True)
def posting_length(code: int, mask: int) -> int:  # pragma: no cover - compiled
    """Give the bytes that a posting takes in a block."""
    return 1 if code < FAT else (2 if mask == BODY else 4)


@njit(cache=True, nogil=True)
def _find_blocks(gathered: Gathered, count: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Fill in the blocks of so many postings; give how many there are, and the lowest and highest of their maxima."""
    blocks, low, high = 0, np.int64(255), np.int64(0)
    at, stop, one = np.uint64(0), np.uint64(count), np.uint64(1)
    while at < stop:
        block = gathered.document[at] >> _SHIFT
        size, highest = 0, np.int64(0)
        while at < stop and gathered.document[at] >> _SHIFT == block:
            size += posting_length(gathered.code[at], gathered.mask[at])
            highest = max(highest, np.int64(gathered.impact[at]))
            at += one
        gathered.block_end[blocks] = at
        gathered.block_size[blocks] = size
        gathered.block_high[blocks] = highest
        low, high = min(low, highest), max(high, highest)
        blocks += 1
    return blocks, low, high


@njit(cache=True, nogil=True)
def _put_heads(
    gathered: Gathered, blocks: int, low: int, high: int, out: Any, at: int
) -> int:  # pragma: no cover - compiled
    """Write the block bytes; give where they end."""
    last, begin = np.int64(-1), np.int64(0)
    for n in range(blocks):
        block = np.int64(gathered.document[begin] >> _SHIFT)
        begin = gathered.block_end[n]
        step = block - last
        last = block
        while step > FAR:
            out[at] = np.uint8(FAR)
            at += 1
            step -= FAR
        out[at] = np.uint8((step - 1) | level_of(np.int64(gathered.block_high[n]), low, high) << 4)
        at += 1
    return at


@njit(cache=True, nogil=True)
def put_blocks(
    gathered: Gathered, count: int, kind: int, out: Any, at: int, groups: Any, group: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write block bytes, lengths and postings; give where they end and how many block bytes there are."""
    blocks, low, high = _find_blocks(gathered, count)
    out[at], out[at + 1] = np.uint8(low), np.uint8(high)
    heads = at + 2
    lengths = _put_heads(gathered, blocks, low, high, out, heads)
    number = lengths - heads
    first = lengths + (number + 3) // 4
    out[lengths:first] = 0
    at, i, last, block = first, np.uint64(0), -1, 0
    each = (1 << shift_of(kind)) - 1
    for n in range(number):
        if n & each == 0:
            row = group + (n >> shift_of(kind))
            groups[row, 0], groups[row, 1], groups[row, 2] = last + 1, at - first, gathered.position[i]
        step = np.int64(out[heads + n]) & 15
        if step == FAR:
            last += FAR
            out[at] = 0  # One byte, so that lengths can be added up without looking at steps.
            at += 1
            continue
        last += step + 1
        length, stop = np.int64(gathered.block_size[block]), np.uint64(gathered.block_end[block])
        block += 1
        out[lengths + (n >> 2)] |= np.uint8((length - 1 if length <= LONG else np.int64(LONG)) << 2 * (n & 3))
        if length > LONG:
            out[at] = np.uint8(length - LONG - 1)
            at += 1
        while i < stop:
            code = gathered.code[i]
            out[at] = np.uint8((gathered.document[i] & (BLOCK - 1)) | code << 6)
            at += 1
            if code == FAT:
                at = _put_fat(gathered, i, out, at)
            i += np.uint64(1)
    return at, number
