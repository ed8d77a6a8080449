"""Hosts that mirror other hosts, path by path; their pages are represented by those of the host that they mirror.

A page is a vote for it when it is a duplicate, a near-duplicate or a redirect of the page at the same path of another
host, or names that page as its canonical URL. A host is a mirror when there are at least three votes, and most of the
paths that both hosts have are votes.

Votes are counted by the shard that owns the host; what another shard knows of the other host is requested from it.
Pairs of hosts that cannot pass by their number of pages are left out before paths are compared, which bounds the work:
whatever the number of hosts that a host votes for, the paths compared are at most seven times its pages.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.exchange.rounds import Columns, Message, Part, Program, exchange_messages, request_columns

__all__ = ["Mirrors", "UrlTable", "find_mirrors"]

Keys = npt.NDArray[np.uint64]
Owners = npt.NDArray[np.int16]

_MIN_VOTES: Final = 3
"""One or two equal pages may be a notice that many hosts show."""
_MIN_VOTE_SHARE: Final = 0.6
"""Of the paths that both hosts have, at least this share must be votes."""
_MIN_OVERLAP: Final = 0.5
"""Of the smaller host's pages, at least this share must be at a path that both hosts have."""
_MIN_PAGE_SHARE: Final = 0.29
"""Pairs with fewer votes, as a share of the smaller host's pages, can not pass: slightly less than the product."""
_MAX_DISTANCE: Final = 16
"""Pages whose simhashes differ in more bits are different pages, whatever their hosts are."""


class UrlTable(NamedTuple):
    """The newest state of each URL of a shard, sorted by key."""

    keys: Keys
    leads_to: Keys
    """The key of its redirect target, original or canonical URL; else its own key."""
    near_duplicate_of: Keys
    """The key of the page it is a near-duplicate of; else its own key."""
    hosts: Keys
    paths: Keys
    simhashes: Keys
    is_page: npt.NDArray[np.bool_]
    """Whether it is a page in its own right, as far as is known yet."""


class Mirrors(NamedTuple):
    """For each URL the key it leads to (its own, unless it is of a mirror) and the shard that owns that key.

    hosts: for each mirror, of any shard, its original host.
    """

    leads_to: Keys
    owners: Owners
    hosts: dict[int, int]


class _HostPairs(NamedTuple):
    """Pairs of hosts, of which the first may be a mirror of the second."""

    hosts: Keys
    others: Keys
    owners: Owners
    """Of the other hosts."""
    counts: npt.NDArray[np.int64]
    """Votes for it."""

    def select(self, chosen: npt.NDArray[np.bool_]) -> "_HostPairs":
        return _HostPairs(self.hosts[chosen], self.others[chosen], self.owners[chosen], self.counts[chosen])


