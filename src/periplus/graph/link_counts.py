"""Counts that are made while links are read in order: in-links, linking hosts, and links between hosts."""

import numpy as np
import numpy.typing as npt

from periplus.graph.external_sort import PairChunk, PairSorter

__all__ = ["LinkCounter"]


class LinkCounter:
    """Counts chunks of links between pages; a pair for all links from one host to another is added to `host_pairs`.

    hosts: the host of each page, those of pages that are imported from other shards included.
    """

    def __init__(self, hosts: npt.NDArray[np.int32], host_pairs: PairSorter) -> None:
        self._hosts, self._host_pairs = hosts, host_pairs
        self.in_links = np.zeros(len(hosts), np.int32)
        self.in_hosts = np.zeros(len(hosts), np.int32)

    def count_chunk(self, chunk: PairChunk) -> None:
        """Count the links of one chunk."""
        sources = (chunk.pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
        targets = (chunk.pairs >> np.uint64(32)).astype(np.int64)
        rows = chunk.last - chunk.first
        span = slice(chunk.first, chunk.last)
        self.in_links[span] = np.bincount(targets - chunk.first, minlength=rows)
        hosts = self._hosts[sources]
        external = hosts != self._hosts[targets]
        hosts, targets = hosts[external], targets[external]
        # Sources are sorted, and nodes of one host are adjacent: a host is new where it differs from the one before.
        new = np.ones(len(hosts), np.bool_)
        new[1:] = (hosts[1:] != hosts[:-1]) | (targets[1:] != targets[:-1])
        self.in_hosts[span] = np.bincount(targets[new] - chunk.first, minlength=rows)
        between = self._hosts[targets].astype(np.uint64) << np.uint64(32) | hosts.astype(np.uint64)
        pairs, counts = np.unique(between, return_counts=True)
        self._host_pairs.add(pairs, counts.astype(np.uint32))
