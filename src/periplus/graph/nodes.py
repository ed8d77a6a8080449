"""Which pages there are: the newest word on each key, and the names that lead to the same page."""

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.fingerprint import fingerprint_text
from periplus.records import LIST_KIND, Outcome, Visit
from periplus.url import address

__all__ = ["Keys", "Nodes", "find_nodes", "key_of"]

Keys = npt.NDArray[np.uint64]

_PAGE, _MOVED, _GONE = 0, 1, 2
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
    """For each node, its host."""
    host_keys: Keys
    """For each host, the fingerprint of its name; sorted."""
    current: npt.NDArray[np.bool_]
    """For each visit of the store, whether it is the newest word on its page, and has links to read."""

    def find(self, keys: Keys) -> npt.NDArray[np.int32]:
        """Give the node of each key, -1 where there is none."""
        if not len(self.names):
            return np.full(len(keys), -1, np.int32)
        at = np.minimum(np.searchsorted(self.names, keys), len(self.names) - 1)
        return np.where(self.names[at] == keys, self.rows[at], -1).astype(np.int32)


def key_of(url: str) -> int | None:
    """Give the key of a URL found in a page; None when it is none we would fetch."""
    try:
        return address(url).key
    except BadUrl:
        return None


def find_nodes(visits: Iterable[Visit]) -> Nodes:
    """Read all visits once; settle which keys are pages, and which lead to others."""
    table = _Table()
    for visit in visits:
        table.add(visit)
    return table.settle()


class _Table:
    """One row for each visit, in plain arrays: 33 bytes, however long the page."""

    def __init__(self) -> None:
        self.keys, self.leads, self.hosts = array("Q"), array("Q"), array("Q")
        self.canonical = array("Q")
        self.kinds = bytearray()

    def add(self, visit: Visit) -> None:
        """Note one visit; 255 marks those that say nothing."""
        kind = _TELLING.get(visit.outcome, 255)
        lead, canonical = None, None
        if kind == _MOVED:
            lead = key_of(visit.location)
        elif kind == _PAGE and visit.copy_of:
            kind, lead = _MOVED, key_of(visit.copy_of)
        elif kind == _PAGE and (visit.page is None or visit.page.kind == LIST_KIND):
            kind = 255
        elif kind == _PAGE and visit.page is not None and visit.page.canonical:
            canonical = key_of(visit.page.canonical)
        self.keys.append(visit.key)
        self.leads.append(visit.key if lead is None else lead)
        self.canonical.append(visit.key if canonical is None else canonical)
        self.hosts.append(fingerprint_text(_host(visit.url)))
        self.kinds.append(kind)

    def settle(self) -> Nodes:
        """Keep the newest row of each key, number the pages, resolve the rest."""
        keys, leads = _array(self.keys), _array(self.leads)
        kinds = np.frombuffer(bytes(self.kinds), np.uint8)
        newest = _newest(keys, kinds)
        pages = newest[kinds[newest] == _PAGE]
        moved = newest[kinds[newest] == _MOVED]
        names, targets = _resolve(keys[pages], _array(self.canonical)[pages], keys[moved], leads[moved])
        node_keys = np.unique(targets)
        rows = np.searchsorted(node_keys, targets).astype(np.int32)
        by_key = pages[np.argsort(keys[pages])]
        node_visits = by_key[np.searchsorted(keys[by_key], node_keys)]
        host_keys, hosts = np.unique(_array(self.hosts)[node_visits], return_inverse=True)
        current = np.zeros(len(keys), np.bool_)
        current[pages] = True
        return Nodes(node_keys, names, rows, hosts.astype(np.int32).reshape(-1), host_keys, current)


def _host(url: str) -> str:
    return url.split("/", 3)[2] if url.count("/") >= 2 else url


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
