"""Words at their places: whether a document of an open block has a phrase, or words near each other."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.index.dense_blocks.kernels import find_dense, is_dense
from periplus.index.kernels.inversion import FIELD_SHIFT
from periplus.index.kernels.positions import keep_followed, read_positions
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    DENSE_MARK,
    ESCAPED,
    SPARSE,
    group_shift,
    long_length,
)
from periplus.index.kernels.postings_reader import PostingsReader, enter_block, group_offsets, is_long, read_escaped
from periplus.query.kernels.plan import WORK, Plan, Scratch, place_of_leaf
from periplus.query.kernels.position_seek import TOO_LONG, has_followed, pass_dense, pass_neighbours, seek_document

__all__ = ["has_phrase"]

_DENSE = 1 << 40
"""More than any offset; added to that of a dense block once for each posting that was passed, and once more."""
_READ_WORK = 8
"""Work units of finding the positions of a posting, besides reading them."""


@njit(cache=True, nogil=True, forceinline=True)
def _find_positions(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, header: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and the positions of a block begin: from the block before, if it is of the group."""
    place, first = place_of_leaf(plan, leaf), scratch.spots[leaf, 6]
    shift = group_shift(place.encoding)
    at, position = scratch.spots[leaf, 7], scratch.spots[leaf, 8]
    if first < 0 or first > header or first >> shift != header >> shift:
        first = header >> shift << shift
        at, position = group_offsets(lists, place, header >> shift)
    at, position = pass_neighbours(lists, place, first, header, at, position)
    scratch.spots[leaf, 6], scratch.spots[leaf, 7], scratch.spots[leaf, 8] = header, at, position
    return enter_block(lists, place, header, at, position)


@njit(cache=True, nogil=True, forceinline=True)
def _find_posting(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int, offset: int
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Return where the positions of a leaf in one document of the open block begin, its code and its mask of fields.

    In a dense block, the number of the posting is noted with its beginning.

    Documents of a block are asked about in ascending order, so each time it goes on from the one before.
    """
    place = place_of_leaf(plan, leaf)
    if place.encoding == SPARSE:
        n = np.int64(scratch.entry[leaf, block])
        while scratch.sparse[leaf, n] >> 24 < block * BLOCK + offset:
            n += 1
        posting = scratch.sparse[leaf, n]
        return scratch.sparse[len(scratch.entry) + leaf, n], posting & 3, (posting >> 16) & 255
    at, position = scratch.spots[leaf, 2], scratch.spots[leaf, 3]
    if position < 0:
        header = np.int64(scratch.entry[leaf, block])
        at, position = _find_positions(lists, plan, scratch, leaf, header)
        if lists.stream[at] & np.uint8(DENSE_MARK) == DENSE_MARK and is_long(lists, place, header):
            length = long_length(np.int64(lists.stream[at - 1]), lists.sized)
            at += _DENSE * np.int64(is_dense(lists.stream, at, at + length))
    if at >= _DENSE:
        begin, first = at % _DENSE, at // _DENSE - 1
        _, code, mask, number = find_dense(lists.stream, begin, offset)
        position = pass_dense(lists.stream, lists.positions, lists.is_packed, begin, first, number, position)
        scratch.spots[leaf, 2], scratch.spots[leaf, 3] = begin + (number + 1) * _DENSE, position
        return position, code, mask
    at, position = seek_document(lists, at, position, offset)
    scratch.spots[leaf, 2], scratch.spots[leaf, 3] = at, position
    code, mask = np.int64(lists.stream[at]) >> 6, np.int64(BODY_ONLY)
    if code == ESCAPED:
        mask, _, _ = read_escaped(lists.stream, at + 1)
    return position, code, mask


@njit(cache=True, nogil=True, forceinline=True)
def has_phrase(
    lists: PostingsReader, plan: Plan, scratch: Scratch, phrase: int, block: int, offset: int
) -> bool:  # pragma: no cover - compiled
    """Return whether a document of the open block has the phrase's words at their positions."""
    begin, end = plan.phrases[phrase, 0], plan.phrases[phrase, 1]
    first, other = scratch.places[0], scratch.places[1]
    reach, fields = plan.phrases[phrase, 2], np.int64(plan.phrases[phrase, 3])
    count, work = 0, 0
    # Few positions of the first two words are compared as they are, before any is read: most documents have no match.
    compares, unread = reach == 0 and end > begin + 1 and fields & BODY_ONLY != 0, np.int64(-1)
    for word in range(begin, end):
        position, code, mask = _find_posting(lists, plan, scratch, plan.words[word, 0], block, offset)
        distance = plan.words[word, 1] - plan.words[begin, 1]
        if word == begin and compares and code < ESCAPED:
            unread, count = position, code + 1
            work += count + _READ_WORK
            continue
        if unread >= 0:
            if code < ESCAPED:
                found = has_followed(lists.positions, unread, count, position, code + 1, distance)
                if found == 0 or (found != TOO_LONG and end == begin + 2):
                    work += code + 1 + count + _READ_WORK
                    count = found
                    break
            read_positions(lists, unread, count - 1, BODY_ONLY, first)
            unread = np.int64(-1)
        size = read_positions(lists, position, code, mask, other)
        work += size + count + _READ_WORK
        if word == begin:
            for i in range(size):
                if (fields >> (other[i] >> FIELD_SHIFT)) & 1:
                    first[count] = other[i]
                    count += 1
        elif reach == 0:
            count = keep_followed(first, count, other, size, distance)
        else:
            count = _near(first, count, other, size, reach)
        if count == 0:
            break
    scratch.progress[WORK] += work
    return count > 0


@njit(cache=True, nogil=True, forceinline=True)
def _near(first: Any, count: int, other: Any, size: int, reach: int) -> int:  # pragma: no cover - compiled
    """Put into `first` the positions of `other` that have one in `first` within `reach`; give how many."""
    kept, j = 0, 0
    for i in range(size):
        while j < count and first[j] < other[i] - reach:
            j += 1
        at = j
        while at < count and first[at] <= other[i] + reach:
            if first[at] != other[i]:
                break
            at += 1
        if at < count and first[at] <= other[i] + reach and first[at] != other[i]:
            other[kept] = other[i]
            kept += 1
    for i in range(kept):
        first[i] = other[i]
    return kept
