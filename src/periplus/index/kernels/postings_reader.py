"""The postings of a segment, and how one block of a term is read.

A term's postings are addressed by its `TermEntry`. Of a term that is not sparse, each block it is in has a header byte;
block `header` below is the number of such a byte, counted from the first of the term.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit, popcount
from periplus.accel.pointers import array_1d, array_2d, scalar
from periplus.index.dense_blocks.kernels import (
    are_shared,
    count_escaped,
    dense_codes,
    dense_documents,
    dense_impact,
    find_dense,
    is_dense,
)
from periplus.index.kernels.positions import read_position_delta, skip_position_deltas, skip_positions
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SIZED,
    SKIP_STEP,
    group_count,
    group_shift,
    long_length,
    read_escaped,
    sized_positions,
    skipped_blocks,
)
from periplus.index.kernels.term_dictionary import TermEntry, TermTable, int64

__all__ = [
    "BODY_ONLY",
    "GROUP_BLOCK",
    "GROUP_POSITIONS",
    "GROUP_POSTINGS",
    "TINY_ENTRY",
    "PostingsReader",
    "TermEntry",
    "block_bitset",
    "block_offsets",
    "block_span",
    "enter_block",
    "find_block_header",
    "get_postings",
    "group_offsets",
    "is_long",
    "locate_block",
    "make_tiny_postings",
    "pass_blocks",
    "pass_dense",
    "pass_long",
    "read_escaped",
    "seek_posting",
    "term_entry",
]

_LOW, _HIGH = np.uint64(0x5555555555555555), np.uint64(0xAAAAAAAAAAAAAAAA)
"""The low and the high bit of each of 32 two-bit codes."""
GROUP_BLOCK, GROUP_POSTINGS, GROUP_POSITIONS = 0, 1, 2
"""Columns of `groups`: the block before the group's first plus one, bytes of postings and of positions before it."""


class PostingsReader(NamedTuple):
    """The arrays of a segment that matching reads; the first four are described in `inversion.Postings`."""

    stream: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    groups: npt.NDArray[np.uint32]
    plain_impact: npt.NDArray[np.uint8]
    static: npt.NDArray[np.float32]
    """Static rank by document; empty where all are 0."""
    block_static: npt.NDArray[np.float32]
    """The highest static rank in each block; empty where all are 0."""
    live: npt.NDArray[np.uint64]
    """The set of documents in each block that are not deleted."""
    bitsets: npt.NDArray[np.uint64]
    """By term encoded as a bitset, and block: the documents that have it; from `build_bitsets`."""
    factor: npt.NDArray[np.float32] = np.zeros(0, np.float32)
    """By document: what its score is multiplied by, more than 0; empty where all are 1."""
    block_factor: npt.NDArray[np.float32] = np.zeros(0, np.float32)
    """The highest factor in each block; empty where all are 1."""
    is_packed: int = 1
    """Whether sparse postings and positions of escaped ones are packed; up to format 3 they are written in bytes."""
    sized: int = SIZED
    """From which first byte on long blocks say the size of their positions, too; UNSIZED up to format 4."""


@njit(cache=True, nogil=True, forceinline=True)
def get_postings(addresses: Any) -> PostingsReader:  # pragma: no cover - compiled
    """Return the postings whose addresses `pointers.pin` has written down: its fields, in order."""
    return PostingsReader(
        array_1d(addresses, 0, np.uint8),
        array_1d(addresses, 1, np.uint8),
        array_2d(addresses, 2, np.uint32),
        array_1d(addresses, 3, np.uint8),
        array_1d(addresses, 4, np.float32),
        array_1d(addresses, 5, np.float32),
        array_1d(addresses, 6, np.uint64),
        array_2d(addresses, 7, np.uint64),
        array_1d(addresses, 8, np.float32),
        array_1d(addresses, 9, np.float32),
        scalar(addresses, 10, np.int64),
        scalar(addresses, 11, np.int64),
    )


