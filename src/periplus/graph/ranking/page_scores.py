"""Scores of pages by their links: PageRank of pages and hosts, spam mass, and the static rank that the index stores."""

import os
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.adjacency import Adjacency
from periplus.graph.exchange.imports import ImportTable, ValueExchange
from periplus.graph.exchange.rounds import Program, gather_summaries
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.node_table import NodeTable
from periplus.graph.ranking.pagerank_solver import PagerankResult, PagerankSolver, Vector
from periplus.graph.ranking.trust import host_trust, trusted_pages
from periplus.settings import GraphSettings

__all__ = ["PageScores", "Progress", "compute_scores", "rank_uniformly", "worker_count"]

_HOST_SHARE: Final = 0.3
"""The host's share of the static rank; a new page of a good site is probably good."""

_STEPS: Final = 65_536.0
_LOWEST: Final = -1e300
"""The highest rank of a shard without pages."""

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
    nodes: NodeTable,
    imports: ImportTable,
    pages: Adjacency,
    hosts: Adjacency,
    settings: GraphSettings,
    progress: Progress,
) -> Program[PageScores]:
    """Rank hosts and pages, propagate trust, and split the rank of pages by its origin."""
    host_solver = yield from _make_solver(hosts, imports.hosts, "host weights", settings)
    solver = yield from _make_solver(pages, imports.pages, "page weights", settings)
    host_ranks = yield from rank_uniformly(host_solver, nodes.total_hosts, settings, progress, "ranking hosts")
    ranks = yield from rank_uniformly(solver, nodes.total_nodes, settings, progress, "ranking pages")
    good, good_hosts = ranks.ranks, host_ranks.ranks
    first = yield from trusted_pages(nodes, imports, lambda: _all_pairs(hosts), settings.trusted)
    if first is not None:
        progress("weighing trust", 0, 3)
        trusted = yield from _rank_from(solver, "trust", first, settings)
        trust = yield from host_trust(nodes, ranks.ranks, trusted)
        progress("weighing trust", 1, 3)
        good = yield from _rank_from(solver, "trusted pages", trust[nodes.hosts] / nodes.total_nodes, settings)
        progress("weighing trust", 2, 3)
        good_hosts = yield from _rank_from(host_solver, "trusted hosts", trust / nodes.total_hosts, settings)
        progress("weighing trust", 3, 3)
    honest = np.clip(good / ranks.ranks, 0.0, 1.0)
    scaled = yield from _scale(good, nodes.total_nodes, settings.damping)
    scaled_hosts = yield from _scale(good_hosts, nodes.total_hosts, settings.damping)
    mixed = (1 - _HOST_SHARE) * scaled + _HOST_SHARE * scaled_hosts[nodes.hosts]
    arrivals = yield from gather_summaries("sums", (float(ranks.ranks.sum()), float(host_ranks.ranks.sum())))
    page_total, host_total = arrivals.totals()
    return PageScores(
        ranks.ranks / (page_total or 1.0),
        host_ranks.ranks / (host_total or 1.0),
        _quantise(1.0 - honest),
        _quantise(scaled),
        _quantise(mixed * honest),
        ranks.changes,
    )


def _quantise(values: Vector) -> Floats:
    """Round to steps of 2^-16: ranks that are computed in another order differ in their last bits."""
    return (np.round(values * _STEPS) / _STEPS).astype(np.float32)


def _rank_from(solver: PagerankSolver, name: str, base: Vector, settings: GraphSettings) -> Program[Vector]:
    result = yield from solver.rounds(name, (1 - settings.damping) * base, settings.damping, settings.tolerance)
    return result.ranks


def worker_count(settings: GraphSettings) -> int:
    """Return the number of threads to rank with."""
    return settings.workers or len(os.sched_getaffinity(0))


def _make_solver(
    links: Adjacency, exchange: ValueExchange, name: str, settings: GraphSettings
) -> Program[PagerankSolver]:
    memory = settings.memory_mb * 1_000_000
    solver = PagerankSolver(links, settings.same_host_weight, memory, worker_count(settings), exchange)
    yield from solver.share_out_weights(name)
    return solver


def rank_uniformly(
    solver: PagerankSolver, total_nodes: int, settings: GraphSettings, progress: Progress, stage: str
) -> Program[PagerankResult]:
    """Rank with the same base for every node of all shards.

    Progress is reported in tenths of a power of ten of the change.
    """
    total = round(-10 * np.log10(settings.tolerance))
    progress(stage, 0, total)

    def report(number: int, change: float) -> None:
        progress(stage, min(total, max(0, int(-10 * np.log10(max(change, 1e-300))))), total)

    base = np.full(solver.own_nodes, (1 - settings.damping) / total_nodes)
    ranks = yield from solver.rounds(stage, base, settings.damping, settings.tolerance, report)
    progress(stage, total, total)
    return ranks


def _all_pairs(links: Adjacency) -> npt.NDArray[np.uint64]:
    """Return all links as sorted pairs."""
    rows = kernel.allocate_rows(links.nodes, links.links, links.counted, np.ones(2, np.float32))
    # A part that starts after all rows: slots are plain sources.
    rows = links.unpack(0, links.nodes, -(-links.nodes // kernel.BLOCK_ROWS) * kernel.BLOCK_ROWS, rows)
    targets = np.repeat(np.arange(links.nodes, dtype=np.uint64), np.diff(rows.starts))
    return np.asarray(targets << np.uint64(32) | rows.share_slots.astype(np.uint64))


def _scale(ranks: Vector, total_nodes: int, damping: float) -> Program[Vector]:
    """Scale ranks to 0..1 by their logarithm, for they span many powers of ten; 0 is a page without links."""
    logarithms = np.log(np.maximum(ranks, 1e-300) / ((1 - damping) / total_nodes))
    arrivals = yield from gather_summaries("highest ranks", (float(logarithms.max(initial=_LOWEST)),))
    high = max(highest for (highest,) in arrivals.summaries)
    # Ranks that differ only by rounding are equal.
    return np.clip(logarithms / high, 0.0, 1.0) if high > 1e-9 else np.zeros(len(ranks), np.float64)
