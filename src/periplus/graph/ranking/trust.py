"""Trusted hosts, and the share of each page's rank that comes from elsewhere: its spam mass (Gyöngyi et al., 2006).

Trust starts at pages: those listed in the operator's file; else the seeds of the crawl; else all pages of hosts that
several unrelated domains link to. It flows along links as rank does. A host with much less trust than rank is promoted
by untrusted pages. The rank of a page is then split by origin: what pages of trusted hosts contribute, directly or
indirectly, and the rest, which as a share of the whole is its spam mass.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadFile, BadUrl
from periplus.graph.node_table import NodeTable
from periplus.graph.ranking.pagerank_solver import Vector
from periplus.hashing import fingerprint_text
from periplus.records import Address
from periplus.store import read_lines
from periplus.url import parse_address

__all__ = ["host_trust", "trusted_pages"]

_FULL_TRUST: Final = 0.05
"""A host is fully trusted when its share of all trust is this part of its share of all rank; else in proportion."""
_MIN_HOSTS: Final = 10
"""In a smaller web hosts cannot be distinguished by their links."""
_MIN_DOMAINS: Final = 2
"""Fewest unrelated domains that link to a host which is trusted by default."""
_MAX_LINES: Final = 1_000_000


def trusted_pages(nodes: NodeTable, between: Callable[[], npt.NDArray[np.uint64]], trusted: str) -> Vector | None:
    """Return each page's share of the initial trust; None if hosts cannot be distinguished.

    between: returns a pair for each link between hosts; trusted: path of the operator's file, '' for none.
    """
    if trusted:
        return _equal_shares(_read_trusted(nodes, Path(trusted)))
    count = len(nodes.host_keys)
    if count < _MIN_HOSTS:
        return None
    if 0 < len(np.unique(nodes.hosts[nodes.is_seed])) <= count // 2:
        return _equal_shares(nodes.is_seed)
    is_trusted = _widely_linked_hosts(nodes, between())
    return _equal_shares(is_trusted[nodes.hosts]) if is_trusted.any() else None


def _equal_shares(selected: npt.NDArray[np.bool_]) -> Vector:
    return selected / max(1, int(selected.sum()))


def _read_trusted(nodes: NodeTable, path: Path) -> npt.NDArray[np.bool_]:
    """Read hosts and URLs from a file, and return which pages they select; a host selects all of its pages."""
    hosts, pages = set[int](), set[int]()
    for number, line in enumerate(read_lines(path)):
        text = line.decode("utf-8", "replace").strip()
        if not text or text.startswith("#"):
            continue
        address = _parse_entry(text, path, number + 1)
        if "://" in text:
            pages.add(address.key)
        else:
            hosts.add(fingerprint_text(address.url.partition("://")[2].partition("/")[0]))
        if len(hosts) + len(pages) > _MAX_LINES:
            raise BadFile(f"{path} has more than {_MAX_LINES:,} hosts and URLs.")
    rows = nodes.find(np.array(sorted(pages), np.uint64))
    selected = np.isin(nodes.host_keys, np.array(sorted(hosts), np.uint64))[nodes.hosts]
    selected[rows[rows >= 0]] = True
    if not selected.any():
        raise BadFile(f"No page that {path} lists is in the store.", "Check graph.trusted, or crawl these hosts.")
    return selected


def _parse_entry(text: str, path: Path, number: int) -> Address:
    try:
        return parse_address(text if "://" in text else f"http://{text}/")
    except BadUrl as error:
        raise BadFile(f"{path} has neither a host nor a URL on line {number}.") from error


def _widely_linked_hosts(nodes: NodeTable, between: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return the hosts that several domains link to without a link back, counting only links from such hosts.

    Hosts that only link to each other, and layers of hosts that only link upwards, are eliminated one after the other.
    """
    sources = (between & np.uint64(0xFFFFFFFF)).astype(np.int64)
    targets = (between >> np.uint64(32)).astype(np.int64)
    reverse = sources.astype(np.uint64) << np.uint64(32) | targets.astype(np.uint64)
    one_way = ~np.isin(reverse, between) & (nodes.domains[sources] != nodes.domains[targets])
    sources, targets = sources[one_way], targets[one_way]
    remaining = np.ones(len(nodes.host_keys), np.bool_)
    while True:
        live = remaining[sources] & remaining[targets]
        votes = np.unique(targets[live] << 32 | nodes.domains[sources[live]])
        enough = np.bincount(votes >> 32, minlength=len(remaining)) >= _MIN_DOMAINS
        if (enough[remaining]).all():
            return remaining
        remaining &= enough


def host_trust(nodes: NodeTable, ranks: Vector, trusted: Vector) -> Vector:
    """Return the trust of each host, 0..1: its share of all trust compared with its share of all rank."""
    trust, rank = (np.bincount(nodes.hosts, vector, len(nodes.host_keys)) for vector in (trusted, ranks))
    share = trust / (float(trust.sum()) or 1.0) / (rank / float(rank.sum()))
    return np.minimum(1.0, share / _FULL_TRUST)
