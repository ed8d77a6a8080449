"""The pages of the graph: the newest state of each URL, and the URLs that lead to the same page."""

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import BadUrl
from periplus.graph.duplicates import find_duplicates, find_near_duplicates
from periplus.graph.mirrors import Mirrors, UrlTable, find_mirrors
from periplus.hashing import fingerprint_text
from periplus.records import LIST_KIND, FetchRecord, Outcome
from periplus.url import parse_address, registered_domain

__all__ = ["Keys", "NodeTable", "build_node_table", "url_key"]

Keys = npt.NDArray[np.uint64]

_PAGE, _MOVED, _GONE, _NO_STATE = 0, 1, 2, 255
_U64_MASK: Final = (1 << 64) - 1
_MAX_HOPS: Final = 8
"""Longest chain of redirects and duplicates that is followed."""
_STATES: Final = {Outcome.OK: _PAGE, Outcome.REDIRECT: _MOVED, Outcome.GONE: _GONE}
"""Outcomes that determine the state of a page; a timeout or a 'not modified' leaves it as it was."""


class NodeTable(NamedTuple):
    """Pages of the graph. An alias is the key of a page, or of a redirect, duplicate or variant of it."""

    keys: Keys
    """For each node, its own key."""
    aliases: Keys
    """Sorted."""
    alias_nodes: npt.NDArray[np.int32]
    """For each alias, the node it leads to."""
    hosts: npt.NDArray[np.int32]
    """For each node, its host; nodes of one host are adjacent, in the order they were fetched."""
    host_keys: Keys
    """For each host, the fingerprint of its name; sorted."""
    domains: npt.NDArray[np.int32]
    """For each host, the number of its registered domain."""
    host_records: npt.NDArray[np.int64]
    """For each host, a fetch record of the store whose URL has its name."""
    records: npt.NDArray[np.int64]
    """For each node, its newest fetch record."""
    is_seed: npt.NDArray[np.bool_]
    """For each node, whether it was a seed of the crawl, rather than discovered by a link."""
    mirrors: int
    """Hosts that were found to be mirrors of others."""
    is_current: npt.NDArray[np.bool_]
    """For each fetch record of the store, whether it is the newest of its page, and has links to read."""

    @property
    def host_first(self) -> npt.NDArray[np.int64]:
        """The first node of each host and, last, the number of nodes."""
        return np.searchsorted(self.hosts, np.arange(len(self.host_keys) + 1)).astype(np.int64)

    def find(self, keys: Keys) -> npt.NDArray[np.int32]:
        """Return the node of each key, -1 where there is none."""
        if not len(self.aliases):
            return np.full(len(keys), -1, np.int32)
        index = np.minimum(np.searchsorted(self.aliases, keys), len(self.aliases) - 1)
        return np.where(self.aliases[index] == keys, self.alias_nodes[index], -1).astype(np.int32)


def url_key(url: str) -> int | None:
    """Return the key of a URL found in a page; None if it is not a URL that can be fetched."""
    try:
        return parse_address(url).key
    except BadUrl:
        return None


def build_node_table(records: Iterable[FetchRecord]) -> NodeTable:
    """Read all fetch records once; determine which keys are pages, and which lead to others."""
    table = _RecordTable()
    for record in records:
        table.add(record)
    return table.build()


