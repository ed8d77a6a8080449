"""Which hosts copy other hosts, path by path; their pages are those of the host that they copy.

A page speaks for it when it is a copy, a near copy or a redirect of the page at the same path of another host, or
names that one as its address. Hosts are mirrors when three pages and most of the paths that both have speak for it.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Known", "Mirrors", "find_mirrors"]

Keys = npt.NDArray[np.uint64]

_FEWEST: Final = 3
"""One or two equal pages may be a notice that many hosts show."""
_MOST: Final = 0.6
"""Of the paths that both hosts have, at least this share says that they are mirrors."""
_OVERLAP: Final = 0.5
"""And of the smaller host's pages, at least this share is at such a path."""
_APART: Final = 16
"""Pages whose simhashes differ in more bits than this are different pages, whatever their hosts are."""


class Known(NamedTuple):
    """The newest word on each address, sorted by key."""

    keys: Keys
    leads: Keys
    """Where it redirects to, what it is a copy of, what it names as its address; else its own key."""
    near: Keys
    """What it is nearly a copy of; else its own key."""
    hosts: Keys
    paths: Keys
    simhashes: Keys
    pages: npt.NDArray[np.bool_]
    """Whether it is a page of its own as yet."""


class Mirrors(NamedTuple):
    """For each address where it leads now (to itself, if it is no mirror's), and for each mirror whom it copies."""

    leads: Keys
    hosts: dict[int, int]


def find_mirrors(known: Known) -> Mirrors:
    """Find mirrors, and the pages of theirs that another host has too."""
    leads = known.keys.copy()
    copied: dict[int, int] = {}
    own, others, counts = _votes(known)
    if not len(own):
        return Mirrors(leads, copied)
    by_place = np.lexsort((known.paths, known.hosts))
    sorted_hosts = known.hosts[by_place]
    said = dict(zip(zip(own.tolist(), others.tolist(), strict=True), counts.tolist(), strict=True))
    for (host, other), count in sorted(said.items(), key=lambda one: (-one[1], one[0])):
        backwards = said.get((other, host), 0)
        # The host that was there first is copied; of two that copy each other, the one that is named more often.
        if host in copied or other in copied or backwards > count:
            continue
        ours, theirs = (_rows_of(np.uint64(one), by_place, sorted_hosts) for one in (host, other))
        shared, at, there = np.intersect1d(known.paths[ours], known.paths[theirs], return_indices=True)
        votes = count + backwards
        if votes < _MOST * len(shared) or len(shared) < _OVERLAP * min(len(ours), len(theirs)):
            continue
        copied[host] = other
        _lead(known, leads, ours[at], theirs[there])
    return Mirrors(leads, copied)


def _votes(known: Known) -> tuple[Keys, Keys, npt.NDArray[np.int64]]:
    """Give pairs of hosts, the first of which has some pages that copy those at the same paths of the second."""
    target = np.where(known.leads != known.keys, known.leads, known.near)
    at = np.minimum(np.searchsorted(known.keys, target), max(len(known.keys) - 1, 0))
    says = (target != known.keys) & (known.keys[at] == target)
    says &= (known.paths[at] == known.paths) & (known.hosts[at] != known.hosts)
    pairs, counts = np.unique(np.stack((known.hosts[says], known.hosts[at[says]])), axis=1, return_counts=True)
    enough = counts >= _FEWEST
    return pairs[0][enough], pairs[1][enough], counts[enough]


def _rows_of(host: np.uint64, by_place: npt.NDArray[np.int64], hosts: Keys) -> npt.NDArray[np.int64]:
    begin, end = np.searchsorted(hosts, host, "left"), np.searchsorted(hosts, host, "right")
    return by_place[begin:end]


def _lead(known: Known, leads: Keys, ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> None:
    """Lead each page of the mirror to the page of the other host, unless the two differ."""
    bits = np.unpackbits((known.simhashes[ours] ^ known.simhashes[theirs]).view(np.uint8).reshape(-1, 8), axis=1)
    apart = bits.sum(axis=1) > _APART
    comparable = (known.simhashes[ours] != 0) & (known.simhashes[theirs] != 0)
    alike = known.pages[ours] & known.pages[theirs] & ~(apart & comparable)
    leads[ours[alike]] = known.keys[theirs[alike]]
