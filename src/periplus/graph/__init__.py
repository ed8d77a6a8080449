"""Who links to whom, and what it says about a page: PageRank of pages and hosts, in-links, anchor text.

In: the visits of a page store. Out: one array file, and `Graph`, which looks pages up in it by key.

    statistics = build_graph(store, folder, settings, progress)
    graph = Graph.open(folder)
    graph.static_ranks(keys)    # float32, 0..1: log-scaled page rank, mixed with that of the host
    graph.signals(keys)         # pagerank, hostrank, in_links, in_hosts, spam_mass, trust: an array each
    graph.anchors(key)          # distinct texts of links to the page, one a line, weightiest first

Redirects, copies and canonical links lead to the page they name; its ranks are theirs too. Links marked nofollow
count nothing; links within a host count less. Format: docs/formats/store.md and docs/formats/arrays.md.
"""

from periplus.graph.build import GraphStatistics, build_graph
from periplus.graph.lookup import Graph, Signals

__all__ = ["Graph", "GraphStatistics", "Signals", "build_graph"]