class _HostRows:
    """The rows of each host of a shard, sorted by path."""

    def __init__(self, urls: UrlTable) -> None:
        self.urls = urls
        self._by_host = np.lexsort((urls.paths, urls.hosts))
        self._hosts, self._paths = urls.hosts[self._by_host], urls.paths[self._by_host]

    def counts(self, hosts: Keys) -> npt.NDArray[np.int64]:
        """Return the number of rows of each host."""
        first, last = np.searchsorted(self._hosts, hosts), np.searchsorted(self._hosts, hosts, "right")
        return np.asarray(last - first, np.int64)

    def distinct_paths(self, host: int) -> npt.NDArray[np.int64]:
        """Return the first row of each path of a host."""
        begin, end = self._span(host)
        paths = self._paths[begin:end]
        is_first = np.concatenate((np.ones(min(1, len(paths)), np.bool_), paths[1:] != paths[:-1]))
        return np.asarray(self._by_host[begin:end][is_first], np.int64)

    def intersect(self, host: int, paths: Keys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return which of the sorted, distinct `paths` a host has, and the first row of each; the shorter is searched.

        paths: sorted and distinct.
        """
        begin, end = self._span(host)
        if len(paths) <= end - begin:
            own = self._paths[begin:end]
            index = np.minimum(np.searchsorted(own, paths), end - begin - 1)
            chosen = np.flatnonzero(own[index] == paths) if len(paths) else np.zeros(0, np.int64)
            return chosen, self._by_host[begin + index[chosen]]
        rows = self.distinct_paths(host)
        index = np.minimum(np.searchsorted(paths, self.urls.paths[rows]), len(paths) - 1)
        is_shared = paths[index] == self.urls.paths[rows]
        return index[is_shared], rows[is_shared]

    def _span(self, host: int) -> tuple[int, int]:
        begin, end = np.searchsorted(self._hosts, np.array([host], np.uint64)), self.counts(np.array([host], np.uint64))
        return int(begin[0]), int(begin[0] + end[0])


def find_mirrors(part: Part, urls: UrlTable, lead_owners: Owners, near_owners: Owners) -> Program[Mirrors]:
    """Return the mirrors among the hosts of all shards, and which of their pages the original host has too.

    lead_owners, near_owners: the shards that own the pages `urls.leads_to` and `urls.near_duplicate_of`.
    """
    leads_to, owners = urls.keys.copy(), np.full(len(urls.keys), part.number, np.int16)
    rows = _HostRows(urls)
    pairs = yield from _count_votes(part, urls, lead_owners, near_owners)
    pairs, reverse, others = yield from _select_candidates(part, rows, pairs)
    tables, lookups = _path_tables(rows, pairs)
    received = yield from exchange_messages(part, "mirror paths", tables)
    replies = {sender: _match_paths(rows, message) for sender, message in received.items()}
    matches = yield from exchange_messages(part, "mirror paths (reply)", replies)
    shared = np.zeros(len(pairs.hosts), np.int64)
    for shard, reply in matches.items():
        shared[lookups[shard].pairs] = reply["shared"]
    smaller = np.minimum(rows.counts(pairs.hosts), others)
    passes = (pairs.counts + reverse >= _MIN_VOTE_SHARE * shared) & (shared >= _MIN_OVERLAP * smaller)
    originals = yield from _choose_originals(part, pairs.select(passes))
    for shard, reply in matches.items():
        lookup = lookups[shard]
        pair = lookup.pairs[reply["pairs"]]
        is_mirror = np.array(
            [originals.get(int(pairs.hosts[number])) == int(pairs.others[number]) for number in pair.tolist()], np.bool_
        )
        chosen = lookup.rows[reply["paths"][is_mirror]]
        leads_to[chosen], owners[chosen] = reply["keys"][is_mirror], shard
    return Mirrors(leads_to, owners, originals)


def _count_votes(part: Part, urls: UrlTable, lead_owners: Owners, near_owners: Owners) -> Program[_HostPairs]:
    """Return pairs of hosts with enough votes that the first is a mirror of the second."""
    leads = urls.leads_to != urls.keys
    target = np.where(leads, urls.leads_to, urls.near_duplicate_of)
    rows = np.flatnonzero(target != urls.keys)
    owners = np.where(leads, lead_owners, near_owners)[rows]

    def find_hosts(columns: Columns) -> Columns:
        row = np.minimum(np.searchsorted(urls.keys, columns["keys"]), max(len(urls.keys) - 1, 0))
        if not len(urls.keys):
            return {"hosts": np.zeros(len(row), np.uint64), "votes": np.zeros(len(row), np.bool_)}
        votes = (urls.keys[row] == columns["keys"]) & (urls.paths[row] == columns["paths"])
        return {"hosts": urls.hosts[row], "votes": votes}

    columns: Columns = {"keys": target[rows], "paths": urls.paths[rows]}
    answers, _ = yield from request_columns(part, "mirror votes", owners, columns, find_hosts)
    is_vote = answers["votes"] & (answers["hosts"] != urls.hosts[rows])
    both = np.stack((urls.hosts[rows[is_vote]], answers["hosts"][is_vote]))
    pairs, first, counts = np.unique(both, axis=1, return_index=True, return_counts=True)
    found = _HostPairs(pairs[0], pairs[1], owners[is_vote][first], counts)
    return found.select(counts >= _MIN_VOTES)


def _select_candidates(
    part: Part, rows: _HostRows, pairs: _HostPairs
) -> Program[tuple[_HostPairs, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Return the pairs that can pass, the votes that the other host has for the first, and the other's pages.

    The host that was fetched first is the original; of two that copy each other, the one with more votes.
    """
    votes = dict(zip(zip(pairs.hosts.tolist(), pairs.others.tolist(), strict=True), pairs.counts.tolist(), strict=True))

    def count_pages(columns: Columns) -> Columns:
        asked = zip(columns["others"].tolist(), columns["hosts"].tolist(), strict=True)
        reverse = np.array([votes.get(pair, 0) for pair in asked], np.int64)
        return {"pages": rows.counts(columns["others"]), "votes": reverse}

    columns: Columns = {"hosts": pairs.hosts, "others": pairs.others}
    answers, _ = yield from request_columns(part, "mirror hosts", pairs.owners, columns, count_pages)
    reverse, others = answers["votes"], answers["pages"]
    smaller = np.minimum(rows.counts(pairs.hosts), others)
    possible = (reverse <= pairs.counts) & (pairs.counts + reverse >= _MIN_PAGE_SHARE * smaller)
    return pairs.select(possible), reverse[possible], others[possible]


class _PathLookup(NamedTuple):
    """What was sent to one shard: numbers of pairs, and the row of each path."""

    pairs: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]


