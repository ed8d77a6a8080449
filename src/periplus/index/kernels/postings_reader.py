"""Reading a segment's packed postings: all of a term, one block of it, or some documents."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import load_word, lowest, size
from periplus.accel.pointers import flat, table
from periplus.index.kernels.positions import get_place, skip_places, skip_positions
from periplus.index.kernels.postings_format import BLOCK, BODY, FAR, FAT, IS_SPARSE, LONG, count_groups, shift_of
from periplus.index.kernels.term_dictionary import Terms, get_number

__all__ = [
    "BODY",
    "SIZED",
    "Lists",
    "Place",
    "entry_begin",
    "entry_place",
    "find_head",
    "get_fat",
    "get_lists",
    "look_up",
    "make_tiny_lists",
    "make_wide_sets",
    "place_of",
    "read_all",
    "read_documents",
    "seek_posting",
    "set_at",
]

SIZED = 4
_LOW, _HIGH = np.uint64(0x5555555555555555), np.uint64(0xAAAAAAAAAAAAAAAA)
Place = tuple[int, int, int, int, int, int, int, int]
"""Of a term, as `lexicon.find_term` gives it: frequency, begin and end of postings, positions, kind, row, heads, number
among the wide."""


class Lists(NamedTuple):
    """The arrays of a segment that matching reads; see `invert.Postings` for the first four."""

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
    wide_set: npt.NDArray[np.uint64]
    """By wide term and block, the documents that have it; made by `make_wide_sets` when a segment is opened."""


@njit(cache=True, nogil=True, forceinline=True)
def get_lists(addresses: Any) -> Lists:  # pragma: no cover - compiled
    """Give the lists that a handle holds."""
    return Lists(
        flat(addresses, 0, np.uint8),
        flat(addresses, 1, np.uint8),
        table(addresses, 2, np.uint32),
        flat(addresses, 3, np.uint8),
        flat(addresses, 4, np.float32),
        flat(addresses, 5, np.float32),
        flat(addresses, 6, np.uint64),
        table(addresses, 7, np.uint64),
    )


@njit(cache=True, nogil=True)
def place_of(held: Terms, term: int) -> Place:  # pragma: no cover - compiled
    """Give the place of a term by its number."""
    begin = held.stream_end[term - 1] if term else np.int64(0)
    position = held.position_end[term - 1] if term else np.int64(0)
    return (
        np.int64(held.frequency[term]),
        begin,
        held.stream_end[term],
        position,
        np.int64(held.kind[term]),
        np.int64(held.row[term]),
        np.int64(held.heads[term]),
        np.int64(held.wide[term]),
    )


@njit(cache=True, nogil=True, forceinline=True)
def get_fat(stream: Any, at: int) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Read what follows a fat posting: give its fields, its impact and the place after them."""
    impact = np.int64(stream[at])
    if impact:
        return np.int64(BODY), impact, at + 1
    return np.int64(stream[at + 1]), np.int64(stream[at + 2]), at + 3


