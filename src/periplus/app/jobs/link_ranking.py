"""Rank the pages of a data folder, or the nodes of any graph, by their links."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from periplus.app.jobs.index_queue import queue_for_index
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.new_folder import no_pages_error
from periplus.app.observer import SILENT, Observer
from periplus.files import DataFolder, open_data_folder, write_atomically
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.graph import Graph
    from periplus.store import PageStore

__all__ = ["FolderRanks", "GraphRanks", "HostRank", "PageRank", "rank_folder", "rank_graph_file"]


_LOCK_SECONDS: Final = 60.0
"""How long to wait for another process that writes to the index."""


class PageRank(NamedTuple):
    """A page and what its links say of it."""

    page: str
    rank: float
    in_links: int
    in_hosts: int
    spam_mass: float


class HostRank(NamedTuple):
    """A host and what the links to its pages say of it."""

    host: str
    rank: float
    pages: int
    spam_mass: float


class FolderRanks(NamedTuple):
    """The link graph of a data folder, and its highest ranked pages and hosts."""

    graph: Any
    """The counts of `graph.build_graph`."""
    pages: list[PageRank]
    hosts: list[HostRank]
    plot: Path


class GraphRanks(NamedTuple):
    """The ranks of a graph in a file."""

    nodes: int
    links: int
    rounds: int
    bytes: int
    """Of the adjacency in memory."""
    top: list[tuple[int, float]]
    """Nodes and their shares of all rank, the highest first."""
    plot: Path


def rank_graph_file(
    path: Path, settings: Settings, plot: Path | None = None, top: int = 10, observer: Observer = SILENT
) -> GraphRanks:
    """Rank the nodes of a graph in a file of edges, and draw the ranks as SVG."""
    import numpy as np

    from periplus.graph import plot_ranks, rank_edges

    compile_kernels(observer)
    plot = plot or Path(f"{path.name}.pagerank.svg")
    result = rank_edges(path, settings.graph, observer.progress)
    shares = result.ranks.shares
    best = [(int(node), float(shares[node])) for node in np.argsort(-shares, kind="stable")[:top]]
    write_atomically(plot, plot_ranks(shares, result.ranks.changes).encode())
    return GraphRanks(result.nodes, result.links, result.ranks.rounds, result.bytes, best, plot)


def rank_folder(
    folder: Path, settings: Settings, plot: Path | None = None, top: int = 10, observer: Observer = SILENT
) -> FolderRanks:
    """Build the link graph of all pages in a data folder, and draw the ranks as SVG."""
    from periplus.graph import Graph, build_graph, plot_ranks
    from periplus.store import PageStore

    compile_kernels(observer)
    data = DataFolder(open_data_folder(folder, create=False))
    if not data.store.exists():
        raise no_pages_error(folder)
    with queue_for_index(folder, _LOCK_SECONDS, "rank"), PageStore.open(data.store, settings.store) as store:
        counts = build_graph(store, data.graph, settings.graph, observer.progress)
        graph = Graph.open(data.graph)
        pages, hosts = _top_pages(graph, store, top), _top_hosts(graph, store, top)
    plot = plot or data.graph / "pagerank.svg"
    write_atomically(plot, plot_ranks(graph.all_page_ranks, graph.changes).encode())
    return FolderRanks(counts, pages, hosts, plot)


def _top_pages(graph: "Graph", store: "PageStore", top: int) -> list[PageRank]:
    keys = graph.top_pages(top)
    signals = graph.signals(keys)
    return [
        PageRank(
            _url(store, key),
            float(signals.pagerank[row]),
            int(signals.in_links[row]),
            int(signals.in_hosts[row]),
            float(signals.spam_mass[row]),
        )
        for row, key in enumerate(keys.tolist())
    ]


def _top_hosts(graph: "Graph", store: "PageStore", top: int) -> list[HostRank]:
    return [
        HostRank(_url(store, host.page).split("/")[2], host.rank, host.pages, host.spam_mass)
        for host in graph.top_hosts(top)
    ]


def _url(store: "PageStore", key: int) -> str:
    """Return the URL of a page, or its key as a URL if the store has been changed meanwhile."""
    record = store.find(key)
    return f"key://{key:016x}/" if record is None else record.url
