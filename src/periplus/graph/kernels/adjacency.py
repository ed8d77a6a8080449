"""Links grouped by target, packed: sorted sources, delta-coded as variable-length integers.

A pair is one u64, the target in its high and the source in its low half, so that sorted pairs are links by target.
Packed, a target (a row) has its number of links, then the first source as its distance from the target (zigzag), then
the gaps from each source to the next, minus 1; in a counted adjacency a count follows each source. All are integers of
variable length: groups of 7 bits, low groups first, the top bit set on all bytes but the last. 64 rows are a block.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "BLOCK_ROWS",
    "OTHER_HOST",
    "SAME_HOST",
    "HostLayout",
    "LinkRows",
    "PackedLinks",
    "RowRange",
    "add_out_weights",
    "allocate_rows",
    "max_packed_size",
    "pack",
    "unpack",
]

BLOCK_ROWS: Final = 64
"""Targets of one block."""
OTHER_HOST: Final = 0
SAME_HOST: Final = 1
"""Columns of `LinkRows.kind_weights`."""


class PackedLinks(NamedTuple):
    """A packed adjacency: block `b` is at bytes `block_bytes[b]` up to the next, its links numbered alike."""

    stream: npt.NDArray[np.uint8]
    block_bytes: npt.NDArray[np.int64]
    block_links: npt.NDArray[np.int64]


class HostLayout(NamedTuple):
    """The host of each node, and the first node of each host (and, last, the number of nodes); may be empty."""

    hosts: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]


class LinkRows(NamedTuple):
    """Some rows, unpacked: row `r` has the links `starts[r]` up to `starts[r + 1]`.

    A share slot is the index of a source's share: the source, or the number of nodes plus the source if its row comes
    earlier in the same part (an array of shares has two halves). Slots of sources on other hosts come first, those of
    the same host start at `same_host_starts[r]`.
    """

    starts: npt.NDArray[np.int64]
    same_host_starts: npt.NDArray[np.int64]
    share_slots: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    """One for each link; empty when the weight depends only on the kind of link."""
    kind_weights: npt.NDArray[np.float32]
    """Weight of a link from another host (`OTHER_HOST`) and from the same (`SAME_HOST`)."""


class RowRange(NamedTuple):
    """The rows `first` (the beginning of a block) up to `last`, of a part whose first row is `part_start`."""

    first: int
    last: int
    part_start: int
    nodes: int


def allocate_rows(rows: int, links: int, counted: bool, kind_weights: npt.NDArray[np.float32]) -> LinkRows:
    """Return arrays to unpack that many rows and links into."""
    return LinkRows(
        np.zeros(rows + 1, np.int64),
        np.zeros(rows, np.int64),
        np.empty(links, np.uint32),
        np.empty(links if counted else 0, np.float32),
        kind_weights,
    )


def max_packed_size(links: int, rows: int, counted: bool) -> int:
    """Return the largest number of bytes that so many links of so many rows can take."""
    return 10 * rows + (10 if counted else 5) * links


@njit(cache=True, nogil=True)
def _write_varint(stream: npt.NDArray[np.uint8], offset: int, number: int) -> int:
    while number > 127:
        stream[offset] = number & 127 | 128
        number >>= 7
        offset += 1
    stream[offset] = number
    return offset + 1


@njit(cache=True, nogil=True)
def pack(
    pairs: npt.NDArray[np.uint64],
    counts: npt.NDArray[np.uint32],
    first: int,
    last: int,
    packed: PackedLinks,
) -> int:
    """Pack the links of some rows.

    Parameters
    ----------
    pairs: sorted, distinct pairs of the rows `first` up to `last`.
    counts: how often each pair occurred; empty for an adjacency without counts.
    first, last: both at ends of blocks, unless `last` is the number of rows.
    packed: receives the bytes, and for each block its first byte and first link, counted from 0.

    Returns
    -------
    The number of bytes written to `packed.stream`.
    """
    offset, link = 0, 0
    for row in range(first, last):
        block = (row - first) // BLOCK_ROWS
        if (row - first) % BLOCK_ROWS == 0:
            packed.block_bytes[block], packed.block_links[block] = offset, link
        begin = link
        while link < len(pairs) and np.int64(pairs[link] >> np.uint64(32)) == row:
            link += 1
        offset = _write_varint(packed.stream, offset, link - begin)
        previous = 0
        for number in range(begin, link):
            source = np.int64(pairs[number] & np.uint64(0xFFFFFFFF))
            if number == begin:
                distance = source - row
                offset = _write_varint(packed.stream, offset, 2 * distance if distance >= 0 else -2 * distance - 1)
            else:
                offset = _write_varint(packed.stream, offset, source - previous - 1)
            previous = source
            if len(counts):
                offset = _write_varint(packed.stream, offset, np.int64(counts[number]))
    return offset


@njit(cache=True, nogil=True)
def unpack(packed: PackedLinks, host_layout: HostLayout, rows: RowRange, counted: bool, out: LinkRows) -> bool:
    """Unpack some rows.

    Parameters
    ----------
    packed: the whole adjacency.
    host_layout: which nodes are of one host; empty if every link counts alike.
    rows: the rows to unpack.
    counted: whether a count follows each source; it becomes the weight log2(1 + count).
    out: arrays of sufficient length, filled from 0.

    Returns
    -------
    False if the bytes are damaged.
    """
    stream, limit = packed.stream, len(packed.stream)
    offset = packed.block_bytes[rows.first // BLOCK_ROWS]
    link, low, high = 0, 0, 0
    out.starts[0] = 0
    for row in range(rows.first, rows.last):
        if len(host_layout.hosts):
            host = host_layout.hosts[row]
            low, high = host_layout.first[host], host_layout.first[host + 1]
        degree, offset = _read_varint(stream, offset, limit)
        if offset < 0 or link + degree > len(out.share_slots):
            return False
        front, back, source = link, link + degree, row
        for number in range(degree):
            gap, offset = _read_varint(stream, offset, limit)
            source += ((gap >> 1) ^ -(gap & 1)) if number == 0 else gap + 1
            if offset < 0 or source < 0 or source >= rows.nodes:
                return False
            index = front
            if low <= source < high:
                back -= 1
                index = back
            else:
                front += 1
            out.share_slots[np.uint64(index)] = source + (rows.nodes if rows.part_start <= source < row else 0)
            if counted:
                count, offset = _read_varint(stream, offset, limit)
                out.weights[np.uint64(index)] = np.log2(1.0 + count)
        link += degree
        out.starts[row - rows.first + 1] = link
        out.same_host_starts[row - rows.first] = back
    return offset >= 0


@njit(cache=True, nogil=True, forceinline=True)
def _read_varint(stream: npt.NDArray[np.uint8], offset: int, limit: int) -> tuple[int, int]:
    """Return a number and the offset of the next one, which is -1 if there is no number."""
    if np.uint64(offset) >= np.uint64(limit):
        return 0, -1
    byte = np.int64(stream[np.uint64(offset)])
    if byte < 128:
        return byte, offset + 1
    return _read_long_varint(stream, offset, limit)


@njit(cache=True, nogil=True)
def _read_long_varint(stream: npt.NDArray[np.uint8], offset: int, limit: int) -> tuple[int, int]:
    number, shift = 0, 0
    while shift < 42 and offset < limit:
        byte = np.int64(stream[np.uint64(offset)])
        offset += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset
        shift += 7
    return 0, -1


@njit(cache=True, nogil=True)
def add_out_weights(links: LinkRows, nodes: int, weights: npt.NDArray[np.float64]) -> None:
    """Add the weight of each link to that of its source.

    Parameters
    ----------
    links: unpacked rows.
    nodes: number of nodes of the graph.
    weights: one for each node, added to.
    """
    for row in range(len(links.same_host_starts)):
        for link in range(links.starts[row], links.starts[row + 1]):
            slot = np.int64(links.share_slots[link])
            kind = SAME_HOST if link >= links.same_host_starts[row] else OTHER_HOST
            weight = links.weights[link] if len(links.weights) else links.kind_weights[kind]
            weights[slot - nodes if slot >= nodes else slot] += weight


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    size = max_packed_size(1, 2, True)
    packed = PackedLinks(np.zeros(size, np.uint8), np.zeros(2, np.int64), np.zeros(2, np.int64))
    pairs = np.array([1 << 32], np.uint64)
    host_layout = HostLayout(np.zeros(0, np.int32), np.zeros(0, np.int64))
    for counts in (np.zeros(0, np.uint32), np.ones(1, np.uint32)):
        pack(pairs, counts, 0, 2, packed)
        out = allocate_rows(2, 1, len(counts) > 0, np.ones(2, np.float32))
        unpack(packed, host_layout, RowRange(0, 2, 0, 2), len(counts) > 0, out)
        add_out_weights(out, 2, np.zeros(2, np.float64))
