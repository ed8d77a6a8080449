"""The pages of the graph: the newest state of each URL, and the URLs that lead to the same page."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.graph.alias_resolution import Aliases, look_up, resolve_aliases
from periplus.graph.duplicates import find_duplicates, find_near_duplicates
from periplus.graph.exchange.rounds import SINGLE_PART, Columns, Part, Program, gather_summaries, request_columns
from periplus.graph.mirrors import Mirrors, UrlTable, find_mirrors
from periplus.graph.record_table import MOVED, PAGE, Keys, RecordTable, References, newest_rows, read_records
from periplus.records import FetchRecord

__all__ = ["Keys", "NodeTable", "build_node_table"]

Rows = npt.NDArray[np.int64]


class NodeTable(NamedTuple):
    """Pages of a shard. An alias is the key of a page, or of a redirect, duplicate or variant of it.

    Nodes are numbered; numbers after that of the last node are of *foreign pages*: pages of other shards that an alias
    of this shard leads to.
    """

    keys: Keys
    """For each node, its own key."""
    aliases: Keys
    """Sorted."""
    alias_nodes: npt.NDArray[np.int32]
    """For each alias, the node or foreign page it leads to."""
    hosts: npt.NDArray[np.int32]
    """For each node, its host; nodes of one host are adjacent, in the order they were fetched."""
    host_keys: Keys
    """For each host, the fingerprint of its name; sorted."""
    domain_keys: Keys
    """For each host, the fingerprint of its registered domain."""
    host_records: Rows
    """For each host, a fetch record of the store whose URL has its name."""
    records: Rows
    """For each node, its newest fetch record."""
    is_seed: npt.NDArray[np.bool_]
    """For each node, whether it was a seed of the crawl, rather than discovered by a link."""
    mirrors: int
    """Hosts of this shard that were found to be mirrors of others."""
    is_current: npt.NDArray[np.bool_]
    """For each fetch record of the store, whether it is the newest of its page, and has links to read."""
    foreign_keys: Keys
    """For each foreign page, its key."""
    foreign_nodes: Keys
    """For each foreign page, its address (see `addresses`)."""
    part: Part = SINGLE_PART
    shard_nodes: tuple[int, ...] = ()
    """For each shard, the number of its nodes."""
    shard_hosts: tuple[int, ...] = ()

    @property
    def host_first(self) -> Rows:
        """The first node of each host and, last, the number of nodes."""
        return np.searchsorted(self.hosts, np.arange(len(self.host_keys) + 1)).astype(np.int64)

    @property
    def total_nodes(self) -> int:
        """The number of nodes of all shards."""
        return sum(self.shard_nodes)

    @property
    def total_hosts(self) -> int:
        """The number of hosts of all shards."""
        return sum(self.shard_hosts)

    def find(self, keys: Keys) -> npt.NDArray[np.int32]:
        """Return the node or foreign page of each key, -1 where there is none."""
        is_alias, index = look_up(self.aliases, keys)
        if not len(self.aliases):
            return np.full(len(keys), -1, np.int32)
        return np.where(is_alias, self.alias_nodes[index], -1).astype(np.int32)

    def page_keys(self) -> Keys:
        """Return the keys of all nodes and foreign pages."""
        return np.concatenate((self.keys, self.foreign_keys)) if len(self.foreign_keys) else self.keys

    def addresses(self) -> Keys:
        """Return the address of each node and foreign page: its shard, shifted left by 32, and its number there."""
        own = np.uint64(self.part.number << 32) | np.arange(len(self.keys), dtype=np.uint64)
        return np.concatenate((own, self.foreign_nodes))


def build_node_table(records: Iterable[FetchRecord], part: Part = SINGLE_PART) -> Program[NodeTable]:
    """Read all fetch records of a shard once; determine which keys are pages, and which lead to others."""
    table = read_records(records, part.number, part.owner)
    newest = newest_rows(table)
    states = table.states.copy()
    lead_keys, lead_owners = table.leads_to.keys.copy(), table.leads_to.owners.copy()
    duplicates, originals = yield from _find_duplicates(part, table, newest[states[newest] == PAGE])
    states[duplicates], lead_keys[duplicates], lead_owners[duplicates] = MOVED, originals.keys, originals.owners
    is_moved = states[newest] == MOVED
    urls = UrlTable(
        table.keys[newest],
        np.where(is_moved, lead_keys[newest], table.canonical.keys[newest]),
        table.near_duplicates.keys[newest],
        table.hosts[newest],
        table.paths[newest],
        table.simhashes[newest],
        states[newest] == PAGE,
    )
    url_owners = np.where(is_moved, lead_owners[newest], table.canonical.owners[newest])
    near = yield from _find_near_duplicates(part, urls, newest, table.near_duplicates.owners[newest])
    mirrors = yield from find_mirrors(part, urls._replace(near_duplicate_of=near.keys), url_owners, near.owners)
    mirrored = np.flatnonzero(mirrors.leads_to != urls.keys)
    rows = newest[mirrored]
    states[rows], lead_keys[rows], lead_owners[rows] = MOVED, mirrors.leads_to[mirrored], mirrors.owners[mirrored]
    pages, moved = newest[states[newest] == PAGE], newest[states[newest] == MOVED]
    aliases = yield from resolve_aliases(
        part,
        table.keys[pages],
        table.canonical.select(pages),
        table.keys[moved],
        References(lead_keys[moved], lead_owners[moved]),
    )
    nodes = _number_pages(part, table, pages, aliases, mirrors)
    return (yield from _resolve_foreign_pages(nodes))


def _find_duplicates(part: Part, table: RecordTable, pages: Rows) -> Program[tuple[Rows, References]]:
    """Return the rows whose content an earlier page has, and that page."""
    rows = np.sort(pages[table.contents[pages] != 0])

    def find(columns: Columns) -> Columns:
        # All pages with one content are here, in the order of shards and records.
        later, first = find_duplicates(np.arange(len(columns["keys"])), columns["contents"])
        originals = np.arange(len(columns["keys"]))
        originals[later] = first
        return {"keys": columns["keys"][originals], "owners": columns["sender"][originals].astype(np.int16)}

    contents = table.contents[rows]
    columns: Columns = {"keys": table.keys[rows], "contents": contents}
    answers, _ = yield from request_columns(part, "duplicates", _spread(contents, part), columns, find)
    is_duplicate = answers["keys"] != columns["keys"]
    return rows[is_duplicate], References(answers["keys"][is_duplicate], answers["owners"][is_duplicate])


def _find_near_duplicates(
    part: Part, urls: UrlTable, records: Rows, owners: npt.NDArray[np.int16]
) -> Program[References]:
    """Return for each URL the page that it is a near-duplicate of, else itself.

    owners: the shards that own the pages that the crawl has marked.
    """
    candidates = np.flatnonzero(urls.is_page & (urls.simhashes != 0))
    rows = candidates[np.argsort(records[candidates])]

    def find(columns: Columns) -> Columns:
        # All pages with one path are here, in the order of shards and records.
        keys = columns["keys"]
        is_page = np.ones(len(keys), np.bool_)
        table = UrlTable(keys, keys, columns["near"], columns["hosts"], columns["paths"], columns["simhashes"], is_page)
        near = find_near_duplicates(table, np.arange(len(keys)))
        order = np.argsort(keys)
        is_here, index = look_up(keys[order], near)
        senders = columns["sender"][order][index] if len(keys) else index
        return {"keys": near, "owners": np.where(is_here, senders, -1).astype(np.int16)}

    columns: Columns = {
        "keys": urls.keys[rows],
        "near": urls.near_duplicate_of[rows],
        "hosts": urls.hosts[rows],
        "paths": urls.paths[rows],
        "simhashes": urls.simhashes[rows],
    }
    answers, _ = yield from request_columns(part, "near-duplicates", _spread(urls.paths[rows], part), columns, find)
    near_keys, near_owners = urls.near_duplicate_of.copy(), owners.copy()
    is_new = answers["keys"] != near_keys[rows]
    near_keys[rows[is_new]], near_owners[rows[is_new]] = answers["keys"][is_new], answers["owners"][is_new]
    return References(near_keys, near_owners)


def _spread(keys: Keys, part: Part) -> npt.NDArray[np.int16]:
    """Return the shard that compares what has the same key."""
    return (keys % np.uint64(part.shards)).astype(np.int16)


def _merge_mirrors(table: RecordTable, mirrors: Mirrors) -> Keys:
    """Return the host of each record; a mirror is replaced by its original, if both are of one registered domain."""
    domains = table.domains
    merged = sorted(
        (own, to) for own, to in mirrors.hosts.items() if own in domains and domains[own] == domains.get(to)
    )
    if not merged:
        return table.hosts
    mirror_hosts, original_hosts = np.array(merged, np.uint64).reshape(-1, 2).T
    is_mirror, index = look_up(mirror_hosts, table.hosts)
    return np.where(is_mirror, original_hosts[index], table.hosts)


def _number_pages(part: Part, table: RecordTable, pages: Rows, aliases: Aliases, mirrors: Mirrors) -> NodeTable:
    """Number the pages that represent themselves by host, and within a host by time of fetch."""
    keys, hosts = table.keys, _merge_mirrors(table, mirrors)
    is_own = aliases.owners == part.number
    page_keys = np.unique(aliases.targets[is_own])
    by_key = pages[np.argsort(keys[pages])]
    records = by_key[np.searchsorted(keys[by_key], page_keys)]
    order = np.lexsort((records, hosts[records]))
    records = records[order]
    nodes = np.empty(len(order), np.int32)
    nodes[order] = np.arange(len(order))
    foreign_keys, first = np.unique(aliases.targets[~is_own], return_index=True)
    alias_nodes = np.zeros(len(aliases.keys), np.int32)
    alias_nodes[is_own] = nodes[np.searchsorted(page_keys, aliases.targets[is_own])]
    alias_nodes[~is_own] = len(order) + np.searchsorted(foreign_keys, aliases.targets[~is_own])
    host_keys, host_first, host_numbers = np.unique(hosts[records], return_index=True, return_inverse=True)
    is_current = np.zeros(len(keys), np.bool_)
    is_current[pages] = True
    return NodeTable(
        keys=page_keys[order],
        aliases=aliases.keys,
        alias_nodes=alias_nodes,
        hosts=host_numbers.astype(np.int32).reshape(-1),
        host_keys=host_keys,
        domain_keys=np.array([table.domains[host] for host in host_keys.tolist()], np.uint64),
        host_records=records[host_first],
        records=records,
        is_seed=table.is_seed[records],
        mirrors=len(mirrors.hosts.keys() & table.domains.keys()),
        is_current=is_current,
        foreign_keys=foreign_keys,
        foreign_nodes=aliases.owners[~is_own][first].astype(np.uint64) << np.uint64(32),
        part=part,
    )


def _resolve_foreign_pages(nodes: NodeTable) -> Program[NodeTable]:
    """Add the numbers that other shards give to foreign pages, and the numbers of nodes and hosts of all shards."""
    part = nodes.part

    def find(columns: Columns) -> Columns:
        return {"nodes": nodes.find(columns["keys"]).astype(np.uint64)}

    owners = (nodes.foreign_nodes >> np.uint64(32)).astype(np.int16)
    answers, _ = yield from request_columns(part, "foreign pages", owners, {"keys": nodes.foreign_keys}, find)
    arrivals = yield from gather_summaries("pages", (len(nodes.keys), len(nodes.host_keys)))
    return nodes._replace(
        foreign_nodes=nodes.foreign_nodes | answers["nodes"],
        shard_nodes=tuple(int(count) for count, _ in arrivals.summaries),
        shard_hosts=tuple(int(count) for _, count in arrivals.summaries),
    )
