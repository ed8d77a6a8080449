"""Reads dense blocks: a set of documents, two bits for the code of each, and the impacts of escaped ones.

Any posting of a block is found without reading the others. Written by `kernels.postings_format`, drawn in
docs/formats/segment.md.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit, popcount
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    DENSE_ALL,
    DENSE_MARK,
    DENSE_MASKED,
    DENSE_PLAIN,
    DENSE_SAME,
    ESCAPED,
    LONG_BLOCK,
    SHARED,
)

__all__ = [
    "are_shared",
    "count_escaped",
    "dense_bytes",
    "dense_codes",
    "dense_documents",
    "dense_impact",
    "enter_impacts",
    "find_dense",
    "is_dense",
    "read_impact",
    "score_dense",
    "score_dense_chosen",
]

_LOW = np.uint64(0x5555555555555555)
"""The low bit of each of 32 codes."""
_ONE, _THREE = np.uint64(1), np.uint64(3)
_BYTE_LIMIT = 255
_BYTE, _ALL = np.uint64(255), ~np.uint64(0)
_KIND_SHIFT = 6
_WIDTH = 15
"""The bits of the width of impacts that are packed."""
_MAX_WIDTH = 8
_CODES = 1 + BLOCK // 8
"""Bytes before the codes."""
_WORD_CODES = 32
"""Codes in a word."""


@njit(cache=True, nogil=True, forceinline=True)
def is_dense(stream: Any, at: int, stop: int) -> bool:  # pragma: no cover - compiled
    """Return whether the postings of a block, from `at` to `stop`, are dense."""
    return stop - at > LONG_BLOCK + 1 and stream[at] & np.uint8(DENSE_MARK) == DENSE_MARK


@njit(cache=True, nogil=True, forceinline=True)
def dense_documents(stream: Any, at: int) -> Any:  # pragma: no cover - compiled
    """Return the documents of the dense block at `at`, as a 64-bit set."""
    return _ALL if stream[at] >> _KIND_SHIFT == DENSE_ALL else load_uint64(stream, at + 1)


@njit(cache=True, nogil=True, forceinline=True)
def dense_codes(stream: Any, at: int, count: int) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Return the codes of the first `count` documents of a dense block in two words, whose other bits are 0."""
    low, high = _ALL, _ALL
    if stream[at] >> _KIND_SHIFT != DENSE_ALL:
        low = load_uint64(stream, at + _CODES)
        high = load_uint64(stream, at + _CODES + 8) if count > _WORD_CODES else np.uint64(0)
    if count < _WORD_CODES:
        return low & ((_ONE << np.uint64(2 * count)) - _ONE), np.uint64(0)
    if count < BLOCK:
        high &= (_ONE << np.uint64(2 * (count - _WORD_CODES))) - _ONE
    return low, high


