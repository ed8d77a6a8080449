"""One round of PageRank over rows of links: each node pulls its share from the nodes that link to it, in float64.

The kernel solves x = base + damping * P x, where P distributes a node's rank over its links by their weight and nodes
without links (sinks) give nothing. Divided by its sum, x is PageRank with the rank of sinks spread as `base` is.

Rows are processed in parts. Within a part, the newest shares are used at once (Gauss-Seidel); those of other parts are
of the previous round, stored separately or copied beforehand (see `cross_part_links`). Therefore several threads can
process parts in any order, and the result is the same to the last bit.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.graph.kernels.adjacency import OTHER_HOST, SAME_HOST, LinkRows, allocate_rows

__all__ = ["PagerankState", "end_round", "initial_state", "pull_ranks"]


class PagerankState(NamedTuple):
    """One value for each of n nodes."""

    ranks: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    """Rank for each unit of weight that the node gives: n of the previous round, then n of this one if they are stored
    separately."""
    inverse: npt.NDArray[np.float64]
    """1 divided by the weight of all links of the node; 0 for a sink."""
    base: npt.NDArray[np.float64]
    """The rank of a node without any links to it."""
    sums: npt.NDArray[np.float64]
    """What a node receives in this round from links that are not in its row."""


def initial_state(out: npt.NDArray[np.float64], base: npt.NDArray[np.float64]) -> PagerankState:
    """Return the state before the first round: the rank of every node is its base.

    out: for each node, the weight of its links.
    """
    inverse = np.divide(1.0, out, out=np.zeros(len(out), np.float64), where=out > 0)
    shares = np.tile(base * inverse, 2)
    sums = np.zeros(len(out), np.float64)
    return PagerankState(base.copy(), shares, inverse, np.ascontiguousarray(base, np.float64), sums)


def end_round(state: PagerankState) -> None:
    """Make the shares of this round those of the previous one."""
    nodes = len(state.ranks)
    state.shares[:nodes] = state.shares[nodes:]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def pull_ranks(
    links: LinkRows, state: PagerankState, first: int, damping: float, sinks: bool, separate: bool
) -> tuple[float, float]:
    """Compute one round for some rows.

    Parameters
    ----------
    links: the rows, the first of which is node `first`.
    state: ranks and shares, updated.
    damping: the damping factor.
    sinks: whether to process only sinks, on which no other node depends, or only all other nodes.
    separate: whether new shares are stored apart from the old ones until the round has ended, or replace them at once.

    Returns
    -------
    The sum of the absolute changes of the ranks, and the sum of the ranks.
    """
    offset = np.uint64(len(state.ranks) if separate else 0)
    change, total = 0.0, 0.0
    for row in range(np.uint64(len(links.same_host_starts))):
        node = row + np.uint64(first)
        if (state.inverse[node] == 0.0) != sinks:
            continue
        begin = np.uint64(links.starts[row])
        middle, end = np.uint64(links.same_host_starts[row]), np.uint64(links.starts[row + np.uint64(1)])
        pulled = state.sums[node]
        if len(links.weights):
            for link in range(begin, end):
                pulled += state.shares[links.share_slots[link]] * links.weights[link]
        else:
            other_host, same_host = 0.0, 0.0
            for link in range(begin, middle):
                other_host += state.shares[links.share_slots[link]]
            for link in range(middle, end):
                same_host += state.shares[links.share_slots[link]]
            pulled += other_host * links.kind_weights[OTHER_HOST] + same_host * links.kind_weights[SAME_HOST]
        rank = state.base[node] + damping * pulled
        change += abs(rank - state.ranks[node])
        total += rank
        state.ranks[node] = rank
        state.shares[node + offset] = rank * state.inverse[node]
    return change, total


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    for counted in (False, True):
        links = allocate_rows(2, 1, counted, np.ones(2, np.float32))
        pull_ranks(links, initial_state(np.array([1.0, 0.0]), np.ones(2)), 0, 0.85, False, True)