@njit(cache=True, nogil=True, forceinline=True)
def _walk_to(lists: Lists, place: Any, head: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Give where the postings for a block byte begin, and the code of their length."""
    stream, lengths, shift = lists.stream, place[1] + 2 + place[6], shift_of(place[4])
    group = head >> shift
    at = lengths + (place[6] + 3) // 4 + np.int64(lists.groups[place[5] + group, 1])
    word = load_word(stream, lengths + (group << (shift - 2)))
    inside = np.uint64(head - (group << shift))
    code = np.int64((word >> (inside + inside)) & np.uint64(3))
    word &= (np.uint64(1) << (inside + inside)) - np.uint64(1)
    long = word & (word >> np.uint64(1)) & _LOW
    done = np.uint64(0)  # Entries before the last long one, whose lengths have been added.
    while long:
        bit = np.uint64(lowest(long))
        long &= long - np.uint64(1)
        passed = word & ((np.uint64(1) << bit) - np.uint64(1)) & ~((np.uint64(1) << done) - np.uint64(1))
        at += np.int64((bit - done) >> np.uint64(1)) + size(passed & _LOW) + 2 * size(passed & _HIGH)
        at += np.int64(stream[at]) + LONG + 2
        done = bit + np.uint64(2)
    word &= ~((np.uint64(1) << done) - np.uint64(1))
    left = np.int64(inside) - np.int64(done >> np.uint64(1))
    return at + left + size(word & _LOW) + 2 * size(word & _HIGH), code


@njit(cache=True, nogil=True, forceinline=True)
def entry_place(lists: Lists, place: Any, head: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Give where the postings for a block byte begin and end."""
    at, code = _walk_to(lists, place, head)
    if code < LONG:
        return at, at + code + 1
    return at + 1, at + LONG + 2 + np.int64(lists.stream[at])


@njit(cache=True, nogil=True, forceinline=True)
def set_at(stream: Any, at: int, stop: int) -> Any:  # pragma: no cover - compiled
    """Give the documents of the postings from `at` to `stop`."""
    found = np.uint64(0)
    while at < stop:
        byte = np.int64(stream[at])
        found |= np.uint64(1) << np.uint64(byte & (BLOCK - 1))
        at += 1
        if byte >= FAT << 6:
            at += 1 if stream[at] else 3
    return found


@njit(cache=True, nogil=True, forceinline=True)
def entry_begin(lists: Lists, place: Any, head: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Give where the postings and where the positions for a block byte begin."""
    stream, positions, shift = lists.stream, lists.positions, shift_of(place[4])
    heads = place[1] + 2
    lengths = heads + place[6]
    group = head >> shift
    at = lengths + (place[6] + 3) // 4 + np.int64(lists.groups[place[5] + group, 1])
    position = place[3] + np.int64(lists.groups[place[5] + group, 2])
    word = load_word(stream, lengths + (group << (shift - 2)))
    for n in range(group << shift, head):
        length = np.int64(word & np.uint64(3))
        word >>= np.uint64(2)
        if length == LONG:
            size_there, position = get_place(positions, position)
            position += size_there
            at += np.int64(stream[at]) + LONG + 2
            continue
        stop = at + length + 1
        if stream[heads + n] & FAR == FAR:
            at = stop
            continue
        while at < stop:
            code = np.int64(stream[at] >> 6)
            at += 1
            if code < FAT:
                position = skip_places(positions, position, code + 1)
            else:
                mask, _, at = get_fat(stream, at)
                position = skip_positions(positions, position, FAT, mask)
    if word & np.uint64(3) == LONG:
        _, position = get_place(positions, position)
        at += 1
    return at, position


@njit(cache=True, nogil=True)
def find_head(lists: Lists, place: Any, block: int) -> int:  # pragma: no cover - compiled
    """Give the block byte of a term for a block, -1 if the term is not in it."""
    low, high = np.int64(0), np.int64(count_groups(place[6], place[4]))
    while low + 1 < high:
        middle = (low + high) >> 1
        if np.int64(lists.groups[place[5] + middle, 0]) <= block:
            low = middle
        else:
            high = middle
    here = np.int64(lists.groups[place[5] + low, 0]) - 1
    heads = place[1] + 2
    for n in range(low << shift_of(place[4]), place[6]):
        step = np.int64(lists.stream[heads + n]) & 15
        if step == FAR:
            here += FAR
            continue
        here += step + 1
        if here >= block:
            return n if here == block else -1
    return -1


@njit(cache=True, nogil=True, forceinline=True)
def seek_posting(
    lists: Lists, at: int, stop: int, position: int, offset: int
) -> tuple[int, int, int, int]:  # pragma: no cover - compiled
    """Find the posting at `offset` within a block; give its impact if fat (-1 if none), code, fields and positions."""
    stream = lists.stream
    while at < stop:
        byte = np.int64(stream[at])
        code = byte >> 6
        mask, impact, after = np.int64(BODY), np.int64(0), at + 1
        if code == FAT:
            mask, impact, after = get_fat(stream, at + 1)
        if byte & 63 == offset:
            return impact, code, mask, position
        position = skip_positions(lists.positions, position, code, mask)
        at = after
    return -1, 0, 0, 0


@njit(cache=True, nogil=True)
def _block_postings(
    lists: Lists, at: int, stop: int, block: int, n: int, documents: Any, codes: Any, masks: Any, impacts: Any
) -> int:  # pragma: no cover - compiled
    """Read the postings of one block from number `n` on; give the number after the last."""
    while at < stop and n < len(documents):
        byte = np.int64(lists.stream[at])
        code, offset = byte >> 6, byte & 63
        documents[n], codes[n], masks[n] = block * BLOCK + offset, code, BODY
        at += 1
        if code == FAT:
            masks[n], impacts[n], at = get_fat(lists.stream, at)
        else:
            impacts[n] = lists.plain_impact[(block * FAT + code) * BLOCK + offset]
        n += 1
    return n


@njit(cache=True, nogil=True)
def read_all(
    lists: Lists, place: Any, documents: Any, codes: Any, masks: Any, impacts: Any
) -> int:  # pragma: no cover - compiled
    """Read all postings of a term into arrays that have room for its frequency; give how many there were.

    Codes have SIZED added where a number with the size of the block's positions comes before those of the posting.
    """
    n, at, end = 0, place[1], place[2]
    if place[4] == IS_SPARSE:
        document = np.int64(-1)
        while at < end and n < len(documents):
            step, at = get_number(lists.stream, at)
            document += step >> 2
            code = step & 3
            documents[n], codes[n], masks[n] = document, code, BODY
            if code == FAT:
                masks[n], impacts[n], at = get_fat(lists.stream, at)
            else:
                impacts[n] = lists.plain_impact[(document // BLOCK * FAT + code) * BLOCK + document % BLOCK]
            n += 1
    else:
        heads = at + 2
        lengths = heads + place[6]
        at = lengths + (place[6] + 3) // 4
        block = np.int64(-1)
        for head in range(place[6]):
            step = np.int64(lists.stream[heads + head]) & 15
            if step == FAR:
                block += FAR
                at += 1
                continue
            block += step + 1
            length = (np.int64(lists.stream[lengths + (head >> 2)]) >> (2 * (head & 3))) & 3
            first = n
            if length == LONG:
                length = np.int64(lists.stream[at]) + LONG
                at += 1
            n = _block_postings(lists, at, at + length + 1, block, n, documents, codes, masks, impacts)
            if length >= LONG and first < n:
                codes[first] |= SIZED
            at += length + 1
    return n


@njit(cache=True, nogil=True)
def look_up(
    lists: Lists, place: Place, documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Find one term in some documents, given in ascending order.

    Gives for each: its fields (0 if it is not there), its impact, the posting's code and where its positions are.
    """
    found = np.zeros((len(documents), 4), np.int64)
    if place[4] == IS_SPARSE:
        _look_up_sparse(lists, place, documents, found)
        return found
    for i in range(len(documents)):
        block, offset = documents[i] // BLOCK, documents[i] % BLOCK
        head = find_head(lists, place, block)
        if head < 0:
            continue
        at, stop = entry_place(lists, place, head)
        _, position = entry_begin(lists, place, head)
        impact, code, mask, spot = seek_posting(lists, at, stop, position, offset)
        if impact >= 0:
            if code < FAT:
                impact = np.int64(lists.plain_impact[(block * FAT + code) * BLOCK + offset])
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = mask, impact, code, spot
    return found


@njit(cache=True, nogil=True)
def _look_up_sparse(lists: Lists, place: Place, documents: Any, found: Any) -> None:  # pragma: no cover - compiled
    """Do for a sparse term what `look_up` does."""
    at, end, position = place[1], place[2], place[3]
    document = np.int64(-1)
    i = 0
    while at < end and i < len(documents):
        step, at = get_number(lists.stream, at)
        document += step >> 2
        code, mask = step & 3, np.int64(BODY)
        impact = np.int64(0)
        if code == FAT:
            mask, impact, at = get_fat(lists.stream, at)
        else:
            impact = np.int64(lists.plain_impact[(document // BLOCK * FAT + code) * BLOCK + document % BLOCK])
        while i < len(documents) and documents[i] < document:
            i += 1
        if i < len(documents) and documents[i] == document:
            found[i, 0], found[i, 1], found[i, 2], found[i, 3] = mask, impact, code, position
        position = skip_positions(lists.positions, position, code, mask)


@njit(cache=True, nogil=True)
def read_documents(lists: Lists, place: Place) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Give all documents of a term, in ascending order."""
    documents = np.zeros(place[0], np.int32)
    codes, masks = np.empty(place[0], np.uint8), np.empty(place[0], np.uint8)
    read_all(lists, place, documents, codes, masks, np.empty(place[0], np.uint8))
    return documents


@njit(cache=True, nogil=True)
def make_wide_sets(stream: Any, wide: Any, blocks: int) -> Any:  # pragma: no cover - compiled
    """Give the documents of each wide term in each block; `wide` says where its postings begin and its block bytes."""
    sets = np.zeros((len(wide), blocks), np.uint64)
    for row in range(len(wide)):
        heads, number = wide[row, 0] + 2, wide[row, 1]
        lengths = heads + number
        at = lengths + (number + 3) // 4
        block = np.int64(-1)
        for n in range(number):
            step = np.int64(stream[heads + n]) & 15
            length = (np.int64(stream[lengths + (n >> 2)]) >> (2 * (n & 3))) & 3
            if step == FAR:
                block += FAR
                at += 1
                continue
            block += step + 1
            if length == LONG:
                length = np.int64(stream[at]) + LONG
                at += 1
            sets[row, block] = set_at(stream, at, at + length + 1)
            at += length + 1
    return sets


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def make_tiny_lists() -> Lists:
    """Make a segment of one document with one term, with the types of production: segments are mapped read-only."""
    return Lists(
        _read_only(np.array([4], np.uint8)),
        _read_only(np.array([0], np.uint8)),
        _read_only(np.zeros((0, 3), np.uint32)),
        _read_only(np.ones(FAT * BLOCK, np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
        np.zeros((1, 1), np.uint64),
    )


TINY_PLACE: Place = (1, 0, 1, 0, 0, 0, 0, -1)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists = make_tiny_lists()
    look_up(lists, TINY_PLACE, np.zeros(1, np.int32))
    read_documents(lists, TINY_PLACE)
    make_wide_sets(lists.stream, _read_only(np.zeros((0, 2), np.int64)), 1)
