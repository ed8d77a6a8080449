"""Links by target, packed: sorted sources as gaps in bytes of 7 bits, and what counting over them needs.

A pair is one u64, the target in its high and the source in its low half, so that sorted pairs are links by target.
Packed, a target (a row) has its number of links, then the first source as its distance from the target (zigzag), then
the gaps from each source to the next, less 1; in a counted adjacency a count follows each source. All are numbers of
variable length: groups of 7 bits, low groups first, the top bit set on all bytes but the last. 64 rows are a block.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["ROWS", "Packed", "Placing", "Rows", "Unpacked", "longest", "make_room", "out_weights", "pack", "unpack"]

ROWS: Final = 64
"""Targets of one block."""


class Packed(NamedTuple):
    """An adjacency as it is kept: block `b` is at bytes `block_bytes[b]` up to the next, its links numbered alike."""

    stream: npt.NDArray[np.uint8]
    block_bytes: npt.NDArray[np.int64]
    block_links: npt.NDArray[np.int64]


class Placing(NamedTuple):
    """Which host each node is of, and the first node of each host (and, last, the number of nodes); may be empty."""

    of: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]


class Unpacked(NamedTuple):
    """Some rows as they are ranked: row `r` has the links `starts[r]` up to `starts[r + 1]`.

    A place is a source, or the number of nodes plus a source whose row comes earlier in the same part: two halves of an
    array of shares. Places from other hosts come first, those of the same host from `middles[r]` on.
    """

    starts: npt.NDArray[np.int64]
    middles: npt.NDArray[np.int64]
    places: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    """One a link; empty when `kinds` says it all."""
    kinds: npt.NDArray[np.float32]
    """What a link from another host counts, and one from the same."""


def make_room(rows: int, links: int, counted: bool, kinds: npt.NDArray[np.float32]) -> Unpacked:
    """Give arrays to unpack so many rows and links into."""
    return Unpacked(
        np.zeros(rows + 1, np.int64),
        np.zeros(rows, np.int64),
        np.empty(links, np.uint32),
        np.empty(links if counted else 0, np.float32),
        kinds,
    )


def longest(links: int, rows: int, counted: bool) -> int:
    """Give the most bytes that so many links of so many rows can take."""
    return 10 * rows + (10 if counted else 5) * links


@njit(cache=True, nogil=True)
def _write(stream: npt.NDArray[np.uint8], at: int, number: int) -> int:
    while number > 127:
        stream[at] = number & 127 | 128
        number >>= 7
        at += 1
    stream[at] = number
    return at + 1


@njit(cache=True, nogil=True)
def pack(
    pairs: npt.NDArray[np.uint64],
    counts: npt.NDArray[np.uint32],
    first: int,
    last: int,
    packed: Packed,
) -> int:
    """Pack sorted, distinct pairs of the rows `first` to `last` (both at ends of blocks) into `packed.stream`.

    Bytes and links of each block are set in `block_bytes` and `block_links`, counted from 0; gives the bytes in all.
    """
    at, link = 0, 0
    for row in range(first, last):
        block = (row - first) // ROWS
        if (row - first) % ROWS == 0:
            packed.block_bytes[block], packed.block_links[block] = at, link
        begin = link
        while link < len(pairs) and np.int64(pairs[link] >> np.uint64(32)) == row:
            link += 1
        at = _write(packed.stream, at, link - begin)
        before = 0
        for place in range(begin, link):
            source = np.int64(pairs[place] & np.uint64(0xFFFFFFFF))
            if place == begin:
                apart = source - row
                at = _write(packed.stream, at, 2 * apart if apart >= 0 else -2 * apart - 1)
            else:
                at = _write(packed.stream, at, source - before - 1)
            before = source
            if len(counts):
                at = _write(packed.stream, at, np.int64(counts[place]))
    return at


class Rows(NamedTuple):
    """Which rows are meant: `first` (at the beginning of a block) up to `last`, of a part that begins at `part`."""

    first: int
    last: int
    part: int
    nodes: int


@njit(cache=True, nogil=True)
def unpack(packed: Packed, placing: Placing, rows: Rows, counted: bool, out: Unpacked) -> bool:
    """Unpack some rows into `out`; False when the bytes make no sense."""
    stream, limit = packed.stream, len(packed.stream)
    at = packed.block_bytes[rows.first // ROWS]
    link, low, high = 0, 0, 0
    out.starts[0] = 0
    for row in range(rows.first, rows.last):
        if len(placing.of):
            host = placing.of[row]
            low, high = placing.first[host], placing.first[host + 1]
        degree, at = _read(stream, at, limit)
        if at < 0 or link + degree > len(out.places):
            return False
        front, back, source = link, link + degree, row
        for number in range(degree):
            gap, at = _read(stream, at, limit)
            source += ((gap >> 1) ^ -(gap & 1)) if number == 0 else gap + 1
            if at < 0 or source < 0 or source >= rows.nodes:
                return False
            place = front
            if low <= source < high:
                back -= 1
                place = back
            else:
                front += 1
            out.places[np.uint64(place)] = source + (rows.nodes if rows.part <= source < row else 0)
            if counted:
                count, at = _read(stream, at, limit)
                out.weights[np.uint64(place)] = np.log2(1.0 + count)
        link += degree
        out.starts[row - rows.first + 1] = link
        out.middles[row - rows.first] = back
    return at >= 0


@njit(cache=True, nogil=True, forceinline=True)
def _read(stream: npt.NDArray[np.uint8], at: int, limit: int) -> tuple[int, int]:
    """Give a number and where the next one is; -1 for that when there is none."""
    if np.uint64(at) >= np.uint64(limit):
        return 0, -1
    byte = np.int64(stream[np.uint64(at)])
    if byte < 128:
        return byte, at + 1
    return _read_long(stream, at, limit)


@njit(cache=True, nogil=True)
def _read_long(stream: npt.NDArray[np.uint8], at: int, limit: int) -> tuple[int, int]:
    number, shift = 0, 0
    while shift < 42 and at < limit:
        byte = np.int64(stream[np.uint64(at)])
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
    return 0, -1


@njit(cache=True, nogil=True)
def out_weights(links: Unpacked, nodes: int, weights: npt.NDArray[np.float64]) -> None:
    """Add the weight of each link to that of its source."""
    for row in range(len(links.middles)):
        for link in range(links.starts[row], links.starts[row + 1]):
            place = np.int64(links.places[link])
            weight = links.kinds[1 if link >= links.middles[row] else 0]
            weights[place - nodes if place >= nodes else place] += links.weights[link] if len(links.weights) else weight


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    room = longest(1, 2, True)
    packed = Packed(np.zeros(room, np.uint8), np.zeros(2, np.int64), np.zeros(2, np.int64))
    pairs = np.array([1 << 32], np.uint64)
    placing = Placing(np.zeros(0, np.int32), np.zeros(0, np.int64))
    for counts in (np.zeros(0, np.uint32), np.ones(1, np.uint32)):
        pack(pairs, counts, 0, 2, packed)
        out = make_room(2, 1, len(counts) > 0, np.ones(2, np.float32))
        unpack(packed, placing, Rows(0, 2, 0, 2), len(counts) > 0, out)
        out_weights(out, 2, np.zeros(2, np.float64))
