"""From fetch records to ranks: two passes over the store, links sorted on disk, PageRank, two array files."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.errors import CorruptFile, NothingHere
from periplus.files import disk_errors, make_folder, sweep_torn
from periplus.graph.adjacency import Adjacency, pack_pairs
from periplus.graph.anchor_text import AnchorCollector, AnchorTexts
from periplus.graph.backlinks import BacklinkSorter
from periplus.graph.exchange.imports import ImportTable
from periplus.graph.exchange.rounds import SINGLE_PART, Part, Program, run_program
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

__all__ = ["GraphStatistics", "build_graph", "build_shard_graph", "scratch_folder"]


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
    imports: ImportTable
    pages: Adjacency
    hosts: Adjacency
    counter: LinkCounter
    anchors: AnchorTexts
    backlinks: BacklinkSorter


def build_graph(
    store: PageStore, folder: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> GraphStatistics:
    """Rank all pages of the store by their links, and write graph and backlinks to `folder`."""
    return run_program(build_shard_graph(store, folder, settings, SINGLE_PART, progress))


def build_shard_graph(
    store: PageStore,
    folder: Path,
    settings: GraphSettings,
    part: Part,
    progress: Progress = lambda stage, done, total: None,
    records: int | None = None,
) -> Program[GraphStatistics]:
    """Rank the pages of one shard by the links of all shards, and write the shard's part of the graph to `folder`.

    records: how many fetch records of the store to read; all that there are now, if it is None.
    """
    total = store.statistics().records if records is None else records
    if total > store.statistics().records:
        raise CorruptFile(f"{store.folder} has fewer fetch records than when this build of the graph began.")
    nodes = yield from build_node_table(_read_records(store, progress, total, records), part)
    if not nodes.total_nodes:
        raise NothingHere(f"There are no pages in {store.folder}.", "Crawl or import some first.")
    with scratch_folder(folder) as scratch:
        inputs = yield from _collect_links(
            store, nodes, scratch, settings, lambda done: progress("reading links", done, total)
        )
        scores = yield from compute_scores(nodes, inputs.imports, inputs.pages, inputs.hosts, settings, progress)
        inputs.backlinks.write(folder, nodes.keys, len(nodes.is_current))
        return _write_graph(folder, inputs, scores)


def _read_records(store: PageStore, progress: Progress, total: int, limit: int | None) -> Iterator[FetchRecord]:
    for number, record in enumerate(islice(store.records(), limit)):
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
        with disk_errors(own):  # of its files some are mapped and read in many places
            yield own
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _collect_links(
    store: PageStore, nodes: NodeTable, scratch: Path, settings: GraphSettings, progress: Callable[[int], None]
) -> Program[_GraphInputs]:
    """Read all links, sort them, and pack them by page and by host."""
    memory = settings.memory_mb * 1_000_000 // 3
    page_pairs = PairSorter(scratch, "links", memory)
    anchors = AnchorCollector(scratch, memory, settings.same_host_weight)
    backlinks = BacklinkSorter(scratch, memory)
    imports = yield from read_links(store.records(), nodes, page_pairs, anchors, backlinks, scratch, progress)
    host_pairs = PairSorter(scratch, "hosts", memory, counted=True)
    counter = LinkCounter(imports.page_hosts, host_pairs)
    texts = anchors.select(len(nodes.keys), settings.anchor_chars)
    pages = pack_pairs(
        page_pairs,
        imports.pages.nodes,
        scratch / "pages",
        on_chunk=counter.count_chunk,
        host_layout=_host_layout(nodes, imports),
    )
    page_pairs.remove()
    hosts = pack_pairs(host_pairs, imports.hosts.nodes, scratch / "between", counted=True)
    host_pairs.remove()
    return _GraphInputs(nodes, imports, pages, hosts, counter, texts, backlinks)


def _host_layout(nodes: NodeTable, imports: ImportTable) -> kernel.HostLayout:
    """Return which nodes are of one host. Imported nodes, which no links lead to, count as those of one more host."""
    first, imported = nodes.host_first, imports.pages.nodes - imports.pages.own
    if not imported:
        return kernel.HostLayout(nodes.hosts, first)
    hosts = np.concatenate((nodes.hosts, np.full(imported, len(nodes.host_keys), np.int32)))
    return kernel.HostLayout(hosts, np.append(first, imports.pages.nodes))


def _own_rows(links: Adjacency, rows: int) -> kernel.PackedLinks:
    """Return the packed links to a shard's own nodes: rows of imported ones are empty."""
    blocks = -(-rows // kernel.BLOCK_ROWS)
    packed = links.packed
    stream = packed.stream[: int(packed.block_bytes[blocks])]
    return kernel.PackedLinks(stream, packed.block_bytes[: blocks + 1], packed.block_links[: blocks + 1])


def _write_graph(folder: Path, inputs: _GraphInputs, scores: PageScores) -> GraphStatistics:
    nodes, imports, foreign = inputs.nodes, inputs.imports, len(inputs.nodes.foreign_keys)
    pages, hosts = _own_rows(inputs.pages, len(nodes.keys)), _own_rows(inputs.hosts, len(nodes.host_keys))

    def column(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column for own and foreign pages; what foreign pages have is in the graphs of their shards."""
        return np.concatenate((values[: len(nodes.keys)], np.zeros(foreign, values.dtype))) if foreign else values

    def offsets(values: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.int64]:
        """Return offsets, of which the last is the end, for own and foreign pages."""
        return np.append(values, values[-1] + step * np.arange(1, foreign + 1))

    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": nodes.aliases,
        "rows": nodes.alias_nodes,
        "page_keys": nodes.page_keys(),
        "host_first": offsets(nodes.host_first, 1),
        "pagerank": column(scores.pages),
        "hostrank": column(scores.hosts[nodes.hosts]),
        "in_links": column(inputs.counter.in_links[: len(nodes.keys)]),
        "in_hosts": column(inputs.counter.in_hosts[: len(nodes.keys)]),
        "spam_mass": column(scores.spam_mass),
        "trust": column(scores.trust),
        "static": column(scores.static),
        "anchor_starts": offsets(inputs.anchors.starts, 0),
        "anchors": inputs.anchors.blob,
        "anchor_first": offsets(inputs.anchors.first, 0),
        "anchor_hosts": inputs.anchors.hosts,
        "links": pages.stream,
        "link_bytes": pages.block_bytes,
        "link_numbers": pages.block_links,
        "host_links": hosts.stream,
        "host_link_bytes": hosts.block_bytes,
        "host_link_numbers": hosts.block_links,
        "changes": np.array(scores.changes, np.float64),
    }
    rounds, links = len(scores.changes), int(pages.block_links[-1])
    statistics = GraphStatistics(len(nodes.keys), len(nodes.host_keys), links, rounds, 0, nodes.mirrors)
    notes = {name: value for name, value in statistics._asdict().items() if name != "bytes"}
    if nodes.part.shards > 1:
        arrays["imported_pages"] = imports.page_keys
        arrays["imported_hosts"] = imports.host_keys[len(nodes.host_keys) :]
        notes |= {"shard": nodes.part.number, "shards": nodes.part.shards}
    return statistics._replace(bytes=write_arrays(folder / FILE, KIND, arrays, notes, format=FORMAT))
