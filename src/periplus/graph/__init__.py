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
    rank_edges(file, settings)  # PageRank of any graph: 'SOURCE TARGET' lines, or arrays
    plot_ranks(ranks, changes)  # SVG

Redirects, duplicates, canonical links and pages of mirrors lead to the page they name, and have its ranks. Links marked
nofollow do not count; links within a host count less. Links and anchor texts are sorted on disk: a build needs
`graph.memory_mb` and about 150 bytes per page, whatever their number. Format: docs/formats/graph.md.
"""

from periplus.graph.anchor_synonyms import SynonymPair, learn_synonyms, read_synonyms
from periplus.graph.backlinks import Backlinks
from periplus.graph.graph_builder import GraphStatistics, build_graph
from periplus.graph.graph_reader import Graph, HostRank, LinkSignals
from periplus.graph.ranking.edge_list import RankedEdges, rank_edges
from periplus.graph.ranking.rank_plot import plot_ranks

__all__ = [
    "Backlinks",
    "Graph",
    "GraphStatistics",
    "HostRank",
    "LinkSignals",
    "RankedEdges",
    "SynonymPair",
    "build_graph",
    "learn_synonyms",
    "plot_ranks",
    "rank_edges",
    "read_synonyms",
]
