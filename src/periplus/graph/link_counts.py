"""What is counted while links pass by in order: in-links, hosts that link, and links between hosts."""

import numpy as np

from periplus.graph.external_sort import Chunk, Runs
from periplus.graph.node_table import Nodes

__all__ = ["Counting"]


class Counting:
    """Looks at chunks of links between pages; `hosts` is given a pair for all links from one host to another."""

    def __init__(self, nodes: Nodes, hosts: Runs) -> None:
        self._nodes, self._hosts = nodes, hosts
        self.in_links = np.zeros(len(nodes.keys), np.int32)
        self.in_hosts = np.zeros(len(nodes.keys), np.int32)

    def look(self, chunk: Chunk) -> None:
        """Count the links of one chunk."""
        sources = (chunk.pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
        targets = (chunk.pairs >> np.uint64(32)).astype(np.int64)
        rows = chunk.last - chunk.first
        span = slice(chunk.first, chunk.last)
        self.in_links[span] = np.bincount(targets - chunk.first, minlength=rows)
        hosts = self._nodes.hosts[sources]
        apart = hosts != self._nodes.hosts[targets]
        hosts, targets = hosts[apart], targets[apart]
        # Sources are in order and those of one host are neighbours: a host is new where it differs from the one before.
        new = np.ones(len(hosts), np.bool_)
        new[1:] = (hosts[1:] != hosts[:-1]) | (targets[1:] != targets[:-1])
        self.in_hosts[span] = np.bincount(targets[new] - chunk.first, minlength=rows)
        between = self._nodes.hosts[targets].astype(np.uint64) << np.uint64(32) | hosts.astype(np.uint64)
        pairs, counts = np.unique(between, return_counts=True)
        self._hosts.add(pairs, counts.astype(np.uint32))
