"""Where the positions of a posting begin: those of other postings are passed over, eight at a time.

How many positions a posting has is in the first two bits of its byte, how many bytes a position takes in the first bits
of that. Neither can be foreseen, so that loops over single ones wait for the processor's guesses more than they work.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit, popcount
from periplus.index.dense_blocks.kernels import are_shared, count_escaped, dense_codes, dense_impact
from periplus.index.kernels.positions import read_position_delta, skip_position_deltas, skip_positions
from periplus.index.kernels.postings_format import ESCAPED, LONG_BLOCK
from periplus.index.kernels.postings_reader import PostingsReader, pass_blocks, pass_long, read_escaped

__all__ = ["TOO_LONG", "has_followed", "pass_dense", "pass_neighbours", "seek_document", "skip_deltas"]

_ONES, _LOW_BITS = np.uint64(0x0101010101010101), np.uint64(0x5555555555555555)
_HIGH, _SECOND = np.uint64(0x8080808080808080), np.uint64(0x4040404040404040)
_OFFSETS, _STEPS = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x0F0F0F0F0F0F0F0F)
_SIXTEENS = np.uint64(0x1010101010101010)
_ONE, _THREE = np.uint64(1), np.uint64(3)
_BYTE, _EIGHT, _SIXTEEN = np.uint64(255), np.uint64(8), np.uint64(16)
_WORD, _HALF = 8, 32
TOO_LONG = 2
"""What `has_followed` returns where it cannot tell."""


class _PostingBytes(NamedTuple):
    """What is read of a segment to pass over postings."""

    stream: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    is_packed: int
    sized: int


@njit(cache=True, nogil=True, forceinline=True)
def _posting_bytes(lists: PostingsReader) -> _PostingBytes:  # pragma: no cover - compiled
    """Return those of a segment."""
    return _PostingBytes(lists.stream, lists.positions, lists.is_packed, lists.sized)


@njit(cache=True, nogil=True, forceinline=True)
def _first_bytes(word: Any, count: int) -> Any:  # pragma: no cover - compiled
    """Return the first of the eight bytes of a word, 0 in place of the others; fewer than eight."""
    return word & ((_ONE << np.uint64(8 * count)) - _ONE)


@njit(cache=True, nogil=True, forceinline=True)
def _both_bits(word: Any) -> Any:  # pragma: no cover - compiled
    """Return the bytes that have their upper two bits: escaped postings, positions of several bytes."""
    return word & (word << _ONE) & _HIGH


@njit(cache=True, nogil=True, forceinline=True)
def _positions_of(word: Any, count: int) -> int:  # pragma: no cover - compiled
    """Return how many positions so many postings have, none of which is escaped; other bytes of the word are 0."""
    return count + popcount(word & _SECOND) + 2 * popcount(word & _HIGH)


@njit(cache=True, nogil=True, forceinline=True)
def skip_deltas(data: Any, at: int, count: int) -> int:  # pragma: no cover - compiled
    """Return the offset after `count` position deltas, as `skip_position_deltas` does."""
    while count > 0 and at + _WORD <= len(data):
        longer, few = _both_bits(load_uint64(data, at)), min(count, _WORD)
        plain = (lowest_bit(longer) >> 3) if longer else _WORD
        if plain >= few:
            at += few
            count -= few
        else:
            _, at = read_position_delta(data, at + plain)
            count -= plain + 1
    return skip_position_deltas(data, at, count) if count > 0 else at


@njit(cache=True, nogil=True, forceinline=True)
def _pass_postings(
    lists: PostingsReader, at: int, stop: int, position: int, fillers: int
) -> int:  # pragma: no cover - compiled
    """Return where positions begin after the postings from `at` to `stop`, -1 if that cannot be told.

    fillers: bytes among these that are no postings, but look like those of one position.
    """
    count = -fillers
    while at < stop:
        word, few = load_uint64(lists.stream, at), min(stop - at, _WORD)
        if few < _WORD:
            word = _first_bytes(word, few)
        escaped = _both_bits(word)
        if not escaped:
            count += _positions_of(word, few)
            at += few
            continue
        if fillers:
            return -1
        plain = lowest_bit(escaped) >> 3
        position = skip_deltas(lists.positions, position, count + _positions_of(_first_bytes(word, plain), plain))
        mask, _, at = read_escaped(lists.stream, at + plain + 1)
        position = skip_positions(lists.positions, lists.is_packed, position, ESCAPED, mask)
        count = 0
    return skip_deltas(lists.positions, position, count)


@njit(cache=True, nogil=True, forceinline=True)
def _count_fillers(stream: Any, first: int, last: int) -> int:  # pragma: no cover - compiled
    """Return how many headers from `first` to the one before `last` stand for no block."""
    count = 0
    while first < last:
        steps, few = load_uint64(stream, first) & _STEPS, min(last - first, _WORD)
        if few < _WORD:
            steps = _first_bytes(steps, few)
        count += popcount((steps + _ONES) & _SIXTEENS)
        first += few
    return count


@njit(cache=True, nogil=True)
def _pass_mixed(
    lists: _PostingBytes, entry: Any, first: int, header: int, at: int, position: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Pass over blocks of a term of which some are long; parameters as for `pass_blocks`.

    Those between two long ones are passed over together. This is a function of its own, to keep others small.
    """
    lengths, headers = entry.begin + 2 + entry.headers, entry.begin + 2
    while first < header:
        few, is_long = np.int64(0), False
        stop = at
        while first + few < header:
            length = (np.int64(lists.stream[lengths + ((first + few) >> 2)]) >> (2 * ((first + few) & 3))) & 3
            is_long = length == LONG_BLOCK
            if is_long:
                break
            stop += length + 1
            few += 1
        if few:
            fillers = _count_fillers(lists.stream, headers + first, headers + first + few)
            after = _pass_postings(lists, at, stop, position, fillers)
            if after < 0:
                return pass_blocks(lists, entry, first, header, at, position)
            at, position, first = stop, after, first + few
        if is_long:
            at, position = pass_long(lists.stream, lists.positions, lists.sized, at, position)
            first += 1
    return at, position


