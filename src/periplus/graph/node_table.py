"""Which pages there are: the newest word on each key, and the names that lead to the same page."""

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.graph.duplicates import find_copies, find_near
from periplus.graph.mirrors import Known, Mirrors, find_mirrors
from periplus.hashing import fingerprint_text
from periplus.records import LIST_KIND, FetchRecord, Outcome
from periplus.url import parse_address, registered_domain

__all__ = ["Keys", "Nodes", "find_nodes", "key_of"]

Keys = npt.NDArray[np.uint64]

_PAGE, _MOVED, _GONE = 0, 1, 2
_WORD: Final = (1 << 64) - 1
_HOPS: Final = 8
"""Longest chain of redirects and copies that is followed."""
_TELLING: Final = {Outcome.OK: _PAGE, Outcome.REDIRECT: _MOVED, Outcome.GONE: _GONE}
"""Outcomes that say something about a page; a timeout or a 'not modified' leaves it as it was."""


class Nodes(NamedTuple):
    """Pages of the graph. A name is the key of a page, or of a redirect, copy or variant of it."""

    keys: Keys
    """For each node, its own key."""
    names: Keys
    """Sorted."""
    rows: npt.NDArray[np.int32]
    """For each name, the node it leads to."""
    hosts: npt.NDArray[np.int32]
    """For each node, its host; nodes of one host are neighbours, in the order they were visited."""
    host_keys: Keys
    """For each host, the fingerprint of its name; sorted."""
    domains: npt.NDArray[np.int32]
    """For each host, the number of its registered domain."""
    host_visits: npt.NDArray[np.int64]
    """For each host, a visit of the store that has its name."""
    visits: npt.NDArray[np.int64]
    """For each node, its newest visit."""
    seeds: npt.NDArray[np.bool_]
    """For each node, whether a person gave it to the crawl, rather than a link."""
    mirrors: int
    """Hosts that turned out to be copies of others."""
    current: npt.NDArray[np.bool_]
    """For each visit of the store, whether it is the newest word on its page, and has links to read."""

    @property
    def first(self) -> npt.NDArray[np.int64]:
        """The first node of each host and, last, the number of nodes."""
        return np.searchsorted(self.hosts, np.arange(len(self.host_keys) + 1)).astype(np.int64)

    def find(self, keys: Keys) -> npt.NDArray[np.int32]:
        """Give the node of each key, -1 where there is none."""
        if not len(self.names):
            return np.full(len(keys), -1, np.int32)
        at = np.minimum(np.searchsorted(self.names, keys), len(self.names) - 1)
        return np.where(self.names[at] == keys, self.rows[at], -1).astype(np.int32)


def key_of(url: str) -> int | None:
    """Give the key of a URL found in a page; None when it is none we would fetch."""
    try:
        return parse_address(url).key
    except BadUrl:
        return None


def find_nodes(visits: Iterable[FetchRecord]) -> Nodes:
    """Read all visits once; settle which keys are pages, and which lead to others."""
    table = _Table()
    for visit in visits:
        table.add(visit)
    return table.settle()


