"""Hubs of the topic: HITS weighted by relevance over the most recently crawled pages, computed at intervals.

Each of the last `_MAX_PAGES` pages is stored with its key, its relevance, and the targets of its links (key and host).
Links of the best hubs that were not followed yet are raised in the frontier.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.crawl.focus import kernels as kernel
from periplus.records import Address

__all__ = ["Distiller", "DistillerState"]

_MAX_PAGES: Final = 4_000
_MAX_LINKS: Final = 64
"""Links of one page that are considered."""
_INTERVAL: Final = 100
"""Pages from one computation to the next."""
_ROUNDS: Final = 5
_MAX_HUBS: Final = 20
"""Hubs whose links are raised."""
_MIN_HUB_SCORE: Final = 0.4
"""Minimum score of a hub; that of the best is 1."""


class _Node(msgspec.Struct, array_like=True):
    """A crawled page."""

    key: int
    host: str
    relevance: float
    targets: bytes
    """Keys (u64) of the targets of its links."""
    hosts: list[str]
    """Host of each target."""
    hub: float = 0.0


class DistillerState(msgspec.Struct):
    """State of a distiller, as stored in the crawl's snapshot."""

    nodes: list[_Node] = []
    seen: int = 0


class Distiller:
    """Computes the hub scores of pages and hosts."""

    def __init__(self, state: DistillerState | None = None) -> None:
        self.state = state or DistillerState()
        self._host_scores: dict[str, float] = {}
        self._average_hosts()

    def add(self, key: int, host: str, relevance: float, links: Sequence[Address]) -> None:
        """Add a crawled page, in place of the oldest one if there are `_MAX_PAGES` already."""
        targets = np.array([link.key for link in links[:_MAX_LINKS]], "<u8").tobytes()
        node = _Node(key, host, relevance, targets, [link.host for link in links[:_MAX_LINKS]])
        nodes, slot = self.state.nodes, self.state.seen % _MAX_PAGES
        if slot < len(nodes):
            nodes[slot] = node
        else:
            nodes.append(node)
        self.state.seen += 1

    def host_score(self, host: str) -> float:
        """Return the mean hub score of a host's pages, up to 1."""
        return self._host_scores.get(host, 0.0)

    def update_hubs(self) -> dict[str, dict[int, float]]:
        """Recompute hub scores every `_INTERVAL` pages; return those of the best hubs' links by host and key."""
        nodes = self.state.nodes
        if not nodes or self.state.seen % _INTERVAL:
            return {}
        source, target = self._build_edges()
        relevance = np.array([node.relevance for node in nodes], np.float32)
        hub_scores = kernel.hubs(source, target, relevance, _ROUNDS)
        for node, hub in zip(nodes, hub_scores.tolist(), strict=True):
            node.hub = hub
        self._average_hosts()
        return self._raise_links(hub_scores)

    def _build_edges(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return sources and targets, as indices of nodes, of the links between stored pages."""
        nodes = self.state.nodes
        keys = np.array([node.key for node in nodes], np.uint64)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        targets = np.frombuffer(b"".join(node.targets for node in nodes), "<u8")
        counts = [len(node.targets) // 8 for node in nodes]
        source = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
        position = np.minimum(np.searchsorted(ordered, targets), len(ordered) - 1)
        is_known = ordered[position] == targets
        return source[is_known], order[position[is_known]].astype(np.int32)

    def _average_hosts(self) -> None:
        """Average the hub scores over hosts."""
        sums: dict[str, tuple[float, int]] = {}
        for node in self.state.nodes:
            total, count = sums.get(node.host, (0.0, 0))
            sums[node.host] = total + node.hub, count + 1
        self._host_scores = {host: total / count for host, (total, count) in sums.items()}

    def _raise_links(self, hubs: npt.NDArray[np.float32]) -> dict[str, dict[int, float]]:
        best = np.argsort(-hubs, kind="stable")[:_MAX_HUBS].tolist()
        crawled = {node.key for node in self.state.nodes}
        link_scores: dict[str, dict[int, float]] = {}
        for slot in best:
            node = self.state.nodes[slot]
            if node.hub < _MIN_HUB_SCORE:
                break
            keys = np.frombuffer(node.targets, "<u8").tolist()
            for key, host in zip(keys, node.hosts, strict=True):
                if key not in crawled:
                    host_links = link_scores.setdefault(host, {})
                    host_links[key] = max(host_links.get(key, 0.0), node.hub)
        return link_scores
