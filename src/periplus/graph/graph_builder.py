"""From fetch records to ranks: two passes over the store, links sorted on disk, PageRank, two array files."""

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
from periplus.files import disk_errors, make_folder, sweep_torn
from periplus.graph.adjacency import Adjacency, pack_pairs
from periplus.graph.anchor_text import AnchorCollector, AnchorTexts
from periplus.graph.backlinks import BacklinkSorter
from periplus.graph.external_sort import PairSorter
from periplus.graph.graph_reader import FILE, FORMAT, KIND
from periplus.graph.kernels import adjacency as kernel
from periplus.graph.link_counts import LinkCounter
from periplus.graph.link_reader import read_links
from periplus.graph.node_table import NodeTable, build_node_table
from periplus.graph.ranking.page_scores import PageScores, Progress, compute_scores
from periplus.records import FetchRecord
from periplus.settings import GraphSettings
from periplus.store import PageStore

__all__ = ["GraphStatistics", "build_graph", "scratch_folder"]


class GraphStatistics(NamedTuple):
    """The size of a graph, and the rounds of PageRank that it took."""

    pages: int
    hosts: int
    links: int
    """Between different pages, each pair once."""
    rounds: int
    bytes: int
    mirrors: int = 0
    """Hosts that were found to be mirrors of others."""


class _GraphInputs(NamedTuple):
    """Everything that is collected before ranking."""

    nodes: NodeTable
    pages: Adjacency
    hosts: Adjacency
    counter: LinkCounter
    anchors: AnchorTexts
    backlinks: BacklinkSorter


def build_graph(
    store: PageStore, folder: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> GraphStatistics:
    """Rank all pages of the store by their links, and write graph and backlinks to `folder`."""
    total = store.statistics().records
    nodes = build_node_table(_read_records(store, progress, total))
    if not len(nodes.keys):
        raise NothingHere(f"There are no pages in {store.folder}.", "Crawl or import some first.")
    with scratch_folder(folder) as scratch:
        inputs = _collect_links(store, nodes, scratch, settings, lambda done: progress("reading links", done, total))
        scores = compute_scores(nodes, inputs.pages, inputs.hosts, settings, progress)
        inputs.backlinks.write(folder, nodes.keys, len(nodes.is_current))
        return _write_graph(folder, inputs, scores)


def _read_records(store: PageStore, progress: Progress, total: int) -> Iterator[FetchRecord]:
    for number, record in enumerate(store.records()):
        if number % 1000 == 0:
            progress("reading pages", number, total)
        yield record


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Create a folder for temporary files and remove it afterwards, with what an earlier process left there."""
    scratch = folder / ".building"
    with disk_errors(scratch):
        make_folder(folder)
        shutil.rmtree(scratch, ignore_errors=True)
        sweep_torn(folder)
        own = scratch / str(os.getpid())
        own.mkdir(parents=True)
    try:
        yield own
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _collect_links(
    store: PageStore, nodes: NodeTable, scratch: Path, settings: GraphSettings, progress: Callable[[int], None]
) -> _GraphInputs:
    """Read all links, sort them, and pack them by page and by host."""
    memory = settings.memory_mb * 1_000_000 // 3
    page_pairs = PairSorter(scratch, "links", memory)
    anchors = AnchorCollector(scratch, memory, settings.same_host_weight)
    backlinks = BacklinkSorter(scratch, memory)
    read_links(store.records(), nodes, page_pairs, anchors, backlinks, progress)
    host_pairs = PairSorter(scratch, "hosts", memory, counted=True)
    counter = LinkCounter(nodes, host_pairs)
    texts = anchors.select(len(nodes.keys), settings.anchor_chars)
    host_layout = kernel.HostLayout(nodes.hosts, nodes.host_first)
    pages = pack_pairs(
        page_pairs, len(nodes.keys), scratch / "pages", on_chunk=counter.count_chunk, host_layout=host_layout
    )
    page_pairs.remove()
    hosts = pack_pairs(host_pairs, len(nodes.host_keys), scratch / "between", counted=True)
    host_pairs.remove()
    return _GraphInputs(nodes, pages, hosts, counter, texts, backlinks)


def _write_graph(folder: Path, inputs: _GraphInputs, scores: PageScores) -> GraphStatistics:
    nodes, pages, hosts = inputs.nodes, inputs.pages, inputs.hosts
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": nodes.aliases,
        "rows": nodes.alias_nodes,
        "page_keys": nodes.keys,
        "host_first": nodes.host_first,
        "pagerank": scores.pages,
        "hostrank": scores.hosts[nodes.hosts],
        "in_links": inputs.counter.in_links,
        "in_hosts": inputs.counter.in_hosts,
        "spam_mass": scores.spam_mass,
        "trust": scores.trust,
        "static": scores.static,
        "anchor_starts": inputs.anchors.starts,
        "anchors": inputs.anchors.blob,
        "anchor_first": inputs.anchors.first,
        "anchor_hosts": inputs.anchors.hosts,
        "links": pages.packed.stream,
        "link_bytes": pages.packed.block_bytes,
        "link_numbers": pages.packed.block_links,
        "host_links": hosts.packed.stream,
        "host_link_bytes": hosts.packed.block_bytes,
        "host_link_numbers": hosts.packed.block_links,
        "changes": np.array(scores.changes, np.float64),
    }
    rounds = len(scores.changes)
    statistics = GraphStatistics(len(nodes.keys), len(nodes.host_keys), pages.links, rounds, 0, nodes.mirrors)
    notes = {name: value for name, value in statistics._asdict().items() if name != "bytes"}
    return statistics._replace(bytes=write_arrays(folder / FILE, KIND, arrays, notes, format=FORMAT))
