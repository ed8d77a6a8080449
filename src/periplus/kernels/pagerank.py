"""PageRank over weighted in-links: each node pulls its share from the nodes that link to it, in float64.

The rank of nodes without out-links (dangling) is spread over all nodes in every round, so that the sum stays 1.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["InLinks", "Ranks", "collect_in_links", "pagerank"]


class InLinks(NamedTuple):
    """Links by target: those to node `v` are at `starts[v]` up to `starts[v + 1]`."""

    starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]


class Ranks(NamedTuple):
    """Ranks that sum to 1, the rounds it took, and the change (L1) of the last round."""

    ranks: npt.NDArray[np.float64]
    rounds: int
    change: float


def collect_in_links(
    sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32], weights: npt.NDArray[np.float32], nodes: int
) -> InLinks:
    """Sort links by target (stably), with the types the kernel takes."""
    order = np.argsort(targets, kind="stable")
    starts = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(targets, minlength=nodes), out=starts[1:])
    return InLinks(
        starts,
        np.ascontiguousarray(sources[order], np.int32),
        np.ascontiguousarray(weights[order], np.float32),
    )


def pagerank(links: InLinks, damping: float, tolerance: float, rounds: int = 200) -> Ranks:
    """Rank the nodes; stop when ranks change by less than `tolerance` in sum, or after `rounds`."""
    if len(links.starts) < 2:
        return Ranks(np.zeros(0, np.float64), 0, 0.0)
    ranks, done, change = _iterate(links, float(damping), float(tolerance), int(rounds))
    return Ranks(ranks, int(done), float(change))


@njit(cache=True, nogil=True)
def _out_weights(links: InLinks) -> npt.NDArray[np.float64]:
    out = np.zeros(len(links.starts) - 1, np.float64)
    for link in range(len(links.sources)):
        out[links.sources[link]] += links.weights[link]
    return out


@njit(cache=True, nogil=True)
def _iterate(
    links: InLinks, damping: float, tolerance: float, rounds: int
) -> tuple[npt.NDArray[np.float64], int, float]:
    nodes = len(links.starts) - 1
    out = _out_weights(links)
    ranks = np.full(nodes, 1.0 / nodes)
    shares = np.empty(nodes, np.float64)
    done, change = 0, np.inf
    while done < rounds and change >= tolerance:
        lost = _shares(ranks, out, shares)
        change = _pull(links, shares, ranks, (1.0 - damping + damping * lost) / nodes, damping)
        done += 1
    return ranks, done, change


@njit(cache=True, nogil=True)
def _shares(ranks: npt.NDArray[np.float64], out: npt.NDArray[np.float64], shares: npt.NDArray[np.float64]) -> float:
    """Fill in what each node gives per unit of weight; return the rank of those that give nothing."""
    lost = 0.0
    for node in range(len(ranks)):
        if out[node] > 0.0:
            shares[node] = ranks[node] / out[node]
        else:
            shares[node] = 0.0
            lost += ranks[node]
    return lost


@njit(cache=True, nogil=True)
def _pull(
    links: InLinks,
    shares: npt.NDArray[np.float64],
    ranks: npt.NDArray[np.float64],
    floor: float,
    damping: float,
) -> float:
    """Replace the ranks by those of the next round; return how much they changed in sum."""
    change = 0.0
    for node in range(len(ranks)):
        pulled = 0.0
        for link in range(links.starts[node], links.starts[node + 1]):
            pulled += shares[links.sources[link]] * links.weights[link]
        fresh = floor + damping * pulled
        change += abs(fresh - ranks[node])
        ranks[node] = fresh
    return change


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    links = InLinks(np.array([0, 0, 1], np.int64), np.zeros(1, np.int32), np.ones(1, np.float32))
    pagerank(links, 0.85, 1e-6)