@njit(cache=True, nogil=True, forceinline=True)
def count_escaped(stream: Any, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Return how many of the first `count` postings of a dense block are escaped."""
    low, high = dense_codes(stream, at, count)
    return popcount(low & (low >> _ONE) & _LOW) + popcount(high & (high >> _ONE) & _LOW)


@njit(cache=True, nogil=True, forceinline=True)
def are_shared(stream: Any, at: int) -> bool:  # pragma: no cover - compiled
    """Return whether all postings of the dense block at `at` have the same positions, which are written once."""
    if stream[at] >> _KIND_SHIFT != DENSE_ALL:
        return False
    return bool(stream[at + 1] & np.uint8(SHARED)) and bool(stream[at + 3] & np.uint8(SHARED))


@njit(cache=True, nogil=True, forceinline=True)
def _impacts_at(kind: int, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Return where the impacts of a dense block begin, or the mask before them."""
    return at + 1 if kind == DENSE_ALL else at + _CODES + ((count + 3) >> 2)


@njit(cache=True, nogil=True, forceinline=True)
def read_impact(stream: Any, kind: int, at: int, number: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the mask and the impact of an escaped posting.

    Parameters
        stream, kind: postings of the segment, and how the block is dense
        at, number: from `_impacts_at`; the number of the posting among those that are escaped
    """
    if kind == DENSE_PLAIN:
        return np.int64(BODY_ONLY), np.int64(stream[at + number])
    if kind == DENSE_MASKED:
        return np.int64(stream[at + 2 * number + 1]), np.int64(stream[at + 2 * number])
    if kind == DENSE_ALL and stream[at] & np.uint8(SHARED):
        bit: Any = number * np.int64(stream[at + 2] & np.uint8(_WIDTH))
        width = np.uint64(stream[at + 2] & np.uint8(_WIDTH))
        above = (load_uint64(stream, at + 3 + (bit >> 3)) >> np.uint64(bit & 7)) & ((_ONE << width) - _ONE)
        return np.int64(stream[at] & np.uint8(SHARED - 1)), np.int64(stream[at + 1]) + np.int64(above)
    return np.int64(stream[at]), np.int64(stream[at + 1 + number])


@njit(cache=True, nogil=True, forceinline=True)
def enter_impacts(stream: Any, at: int, count: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return how the block at `at`, of so many documents, is dense, and where its impacts begin; for `read_impact`."""
    kind = np.int64(stream[at] >> _KIND_SHIFT)
    return kind, _impacts_at(kind, at, count)


@njit(cache=True, nogil=True, forceinline=True)
def dense_impact(stream: Any, at: int, number: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the mask and the impact of the escaped posting of that number in the dense block at `at`."""
    kind = np.int64(stream[at] >> _KIND_SHIFT)
    return read_impact(stream, kind, _impacts_at(kind, at, popcount(dense_documents(stream, at))), number)


@njit(cache=True, nogil=True)
def find_dense(stream: Any, at: int, offset: int) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Find the posting of one document of a dense block.

    Parameters
        stream, at: postings of the segment, and where the block begins
        offset: number of the document within the block
    Returns
        its impact (0 if it is not escaped, -1 if there is no such posting), its code, its mask of fields, and how many
        postings are before it
    """
    documents, kind = dense_documents(stream, at), np.int64(stream[at] >> _KIND_SHIFT)
    if not (documents >> np.uint64(offset)) & _ONE:
        return np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    number = popcount(documents & ((_ONE << np.uint64(offset)) - _ONE))
    if kind != DENSE_ALL:
        code = np.int64(stream[at + _CODES + (number >> 2)] >> np.uint8(2 * (number & 3))) & 3
        if code != ESCAPED:
            return np.int64(0), code, np.int64(BODY_ONLY), number
    mask, impact = dense_impact(stream, at, count_escaped(stream, at, number))
    return impact, np.int64(ESCAPED), mask, number


@njit(cache=True, nogil=True)
def _score_all(
    stream: Any, at: int, fields: int, weight: Any, scores: Any, highest: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Do what `score_dense` does, in a block that has all documents, with packed impacts."""
    if not fields & np.int64(stream[at + 1] & np.uint8(SHARED - 1)):
        return np.uint64(0), highest
    for number in range(BLOCK):
        _, impact = read_impact(stream, DENSE_ALL, at + 1, number)
        scores[number] += weight * np.float32(impact)
        highest = max(highest, scores[number])
    return _ALL, highest


@njit(cache=True, nogil=True)
def score_dense(
    stream: Any, at: int, plain_impact: Any, base: int, fields: int, weight: Any, scores: Any, highest: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Add the scores of the postings of a dense block.

    Parameters
        stream, at: postings of the segment, and where the block begins
        plain_impact, base: impacts of plain postings, and where those of the block begin
        fields, weight: the fields that count, and what impacts are multiplied by
        scores, highest: by document of the block, added to; and the highest of those of postings so far
    Returns
        the documents that have the term in these fields, and the highest score
    """
    kind, documents = np.int64(stream[at] >> _KIND_SHIFT), dense_documents(stream, at)
    if kind == DENSE_ALL and stream[at + 1] & np.uint8(SHARED):
        return _score_all(stream, at, fields, weight, scores, highest)
    count = popcount(documents)
    extra = _impacts_at(kind, at, count)
    codes, following = dense_codes(stream, at, count)
    mask = np.int64(BODY_ONLY)
    if kind in (DENSE_SAME, DENSE_ALL):
        mask = np.int64(stream[extra])
        extra += 1
    found, left, step = np.uint64(0), documents, np.int64(2 if kind == DENSE_MASKED else 1)
    for n in range(count):
        if n == _WORD_CODES:
            codes = following
        offset = np.uint64(lowest_bit(left))
        left &= left - _ONE
        code = np.int64(codes & _THREE)
        codes >>= np.uint64(2)
        escaped = np.int64(code == ESCAPED)
        # Which are escaped cannot be foreseen: without branches.
        plain = np.int64(plain_impact[base + (code & (escaped - 1)) * BLOCK + np.int64(offset)])
        word = load_uint64(stream, extra)  # Behind the last of them, which is read in vain, are other bytes.
        impact = plain + (np.int64(word & _BYTE) - plain) * escaped
        its_mask = mask if kind != DENSE_MASKED else np.int64((word >> np.uint64(8)) & _BYTE)
        extra += step * escaped
        if fields & (BODY_ONLY + (its_mask - BODY_ONLY) * escaped):
            found |= _ONE << offset
            scores[offset] += weight * np.float32(impact)
            highest = max(highest, scores[offset])
    return found, highest


@njit(cache=True, nogil=True)
def score_dense_chosen(
    stream: Any, at: int, plain_impact: Any, base: int, weight: Any, scores: Any, chosen: Any
) -> None:  # pragma: no cover - compiled
    """Add the scores of the postings of a dense block to those of some of its documents; others are not read.

    Parameters are those of `score_dense`, all fields count; `chosen` is a set of documents of the block.
    """
    left = dense_documents(stream, at) & chosen
    while left:
        offset = lowest_bit(left)
        left &= left - _ONE
        impact, code, _, _ = find_dense(stream, at, offset)
        if code != ESCAPED:
            impact = np.int64(plain_impact[base + code * BLOCK + offset])
        scores[offset] += weight * np.float32(impact)


@njit(cache=True, nogil=True)
def dense_bytes(stream: Any, at: int, stop: int, last: int) -> int:  # pragma: no cover - compiled
    """Validate a dense block that may be damaged.

    Parameters
        stream, at, stop: postings of the segment, where the block begins and ends
        last: no document of the block has a higher number in it
    Returns
        how many postings it has, -1 if its bytes are not those of so many, or are not valid
    """
    kind, count, begin = np.int64(stream[at] >> _KIND_SHIFT), np.int64(BLOCK), at + 1
    if kind == DENSE_ALL and stop - at > 4 and stream[at + 1] & np.uint8(SHARED):
        width = np.int64(stream[at + 3] & np.uint8(SHARED - 1))
        if width > _MAX_WIDTH or stop - at != 4 + BLOCK // 8 * width + (width == 0) or last < BLOCK - 1:
            return np.int64(-1)
        escaped = np.int64(BLOCK)
    elif kind == DENSE_ALL:
        if stop - at != 2 + BLOCK or last < BLOCK - 1:
            return np.int64(-1)
        escaped = np.int64(BLOCK)
    else:
        if stop - at < _CODES:
            return np.int64(-1)
        documents = load_uint64(stream, at + 1)
        count = popcount(documents)
        begin = at + _CODES + ((count + 3) >> 2)
        if count == 0 or begin > stop or (last < BLOCK - 1 and documents >> np.uint64(last + 1)):
            return np.int64(-1)
        escaped = count_escaped(stream, at, count)
        size = begin - at + escaped
        if kind != DENSE_PLAIN:
            size += escaped if kind == DENSE_MASKED else 1
        if stop - at != size:
            return np.int64(-1)
    for number in range(escaped):
        mask, impact = read_impact(stream, kind, begin, number)
        if mask == 0 or mask >= 1 << 7 or impact == 0 or impact > _BYTE_LIMIT:
            return np.int64(-1)
    return count


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    stream, impacts = np.full(3 + 2 * BLOCK, 255, np.uint8), np.ones(ESCAPED * BLOCK, np.uint8)
    stream.flags.writeable = impacts.flags.writeable = False
    scores = np.zeros(BLOCK, np.float32)
    dense_bytes(stream, 0, 2 + BLOCK, BLOCK - 1)
    find_dense(stream, 0, 0)
    score_dense(stream, 0, impacts, 0, 1, np.float32(1), scores, np.float32(0))
    score_dense_chosen(stream, 0, impacts, 0, np.float32(1), scores, np.uint64(1))