class _Table:
    """One row for each visit, in plain arrays: 67 bytes, however long the page."""

    def __init__(self) -> None:
        self.keys, self.leads, self.canonical = array("Q"), array("Q"), array("Q")
        self.hosts, self.paths = array("Q"), array("Q")
        self.near, self.simhashes, self.contents = array("Q"), array("Q"), array("Q")
        self.kinds, self.seeds = bytearray(), bytearray()
        self.domains: dict[int, int] = {}

    def add(self, visit: FetchRecord) -> None:
        """Note one visit; 255 marks those that say nothing."""
        kind = _TELLING.get(visit.outcome, 255)
        lead, canonical = None, None
        if kind == _MOVED:
            lead = key_of(visit.location)
        elif kind == _PAGE and visit.duplicate_of:
            kind, lead = _MOVED, key_of(visit.duplicate_of)
        elif kind == _PAGE and (visit.page is None or visit.page.kind == LIST_KIND):
            kind = 255
        elif kind == _PAGE and visit.page is not None and visit.page.canonical:
            canonical = key_of(visit.page.canonical)
        near = key_of(visit.near_duplicate_of) if visit.near_duplicate_of else None
        self.keys.append(visit.key)
        self.leads.append(visit.key if lead is None else lead)
        self.canonical.append(visit.key if canonical is None else canonical)
        self.near.append(visit.key if near is None else near)
        self.simhashes.append(visit.simhash & _WORD)
        # A page that wants to stay out of the index stands for nobody else.
        self.contents.append(visit.content & _WORD if visit.page is not None and not visit.page.noindex else 0)
        self.kinds.append(kind)
        self.seeds.append(visit.depth == 0)
        self._place(visit.url)

    def _place(self, url: str) -> None:
        """Note host and path."""
        host, path = _parts(url)
        number = fingerprint_text(host)
        self.hosts.append(number)
        self.paths.append(fingerprint_text(path))
        if number not in self.domains:
            self.domains[number] = fingerprint_text(registered_domain(host.partition(":")[0]))

    def settle(self) -> Nodes:
        """Keep the newest row of each key, see which hosts are mirrors, number the pages, resolve the rest."""
        keys, leads = _array(self.keys), _array(self.leads).copy()
        kinds = np.frombuffer(bytes(self.kinds), np.uint8).copy()
        newest = _newest(keys, kinds)
        hosts = _array(self.hosts)
        copying, copied = find_copies(newest[kinds[newest] == _PAGE], _array(self.contents))
        kinds[copying], leads[copying] = _MOVED, keys[copied]
        known = Known(
            keys[newest],
            np.where(kinds[newest] == _MOVED, leads[newest], _array(self.canonical)[newest]),
            _array(self.near)[newest],
            hosts[newest],
            _array(self.paths)[newest],
            _array(self.simhashes)[newest],
            kinds[newest] == _PAGE,
        )
        mirrors = find_mirrors(known._replace(near=find_near(known, newest)))
        collapsed = np.flatnonzero(mirrors.leads != known.keys)
        kinds[newest[collapsed]], leads[newest[collapsed]] = _MOVED, mirrors.leads[collapsed]
        pages = newest[kinds[newest] == _PAGE]
        moved = newest[kinds[newest] == _MOVED]
        names, targets = _resolve(keys[pages], _array(self.canonical)[pages], keys[moved], leads[moved])
        return self._number(pages, names, targets, self._merged(hosts, mirrors), len(mirrors.hosts))

    def _merged(self, hosts: Keys, mirrors: Mirrors) -> Keys:
        """Take a mirror for the host that it copies, if both are of one registered domain."""
        alike = sorted((own, to) for own, to in mirrors.hosts.items() if self.domains[own] == self.domains[to])
        copying, copied = np.array(alike, np.uint64).reshape(-1, 2).T
        is_one, at = _look_up(copying, hosts)
        return np.where(is_one, copied[at], hosts) if len(copying) else hosts

    def _number(self, pages: npt.NDArray[np.int64], names: Keys, targets: Keys, hosts: Keys, mirrors: int) -> Nodes:
        """Number the pages that stand for themselves by host, and within a host as they were visited."""
        keys = _array(self.keys)
        standing = np.unique(targets)
        by_key = pages[np.argsort(keys[pages])]
        visits = by_key[np.searchsorted(keys[by_key], standing)]
        order = np.lexsort((visits, hosts[visits]))
        visits = visits[order]
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        host_keys, first, host_of = np.unique(hosts[visits], return_index=True, return_inverse=True)
        domains = np.array([self.domains[host] for host in host_keys.tolist()], np.uint64)
        current = np.zeros(len(keys), np.bool_)
        current[pages] = True
        return Nodes(
            keys=standing[order],
            names=names,
            rows=place[np.searchsorted(standing, targets)],
            hosts=host_of.astype(np.int32).reshape(-1),
            host_keys=host_keys,
            domains=np.unique(domains, return_inverse=True)[1].astype(np.int32).reshape(-1),
            host_visits=visits[first],
            visits=visits,
            seeds=np.frombuffer(bytes(self.seeds), np.bool_)[visits],
            mirrors=mirrors,
            current=current,
        )


def _parts(url: str) -> tuple[str, str]:
    """Give the host (with a port, if any) and all that follows it."""
    rest = url.partition("://")[2] or url
    host, slash, path = rest.partition("/")
    return host, slash + path


def _array(numbers: "array[int]") -> Keys:
    return np.frombuffer(numbers.tobytes(), np.uint64)


def _newest(keys: Keys, kinds: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Give the last row of each key among those that say something, ordered by key."""
    telling = np.flatnonzero(kinds != 255)[::-1]
    _, first = np.unique(keys[telling], return_index=True)
    return telling[first]


def _resolve(pages: Keys, canonical: Keys, moved: Keys, leads: Keys) -> tuple[Keys, Keys]:
    """Give sorted names, and the page each one leads to. Chains that end nowhere, or in a circle, are left out."""
    targets = _canonical_targets(pages, canonical, moved, leads)
    ends = _follow(leads, moved, leads)
    known, at = _look_up(pages, ends)
    names = np.concatenate((pages, moved[known]))
    leading = np.concatenate((targets, targets[at[known]]))
    order = np.argsort(names)
    return names[order], leading[order]


def _canonical_targets(pages: Keys, canonical: Keys, moved: Keys, leads: Keys) -> Keys:
    """Give the page that each page says it is: itself, unless it names a page that stands for itself."""
    ends = _follow(canonical, moved, leads)
    own = ends == pages
    known, at = _look_up(pages, ends)
    # A page that points on to a third one is not believed: no chains, and no circles.
    good = known & own[at] if len(pages) else known
    return np.where(good, ends, pages)


def _follow(keys: Keys, moved: Keys, leads: Keys) -> Keys:
    """Replace keys that have moved, over and over."""
    for _ in range(_HOPS):
        known, at = _look_up(moved, keys)
        if not known.any():
            break
        keys = np.where(known, leads[at], keys) if len(moved) else keys
    return keys


def _look_up(sorted_keys: Keys, keys: Keys) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Give whether each key is among `sorted_keys`, and where."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return sorted_keys[at] == keys, at
