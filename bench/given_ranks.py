"""Static ranks for articles that have no links: the ranks of a real web, assigned to them in one of two ways.

The ranks are those that PageRank gives the pages of cnr-2000, scaled as those of a crawl are: their distribution is
real. Which article gets which is decided by

    mentions   how many other articles mention its title, as the names of an index count it: most links of Wikipedia
               are such mentions
    chance     chance: a rank that says nothing of what people look for, the worst case
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from periplus.graph.ranking.edge_list import pack_edges, read_edges
from periplus.graph.ranking.pagerank_solver import PagerankSolver
from periplus.index import Segment

ASSIGNMENTS = ("mentions", "chance")
DAMPING, TOLERANCE = 0.85, 1e-8


class GivenRanks:
    """Signals of documents: a static rank for each key, and nothing else."""

    def __init__(self, keys: Sequence[int], ranks: Sequence[float]) -> None:
        order = np.argsort(np.array(keys, np.uint64))
        self._keys = np.array(keys, np.uint64)[order]
        self._ranks = np.array(ranks, np.float32)[order]

    def static_ranks(self, keys: Any) -> Any:
        rows = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[rows] == keys, self._ranks[rows], 0).astype(np.float32)

    def flags(self, keys: Any) -> Any:
        return np.zeros(len(keys), np.uint16)

    def anchors(self, key: int) -> str:
        return ""

    def representatives(self, keys: Any) -> Any:
        return keys


def web_ranks(graph: Path) -> np.ndarray:
    """Return the static ranks of the pages of a web graph, the highest first."""
    with tempfile.TemporaryDirectory() as scratch:
        links = pack_edges(read_edges(graph), Path(scratch), 512_000_000)
        base = np.full(links.nodes, (1 - DAMPING) / links.nodes)
        shares = PagerankSolver(links, 1.0, 512_000_000, 1).solve(base, DAMPING, TOLERANCE).shares
    logarithms = np.log(shares / shares.min())
    scaled: np.ndarray = np.round(np.sort(logarithms / logarithms.max())[::-1] * 65_536) / 65_536
    return scaled


def assign_ranks(ranks: np.ndarray, mentions: np.ndarray, assignment: str) -> np.ndarray:
    """Return the rank of each article, given how many others mention it."""
    chance = np.random.default_rng(2026).random(len(mentions))  # Among equals, and where all are.
    strength = mentions if assignment == "mentions" else np.zeros(len(mentions))
    given: np.ndarray = np.empty(len(mentions))
    given[np.lexsort((chance, -strength))] = ranks[np.arange(len(mentions)) * len(ranks) // len(mentions)]
    return given


def read_mentions(segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of a segment, and how many of its other documents mention the title of each."""
    return segment.column("key"), np.asarray(segment.files["names"]["mentions"]).astype(np.int64)
