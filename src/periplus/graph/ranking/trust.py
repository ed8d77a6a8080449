"""Whom to trust, and how much of each page's rank comes from elsewhere: its spam mass (Gyöngyi and others, 2006).

Trust begins with pages: those of the operator's file; else the seeds of the crawl; else all pages of hosts that several
unrelated domains link to. It flows along links as rank does. A host that has much less of it than of rank is lifted by
pages that nobody trusts. The rank of a page is then parted by origin: what pages of trusted hosts give it, directly or
from afar, and the rest, which as a share of the whole is its spam mass.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile, BadUrl
from periplus.graph.node_table import Nodes
from periplus.graph.ranking.pagerank_solver import Vector
from periplus.hashing import fingerprint_text
from periplus.records import Address
from periplus.store import read_lines
from periplus.url import parse_address

__all__ = ["host_trust", "trusted_pages"]

_FULL: Final = 0.05
"""A host whose share of all trust is this part of its share of all rank is trusted; one with less, in proportion."""
_FEWEST_HOSTS: Final = 10
"""In a smaller web nobody can be told from his neighbours."""
_DOMAINS: Final = 2
"""Unrelated domains that link to a host which is trusted without being told so."""
_MOST_LINES: Final = 1_000_000


def trusted_pages(nodes: Nodes, between: Callable[[], npt.NDArray[np.uint64]], trusted: str) -> Vector | None:
    """Give each page its share of the trust to begin with; None when nothing tells the hosts apart.

    `between` gives a pair for each link between hosts, `trusted` is the operator's file if there is one.
    """
    if trusted:
        return _shared(_listed(nodes, Path(trusted)))
    count = len(nodes.host_keys)
    if count < _FEWEST_HOSTS:
        return None
    if 0 < len(np.unique(nodes.hosts[nodes.seeds])) <= count // 2:
        return _shared(nodes.seeds)
    many = _linked_by_many(nodes, between())
    return _shared(many[nodes.hosts]) if many.any() else None


def _shared(chosen: npt.NDArray[np.bool_]) -> Vector:
    return chosen / max(1, int(chosen.sum()))


def _listed(nodes: Nodes, path: Path) -> npt.NDArray[np.bool_]:
    """Read hosts and URLs from a file; a host stands for all of its pages."""
    hosts, pages = set[int](), set[int]()
    for number, line in enumerate(read_lines(path)):
        text = line.decode("utf-8", "replace").strip()
        if not text or text.startswith("#"):
            continue
        found = _address(text, path, number + 1)
        if "://" in text:
            pages.add(found.key)
        else:
            hosts.add(fingerprint_text(found.url.partition("://")[2].partition("/")[0]))
        if len(hosts) + len(pages) > _MOST_LINES:
            raise BadFile(f"{path} has more than {_MOST_LINES:,} hosts and URLs.")
    rows = nodes.find(np.array(sorted(pages), np.uint64))
    chosen = np.isin(nodes.host_keys, np.array(sorted(hosts), np.uint64))[nodes.hosts]
    chosen[rows[rows >= 0]] = True
    if not chosen.any():
        raise BadFile(f"No page of {path} is here.", "Check graph.trusted, or crawl these hosts.")
    return chosen


def _address(text: str, path: Path, number: int) -> Address:
    try:
        return parse_address(text if "://" in text else f"http://{text}/")
    except BadUrl as error:
        raise BadFile(f"{path} has neither a host nor a URL on line {number}.") from error


def _linked_by_many(nodes: Nodes, between: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Find hosts that several domains link to without being linked back, leaving out hosts that are none themselves.

    Hosts that only link to each other, and layers of hosts that only link upwards, fall away one after the other.
    """
    sources = (between & np.uint64(0xFFFFFFFF)).astype(np.int64)
    targets = (between >> np.uint64(32)).astype(np.int64)
    back = sources.astype(np.uint64) << np.uint64(32) | targets.astype(np.uint64)
    one_way = ~np.isin(back, between) & (nodes.domains[sources] != nodes.domains[targets])
    sources, targets = sources[one_way], targets[one_way]
    kept = np.ones(len(nodes.host_keys), np.bool_)
    while True:
        live = kept[sources] & kept[targets]
        votes = np.unique(targets[live] << 32 | nodes.domains[sources[live]])
        enough = np.bincount(votes >> 32, minlength=len(kept)) >= _DOMAINS
        if (enough[kept]).all():
            return kept
        kept &= enough


def host_trust(nodes: Nodes, ranks: Vector, trusted: Vector) -> Vector:
    """Compare what each host has of all trust with what it has of all rank, page by page; give 0..1 for each host."""
    has, had = (np.bincount(nodes.hosts, vector, len(nodes.host_keys)) for vector in (trusted, ranks))
    share = has / (float(has.sum()) or 1.0) / (had / float(had.sum()))
    return np.minimum(1.0, share / _FULL)
