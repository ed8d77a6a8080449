"""The link graph: PageRank of pages and hosts, trust, in-links, anchor text, backlinks and synonyms.

In: the fetch records of a page store. Out: array files in one folder; `Graph` looks pages up in the first by key,
`Backlinks` returns from the second the pages that link to a URL or host, whether that was fetched or not.

    statistics = build_graph(store, folder, settings, progress)
    graph = Graph.open(folder)
    graph.static_ranks(keys)    # float32, 0..1: log-scaled page rank, mixed with that of the host
    graph.signals(keys)         # LinkSignals: pagerank, hostrank, in_links, in_hosts, spam_mass, trust
    graph.anchors(key)          # distinct anchor texts of the page, one per line, those of most weight first

    Backlinks.open(folder).find_by_host("example.org")   # keys of pages that link there

    learn_synonyms(graph, folder); read_synonyms(folder)  # names that different hosts use for one page

    graph.top_pages(10); graph.top_hosts(10); graph.changes
    program = build_shard_graph(store, folder, settings, Part(2, 4, owner))   # the part of one shard of several
    run_programs(programs)      # of all shards, in one process; `periplus.cluster.ranking` runs them on several

    rank_edges(file, settings)  # PageRank of any graph: 'SOURCE TARGET' lines, or arrays
    plot_ranks(ranks, changes)  # SVG

Redirects, duplicates, canonical links and pages of mirrors lead to the page they name, and have its ranks. Links marked
nofollow do not count; links within a host count less. Links and anchor texts are sorted on disk: a build needs
`graph.memory_mb` and about 150 bytes per page, whatever their number. Format: docs/formats/graph.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.graph.anchor_synonyms import SynonymPair, learn_shard_synonyms, learn_synonyms, read_synonyms
from periplus.graph.graph_reader import Graph, HostRank, LinkSignals

if TYPE_CHECKING:
    from periplus.graph.backlinks import Backlinks
    from periplus.graph.exchange.rounds import Arrivals, Message, Part, Program, Round, run_programs
    from periplus.graph.graph_builder import GraphStatistics, build_graph, build_shard_graph
    from periplus.graph.ranking.edge_list import RankedEdges, rank_edges, read_edges
    from periplus.graph.ranking.rank_plot import plot_ranks

__all__ = [
    "Arrivals",
    "Backlinks",
    "Graph",
    "GraphStatistics",
    "HostRank",
    "LinkSignals",
    "Message",
    "Part",
    "Program",
    "RankedEdges",
    "Round",
    "SynonymPair",
    "build_graph",
    "build_shard_graph",
    "learn_shard_synonyms",
    "learn_synonyms",
    "plot_ranks",
    "rank_edges",
    "read_edges",
    "read_synonyms",
    "run_programs",
]

_KERNEL_MODULES: Final = {
    "backlinks": ("Backlinks",),
    "exchange.rounds": ("Arrivals", "Message", "Part", "Program", "Round", "run_programs"),
    "graph_builder": ("GraphStatistics", "build_graph", "build_shard_graph"),
    "ranking.edge_list": ("RankedEdges", "rank_edges", "read_edges"),
    "ranking.rank_plot": ("plot_ranks",),
}
_LAZY_NAMES: Final = {name: module for module, names in _KERNEL_MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of a module that uses kernels, on first use."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    return value