@njit(cache=True, nogil=True)
def term_entry(terms: TermTable, term: int) -> TermEntry:  # pragma: no cover - compiled
    """Return the entry of a term by its number in an unpacked dictionary."""
    begin = terms.stream_end[term - 1] if term else int64(0)
    position = terms.position_end[term - 1] if term else int64(0)
    return TermEntry(
        int64(terms.frequency[term]),
        begin,
        terms.stream_end[term],
        position,
        int64(terms.encoding[term]),
        int64(terms.first_group[term]),
        int64(terms.headers[term]),
        int64(terms.bitset_row[term]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def locate_block(postings: PostingsReader, entry: Any, header: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings of a block begin, with their length if it is long, and the code of their length.

    Parameters
        postings, entry: the segment, and a term of it that is not sparse
        header: number of the block's header
    """
    stream, lengths, shift = postings.stream, entry.begin + 2 + entry.headers, group_shift(entry.encoding)
    group = header >> shift
    at = lengths + (entry.headers + 3) // 4 + np.int64(postings.groups[entry.first_group + group, GROUP_POSTINGS])
    word = load_uint64(stream, lengths + (group << (shift - 2)))
    inside = np.uint64(header - (group << shift))
    code = np.int64((word >> (inside + inside)) & np.uint64(3))
    word &= (np.uint64(1) << (inside + inside)) - np.uint64(1)
    long = word & (word >> np.uint64(1)) & _LOW
    done = np.uint64(0)  # Blocks up to the last long one, whose lengths have been added.
    while long:
        bit = np.uint64(lowest_bit(long))
        long &= long - np.uint64(1)
        passed = word & ((np.uint64(1) << bit) - np.uint64(1)) & ~((np.uint64(1) << done) - np.uint64(1))
        at += np.int64((bit - done) >> np.uint64(1)) + popcount(passed & _LOW) + 2 * popcount(passed & _HIGH)
        at += long_length(np.int64(stream[at]), postings.sized) + 1
        done = bit + np.uint64(2)
    word &= ~((np.uint64(1) << done) - np.uint64(1))
    left = np.int64(inside) - np.int64(done >> np.uint64(1))
    return at + left + popcount(word & _LOW) + 2 * popcount(word & _HIGH), code


@njit(cache=True, nogil=True, forceinline=True)
def block_span(postings: PostingsReader, entry: Any, header: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings of a block begin and end in the stream.

    Parameters
        postings, entry: the segment, and a term of it that is not sparse
        header: number of the block's header
    """
    at, code = locate_block(postings, entry, header)
    if code < LONG_BLOCK:
        return at, at + code + 1
    return at + 1, at + 1 + long_length(np.int64(postings.stream[at]), postings.sized)


@njit(cache=True, nogil=True, forceinline=True)
def block_bitset(stream: Any, at: int, stop: int) -> Any:  # pragma: no cover - compiled
    """Return the documents of the postings from `at` to `stop`, all of one block, as a 64-bit set."""
    if is_dense(stream, at, stop):
        return dense_documents(stream, at)
    found = np.uint64(0)
    while at < stop:
        byte = np.int64(stream[at])
        found |= np.uint64(1) << np.uint64(byte & (BLOCK - 1))
        at += 1
        if byte >= ESCAPED << 6:
            at += 1 if stream[at] else 3
    return found


@njit(cache=True, nogil=True, forceinline=True)
def group_offsets(postings: PostingsReader, entry: Any, group: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and where the positions of a group of blocks begin.

    Parameters
        postings, entry: the segment, and a term of it that is not sparse
        group: number of the group among those of the term
    """
    row, first = entry.first_group + group, entry.begin + 2 + entry.headers + (entry.headers + 3) // 4
    return (
        first + np.int64(postings.groups[row, GROUP_POSTINGS]),
        entry.positions + np.int64(postings.groups[row, GROUP_POSITIONS]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def pass_long(
    stream: Any, positions: Any, sized: int, at: int, position: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and the positions of the block after a long one begin.

    Parameters
        stream, positions, sized: of the segment
        at, position: where those of the long block begin, with their lengths
    """
    first = np.int64(stream[at])
    if first >= sized:
        position += sized_positions(first)
    else:
        size, position = read_position_delta(positions, position)
        position += size
    return at + 1 + long_length(first, sized), position


@njit(cache=True, nogil=True, forceinline=True)
def pass_blocks(
    postings: PostingsReader, entry: Any, first: int, header: int, at: int, position: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Pass over blocks of a term; of long ones, over their lengths too.

    Parameters
        postings, entry: the segment, and a term of it that is not sparse
        first, header: numbers of the first block's header, and of the one after the last; both of one group
        at, position: where the postings and the positions of the first begin
    Returns
        where those of the one after the last begin
    """
    stream, positions, headers = postings.stream, postings.positions, entry.begin + 2
    lengths = headers + entry.headers
    for n in range(first, header):
        length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
        if length == LONG_BLOCK:
            at, position = pass_long(stream, positions, postings.sized, at, position)
            continue
        stop = at + length + 1
        if stream[headers + n] & SKIP_STEP == SKIP_STEP:
            at = stop
            continue
        while at < stop:
            code = np.int64(stream[at] >> 6)
            at += 1
            if code < ESCAPED:
                position = skip_position_deltas(positions, position, code + 1)
            else:
                mask, _, at = read_escaped(stream, at)
                position = skip_positions(positions, postings.is_packed, position, ESCAPED, mask)
    return at, position


@njit(cache=True, nogil=True, forceinline=True)
def is_long(postings: PostingsReader, entry: Any, header: int) -> bool:  # pragma: no cover - compiled
    """Return whether the length of a block is written before its postings."""
    lengths = entry.begin + 2 + entry.headers
    return (np.int64(postings.stream[lengths + (header >> 2)]) >> (2 * (header & 3))) & 3 == LONG_BLOCK


@njit(cache=True, nogil=True, forceinline=True)
def enter_block(
    postings: PostingsReader, entry: Any, header: int, at: int, position: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and the positions of a block are, behind the lengths that long ones begin with."""
    if is_long(postings, entry, header):
        if np.int64(postings.stream[at]) < postings.sized:
            _, position = read_position_delta(postings.positions, position)
        at += 1
    return at, position


@njit(cache=True, nogil=True, forceinline=True)
def block_offsets(postings: PostingsReader, entry: Any, header: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and where the positions of a block begin; parameters as for `block_span`."""
    group = header >> group_shift(entry.encoding)
    at, position = group_offsets(postings, entry, group)
    at, position = pass_blocks(postings, entry, group << group_shift(entry.encoding), header, at, position)
    return enter_block(postings, entry, header, at, position)


@njit(cache=True, nogil=True)
def find_block_header(postings: PostingsReader, entry: Any, block: int) -> int:  # pragma: no cover - compiled
    """Return the number of a term's header for a block, -1 if the term is not in it; the term is not sparse."""
    low, high = np.int64(0), np.int64(group_count(entry.headers, entry.encoding))
    while low + 1 < high:
        middle = (low + high) >> 1
        if np.int64(postings.groups[entry.first_group + middle, GROUP_BLOCK]) <= block:
            low = middle
        else:
            high = middle
    here = np.int64(postings.groups[entry.first_group + low, GROUP_BLOCK]) - 1
    headers = entry.begin + 2
    for n in range(low << group_shift(entry.encoding), entry.headers):
        head = np.int64(postings.stream[headers + n])
        step = head & 15
        if step == SKIP_STEP:
            here += skipped_blocks(head)
            continue
        here += step + 1
        if here >= block:
            return n if here == block else -1
    return -1


@njit(cache=True, nogil=True)
def pass_dense(
    postings: PostingsReader, at: int, first: int, number: int, position: int
) -> int:  # pragma: no cover - compiled
    """Return where the positions of a posting of a dense block begin.

    Parameters
        postings, at: the segment, and where the block begins
        first, number: the posting, and one before it or itself, by how many are before them
        position: where those of the first begin
    """
    stream, positions = postings.stream, postings.positions
    if are_shared(stream, at):
        return np.int64(position)
    escaped = count_escaped(stream, at, first)
    low, high = dense_codes(stream, at, number)
    for n in range(first, number):
        code = np.int64(((low if n < 32 else high) >> np.uint64(2 * (n & 31))) & np.uint64(3))
        mask = np.int64(BODY_ONLY)
        if code == ESCAPED:
            mask, _ = dense_impact(stream, at, escaped)
            escaped += 1
        position = skip_positions(positions, postings.is_packed, position, code, mask)
    return position


@njit(cache=True, nogil=True, forceinline=True)
def seek_posting(
    postings: PostingsReader, at: int, stop: int, position: int, offset: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Find the posting of one document within a block.

    Parameters
        postings: the segment
        at, stop: the postings of the block
        position: where the positions of the block begin
        offset: number of the document within the block
    Returns
        its impact (0 if it is not escaped, -1 if there is no such posting), code, mask of fields, offset of positions
    """
    stream = postings.stream
    if is_dense(stream, at, stop):
        impact, code, mask, number = find_dense(stream, at, offset)
        if impact < 0:
            return -1, 0, 0, 0
        return impact, code, mask, pass_dense(postings, at, 0, number, position)
    while at < stop:
        byte = np.int64(stream[at])
        code = byte >> 6
        mask, impact, after = np.int64(BODY_ONLY), np.int64(0), at + 1
        if code == ESCAPED:
            mask, impact, after = read_escaped(stream, at + 1)
        if byte & 63 == offset:
            return impact, code, mask, position
        position = skip_positions(postings.positions, postings.is_packed, position, code, mask)
        at = after
    return -1, 0, 0, 0


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def make_tiny_postings() -> PostingsReader:
    """Return the postings of a segment of one document with one term, with the array types of a segment: read-only."""
    return PostingsReader(
        _read_only(np.array([0], np.uint8)),
        _read_only(np.array([0], np.uint8)),
        _read_only(np.zeros((0, 3), np.uint32)),
        _read_only(np.ones(ESCAPED * BLOCK, np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
        np.zeros((1, 1), np.uint64),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
        1,
        SIZED,
    )


TINY_ENTRY = TermEntry(1, 0, 1, 0, 0, 0, 0, -1)
"""The entry of the only term of `make_tiny_postings`."""