@njit(cache=True, nogil=True, forceinline=True)
def pass_neighbours(
    lists: PostingsReader, entry: Any, first: int, header: int, at: int, position: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Pass over blocks of a term, as `pass_blocks` does: those of at most 32 headers."""
    lengths = entry.begin + 2 + entry.headers
    aligned = first & ~3
    word = load_uint64(lists.stream, lengths + (first >> 2)) >> np.uint64(2 * (first - aligned))
    if first == header:
        return at, position
    count = header - first
    if count < 32:
        word &= (_ONE << np.uint64(2 * count)) - _ONE
    if first - aligned + count > 32 or word & (word >> _ONE) & _LOW_BITS:
        return _pass_mixed(_posting_bytes(lists), entry, first, header, at, position)
    stop = at + count + popcount(word & _LOW_BITS) + 2 * popcount(word & ~_LOW_BITS)
    fillers = _count_fillers(lists.stream, entry.begin + 2 + first, entry.begin + 2 + header)
    after = _pass_postings(lists, at, stop, position, fillers)
    if after >= 0:
        return stop, after
    return _pass_mixed(_posting_bytes(lists), entry, first, header, at, position)


@njit(cache=True, nogil=True, forceinline=True)
def seek_document(
    lists: PostingsReader, at: int, position: int, offset: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the posting of a document begins, and where its positions do.

    Parameters
        lists: the segment
        at, position: a posting of the block, not behind it, and its positions
        offset: number of the document, which the block has, within the block
    """
    wanted, count = np.uint64(offset) * _ONES, 0
    while at < len(lists.stream):
        word = load_uint64(lists.stream, at)
        others = (word & _OFFSETS) ^ wanted
        here = (others - _ONES) & ~others & _HIGH  # Exact up to the first.
        ends = here | _both_bits(word)
        if not ends:
            count += _positions_of(word, _WORD)
            at += _WORD
            continue
        plain = lowest_bit(ends) >> 3
        position = skip_deltas(lists.positions, position, count + _positions_of(_first_bytes(word, plain), plain))
        at, count = at + plain, 0
        if (here >> np.uint64(8 * plain)) & _HIGH & np.uint64(255):
            break
        mask, _, at = read_escaped(lists.stream, at + 1)
        position = skip_positions(lists.positions, lists.is_packed, position, ESCAPED, mask)
    return at, position


@njit(cache=True, nogil=True, forceinline=True)
def pass_dense(
    stream: Any, positions: Any, is_packed: int, at: int, first: int, number: int, position: int
) -> int:  # pragma: no cover - compiled
    """Return where the positions of a posting of a dense block begin.

    Parameters
        stream, positions, is_packed: of the segment
        at: where the block begins
        first, number: a posting, and one not before it, by how many are before them
        position: where the positions of the first begin
    """
    if are_shared(stream, at):
        return np.int64(position)
    low, high = dense_codes(stream, at, number)
    escaped, count, place = count_escaped(stream, at, first), 0, first
    while place < number:
        word, base = (low, 0) if place < _HALF else (high, _HALF)
        end = min(number - base, _HALF)
        word >>= np.uint64(2 * (place - base))
        plain = end - (place - base)
        longer = word & (word >> _ONE) & _LOW_BITS
        if longer:
            plain = lowest_bit(longer) >> 1
            word &= (_ONE << np.uint64(2 * plain)) - _ONE
        count += plain + popcount(word & _LOW_BITS) + 2 * popcount(word & ~_LOW_BITS)
        place += plain
        if longer:
            position = skip_deltas(positions, position, count)
            mask, _ = dense_impact(stream, at, escaped)
            position = skip_positions(positions, is_packed, position, ESCAPED, mask)
            escaped, count, place = escaped + 1, 0, place + 1
    return skip_deltas(positions, position, count)


@njit(cache=True, nogil=True, forceinline=True)
def has_followed(
    data: Any, one: int, ones: int, other: int, others: int, offset: int
) -> int:  # pragma: no cover - compiled
    """Return whether one of some positions has one of some others exactly so far behind it: 1, 0, or TOO_LONG.

    Parameters
        data: positions of the segment
        one, ones: where up to three positions of the body begin, and how many there are
        other, others: the same of the other word
        offset: how far behind
    """
    if max(one, other) + _WORD > len(data):
        return TOO_LONG
    first, second = _first_bytes(load_uint64(data, one), ones), _first_bytes(load_uint64(data, other), others)
    if _both_bits(first) | _both_bits(second):
        return TOO_LONG
    # Of fewer than three, the last counts several times. Without branches: whether there is one cannot be foreseen.
    a = np.int64(first & _BYTE) + offset
    b = a + np.int64((first >> _EIGHT) & _BYTE)
    c = b + np.int64((first >> _SIXTEEN) & _BYTE)
    x = np.int64(second & _BYTE)
    y = x + np.int64((second >> _EIGHT) & _BYTE)
    z = y + np.int64((second >> _SIXTEEN) & _BYTE)
    found = (a == x) | (a == y) | (a == z) | (b == x) | (b == y) | (b == z) | (c == x) | (c == y) | (c == z)
    return np.int64(found)
