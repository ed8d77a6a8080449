"""Links between parts of a large graph, sorted so that no round of PageRank waits for memory.

A node's share lies anywhere in memory, and fetching it from there takes longer than all else. So what a part gives to
other parts is written down in order first (`send`), while the part's shares are at hand, and added up afterwards by the
part that gets it (`receive`), while its sums are at hand. Either touches little memory at a time, one piece by one.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.graph.kernels.adjacency import ROWS, Unpacked, make_room

__all__ = ["Crossing", "count", "part", "receive", "send"]

_NEAR: Final = np.uint32(1 << 31)
_NODE: Final = np.uint32((1 << 31) - 1)


class Crossing(NamedTuple):
    """Links from part to part. Those from p to q are `sizes[p, q]` many, in the same order in each array."""

    sources: npt.NDArray[np.uint32]
    """From `by_source[p, q]` on: what p gives is in one piece."""
    targets: npt.NDArray[np.uint32]
    """From `by_target[q, p]` on: what q gets is in one piece. The top bit marks links within a host."""
    values: npt.NDArray[np.float64]
    """The share of each source, in the order of `targets`."""
    sizes: npt.NDArray[np.int64]
    by_source: npt.NDArray[np.int64]
    by_target: npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def count(links: Unpacked, nodes: int, parts: npt.NDArray[np.int32], own: int, sizes: npt.NDArray[np.int64]) -> None:
    """Count the links to part `own` by the part they come from; `parts` has the part of each block."""
    for link in range(links.starts[len(links.starts) - 1]):
        place = np.int64(links.places[link])
        source = place - nodes if place >= nodes else place
        sizes[parts[source // ROWS], own] += 1


@njit(cache=True, nogil=True)
def part(
    links: Unpacked, first: int, nodes: int, parts: npt.NDArray[np.int32], own: int, to: Unpacked, crossing: Crossing
) -> None:
    """Copy the links within part `own`, whose rows begin with node `first`, to `to`, and all others to `crossing`.

    Shares of the part are then read by nobody else during a round, and can be replaced where they are: places in `to`
    are plain sources.
    """
    done = np.zeros(len(crossing.sizes), np.int64)
    kept = 0
    to.starts[0] = 0
    for row in range(len(links.middles)):
        middle = -1
        for link in range(links.starts[row], links.starts[row + 1]):
            if link == links.middles[row]:
                middle = kept
            place = np.int64(links.places[link])
            source = place - nodes if place >= nodes else place
            origin = parts[source // ROWS]
            if origin == own:
                to.places[kept] = source
                kept += 1
                continue
            near = _NEAR if link >= links.middles[row] else np.uint32(0)
            crossing.sources[crossing.by_source[origin, own] + done[origin]] = source
            crossing.targets[crossing.by_target[own, origin] + done[origin]] = np.uint32(first + row) | near
            done[origin] += 1
        to.starts[row + 1] = kept
        to.middles[row] = kept if middle < 0 else middle


@njit(cache=True, nogil=True)
def send(crossing: Crossing, shares: npt.NDArray[np.float64], own: int) -> None:
    """Write down the shares that part `own` gives to each other part."""
    for other in range(len(crossing.sizes)):
        begin = np.uint64(crossing.by_source[own, other])
        end = begin + np.uint64(crossing.sizes[own, other])
        at = np.uint64(crossing.by_target[other, own])
        for link in range(begin, end):
            crossing.values[at] = shares[crossing.sources[link]]
            at += np.uint64(1)


@njit(cache=True, nogil=True)
def receive(crossing: Crossing, kinds: npt.NDArray[np.float32], own: int, sums: npt.NDArray[np.float64]) -> None:
    """Add what other parts give to part `own` to the sums of its nodes."""
    last = len(crossing.sizes) - 1
    begin = np.uint64(crossing.by_target[own, 0])
    end = np.uint64(crossing.by_target[own, last] + crossing.sizes[last, own])
    for link in range(begin, end):
        target = crossing.targets[link]
        sums[target & _NODE] += crossing.values[link] * kinds[target >> np.uint32(31)]


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    links, to = (make_room(2, 0, False, np.ones(2, np.float32)) for _ in range(2))
    parts, tiles = np.zeros(1, np.int32), [np.zeros((1, 1), np.int64) for _ in range(3)]
    crossing = Crossing(np.zeros(0, np.uint32), np.zeros(0, np.uint32), np.zeros(0, np.float64), *tiles)
    count(links, 2, parts, 0, tiles[0])
    part(links, 0, 2, parts, 0, to, crossing)
    send(crossing, np.zeros(4, np.float64), 0)
    receive(crossing, to.kinds, 0, np.zeros(2, np.float64))
