"""Links between parts of a large graph, ordered so that a round of PageRank reads and writes memory in sequence.

A node's share may be anywhere in memory, and a random read takes longer than everything else. Therefore what a part
gives to other parts is copied in order first (`send_shares`), while the part's shares are in the processor's cache, and
added up afterwards by the part that receives it (`receive_shares`), while its sums are in the cache.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.graph.kernels.adjacency import BLOCK_ROWS, LinkRows, allocate_rows

__all__ = ["CrossPartLinks", "count_links", "receive_shares", "send_shares", "split_links"]

_SAME_HOST_BIT: Final = np.uint32(1 << 31)
_NODE_MASK: Final = np.uint32((1 << 31) - 1)


class CrossPartLinks(NamedTuple):
    """Links from part to part. There are `sizes[p, q]` from p to q, in the same order in each array."""

    sources: npt.NDArray[np.uint32]
    """Links from p to q start at `source_starts[p, q]`: what p gives is contiguous."""
    targets: npt.NDArray[np.uint32]
    """Links from p to q start at `target_starts[q, p]`: what q receives is contiguous. The top bit marks links within
    a host."""
    shares: npt.NDArray[np.float64]
    """The share of each source, in the order of `targets`."""
    sizes: npt.NDArray[np.int64]
    source_starts: npt.NDArray[np.int64]
    target_starts: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def count_links(
    links: LinkRows, nodes: int, block_parts: npt.NDArray[np.int32], part: int, sizes: npt.NDArray[np.int64]
) -> None:
    """Count the links to one part by the part they come from.

    Parameters
    ----------
    links: the rows of the part.
    nodes: number of nodes of the graph.
    block_parts: the part of each block of rows.
    part: number of the part.
    sizes: `sizes[p, part]` is increased by the links from p.
    """
    for link in range(links.starts[len(links.starts) - 1]):
        slot = np.int64(links.share_slots[link])
        source = slot - nodes if slot >= nodes else slot
        sizes[block_parts[source // BLOCK_ROWS], part] += 1


@njit(cache=True, nogil=True)
def split_links(
    links: LinkRows,
    first: int,
    nodes: int,
    block_parts: npt.NDArray[np.int32],
    part: int,
    inner: LinkRows,
    outer: CrossPartLinks,
) -> None:
    """Copy the links within one part to `inner`, and all others to `outer`.

    Nobody else reads the shares of the part during a round, so they can be replaced in place: slots in `inner` are
    plain sources.

    Parameters
    ----------
    links: the rows of the part, the first of which is node `first`.
    nodes: number of nodes of the graph.
    block_parts: the part of each block of rows.
    part: number of the part.
    """
    written = np.zeros(len(outer.sizes), np.int64)
    inner_links = 0
    inner.starts[0] = 0
    for row in range(len(links.same_host_starts)):
        same_host_start = -1
        for link in range(links.starts[row], links.starts[row + 1]):
            if link == links.same_host_starts[row]:
                same_host_start = inner_links
            slot = np.int64(links.share_slots[link])
            source = slot - nodes if slot >= nodes else slot
            origin = block_parts[source // BLOCK_ROWS]
            if origin == part:
                inner.share_slots[inner_links] = source
                inner_links += 1
                continue
            same_host = _SAME_HOST_BIT if link >= links.same_host_starts[row] else np.uint32(0)
            outer.sources[outer.source_starts[origin, part] + written[origin]] = source
            outer.targets[outer.target_starts[part, origin] + written[origin]] = np.uint32(first + row) | same_host
            written[origin] += 1
        inner.starts[row + 1] = inner_links
        inner.same_host_starts[row] = inner_links if same_host_start < 0 else same_host_start


@njit(cache=True, nogil=True)
def send_shares(links: CrossPartLinks, shares: npt.NDArray[np.float64], part: int) -> None:
    """Copy the shares that one part gives to each other part.

    Parameters
    ----------
    links: all links between parts; `links.shares` is written.
    shares: one for each node.
    part: number of the part.
    """
    for other in range(len(links.sizes)):
        begin = np.uint64(links.source_starts[part, other])
        end = begin + np.uint64(links.sizes[part, other])
        position = np.uint64(links.target_starts[other, part])
        for link in range(begin, end):
            links.shares[position] = shares[links.sources[link]]
            position += np.uint64(1)


@njit(cache=True, nogil=True)
def receive_shares(
    links: CrossPartLinks, kind_weights: npt.NDArray[np.float32], part: int, sums: npt.NDArray[np.float64]
) -> None:
    """Add what other parts give to one part to the sums of its nodes.

    Parameters
    ----------
    links: all links between parts, after `send_shares` of every part.
    kind_weights: weight of a link from another host, and from the same.
    part: number of the part.
    sums: one for each node, added to.
    """
    last = len(links.sizes) - 1
    begin = np.uint64(links.target_starts[part, 0])
    end = np.uint64(links.target_starts[part, last] + links.sizes[last, part])
    for link in range(begin, end):
        target = links.targets[link]
        sums[target & _NODE_MASK] += links.shares[link] * kind_weights[target >> np.uint32(31)]


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    links, inner = (allocate_rows(2, 0, False, np.ones(2, np.float32)) for _ in range(2))
    block_parts, tables = np.zeros(1, np.int32), [np.zeros((1, 1), np.int64) for _ in range(3)]
    outer = CrossPartLinks(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.float64), *tables)
    count_links(links, 2, block_parts, 0, tables[0])
    split_links(links, 0, 2, block_parts, 0, inner, outer)
    send_shares(outer, np.zeros(4, np.float64), 0)
    receive_shares(outer, inner.kind_weights, 0, np.zeros(2, np.float64))
