"""Writes and reads the postings of sparse terms: gaps between documents by Rice codes, then code and impact in bits.

Drawn in docs/formats/segment.md. Up to format 3 they are bytes, which the same functions read.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit
from periplus.index.kernels.postings_format import BLOCK, BODY_ONLY, ESCAPED, TermPostings, read_escaped
from periplus.index.kernels.term_dictionary import read_varint
from periplus.index.packed_integers.kernels import put_bits

__all__ = ["IN_BYTES", "enter_sparse", "is_valid_sparse", "read_sparse", "write_sparse"]

IN_BYTES = -1
"""The width of gaps that are written in bytes, up to format 3."""
_MEAN_SHARE = 44
"""Documents of a block times ln 2: the best width is about that of the mean gap times ln 2."""
_MAX_WIDTH = 30
_LONG_GAP = 16
"""So many bits say that a gap follows in _GAP_BITS."""
_GAP_BITS = 32
_CODE_BITS = 2
_ONE = np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def _gap_width(frequency: int, blocks: int) -> int:  # pragma: no cover - compiled
    """Return how many low bits of a gap are written as they are, for a term in so many documents of a segment."""
    width = np.int64(0)
    while width < _MAX_WIDTH and (frequency << (width + 1)) <= _MEAN_SHARE * blocks:
        width += 1
    return width


@njit(cache=True, nogil=True)
def write_sparse(postings: TermPostings, count: int, blocks: int, out: Any, at: int) -> int:  # pragma: no cover
    """Write the postings of a sparse term.

    Parameters
        postings, count: its postings, and how many there are
        blocks: how many the segment has
        out, at: uint8 array, and where to write
    Returns
        the offset after the last byte
    """
    width, last, word, filled = _gap_width(count, blocks), np.int64(-1), np.uint64(0), np.int64(0)
    for i in range(count):
        gap, code = np.int64(postings.document[i]) - last - 1, np.int64(postings.code[i])
        last = np.int64(postings.document[i])
        ones = gap >> width
        if ones < _LONG_GAP:
            value = ((1 << ones) - 1) | (gap & ((1 << width) - 1)) << (ones + 1)
            word, filled, at = put_bits(word, filled, value, ones + 1 + width, out, at)
        else:
            word, filled, at = put_bits(
                word, filled, (1 << _LONG_GAP) - 1 | gap << _LONG_GAP, _LONG_GAP + _GAP_BITS, out, at
            )
        value, bits = code, np.int64(_CODE_BITS)
        if code == ESCAPED:
            is_masked = np.int64(postings.mask[i] != BODY_ONLY)
            escaped = np.int64(postings.impact[i]) << 1
            if is_masked:
                escaped = 1 | np.int64(postings.mask[i]) << 1 | np.int64(postings.impact[i]) << 8
            value |= escaped << _CODE_BITS
            bits += 9 + 7 * is_masked
        word, filled, at = put_bits(word, filled, value, bits, out, at)
    if filled:
        out[at] = np.uint8(word)
        at += 1
    return at


@njit(cache=True, nogil=True, forceinline=True)
def enter_sparse(begin: int, frequency: int, plain_impact: Any, is_packed: int) -> tuple[int, int]:  # pragma: no cover
    """Return where the first posting of a sparse term begins, and the width of its gaps, both for `read_sparse`.

    Parameters
        begin, frequency: of the term
        plain_impact, is_packed: of the segment
    """
    if not is_packed:
        return np.int64(begin), np.int64(IN_BYTES)
    return np.int64(begin) << 3, _gap_width(frequency, len(plain_impact) // (ESCAPED * BLOCK))


@njit(cache=True, nogil=True, forceinline=True)
def _read_gap(stream: Any, at: int, width: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Return the step from the document before, the code of a posting, and where what follows begins, in bits."""
    word = load_uint64(stream, at >> 3) >> np.uint64(at & 7)
    ones = lowest_bit(~word | _ONE << np.uint64(_LONG_GAP))
    if ones < _LONG_GAP:
        word >>= np.uint64(ones + 1)
        gap = ones << width | np.int64(word & ((_ONE << np.uint64(width)) - _ONE))
        return gap + 1, np.int64((word >> np.uint64(width)) & np.uint64(ESCAPED)), at + (1 + width + _CODE_BITS) + ones
    word >>= np.uint64(_LONG_GAP)
    gap = np.int64(word & ((_ONE << np.uint64(_GAP_BITS)) - _ONE))
    code = np.int64((word >> np.uint64(_GAP_BITS)) & np.uint64(ESCAPED))
    return gap + 1, code, at + (_LONG_GAP + _GAP_BITS + _CODE_BITS)


@njit(cache=True, nogil=True, forceinline=True)
def _read_impact(stream: Any, at: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Return the mask and the impact of an escaped posting, and where the next begins, in bits."""
    word = load_uint64(stream, at >> 3) >> np.uint64(at & 7)
    if word & _ONE:
        return np.int64((word >> _ONE) & np.uint64(127)), np.int64((word >> np.uint64(8)) & np.uint64(255)), at + 16
    return np.int64(BODY_ONLY), np.int64((word >> _ONE) & np.uint64(255)), at + 9


@njit(cache=True, nogil=True, forceinline=True)
def read_sparse(stream: Any, at: int, width: int) -> tuple[int, int, int, int, int]:  # pragma: no cover - compiled
    """Read one posting of a sparse term.

    Parameters
        stream: postings of the segment
        at, width: from `enter_sparse`, `at` then from here
    Returns
        the step from the document before (of the first, from -1), the code, the mask of fields, the impact if it is
        escaped, and `at` for the next posting
    """
    if width == IN_BYTES:
        step, at = read_varint(stream, at)
        if step & 3 == ESCAPED:
            mask, impact, at = read_escaped(stream, at)
            return step >> 2, np.int64(ESCAPED), mask, impact, at
        return step >> 2, step & 3, np.int64(BODY_ONLY), np.int64(0), at
    step, code, at = _read_gap(stream, at, width)
    if code == ESCAPED:
        mask, impact, at = _read_impact(stream, at)
        return step, code, mask, impact, at
    return step, code, np.int64(BODY_ONLY), np.int64(0), at


@njit(cache=True, nogil=True)
def is_valid_sparse(stream: Any, begin: int, end: int, frequency: int, documents: int) -> bool:  # pragma: no cover
    """Return whether the packed postings of a sparse term fill their range, and their documents exist."""
    at, document, width = begin << 3, np.int64(-1), _gap_width(frequency, (documents + BLOCK - 1) // BLOCK)
    for _ in range(frequency):
        if at >= end << 3:
            return False
        step, code, at = _read_gap(stream, at, width)
        document += step
        if document >= documents:
            return False
        if code == ESCAPED:
            if at >= end << 3:
                return False
            mask, impact, at = _read_impact(stream, at)
            if mask == 0 or impact == 0:
                return False
    return (at + 7) >> 3 == end


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    stream = np.zeros(16, np.uint8)
    stream.flags.writeable = False
    is_valid_sparse(stream, 0, 1, 1, 64)
