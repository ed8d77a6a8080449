"""Who links to whom, and what it says about a page: PageRank of pages and hosts, in-links, anchor text.

In: the visits of a page store. Out: two array files, `Graph`, which looks pages up in one of them by key, and
`Backlinks`, which says from the other which pages link to a URL or to a host, here or not.

    statistics = build_graph(store, folder, settings, progress)
    graph = Graph.open(folder)
    graph.static_ranks(keys)    # float32, 0..1: log-scaled page rank, mixed with that of the host
    graph.signals(keys)         # pagerank, hostrank, in_links, in_hosts, spam_mass, trust: an array each
    graph.anchors(key)          # distinct texts of links to the page, one a line, weightiest first

    Backlinks.open(folder).to_host("example.org")   # keys of pages that link there

    graph.top_pages(10); graph.top_hosts(10); graph.changes
    rank_edges(file, settings)  # PageRank of any graph: 'SOURCE TARGET' lines, or arrays
    plot_ranks(ranks, changes)  # SVG

Redirects, copies, canonical links and pages of mirrors lead to the page they name; its ranks are theirs too. Links
marked nofollow count nothing; links within a host count less. Links and anchor texts are sorted on disk: a build holds
`graph.memory_mb` and some 150 bytes a page, whatever their number. Format: docs/formats/graph.md.
"""

from periplus.graph.anchor_synonyms import learn_synonyms
from periplus.graph.backlinks import Backlinks
from periplus.graph.graph_builder import GraphStatistics, build_graph
from periplus.graph.graph_reader import Graph, HostRank, Signals
from periplus.graph.ranking.edge_list import RankedEdges, rank_edges
from periplus.graph.ranking.rank_plot import plot_ranks

__all__ = [
    "Backlinks",
    "Graph",
    "GraphStatistics",
    "HostRank",
    "RankedEdges",
    "Signals",
    "build_graph",
    "learn_synonyms",
    "plot_ranks",
    "rank_edges",
]
