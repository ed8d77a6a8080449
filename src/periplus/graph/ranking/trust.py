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
from periplus.graph.exchange.imports import ImportTable
from periplus.graph.exchange.rounds import Program, Round, exchange_messages, gather_summaries
from periplus.graph.node_table import Keys, NodeTable
from periplus.graph.ranking.pagerank_solver import Vector
from periplus.hashing import fingerprint_text
from periplus.records import Address
from periplus.store import read_lines
from periplus.url import parse_address

__all__ = ["host_trust", "trusted_pages"]

Pairs = npt.NDArray[np.uint64]

_FULL_TRUST: Final = 0.05
"""A host is fully trusted when its share of all trust is this part of its share of all rank; else in proportion."""
_MIN_HOSTS: Final = 10
"""In a smaller web hosts cannot be distinguished by their links."""
_MIN_DOMAINS: Final = 2
"""Fewest unrelated domains that link to a host which is trusted by default."""
_MAX_LINES: Final = 1_000_000


def trusted_pages(
    nodes: NodeTable, imports: ImportTable, between: Callable[[], Pairs], trusted: str
) -> Program[Vector | None]:
    """Return each page's share of the initial trust; None if hosts cannot be distinguished.

    between: returns a pair for each link between hosts; trusted: path of the operator's file, '' for none.
    """
    if trusted:
        selected = yield from _select_listed(nodes, Path(trusted))
        return (yield from _equal_shares(selected))
    if nodes.total_hosts < _MIN_HOSTS:
        return None
    arrivals = yield from gather_summaries("seeds", (len(np.unique(nodes.hosts[nodes.is_seed])),))
    (seed_hosts,) = arrivals.totals()
    if 0 < seed_hosts <= nodes.total_hosts // 2:
        return (yield from _equal_shares(nodes.is_seed))
    is_trusted = yield from _widely_linked_hosts(imports, between())
    arrivals = yield from gather_summaries("trusted hosts", (int(is_trusted.sum()),))
    return (yield from _equal_shares(is_trusted[nodes.hosts])) if arrivals.totals()[0] else None


def _equal_shares(selected: npt.NDArray[np.bool_]) -> Program[Vector]:
    """Return the same share for each selected page of all shards."""
    arrivals = yield from gather_summaries("trusted pages", (int(selected.sum()),))
    return selected / max(1, int(arrivals.totals()[0]))


def _select_listed(nodes: NodeTable, path: Path) -> Program[npt.NDArray[np.bool_]]:
    """Return which pages the operator's file selects; a host selects all of its pages."""
    hosts, pages = _read_trusted(path)
    rows = nodes.find(pages)
    rows = rows[rows >= 0]
    selected = np.isin(nodes.host_keys, hosts)[nodes.hosts]
    addresses = np.unique(nodes.foreign_nodes[rows[rows >= len(nodes.keys)] - len(nodes.keys)])
    owners = (addresses >> np.uint64(32)).astype(np.int64)
    messages = {shard: {"nodes": addresses[owners == shard]} for shard in np.unique(owners).tolist()}
    received = yield from exchange_messages(nodes.part, "trusted pages of other shards", messages)
    selected[rows[rows < len(nodes.keys)]] = True
    for message in received.values():
        selected[(message["nodes"] & np.uint64(0xFFFFFFFF)).astype(np.int64)] = True
    arrivals = yield from gather_summaries("listed pages", (int(selected.sum()),))
    if not arrivals.totals()[0]:
        raise BadFile(f"No page that {path} lists is in the store.", "Check graph.trusted, or crawl these hosts.")
    return selected


def _read_trusted(path: Path) -> tuple[Keys, Keys]:
    """Return the sorted fingerprints of hosts and keys of URLs that a file lists."""
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
    return np.array(sorted(hosts), np.uint64), np.array(sorted(pages), np.uint64)


def _parse_entry(text: str, path: Path, number: int) -> Address:
    try:
        return parse_address(text if "://" in text else f"http://{text}/")
    except BadUrl as error:
        raise BadFile(f"{path} has neither a host nor a URL on line {number}.") from error


def _widely_linked_hosts(imports: ImportTable, between: Pairs) -> Program[npt.NDArray[np.bool_]]:
    """Return the hosts that several domains link to without a link back, counting only links from such hosts.

    Hosts that only link to each other, and layers of hosts that only link upwards, are eliminated one after the other.
    """
    domains = np.unique(imports.domain_keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    sources = (between & np.uint64(0xFFFFFFFF)).astype(np.int64)
    targets = (between >> np.uint64(32)).astype(np.int64)
    returned = yield from _find_returned(imports, between)
    one_way = ~returned & (domains[sources] != domains[targets])
    sources, targets = sources[one_way], targets[one_way]
    own, remaining = imports.hosts.own, np.ones(imports.hosts.nodes, np.float64)
    while True:
        live = (remaining[sources] > 0) & (remaining[targets] > 0)
        votes = np.unique(targets[live] << 32 | domains[sources[live]])
        is_eliminated = np.bincount(votes >> 32, minlength=own)[:own] < _MIN_DOMAINS
        removed = int((is_eliminated & (remaining[:own] > 0)).sum())
        remaining[:own][is_eliminated] = 0.0
        (total,) = yield from imports.hosts.send("widely linked hosts", remaining, (removed,))
        if not total:
            return remaining[:own] > 0


def _find_returned(imports: ImportTable, between: Pairs) -> Program[npt.NDArray[np.bool_]]:
    """Return for each link between hosts whether there is one in the other direction, maybe on another shard."""
    sources, targets = between & np.uint64(0xFFFFFFFF), between >> np.uint64(32)
    returned = np.isin(sources << np.uint64(32) | targets, between)
    rows, remote = dict[int, npt.NDArray[np.int64]](), dict[int, Pairs]()
    first = imports.hosts.own
    for shard, numbers in imports.host_numbers.items():
        rows[shard] = np.flatnonzero((sources >= first) & (sources < first + len(numbers)))
        remote[shard] = numbers[sources[rows[shard]].astype(np.int64) - first].astype(np.uint64)
        first += len(numbers)
    messages = {shard: {"pairs": targets[rows[shard]] << np.uint64(32) | remote[shard]} for shard in rows}
    arrivals = yield Round("links between hosts", messages)
    for shard, message in arrivals.messages.items():
        if shard in rows:
            opposite = remote[shard] << np.uint64(32) | targets[rows[shard]]
            returned[rows[shard]] = np.isin(opposite, message["pairs"])
    return returned


def host_trust(nodes: NodeTable, ranks: Vector, trusted: Vector) -> Program[Vector]:
    """Return the trust of each host, 0..1: its share of all trust compared with its share of all rank."""
    trust, rank = (np.bincount(nodes.hosts, vector, len(nodes.host_keys)) for vector in (trusted, ranks))
    arrivals = yield from gather_summaries("trust", (float(trust.sum()), float(rank.sum())))
    total_trust, total_rank = arrivals.totals()
    share = trust / (total_trust or 1.0) / (rank / total_rank)
    return np.minimum(1.0, share / _FULL_TRUST)
