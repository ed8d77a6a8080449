"""PageRank of any graph: links from a file of numbered nodes instead of a page store, sorted on disk as well."""

import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile
from periplus.graph.adjacency import Adjacency, pack_pairs
from periplus.graph.exchange.rounds import run_program
from periplus.graph.external_sort import PairSorter
from periplus.graph.ranking.page_scores import Progress, rank_uniformly, worker_count
from periplus.graph.ranking.pagerank_solver import PagerankResult, PagerankSolver
from periplus.settings import GraphSettings
from periplus.store import read_lines

__all__ = ["Edges", "RankedEdges", "pack_edges", "rank_edges", "read_edges"]

Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Sources and targets."""

_LINES: Final = 1 << 16
_MAX_NODES: Final = 1 << 30
_MAX_GAP: Final = 16
"""Node numbers may leave out this many for each link: every number takes memory."""


class RankedEdges(NamedTuple):
    """A ranked graph of numbered nodes."""

    nodes: int
    links: int
    """Between different nodes, each pair once."""
    bytes: int
    """Size of the packed links."""
    ranks: PagerankResult


def rank_edges(
    path: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> RankedEdges:
    """Rank the nodes of a file: 'SOURCE TARGET' lines (plain, gzip, zstd), or arrays 'sources' and 'targets' (npz)."""
    with tempfile.TemporaryDirectory(prefix="periplus-") as scratch:
        links = pack_edges(_report_progress(read_edges(path), progress), Path(scratch), settings.memory_mb * 1_000_000)
        if not links.nodes:
            raise BadFile(f"{path} has no links.")
        solver = PagerankSolver(links, 1.0, settings.memory_mb * 1_000_000, worker_count(settings))
        ranks = run_program(rank_uniformly(solver, links.nodes, settings, progress, "ranking nodes"))
        return RankedEdges(links.nodes, links.links, len(links.packed.stream), ranks)


def pack_edges(edges: Iterable[Edges], scratch: Path, memory: int) -> Adjacency:
    """Sort and pack links in any order; those of a node to itself are left out."""
    sorter = PairSorter(scratch, "links", memory)
    highest, links = -1, 0
    for sources, targets in edges:
        if not len(sources):
            continue
        lowest = int(min(sources.min(), targets.min()))
        highest = max(highest, int(sources.max()), int(targets.max()))
        links += len(sources)
        if lowest < 0 or highest >= _MAX_NODES:
            raise BadFile(
                f"Nodes are numbered from 0 to {_MAX_NODES - 1:,}; {lowest if lowest < 0 else highest} is not."
            )
        distinct = sources != targets
        sorter.add(targets[distinct].astype(np.uint64) << np.uint64(32) | sources[distinct].astype(np.uint64))
    if highest > 1_000_000 + _MAX_GAP * links:
        raise BadFile(f"There are {links:,} links, but a node is numbered {highest:,}.", "Number the nodes from 0 on.")
    return pack_pairs(sorter, highest + 1, scratch / "packed")


def read_edges(path: Path) -> Iterator[Edges]:
    """Read links from a file, one batch at a time."""
    if path.suffix == ".npz":
        yield _read_arrays(path)
        return
    lines = (line for line in read_lines(path) if line.strip() and not line.startswith((b"#", b"%")))
    while batch := list(islice(lines, _LINES)):
        numbers = _parse_numbers(b" ".join(batch), path)
        if len(numbers) != 2 * len(batch):
            raise BadFile(f"{path} has lines that are not 'SOURCE TARGET'.")
        yield numbers[::2], numbers[1::2]


def _parse_numbers(text: bytes, path: Path) -> npt.NDArray[np.int64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode("ascii"), np.int64, sep=" ")
        except (DeprecationWarning, ValueError, OverflowError) as error:
            raise BadFile(f"{path} has lines that are not 'SOURCE TARGET', two integers.") from error


def _read_arrays(path: Path) -> Edges:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            sources, targets = arrays["sources"], arrays["targets"]
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadFile(f"{path} cannot be read as arrays 'sources' and 'targets': {error}.") from error
    are_integers = sources.dtype.kind in "iu" and targets.dtype.kind in "iu"
    if sources.ndim != 1 or sources.shape != targets.shape or not are_integers:
        raise BadFile(f"{path} must have two one-dimensional arrays of integers, of the same length.")
    return sources.astype(np.int64), targets.astype(np.int64)


def _report_progress(edges: Iterable[Edges], progress: Progress) -> Iterator[Edges]:
    done = 0
    for batch in edges:
        done += len(batch[0])
        progress("reading links", done, 0)
        yield batch
