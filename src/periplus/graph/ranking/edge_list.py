"""PageRank of any graph: links from a file of numbered nodes instead of a page store, sorted on disk alike."""

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
from periplus.graph.adjacency import Adjacency, pack_runs
from periplus.graph.external_sort import Runs
from periplus.graph.ranking.page_scores import Progress, rank_uniformly, workers_of
from periplus.graph.ranking.pagerank_solver import Ranker, Ranks
from periplus.settings import GraphSettings
from periplus.store import read_lines

__all__ = ["Edges", "RankedEdges", "pack_edges", "rank_edges", "read_edges"]

Edges = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""Sources and targets."""

_LINES: Final = 1 << 16
_MOST_NODES: Final = 1 << 30
_SPARSE: Final = 16
"""Numbers of nodes may leave out this many for each link, no more: every number takes memory."""


class RankedEdges(NamedTuple):
    """A ranked graph of numbered nodes."""

    nodes: int
    links: int
    """Between different nodes, each pair once."""
    bytes: int
    """What the links take, packed."""
    ranks: Ranks


def rank_edges(
    path: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> RankedEdges:
    """Rank the nodes of a file: 'SOURCE TARGET' lines (plain, gzip, zstd), or arrays 'sources' and 'targets' (npz)."""
    with tempfile.TemporaryDirectory(prefix="periplus-") as scratch:
        links = pack_edges(_told(read_edges(path), progress), Path(scratch), settings.memory_mb * 1_000_000)
        if not links.nodes:
            raise BadFile(f"{path} has no links.")
        ranker = Ranker(links, 1.0, settings.memory_mb * 1_000_000, workers_of(settings))
        ranks = rank_uniformly(ranker, links.nodes, settings, progress, "ranking nodes")
        return RankedEdges(links.nodes, links.links, len(links.packed.stream), ranks)


def pack_edges(edges: Iterable[Edges], scratch: Path, memory: int) -> Adjacency:
    """Sort and pack links that come in any order; those of a node to itself are left out."""
    runs = Runs(scratch, "links", memory)
    highest, links = -1, 0
    for sources, targets in edges:
        if not len(sources):
            continue
        lowest = int(min(sources.min(), targets.min()))
        highest = max(highest, int(sources.max()), int(targets.max()))
        links += len(sources)
        if lowest < 0 or highest >= _MOST_NODES:
            raise BadFile(
                f"Nodes are numbered from 0 to {_MOST_NODES - 1:,}; {lowest if lowest < 0 else highest} is not."
            )
        apart = sources != targets
        runs.add(targets[apart].astype(np.uint64) << np.uint64(32) | sources[apart].astype(np.uint64))
    if highest > 1_000_000 + _SPARSE * links:
        raise BadFile(f"There are {links:,} links, but a node is numbered {highest:,}.", "Number the nodes from 0 on.")
    return pack_runs(runs, highest + 1, scratch / "packed")


def read_edges(path: Path) -> Iterator[Edges]:
    """Read links from a file, a batch at a time."""
    if path.suffix == ".npz":
        yield _arrays(path)
        return
    lines = (line for line in read_lines(path) if line.strip() and not line.startswith((b"#", b"%")))
    while batch := list(islice(lines, _LINES)):
        numbers = _numbers(b" ".join(batch), path)
        if len(numbers) != 2 * len(batch):
            raise BadFile(f"{path} has lines that are not 'SOURCE TARGET'.")
        yield numbers[::2], numbers[1::2]


def _numbers(text: bytes, path: Path) -> npt.NDArray[np.int64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.decode("ascii"), np.int64, sep=" ")
        except (DeprecationWarning, ValueError, OverflowError) as error:
            raise BadFile(f"{path} has lines that are not 'SOURCE TARGET', two whole numbers.") from error


def _arrays(path: Path) -> Edges:
    try:
        with np.load(path, allow_pickle=False) as found:
            sources, targets = found["sources"], found["targets"]
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadFile(f"{path} cannot be read as arrays 'sources' and 'targets': {error}.") from error
    whole = sources.dtype.kind in "iu" and targets.dtype.kind in "iu"
    if sources.ndim != 1 or sources.shape != targets.shape or not whole:
        raise BadFile(f"{path} must have two rows of whole numbers, as long as each other.")
    return sources.astype(np.int64), targets.astype(np.int64)


def _told(edges: Iterable[Edges], progress: Progress) -> Iterator[Edges]:
    done = 0
    for batch in edges:
        done += len(batch[0])
        progress("reading links", done, 0)
        yield batch
