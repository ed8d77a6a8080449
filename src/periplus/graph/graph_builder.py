"""From visits to ranks: two readings of the store, links sorted on disk, PageRank, two array files."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.errors import NothingHere
from periplus.files import disk_errors, sweep_torn
from periplus.graph.adjacency import Adjacency, pack_runs
from periplus.graph.anchor_text import AnchorRuns, AnchorTexts
from periplus.graph.backlinks import BacklinkRuns
from periplus.graph.external_sort import Runs
from periplus.graph.graph_reader import FILE, FORMAT, KIND
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.link_counts import Counting
from periplus.graph.link_reader import read_links
from periplus.graph.node_table import Nodes, find_nodes
from periplus.graph.ranking.page_scores import Progress, Scores, score
from periplus.records import FetchRecord
from periplus.settings import GraphSettings
from periplus.store import PageStore

__all__ = ["GraphStatistics", "build_graph", "scratch_folder"]


class GraphStatistics(NamedTuple):
    """What a graph holds, and what it took."""

    pages: int
    hosts: int
    links: int
    """Between different pages, each pair once."""
    rounds: int
    bytes: int
    mirrors: int = 0
    """Hosts that turned out to be copies of others."""


class _Parts(NamedTuple):
    """All that is known before anything is ranked."""

    nodes: Nodes
    pages: Adjacency
    hosts: Adjacency
    counting: Counting
    anchors: AnchorTexts
    backlinks: BacklinkRuns


def build_graph(
    store: PageStore, folder: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> GraphStatistics:
    """Rank all pages of the store by their links, and write the result to `folder`."""
    total = store.statistics().records
    nodes = find_nodes(_told(store, progress, total))
    if not len(nodes.keys):
        raise NothingHere(f"There are no pages in {store.folder}.", "Crawl or import some first.")
    with scratch_folder(folder) as scratch:
        parts = _collect(store, nodes, scratch, settings, lambda done: progress("reading links", done, total))
        scores = score(nodes, parts.pages, parts.hosts, settings, progress)
        parts.backlinks.write(folder, nodes.keys, len(nodes.current))
        return _write(folder, parts, scores)


def _told(store: PageStore, progress: Progress, total: int) -> Iterator[FetchRecord]:
    for number, visit in enumerate(store.records()):
        if number % 1000 == 0:
            progress("reading pages", number, total)
        yield visit


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Give a folder for files that nobody needs afterwards; what an earlier process left there goes."""
    scratch = folder / ".building"
    with disk_errors(scratch):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(scratch, ignore_errors=True)
        sweep_torn(folder)
        own = scratch / str(os.getpid())
        own.mkdir(parents=True)
    try:
        yield own
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _collect(
    store: PageStore, nodes: Nodes, scratch: Path, settings: GraphSettings, told: Callable[[int], None]
) -> _Parts:
    """Read all links, sort them, and pack them page by page and host by host."""
    share = settings.memory_mb * 1_000_000 // 3
    pairs = Runs(scratch, "links", share)
    anchors = AnchorRuns(scratch, share, settings.same_host_weight)
    backlinks = BacklinkRuns(scratch, share)
    read_links(store.records(), nodes, pairs, anchors, backlinks, told)
    between = Runs(scratch, "hosts", share, counted=True)
    counting = Counting(nodes, between)
    texts = anchors.choose(len(nodes.keys), settings.anchor_chars)
    placing = kernel.Placing(nodes.hosts, nodes.first)
    pages = pack_runs(pairs, len(nodes.keys), scratch / "pages", look=counting.look, placing=placing)
    pairs.remove()
    hosts = pack_runs(between, len(nodes.host_keys), scratch / "between", counted=True)
    between.remove()
    return _Parts(nodes, pages, hosts, counting, texts, backlinks)


def _write(folder: Path, parts: _Parts, scores: Scores) -> GraphStatistics:
    nodes, pages, hosts = parts.nodes, parts.pages, parts.hosts
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": nodes.names,
        "rows": nodes.rows,
        "page_keys": nodes.keys,
        "host_first": nodes.first,
        "pagerank": scores.pages,
        "hostrank": scores.hosts[nodes.hosts],
        "in_links": parts.counting.in_links,
        "in_hosts": parts.counting.in_hosts,
        "spam_mass": scores.spam_mass,
        "trust": scores.trust,
        "static": scores.static,
        "anchor_starts": parts.anchors.starts,
        "anchors": parts.anchors.blob,
        "anchor_first": parts.anchors.first,
        "anchor_hosts": parts.anchors.hosts,
        "links": pages.packed.stream,
        "link_bytes": pages.packed.block_bytes,
        "link_numbers": pages.packed.block_links,
        "host_links": hosts.packed.stream,
        "host_link_bytes": hosts.packed.block_bytes,
        "host_link_numbers": hosts.packed.block_links,
        "changes": np.array(scores.changes, np.float64),
    }
    made = GraphStatistics(len(nodes.keys), len(nodes.host_keys), pages.links, len(scores.changes), 0, nodes.mirrors)
    notes = {name: value for name, value in made._asdict().items() if name != "bytes"}
    return made._replace(bytes=write_arrays(folder / FILE, KIND, arrays, notes, format=FORMAT))
