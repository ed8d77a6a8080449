"""One round of PageRank over rows of links: each node pulls its share from the nodes that link to it, in float64.

What is solved is x = base + damping * P x, where P deals a node's rank out over its links by their weight and nodes
without links (sinks) give nothing. Divided by its sum, x is PageRank with the rank of sinks spread as `base` is.

Rows are taken in parts. Within a part, the newest shares are used at once (Gauss-Seidel); those of other parts are of
the last round, kept apart or written down beforehand (see `crossing`). So parts can be done by several threads in any
order, and the result is the same to the last bit.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.graph.kernels.adjacency import Unpacked, make_room

__all__ = ["State", "begin", "end_round", "pull"]


class State(NamedTuple):
    """What is known of each of n nodes."""

    ranks: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]
    """Rank for each unit of weight that the node gives: n of the last round, then, if kept apart, n of this one."""
    inverse: npt.NDArray[np.float64]
    """1 over the weight of all links of the node; 0 for a sink."""
    base: npt.NDArray[np.float64]
    """What a node has without any links."""
    sums: npt.NDArray[np.float64]
    """What a node is given in this round by links that are not among its rows'."""


def begin(out: npt.NDArray[np.float64], base: npt.NDArray[np.float64]) -> State:
    """Give the state before the first round: every node has its base."""
    inverse = np.divide(1.0, out, out=np.zeros(len(out), np.float64), where=out > 0)
    shares = np.tile(base * inverse, 2)
    return State(base.copy(), shares, inverse, np.ascontiguousarray(base, np.float64), np.zeros(len(out), np.float64))


def end_round(state: State) -> None:
    """Make the shares of this round those of the last."""
    nodes = len(state.ranks)
    state.shares[:nodes] = state.shares[nodes:]


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def pull(links: Unpacked, state: State, first: int, damping: float, sinks: bool, apart: bool) -> tuple[float, float]:
    """Do one round for rows that begin with node `first`; give how much their ranks changed, and their sum.

    Only rows of nodes that give something are done, or only sinks, on which nobody waits. New shares replace the old
    ones at once, unless they are to be kept `apart` from them until the round has ended.
    """
    offset = np.uint64(len(state.ranks) if apart else 0)
    change, total = 0.0, 0.0
    for row in range(np.uint64(len(links.middles))):
        node = row + np.uint64(first)
        if (state.inverse[node] == 0.0) != sinks:
            continue
        begin = np.uint64(links.starts[row])
        middle, end = np.uint64(links.middles[row]), np.uint64(links.starts[row + np.uint64(1)])
        pulled = state.sums[node]
        if len(links.weights):
            for link in range(begin, end):
                pulled += state.shares[links.places[link]] * links.weights[link]
        else:
            far, near = 0.0, 0.0
            for link in range(begin, middle):
                far += state.shares[links.places[link]]
            for link in range(middle, end):
                near += state.shares[links.places[link]]
            pulled += far * links.kinds[0] + near * links.kinds[1]
        rank = state.base[node] + damping * pulled
        change += abs(rank - state.ranks[node])
        total += rank
        state.ranks[node] = rank
        state.shares[node + offset] = rank * state.inverse[node]
    return change, total


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    for counted in (False, True):
        links = make_room(2, 1, counted, np.ones(2, np.float32))
        pull(links, begin(np.array([1.0, 0.0]), np.ones(2)), 0, 0.85, False, True)
