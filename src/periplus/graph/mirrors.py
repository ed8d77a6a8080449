"""Hosts that mirror other hosts, path by path; their pages are represented by those of the host that they mirror.

A page is a vote for it when it is a duplicate, a near-duplicate or a redirect of the page at the same path of another
host, or names that page as its canonical URL. A host is a mirror when there are at least three votes, and most of the
paths that both hosts have are votes.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Mirrors", "UrlTable", "find_mirrors"]

Keys = npt.NDArray[np.uint64]

_MIN_VOTES: Final = 3
"""One or two equal pages may be a notice that many hosts show."""
_MIN_VOTE_SHARE: Final = 0.6
"""Of the paths that both hosts have, at least this share must be votes."""
_MIN_OVERLAP: Final = 0.5
"""Of the smaller host's pages, at least this share must be at a path that both hosts have."""
_MAX_DISTANCE: Final = 16
"""Pages whose simhashes differ in more bits are different pages, whatever their hosts are."""


class UrlTable(NamedTuple):
    """The newest state of each URL, sorted by key."""

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
    """For each URL the key it leads to (its own, unless it is of a mirror), and for each mirror its original host."""

    leads_to: Keys
    hosts: dict[int, int]


def find_mirrors(urls: UrlTable) -> Mirrors:
    """Return the mirrors, and which of their pages the original host has too."""
    leads_to = urls.keys.copy()
    originals: dict[int, int] = {}
    hosts, others, counts = _count_votes(urls)
    if not len(hosts):
        return Mirrors(leads_to, originals)
    by_host = np.lexsort((urls.paths, urls.hosts))
    sorted_hosts = urls.hosts[by_host]
    votes = dict(zip(zip(hosts.tolist(), others.tolist(), strict=True), counts.tolist(), strict=True))
    for (host, other), count in sorted(votes.items(), key=lambda item: (-item[1], item[0])):
        reverse = votes.get((other, host), 0)
        # The host that was fetched first is the original; of two that copy each other, the one with more votes.
        if host in originals or other in originals or reverse > count:
            continue
        host_rows, other_rows = (_host_rows(np.uint64(number), by_host, sorted_hosts) for number in (host, other))
        shared, in_host, in_other = np.intersect1d(urls.paths[host_rows], urls.paths[other_rows], return_indices=True)
        smaller = min(len(host_rows), len(other_rows))
        if count + reverse < _MIN_VOTE_SHARE * len(shared) or len(shared) < _MIN_OVERLAP * smaller:
            continue
        originals[host] = other
        _redirect_pages(urls, leads_to, host_rows[in_host], other_rows[in_other])
    return Mirrors(leads_to, originals)


def _count_votes(urls: UrlTable) -> tuple[Keys, Keys, npt.NDArray[np.int64]]:
    """Return pairs of hosts with enough votes that the first is a mirror of the second, and the number of votes."""
    target = np.where(urls.leads_to != urls.keys, urls.leads_to, urls.near_duplicate_of)
    row = np.minimum(np.searchsorted(urls.keys, target), max(len(urls.keys) - 1, 0))
    is_vote = (target != urls.keys) & (urls.keys[row] == target)
    is_vote &= (urls.paths[row] == urls.paths) & (urls.hosts[row] != urls.hosts)
    pairs, counts = np.unique(np.stack((urls.hosts[is_vote], urls.hosts[row[is_vote]])), axis=1, return_counts=True)
    enough = counts >= _MIN_VOTES
    return pairs[0][enough], pairs[1][enough], counts[enough]


def _host_rows(host: np.uint64, by_host: npt.NDArray[np.int64], sorted_hosts: Keys) -> npt.NDArray[np.int64]:
    begin, end = np.searchsorted(sorted_hosts, host, "left"), np.searchsorted(sorted_hosts, host, "right")
    return by_host[begin:end]


def _redirect_pages(
    urls: UrlTable, leads_to: Keys, mirror_rows: npt.NDArray[np.int64], original_rows: npt.NDArray[np.int64]
) -> None:
    """Make each page of the mirror lead to the page of the original host, unless the two differ."""
    mirrored, original = urls.simhashes[mirror_rows], urls.simhashes[original_rows]
    bits = np.unpackbits((mirrored ^ original).view(np.uint8).reshape(-1, 8), axis=1)
    differs = (bits.sum(axis=1) > _MAX_DISTANCE) & (mirrored != 0) & (original != 0)
    same = urls.is_page[mirror_rows] & urls.is_page[original_rows] & ~differs
    leads_to[mirror_rows[same]] = urls.keys[original_rows[same]]