class _RecordTable:
    """One row for each fetch record, in plain arrays: 67 bytes, however long the page."""

    def __init__(self) -> None:
        self.keys, self.leads_to, self.canonical = array("Q"), array("Q"), array("Q")
        self.hosts, self.paths = array("Q"), array("Q")
        self.near_duplicate_of, self.simhashes, self.contents = array("Q"), array("Q"), array("Q")
        self.states, self.is_seed = bytearray(), bytearray()
        self.domains: dict[int, int] = {}

    def add(self, record: FetchRecord) -> None:
        """Add one fetch record."""
        state = _STATES.get(record.outcome, _NO_STATE)
        lead, canonical = None, None
        if state == _MOVED:
            lead = url_key(record.location)
        elif state == _PAGE and record.duplicate_of:
            state, lead = _MOVED, url_key(record.duplicate_of)
        elif state == _PAGE and (record.page is None or record.page.kind == LIST_KIND):
            state = _NO_STATE
        elif state == _PAGE and record.page is not None and record.page.canonical:
            canonical = url_key(record.page.canonical)
        near = url_key(record.near_duplicate_of) if record.near_duplicate_of else None
        self.keys.append(record.key)
        self.leads_to.append(record.key if lead is None else lead)
        self.canonical.append(record.key if canonical is None else canonical)
        self.near_duplicate_of.append(record.key if near is None else near)
        self.simhashes.append(record.simhash & _U64_MASK)
        # A page that is not to be indexed represents no other page.
        indexable = record.page is not None and not record.page.noindex
        self.contents.append(record.content & _U64_MASK if indexable else 0)
        self.states.append(state)
        self.is_seed.append(record.depth == 0)
        self._add_host_and_path(record.url)

    def _add_host_and_path(self, url: str) -> None:
        host, path = _split_url(url)
        number = fingerprint_text(host)
        self.hosts.append(number)
        self.paths.append(fingerprint_text(path))
        if number not in self.domains:
            self.domains[number] = fingerprint_text(registered_domain(host.partition(":")[0]))

    def build(self) -> NodeTable:
        """Select the newest row of each key, find mirrors, number the pages, and resolve aliases."""
        keys, leads_to = _as_array(self.keys), _as_array(self.leads_to).copy()
        states = np.frombuffer(bytes(self.states), np.uint8).copy()
        newest = _newest_rows(keys, states)
        hosts = _as_array(self.hosts)
        duplicates, originals = find_duplicates(newest[states[newest] == _PAGE], _as_array(self.contents))
        states[duplicates], leads_to[duplicates] = _MOVED, keys[originals]
        urls = UrlTable(
            keys[newest],
            np.where(states[newest] == _MOVED, leads_to[newest], _as_array(self.canonical)[newest]),
            _as_array(self.near_duplicate_of)[newest],
            hosts[newest],
            _as_array(self.paths)[newest],
            _as_array(self.simhashes)[newest],
            states[newest] == _PAGE,
        )
        mirrors = find_mirrors(urls._replace(near_duplicate_of=find_near_duplicates(urls, newest)))
        mirrored = np.flatnonzero(mirrors.leads_to != urls.keys)
        states[newest[mirrored]], leads_to[newest[mirrored]] = _MOVED, mirrors.leads_to[mirrored]
        pages = newest[states[newest] == _PAGE]
        moved = newest[states[newest] == _MOVED]
        aliases, targets = _resolve_aliases(keys[pages], _as_array(self.canonical)[pages], keys[moved], leads_to[moved])
        return self._number_pages(pages, aliases, targets, self._merge_mirrors(hosts, mirrors), len(mirrors.hosts))

    def _merge_mirrors(self, hosts: Keys, mirrors: Mirrors) -> Keys:
        """Replace a mirror by its original host, if both are of one registered domain."""
        merged = sorted((own, to) for own, to in mirrors.hosts.items() if self.domains[own] == self.domains[to])
        mirror_hosts, original_hosts = np.array(merged, np.uint64).reshape(-1, 2).T
        is_mirror, index = _look_up(mirror_hosts, hosts)
        return np.where(is_mirror, original_hosts[index], hosts) if len(mirror_hosts) else hosts

    def _number_pages(
        self, pages: npt.NDArray[np.int64], aliases: Keys, targets: Keys, hosts: Keys, mirrors: int
    ) -> NodeTable:
        """Number the pages that represent themselves by host, and within a host by time of fetch."""
        keys = _as_array(self.keys)
        page_keys = np.unique(targets)
        by_key = pages[np.argsort(keys[pages])]
        records = by_key[np.searchsorted(keys[by_key], page_keys)]
        order = np.lexsort((records, hosts[records]))
        records = records[order]
        nodes = np.empty(len(order), np.int32)
        nodes[order] = np.arange(len(order))
        host_keys, first, host_numbers = np.unique(hosts[records], return_index=True, return_inverse=True)
        domains = np.array([self.domains[host] for host in host_keys.tolist()], np.uint64)
        is_current = np.zeros(len(keys), np.bool_)
        is_current[pages] = True
        return NodeTable(
            keys=page_keys[order],
            aliases=aliases,
            alias_nodes=nodes[np.searchsorted(page_keys, targets)],
            hosts=host_numbers.astype(np.int32).reshape(-1),
            host_keys=host_keys,
            domains=np.unique(domains, return_inverse=True)[1].astype(np.int32).reshape(-1),
            host_records=records[first],
            records=records,
            is_seed=np.frombuffer(bytes(self.is_seed), np.bool_)[records],
            mirrors=mirrors,
            is_current=is_current,
        )


def _split_url(url: str) -> tuple[str, str]:
    """Return the host (with a port, if any) and everything that follows it."""
    rest = url.partition("://")[2] or url
    host, slash, path = rest.partition("/")
    return host, slash + path


def _as_array(numbers: "array[int]") -> Keys:
    return np.frombuffer(numbers.tobytes(), np.uint64)


def _newest_rows(keys: Keys, states: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Return the last row of each key that has a state, ordered by key."""
    rows = np.flatnonzero(states != _NO_STATE)[::-1]
    _, first = np.unique(keys[rows], return_index=True)
    return rows[first]


def _resolve_aliases(pages: Keys, canonical: Keys, moved: Keys, leads_to: Keys) -> tuple[Keys, Keys]:
    """Return sorted aliases, and the page each leads to. Chains that end nowhere, or in a cycle, are left out."""
    page_targets = _canonical_targets(pages, canonical, moved, leads_to)
    ends = _follow_redirects(leads_to, moved, leads_to)
    is_page, index = _look_up(pages, ends)
    aliases = np.concatenate((pages, moved[is_page]))
    targets = np.concatenate((page_targets, page_targets[index[is_page]]))
    order = np.argsort(aliases)
    return aliases[order], targets[order]


def _canonical_targets(pages: Keys, canonical: Keys, moved: Keys, leads_to: Keys) -> Keys:
    """Return the canonical page of each page: itself, unless it names a page that represents itself."""
    ends = _follow_redirects(canonical, moved, leads_to)
    is_own = ends == pages
    is_page, index = _look_up(pages, ends)
    # A canonical page that names a third one is ignored: no chains, and no cycles.
    valid = is_page & is_own[index] if len(pages) else is_page
    return np.where(valid, ends, pages)


def _follow_redirects(keys: Keys, moved: Keys, leads_to: Keys) -> Keys:
    """Replace keys that have moved, repeatedly."""
    for _ in range(_MAX_HOPS):
        has_moved, index = _look_up(moved, keys)
        if not has_moved.any():
            break
        keys = np.where(has_moved, leads_to[index], keys) if len(moved) else keys
    return keys


def _look_up(sorted_keys: Keys, keys: Keys) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return whether each key is among `sorted_keys`, and at which index."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    index = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return sorted_keys[index] == keys, index
