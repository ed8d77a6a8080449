"""From visits to ranks: two readings of the store, two runs of PageRank, one array file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import write_arrays
from periplus.errors import NothingHere
from periplus.files import disk_errors
from periplus.graph.anchors import Texts, choose_texts
from periplus.graph.links import Links, read_links
from periplus.graph.lookup import FILE, KIND
from periplus.graph.nodes import Nodes, find_nodes
from periplus.kernels import pagerank
from periplus.records import Visit
from periplus.settings import GraphSettings
from periplus.store import PageStore

__all__ = ["GraphStatistics", "build_graph"]

_HOST_SHARE: Final = 0.3
"""How much of the static rank is the host's; a new page of a good site is probably good."""

Progress = Callable[[str, int, int], None]


class GraphStatistics(NamedTuple):
    """What a graph holds, and what it took."""

    pages: int
    hosts: int
    links: int
    """Between different pages, each pair once."""
    rounds: int
    bytes: int


class _Pairs(NamedTuple):
    """Linked pairs, each once, with their weight."""

    sources: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]


def build_graph(
    store: PageStore, folder: Path, settings: GraphSettings, progress: Progress = lambda stage, done, total: None
) -> GraphStatistics:
    """Rank all pages of the store by their links, and write the result to `folder`."""
    total = store.statistics().visits
    nodes = find_nodes(_told(store, progress, total))
    count = len(nodes.hosts)
    if not count:
        raise NothingHere(f"There are no pages in {store.folder}.", "Crawl or import some first.")
    texts = Texts()
    links = read_links(
        store.visits(), nodes, texts, settings.same_host_weight, lambda done: progress("reading links", done, total)
    )
    pairs = _merge(links.sources, links.targets, links.weights)
    progress("ranking pages", 0, count)
    pages = _rank(pairs, count, settings)
    hosts = _rank(_host_pairs(pairs, nodes), len(nodes.host_keys), settings)
    size = _write(folder, nodes, links, pairs, texts, pages, hosts, settings)
    progress("ranking pages", count, count)
    return GraphStatistics(count, len(nodes.host_keys), len(pairs.sources), pages.rounds, size)


def _told(store: PageStore, progress: Progress, total: int) -> Iterator[Visit]:
    for number, visit in enumerate(store.visits()):
        if number % 1000 == 0:
            progress("reading pages", number, total)
        yield visit


def _merge(sources: npt.NDArray[np.int32], targets: npt.NDArray[np.int32], weights: npt.NDArray[np.float32]) -> _Pairs:
    """Count several links from one page to another as one."""
    joined = targets.astype(np.int64) << 32 | sources
    pairs, first = np.unique(joined, return_index=True)
    return _Pairs((pairs & 0xFFFFFFFF).astype(np.int32), (pairs >> 32).astype(np.int32), weights[first])


def _host_pairs(pairs: _Pairs, nodes: Nodes) -> _Pairs:
    """Give links between hosts; a second thousand of page links counts less than the first ten."""
    sources, targets = nodes.hosts[pairs.sources], nodes.hosts[pairs.targets]
    apart = sources != targets
    joined = targets[apart].astype(np.int64) << 32 | sources[apart]
    both, counts = np.unique(joined, return_counts=True)
    weights = np.log2(1.0 + counts).astype(np.float32)
    return _Pairs((both & 0xFFFFFFFF).astype(np.int32), (both >> 32).astype(np.int32), weights)


def _in_hosts(pairs: _Pairs, nodes: Nodes) -> npt.NDArray[np.int32]:
    """Count the other hosts that link to each page."""
    hosts = nodes.hosts[pairs.sources]
    apart = hosts != nodes.hosts[pairs.targets]
    both = np.unique(pairs.targets[apart].astype(np.int64) << 32 | hosts[apart])
    return np.bincount(both >> 32, minlength=len(nodes.hosts)).astype(np.int32)


def _rank(pairs: _Pairs, count: int, settings: GraphSettings) -> pagerank.Ranks:
    return pagerank.pagerank(pagerank.collect_in_links(*pairs, count), settings.damping, settings.tolerance)


def _scaled(ranks: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Bring ranks to 0..1 by their logarithm: they spread over many powers of ten."""
    logs = np.log(np.maximum(ranks, 1e-300))
    low, high = float(logs.min()), float(logs.max())
    # Ranks that differ only by rounding are equal.
    return (logs - low) / (high - low) if high - low > 1e-9 else np.zeros(len(ranks), np.float64)


def _write(
    folder: Path,
    nodes: Nodes,
    links: Links,
    pairs: _Pairs,
    texts: Texts,
    pages: pagerank.Ranks,
    hosts: pagerank.Ranks,
    settings: GraphSettings,
) -> int:
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    count = len(nodes.hosts)
    anchors = choose_texts(links.targets, links.texts, links.weights, texts, count, settings.anchor_chars)
    host_ranks = hosts.ranks[nodes.hosts]
    static = (1 - _HOST_SHARE) * _scaled(pages.ranks) + _HOST_SHARE * _scaled(hosts.ranks)[nodes.hosts]
    arrays: dict[str, npt.NDArray[Any]] = {
        "keys": nodes.names,
        "rows": nodes.rows,
        "page_keys": nodes.keys,
        "pagerank": pages.ranks,
        "hostrank": host_ranks,
        "in_links": np.bincount(pairs.targets, minlength=count).astype(np.int32),
        "in_hosts": _in_hosts(pairs, nodes),
        "spam_mass": np.zeros(count, np.float32),
        "trust": np.zeros(count, np.float32),
        "static": static.astype(np.float32),
        "anchor_starts": anchors.starts,
        "anchors": anchors.blob,
    }
    notes = {"pages": count, "hosts": len(nodes.host_keys), "links": len(pairs.sources), "rounds": pages.rounds}
    return write_arrays(folder / FILE, KIND, arrays, notes)
