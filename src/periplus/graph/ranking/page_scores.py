"""Scores of pages by their links: PageRank of pages and hosts, spam mass, and the static rank that the index stores."""

import os
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.node_table import NodeTable
from periplus.graph.ranking.pagerank_solver import PagerankResult, PagerankSolver, Vector
from periplus.graph.ranking.trust import host_trust, trusted_pages
from periplus.settings import GraphSettings

__all__ = ["PageScores", "Progress", "compute_scores", "rank_uniformly", "worker_count"]

_HOST_SHARE: Final = 0.3
"""The host's share of the static rank; a new page of a good site is probably good."""

Progress = Callable[[str, int, int], None]
Floats = npt.NDArray[np.float32]


class PageScores(NamedTuple):
    """One value for each page; `hosts` has one for each host."""

    pages: Vector
    hosts: Vector
    spam_mass: Floats
    trust: Floats
    static: Floats
    changes: tuple[float, ...]
    """The change of each round."""


def compute_scores(
    nodes: NodeTable, pages: Adjacency, hosts: Adjacency, settings: GraphSettings, progress: Progress
) -> PageScores:
    """Rank hosts and pages, propagate trust, and split the rank of pages by its origin."""
    host_solver, solver = _make_solver(hosts, settings), _make_solver(pages, settings)
    host_ranks = rank_uniformly(host_solver, hosts.nodes, settings, progress, "ranking hosts")
    ranks = rank_uniformly(solver, pages.nodes, settings, progress, "ranking pages")
    good, good_hosts = ranks.ranks, host_ranks.ranks
    first = trusted_pages(nodes, lambda: _all_pairs(hosts), settings.trusted)
    if first is not None:
        progress("weighing trust", 0, 3)
        trust = host_trust(nodes, ranks.ranks, _rank_from(solver, first, settings))
        progress("weighing trust", 1, 3)
        good = _rank_from(solver, trust[nodes.hosts] / pages.nodes, settings)
        progress("weighing trust", 2, 3)
        good_hosts = _rank_from(host_solver, trust / hosts.nodes, settings)
        progress("weighing trust", 3, 3)
    honest = np.clip(good / ranks.ranks, 0.0, 1.0)
    scaled = _scale(good, settings.damping)
    mixed = (1 - _HOST_SHARE) * scaled + _HOST_SHARE * _scale(good_hosts, settings.damping)[nodes.hosts]
    return PageScores(
        ranks.shares,
        host_ranks.shares,
        (1.0 - honest).astype(np.float32),
        scaled.astype(np.float32),
        (mixed * honest).astype(np.float32),
        ranks.changes,
    )


def _rank_from(solver: PagerankSolver, base: Vector, settings: GraphSettings) -> Vector:
    return solver.solve((1 - settings.damping) * base, settings.damping, settings.tolerance).ranks


def worker_count(settings: GraphSettings) -> int:
    """Return the number of threads to rank with."""
    return settings.workers or len(os.sched_getaffinity(0))


def _make_solver(links: Adjacency, settings: GraphSettings) -> PagerankSolver:
    return PagerankSolver(links, settings.same_host_weight, settings.memory_mb * 1_000_000, worker_count(settings))


def rank_uniformly(
    solver: PagerankSolver, count: int, settings: GraphSettings, progress: Progress, stage: str
) -> PagerankResult:
    """Rank with the same base for every node; progress is reported in tenths of a power of ten of the change."""
    total = round(-10 * np.log10(settings.tolerance))
    progress(stage, 0, total)

    def report(number: int, change: float) -> None:
        progress(stage, min(total, max(0, int(-10 * np.log10(max(change, 1e-300))))), total)

    base = np.full(count, (1 - settings.damping) / count)
    ranks = solver.solve(base, settings.damping, settings.tolerance, report)
    progress(stage, total, total)
    return ranks


def _all_pairs(links: Adjacency) -> npt.NDArray[np.uint64]:
    """Return all links as sorted pairs."""
    rows = kernel.allocate_rows(links.nodes, links.links, links.counted, np.ones(2, np.float32))
    # A part that starts after all rows: slots are plain sources.
    rows = links.unpack(0, links.nodes, -(-links.nodes // kernel.BLOCK_ROWS) * kernel.BLOCK_ROWS, rows)
    targets = np.repeat(np.arange(links.nodes, dtype=np.uint64), np.diff(rows.starts))
    return np.asarray(targets << np.uint64(32) | rows.share_slots.astype(np.uint64))


def _scale(ranks: Vector, damping: float) -> Vector:
    """Scale ranks to 0..1 by their logarithm, for they span many powers of ten; 0 is a page without links."""
    logarithms = np.log(np.maximum(ranks, 1e-300) / ((1 - damping) / len(ranks)))
    high = float(logarithms.max())
    # Ranks that differ only by rounding are equal.
    return np.clip(logarithms / high, 0.0, 1.0) if high > 1e-9 else np.zeros(len(ranks), np.float64)
