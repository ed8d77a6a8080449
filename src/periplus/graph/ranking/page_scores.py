"""What links make of pages: PageRank of pages and hosts, spam mass, and the one number the index keeps of them."""

import os
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.node_table import Nodes
from periplus.graph.ranking.pagerank_solver import Ranker, Ranks, Vector
from periplus.graph.ranking.trust import host_trust, trusted_pages
from periplus.settings import GraphSettings

__all__ = ["Progress", "Scores", "rank_uniformly", "score", "workers_of"]

_HOST_SHARE: Final = 0.3
"""How much of the static rank is the host's; a new page of a good site is probably good."""

Progress = Callable[[str, int, int], None]
Floats = npt.NDArray[np.float32]


class Scores(NamedTuple):
    """One number a page each; ranks of hosts one a host."""

    pages: Vector
    hosts: Vector
    spam_mass: Floats
    trust: Floats
    static: Floats
    changes: tuple[float, ...]
    """What each round has changed."""


def score(nodes: Nodes, pages: Adjacency, hosts: Adjacency, settings: GraphSettings, progress: Progress) -> Scores:
    """Rank hosts and pages, see whom to trust, and part the rank of pages by where it comes from."""
    host_ranker, ranker = _ranker(hosts, settings), _ranker(pages, settings)
    host_ranks = rank_uniformly(host_ranker, hosts.nodes, settings, progress, "ranking hosts")
    ranks = rank_uniformly(ranker, pages.nodes, settings, progress, "ranking pages")
    good, good_hosts = ranks.ranks, host_ranks.ranks
    first = trusted_pages(nodes, lambda: _pairs(hosts), settings.trusted)
    if first is not None:
        progress("weighing trust", 0, 3)
        trust = host_trust(nodes, ranks.ranks, _ranks_from(ranker, first, settings))
        progress("weighing trust", 1, 3)
        good = _ranks_from(ranker, trust[nodes.hosts] / pages.nodes, settings)
        progress("weighing trust", 2, 3)
        good_hosts = _ranks_from(host_ranker, trust / hosts.nodes, settings)
        progress("weighing trust", 3, 3)
    honest = np.clip(good / ranks.ranks, 0.0, 1.0)
    scaled = _scaled(good, settings.damping)
    mixed = (1 - _HOST_SHARE) * scaled + _HOST_SHARE * _scaled(good_hosts, settings.damping)[nodes.hosts]
    return Scores(
        ranks.shares,
        host_ranks.shares,
        (1.0 - honest).astype(np.float32),
        scaled.astype(np.float32),
        (mixed * honest).astype(np.float32),
        ranks.changes,
    )


def _ranks_from(ranker: Ranker, base: Vector, settings: GraphSettings) -> Vector:
    return ranker.rank((1 - settings.damping) * base, settings.damping, settings.tolerance).ranks


def workers_of(settings: GraphSettings) -> int:
    """Say how many threads rank."""
    return settings.workers or len(os.sched_getaffinity(0))


def _ranker(links: Adjacency, settings: GraphSettings) -> Ranker:
    return Ranker(links, settings.same_host_weight, settings.memory_mb * 1_000_000, workers_of(settings))


def rank_uniformly(ranker: Ranker, count: int, settings: GraphSettings, progress: Progress, stage: str) -> Ranks:
    """Rank with the same base for every node; progress is told in powers of ten that the change has come down."""
    wanted = round(-10 * np.log10(settings.tolerance))
    progress(stage, 0, wanted)

    def told(number: int, change: float) -> None:
        progress(stage, min(wanted, max(0, int(-10 * np.log10(max(change, 1e-300))))), wanted)

    base = np.full(count, (1 - settings.damping) / count)
    ranks = ranker.rank(base, settings.damping, settings.tolerance, told)
    progress(stage, wanted, wanted)
    return ranks


def _pairs(links: Adjacency) -> npt.NDArray[np.uint64]:
    """Give all links as sorted pairs."""
    room = kernel.make_room(links.nodes, links.links, links.counted, np.ones(2, np.float32))
    # A part that begins behind all rows: no source is taken for an earlier row of it.
    out = links.unpack(0, links.nodes, -(-links.nodes // kernel.ROWS) * kernel.ROWS, room)
    targets = np.repeat(np.arange(links.nodes, dtype=np.uint64), np.diff(out.starts))
    return np.asarray(targets << np.uint64(32) | out.places.astype(np.uint64))


def _scaled(ranks: Vector, damping: float) -> Vector:
    """Bring ranks to 0..1 by their logarithm, for they spread over many powers of ten; 0 is a page without links."""
    logs = np.log(np.maximum(ranks, 1e-300) / ((1 - damping) / len(ranks)))
    high = float(logs.max())
    # Ranks that differ only by rounding are equal.
    return np.clip(logs / high, 0.0, 1.0) if high > 1e-9 else np.zeros(len(ranks), np.float64)