def _path_tables(rows: _HostRows, pairs: _HostPairs) -> tuple[dict[int, Message], dict[int, _PathLookup]]:
    """Return for each shard the pairs whose other host it owns, and the paths of their first hosts, each host once."""
    tables: dict[int, Message] = {}
    lookups: dict[int, _PathLookup] = {}
    for shard in np.unique(pairs.owners).tolist():
        numbers = np.flatnonzero(pairs.owners == shard)
        hosts, table = np.unique(pairs.hosts[numbers], return_inverse=True)
        path_rows = [rows.distinct_paths(host) for host in hosts.tolist()]
        every_row = np.concatenate(path_rows)
        tables[shard] = {
            "others": pairs.others[numbers],
            "tables": table.astype(np.int64).reshape(-1),
            "starts": np.concatenate(([0], np.cumsum([len(part) for part in path_rows]))).astype(np.int64),
            "paths": rows.urls.paths[every_row],
            "simhashes": rows.urls.simhashes[every_row],
            "is_page": rows.urls.is_page[every_row],
        }
        lookups[shard] = _PathLookup(numbers, every_row)
    return tables, lookups


def _match_paths(rows: _HostRows, message: Message) -> Message:
    """Return for each pair the number of paths that both hosts have, and those at which they have the same page."""
    shared: list[int] = []
    parts: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Keys]] = []
    for pair, (other, table) in enumerate(zip(message["others"].tolist(), message["tables"].tolist(), strict=True)):
        begin, end = message["starts"][table : table + 2].tolist()
        theirs, originals = rows.intersect(other, message["paths"][begin:end])
        shared.append(len(theirs))
        theirs = theirs + begin
        same = message["is_page"][theirs] & rows.urls.is_page[originals]
        same &= ~_differ(message["simhashes"][theirs], rows.urls.simhashes[originals])
        parts.append((np.full(int(same.sum()), pair), theirs[same], rows.urls.keys[originals[same]]))
    return {
        "shared": np.array(shared, np.int64),
        "pairs": np.concatenate([pair for pair, _, _ in parts]),
        "paths": np.concatenate([path for _, path, _ in parts]),
        "keys": np.concatenate([key for _, _, key in parts]),
    }


def _differ(mirrored: Keys, original: Keys) -> npt.NDArray[np.bool_]:
    """Return where two pages differ."""
    bits = np.unpackbits((mirrored ^ original).view(np.uint8).reshape(-1, 8), axis=1)
    return np.asarray((bits.sum(axis=1) > _MAX_DISTANCE) & (mirrored != 0) & (original != 0))


def _choose_originals(part: Part, pairs: _HostPairs) -> Program[dict[int, int]]:
    """Return for each mirror of any shard its original: the pairs with most votes first, an original is no mirror."""
    message = {"hosts": pairs.hosts, "others": pairs.others, "counts": pairs.counts}
    received = yield from exchange_messages(part, "mirrors", dict.fromkeys(range(part.shards), message))
    candidates = [
        (-count, host, other)
        for arrived in received.values()
        for host, other, count in zip(*(arrived[name].tolist() for name in message), strict=True)
    ]
    originals: dict[int, int] = {}
    for _, host, other in sorted(candidates):
        if host not in originals and other not in originals:
            originals[host] = other
    return originals
