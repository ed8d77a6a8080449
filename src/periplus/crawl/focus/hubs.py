"""Which pages are hubs of the topic: HITS weighted by relevance over the pages crawled lately, now and then.

Kept of each page: its key, its relevance, and where its links lead (key and host), for the last `_PAGES` pages. Links
of the best hubs that nobody has followed yet are raised in the frontier.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.crawl.focus import kernels as kernel
from periplus.records import Address

__all__ = ["Distiller", "DistillerState"]

_PAGES: Final = 4_000
_LINKS: Final = 64
"""Links of one page that are looked at."""
_EVERY: Final = 100
"""Pages from one distillation to the next."""
_ROUNDS: Final = 5
_BEST: Final = 20
"""Hubs whose links are raised."""
_GOOD: Final = 0.4
"""Hub score from which on a page is a hub, beside the best with 1."""


class _Node(msgspec.Struct, array_like=True):
    """One page that was crawled."""

    key: int
    host: str
    relevance: float
    targets: bytes
    """Keys (u64) of where its links lead."""
    hosts: list[str]
    """Host of each."""
    hub: float = 0.0


class DistillerState(msgspec.Struct):
    """All that a distiller knows, for the crawl's snapshot."""

    nodes: list[_Node] = []
    seen: int = 0


class Distiller:
    """Gives hub scores to pages and hosts."""

    def __init__(self, state: DistillerState | None = None) -> None:
        self.state = state or DistillerState()
        self._of_host: dict[str, float] = {}
        self._hosts()

    def add(self, key: int, host: str, relevance: float, links: Sequence[Address]) -> None:
        """Take a page that was crawled; what is older than `_PAGES` pages is forgotten."""
        targets = np.array([link.key for link in links[:_LINKS]], "<u8").tobytes()
        node = _Node(key, host, relevance, targets, [link.host for link in links[:_LINKS]])
        nodes, place = self.state.nodes, self.state.seen % _PAGES
        if place < len(nodes):
            nodes[place] = node
        else:
            nodes.append(node)
        self.state.seen += 1

    def hub(self, host: str) -> float:
        """Give how good a hub the pages of a host are, up to 1."""
        return self._of_host.get(host, 0.0)

    def distil(self) -> dict[str, dict[int, float]]:
        """Now and then, work hub scores out anew: give what the links of the best are worth, by host and key."""
        nodes = self.state.nodes
        if not nodes or self.state.seen % _EVERY:
            return {}
        source, target = self._edges()
        relevance = np.array([node.relevance for node in nodes], np.float32)
        found = kernel.hubs(source, target, relevance, _ROUNDS)
        for node, hub in zip(nodes, found.tolist(), strict=True):
            node.hub = hub
        self._hosts()
        return self._raised(found)

    def _edges(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Give links between pages that are known here, each page by its place."""
        nodes = self.state.nodes
        keys = np.array([node.key for node in nodes], np.uint64)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        targets = np.frombuffer(b"".join(node.targets for node in nodes), "<u8")
        counts = [len(node.targets) // 8 for node in nodes]
        source = np.repeat(np.arange(len(nodes), dtype=np.int32), counts)
        at = np.minimum(np.searchsorted(ordered, targets), len(ordered) - 1)
        known = ordered[at] == targets
        return source[known], order[at[known]].astype(np.int32)

    def _hosts(self) -> None:
        """Average hub scores over hosts."""
        sums: dict[str, tuple[float, int]] = {}
        for node in self.state.nodes:
            total, count = sums.get(node.host, (0.0, 0))
            sums[node.host] = total + node.hub, count + 1
        self._of_host = {host: total / count for host, (total, count) in sums.items()}

    def _raised(self, hubs: npt.NDArray[np.float32]) -> dict[str, dict[int, float]]:
        best = np.argsort(-hubs, kind="stable")[:_BEST].tolist()
        crawled = {node.key for node in self.state.nodes}
        raised: dict[str, dict[int, float]] = {}
        for place in best:
            node = self.state.nodes[place]
            if node.hub < _GOOD:
                break
            keys = np.frombuffer(node.targets, "<u8").tolist()
            for key, host in zip(keys, node.hosts, strict=True):
                if key not in crawled:
                    worth = raised.setdefault(host, {})
                    worth[key] = max(worth.get(key, 0.0), node.hub)
        return raised
