"""How the postings of one term are written: sparse, middling or dense terms each in their own way.

Drawn byte by byte in docs/formats/segment.md. A sparse term is a run of document steps; a middling one has a byte of
step and level for each block it is in, so that bounds are read without touching postings; a dense one has plain arrays
over all blocks.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.lexicon import put_number

__all__ = [
    "BLOCK",
    "DENSE",
    "FAR",
    "FAT",
    "GROUP",
    "IS_DENSE",
    "IS_MIDDLING",
    "IS_SPARSE",
    "LEVEL_COUNT",
    "LONG",
    "MIDDLING",
    "Gathered",
    "count_groups",
    "is_dense",
    "kind_of",
    "level_of",
    "put_dense",
    "put_middling",
    "put_sparse",
]

BLOCK = 64
"""Documents in a block: their set is one 64-bit word."""
FAT = 3
"""The code of a posting whose fields and impact are written out; smaller codes are body only, code + 1 occurrences."""
IS_SPARSE, IS_MIDDLING, IS_DENSE = 0, 1, 2
MIDDLING = 256
"""Terms in at least this many documents have a byte for each block."""
DENSE = 8
"""Terms with at least this many postings a block on average are dense."""
GROUP = 32
"""Block bytes of a middling term between two rows of `groups`."""
FAR = 15
"""In the low half of a block byte: go on by this many blocks, where the term is not."""
LEVEL_COUNT = 16
LONG = 3
"""The code of a block's postings that take more than three bytes: their length, and that of their positions, is written
before them."""


class Gathered(NamedTuple):
    """The postings of one term before they are written, by number: arrays as long as there are documents."""

    document: npt.NDArray[np.int32]
    code: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    impact: npt.NDArray[np.uint8]
    position: npt.NDArray[np.int64]
    """Where its positions begin, from those of the term; one more than there are postings."""


@njit(cache=True, nogil=True)
def is_dense(frequency: int, documents: int) -> bool:  # pragma: no cover - compiled
    """Say whether a term is in so many documents that its blocks are kept as plain arrays."""
    return documents >= 4 * BLOCK and frequency * BLOCK >= DENSE * documents


@njit(cache=True, nogil=True)
def kind_of(frequency: int, documents: int) -> int:  # pragma: no cover - compiled
    """Say how a term is written."""
    if is_dense(frequency, documents):
        return IS_DENSE
    return IS_MIDDLING if frequency >= MIDDLING else IS_SPARSE


@njit(cache=True, nogil=True)
def count_groups(heads: int) -> int:  # pragma: no cover - compiled
    """Give how many rows of `groups` a middling term has."""
    return (heads + GROUP - 1) // GROUP


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
            out[at] = gathered.mask[i]
            out[at + 1] = gathered.impact[i]
            at += 2
    return at


@njit(cache=True, nogil=True)
def _put_postings(gathered: Gathered, i: int, stop: int, out: Any, at: int) -> int:  # pragma: no cover - compiled
    """Write the postings of one block; give where they end."""
    while i < stop:
        code = gathered.code[i]
        out[at] = np.uint8((gathered.document[i] & (BLOCK - 1)) | code << 6)
        at += 1
        if code == FAT:
            out[at] = gathered.mask[i]
            out[at + 1] = gathered.impact[i]
            at += 2
        i += 1
    return at


@njit(cache=True, nogil=True)
def _next_block(gathered: Gathered, i: int, count: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Give where the postings of the block that begins at `i` end, how many bytes they take, their highest impact."""
    block = gathered.document[i] // BLOCK
    length, highest = 0, 0
    while i < count and gathered.document[i] // BLOCK == block:
        length += 3 if gathered.code[i] == FAT else 1
        highest = max(highest, np.int64(gathered.impact[i]))
        i += 1
    return i, length, highest


@njit(cache=True, nogil=True)
def put_middling(
    gathered: Gathered, count: int, out: Any, at: int, groups: Any, group: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Write block bytes, lengths and postings; give where they end and how many block bytes there are."""
    low, high, i = 255, 0, 0
    while i < count:
        i, _, highest = _next_block(gathered, i, count)
        low, high = min(low, highest), max(high, highest)
    out[at], out[at + 1] = np.uint8(low), np.uint8(high)
    heads, i, last = at + 2, 0, -1
    head = heads
    while i < count:
        block = gathered.document[i] // BLOCK
        i, _, highest = _next_block(gathered, i, count)
        step = block - last
        last = block
        while step > FAR:
            out[head] = np.uint8(FAR)
            head += 1
            step -= FAR
        out[head] = np.uint8((step - 1) | level_of(highest, low, high) << 4)
        head += 1
    number = head - heads
    lengths = head
    first = lengths + (number + 3) // 4
    out[lengths:first] = 0
    at, i, last = first, 0, -1
    for n in range(number):
        if n % GROUP == 0:
            row = group + n // GROUP
            groups[row, 0], groups[row, 1], groups[row, 2] = last + 1, at - first, gathered.position[i]
        step = out[heads + n] & 15
        if step == FAR:
            last += FAR
            out[at] = 0  # One byte, so that lengths can be added up without looking at steps.
            at += 1
            continue
        last += step + 1
        stop, length, _ = _next_block(gathered, i, count)
        out[lengths + n // 4] |= np.uint8(min(length - 1, LONG) << 2 * (n % 4))
        if length > LONG:
            out[at] = np.uint8(length)
            at += 1
        at = _put_postings(gathered, i, stop, out, at)
        i = stop
    return at, number


@njit(cache=True, nogil=True)
def put_dense(
    gathered: Gathered, count: int, out: Any, at: int, highest_of: Any, start: Any, position: Any
) -> int:  # pragma: no cover - compiled
    """Write postings, and the rows of one dense term; give where they end. `start` counts from the term's beginning."""
    begin, done, i = at, 0, 0
    while i < count:
        block = gathered.document[i] // BLOCK
        stop, _, highest = _next_block(gathered, i, count)
        while done <= block:
            start[done], position[done] = at - begin, gathered.position[i]
            done += 1
        highest_of[block] = highest
        at = _put_postings(gathered, i, stop, out, at)
        i = stop
    while done < len(start):
        start[done], position[done] = at - begin, gathered.position[count]
        done += 1
    return at
