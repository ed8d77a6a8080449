"""Reads the postings of a segment: all of a term, one block of it, or some documents.

A term's postings are addressed by its `TermEntry`. Of a term that is not sparse, each block it is in has a header byte;
block `header` below is the number of such a byte, counted from the first of the term.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit, popcount
from periplus.accel.pointers import array_1d, array_2d
from periplus.index.kernels.positions import read_position_delta, skip_position_deltas, skip_positions
from periplus.index.kernels.postings_format import (
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SKIP_STEP,
    SPARSE,
    group_count,
    group_shift,
)
from periplus.index.kernels.term_dictionary import TermEntry, TermTable, int64, read_varint

__all__ = [
    "BODY_ONLY",
    "GROUP_BLOCK",
    "GROUP_POSITIONS",
    "GROUP_POSTINGS",
    "LOOKUP_CODE",
    "LOOKUP_FIELDS",
    "LOOKUP_IMPACT",
    "LOOKUP_POSITIONS",
    "POSITIONS_SIZED",
    "TINY_ENTRY",
    "PostingsReader",
    "TermEntry",
    "block_bitset",
    "block_offsets",
    "block_span",
    "build_bitsets",
    "find_block_header",
    "get_postings",
    "look_up_documents",
    "make_tiny_postings",
    "read_documents",
    "read_escaped",
    "read_postings",
    "seek_posting",
    "term_entry",
]

_LOW, _HIGH = np.uint64(0x5555555555555555), np.uint64(0xAAAAAAAAAAAAAAAA)
"""The low and the high bit of each of 32 two-bit codes."""
POSITIONS_SIZED = 4
"""Added to the code of a posting before whose positions the size of its block's positions is written."""
LOOKUP_FIELDS, LOOKUP_IMPACT, LOOKUP_CODE, LOOKUP_POSITIONS = 0, 1, 2, 3
"""Columns of what `look_up_documents` returns: mask of fields, impact, code of the posting, offset of its positions."""
_LOOKUP_COLUMNS = 4
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
def _locate_block(postings: PostingsReader, entry: Any, header: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings of a block begin, and the code of their length."""
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
        at += np.int64(stream[at]) + LONG_BLOCK + 2
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
    at, code = _locate_block(postings, entry, header)
    if code < LONG_BLOCK:
        return at, at + code + 1
    return at + 1, at + LONG_BLOCK + 2 + np.int64(postings.stream[at])


@njit(cache=True, nogil=True, forceinline=True)
def block_bitset(stream: Any, at: int, stop: int) -> Any:  # pragma: no cover - compiled
    """Return the documents of the postings from `at` to `stop`, all of one block, as a 64-bit set."""
    found = np.uint64(0)
    while at < stop:
        byte = np.int64(stream[at])
        found |= np.uint64(1) << np.uint64(byte & (BLOCK - 1))
        at += 1
        if byte >= ESCAPED << 6:
            at += 1 if stream[at] else 3
    return found


@njit(cache=True, nogil=True, forceinline=True)
def block_offsets(postings: PostingsReader, entry: Any, header: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings and where the positions of a block begin; parameters as for `block_span`."""
    stream, positions, shift = postings.stream, postings.positions, group_shift(entry.encoding)
    headers = entry.begin + 2
    lengths = headers + entry.headers
    group = header >> shift
    at = lengths + (entry.headers + 3) // 4 + np.int64(postings.groups[entry.first_group + group, GROUP_POSTINGS])
    position = entry.positions + np.int64(postings.groups[entry.first_group + group, GROUP_POSITIONS])
    word = load_uint64(stream, lengths + (group << (shift - 2)))
    for n in range(group << shift, header):
        length = np.int64(word & np.uint64(3))
        word >>= np.uint64(2)
        if length == LONG_BLOCK:
            size_there, position = read_position_delta(positions, position)
            position += size_there
            at += np.int64(stream[at]) + LONG_BLOCK + 2
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
                position = skip_positions(positions, position, ESCAPED, mask)
    if word & np.uint64(3) == LONG_BLOCK:
        _, position = read_position_delta(positions, position)
        at += 1
    return at, position


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
        step = np.int64(postings.stream[headers + n]) & 15
        if step == SKIP_STEP:
            here += SKIP_STEP
            continue
        here += step + 1
        if here >= block:
            return n if here == block else -1
    return -1


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
    while at < stop:
        byte = np.int64(stream[at])
        code = byte >> 6
        mask, impact, after = np.int64(BODY_ONLY), np.int64(0), at + 1
        if code == ESCAPED:
            mask, impact, after = read_escaped(stream, at + 1)
        if byte & 63 == offset:
            return impact, code, mask, position
        position = skip_positions(postings.positions, position, code, mask)
        at = after
    return -1, 0, 0, 0


@njit(cache=True, nogil=True)
def _read_block(
    postings: PostingsReader,
    at: int,
    stop: int,
    block: int,
    n: int,
    documents: Any,
    codes: Any,
    masks: Any,
    impacts: Any,
) -> int:  # pragma: no cover - compiled
    """Read the postings of one block into the arrays from index `n` on; return the index after the last."""
    while at < stop and n < len(documents):
        byte = np.int64(postings.stream[at])
        code, offset = byte >> 6, byte & 63
        documents[n], codes[n], masks[n] = block * BLOCK + offset, code, BODY_ONLY
        at += 1
        if code == ESCAPED:
            masks[n], impacts[n], at = read_escaped(postings.stream, at)
        else:
            impacts[n] = postings.plain_impact[(block * ESCAPED + code) * BLOCK + offset]
        n += 1
    return n


@njit(cache=True, nogil=True)
def read_postings(
    postings: PostingsReader, entry: Any, documents: Any, codes: Any, masks: Any, impacts: Any
) -> int:  # pragma: no cover - compiled
    """Read all postings of a term.

    Parameters
        postings, entry: the segment, and a term of it
        documents, codes, masks, impacts: arrays of at least as many elements as the term has documents; filled. Codes
            have POSITIONS_SIZED added where the size of the block's positions comes before those of the posting
    Returns
        how many postings were read
    """
    n, at, end = 0, entry.begin, entry.end
    if entry.encoding == SPARSE:
        document = np.int64(-1)
        while at < end and n < len(documents):
            step, at = read_varint(postings.stream, at)
            document += step >> 2
            code = step & 3
            documents[n], codes[n], masks[n] = document, code, BODY_ONLY
            if code == ESCAPED:
                masks[n], impacts[n], at = read_escaped(postings.stream, at)
            else:
                impacts[n] = postings.plain_impact[(document // BLOCK * ESCAPED + code) * BLOCK + document % BLOCK]
            n += 1
    else:
        headers = at + 2
        lengths = headers + entry.headers
        at = lengths + (entry.headers + 3) // 4
        block = np.int64(-1)
        for header in range(entry.headers):
            step = np.int64(postings.stream[headers + header]) & 15
            if step == SKIP_STEP:
                block += SKIP_STEP
                at += 1
                continue
            block += step + 1
            length = (np.int64(postings.stream[lengths + (header >> 2)]) >> (2 * (header & 3))) & 3
            first = n
            if length == LONG_BLOCK:
                length = np.int64(postings.stream[at]) + LONG_BLOCK
                at += 1
            n = _read_block(postings, at, at + length + 1, block, n, documents, codes, masks, impacts)
            if length >= LONG_BLOCK and first < n:
                codes[first] |= POSITIONS_SIZED
            at += length + 1
    return n


@njit(cache=True, nogil=True)
def look_up_documents(
    postings: PostingsReader, entry: TermEntry, documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Look one term up in some documents.

    Parameters
        postings, entry: the segment, and a term of it
        documents: numbers of documents, ascending
    Returns
        a row for each document, with the columns LOOKUP_*; its mask of fields is 0 where the term does not occur
    """
    found = np.zeros((len(documents), _LOOKUP_COLUMNS), np.int64)
    if entry.encoding == SPARSE:
        _look_up_sparse(postings, entry, documents, found)
        return found
    for i in range(len(documents)):
        block, offset = documents[i] // BLOCK, documents[i] % BLOCK
        header = find_block_header(postings, entry, block)
        if header < 0:
            continue
        at, stop = block_span(postings, entry, header)
        _, position = block_offsets(postings, entry, header)
        impact, code, mask, position_at = seek_posting(postings, at, stop, position, offset)
        if impact >= 0:
            if code < ESCAPED:
                impact = np.int64(postings.plain_impact[(block * ESCAPED + code) * BLOCK + offset])
            found[i, LOOKUP_FIELDS], found[i, LOOKUP_IMPACT] = mask, impact
            found[i, LOOKUP_CODE], found[i, LOOKUP_POSITIONS] = code, position_at
    return found


@njit(cache=True, nogil=True)
def _look_up_sparse(
    postings: PostingsReader, entry: TermEntry, documents: Any, found: Any
) -> None:  # pragma: no cover - compiled
    """Fill `found` for a sparse term: see `look_up_documents`."""
    at, end, position = entry.begin, entry.end, entry.positions
    document = np.int64(-1)
    i = 0
    while at < end and i < len(documents):
        step, at = read_varint(postings.stream, at)
        document += step >> 2
        code, mask = step & 3, np.int64(BODY_ONLY)
        impact = np.int64(0)
        if code == ESCAPED:
            mask, impact, at = read_escaped(postings.stream, at)
        else:
            impact = np.int64(postings.plain_impact[(document // BLOCK * ESCAPED + code) * BLOCK + document % BLOCK])
        while i < len(documents) and documents[i] < document:
            i += 1
        if i < len(documents) and documents[i] == document:
            found[i, LOOKUP_FIELDS], found[i, LOOKUP_IMPACT] = mask, impact
            found[i, LOOKUP_CODE], found[i, LOOKUP_POSITIONS] = code, position
        position = skip_positions(postings.positions, position, code, mask)


@njit(cache=True, nogil=True)
def read_documents(postings: PostingsReader, entry: TermEntry) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Return all documents of a term, ascending."""
    documents = np.zeros(entry.frequency, np.int32)
    codes, masks = np.empty(entry.frequency, np.uint8), np.empty(entry.frequency, np.uint8)
    read_postings(postings, entry, documents, codes, masks, np.empty(entry.frequency, np.uint8))
    return documents


@njit(cache=True, nogil=True)
def build_bitsets(stream: Any, bitset_terms: Any, blocks: int) -> Any:  # pragma: no cover - compiled
    """Return the documents of each term that is encoded as a bitset, by term and block.

    Parameters
        stream: postings of the segment
        bitset_terms: for each such term, where its postings begin and how many headers it has
        blocks: how many blocks the segment has
    """
    sets = np.zeros((len(bitset_terms), blocks), np.uint64)
    for row in range(len(bitset_terms)):
        headers, number = bitset_terms[row, 0] + 2, bitset_terms[row, 1]
        lengths = headers + number
        at = lengths + (number + 3) // 4
        block = np.int64(-1)
        for n in range(number):
            step = np.int64(stream[headers + n]) & 15
            length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
            if step == SKIP_STEP:
                block += SKIP_STEP
                at += 1
                continue
            block += step + 1
            if length == LONG_BLOCK:
                length = np.int64(stream[at]) + LONG_BLOCK
                at += 1
            sets[row, block] = block_bitset(stream, at, at + length + 1)
            at += length + 1
    return sets


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def make_tiny_postings() -> PostingsReader:
    """Return the postings of a segment of one document with one term, with the array types of a segment: read-only."""
    return PostingsReader(
        _read_only(np.array([4], np.uint8)),
        _read_only(np.array([0], np.uint8)),
        _read_only(np.zeros((0, 3), np.uint32)),
        _read_only(np.ones(ESCAPED * BLOCK, np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
        np.zeros((1, 1), np.uint64),
    )


TINY_ENTRY = TermEntry(1, 0, 1, 0, 0, 0, 0, -1)
"""The entry of the only term of `make_tiny_postings`."""


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    postings = make_tiny_postings()
    look_up_documents(postings, TINY_ENTRY, np.zeros(1, np.int32))
    read_documents(postings, TINY_ENTRY)
    build_bitsets(postings.stream, _read_only(np.zeros((0, 2), np.int64)), 1)
