"""Hosts that move to another shard while a crawl runs: what is known about them, as messages.

`export_hosts` removes the hosts that a shard no longer owns from its state and returns them as parts of bounded size,
by new owner; `import_hosts` adds a part to the state of the new owner. Times are sent as what remains of a delay, so
that the clocks of two machines need not agree, and a host waits at least as long as it would have waited before.

Keys of URLs do not reveal their hosts: the keys of all URLs that a shard has seen go to every shard that receives
hosts, 8 bytes each.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from periplus.crawl.crawl_snapshot import Totals
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.hosts.host_limits import HostUsage
from periplus.crawl.policies.form_filler import HostForms
from periplus.crawl.policies.traps import TrapsState
from periplus.crawl.regions.region_records import Region
from periplus.crawl.robots_cache import CachedRobots
from periplus.crawl.sharding.mailbox import ShardMessage
from periplus.errors import BadUrl
from periplus.frontier import Host
from periplus.records import VisitReport
from periplus.typed_decoding import convert_to
from periplus.url import parse_address

__all__ = [
    "ForwardedPage",
    "HostTransfer",
    "TransferMessage",
    "export_hosts",
    "host_of_key",
    "import_hosts",
    "split_message",
]

_MAX_QUEUE_BYTES: Final = 4 << 20
"""Queued URLs in one part."""
_MAX_KEYS: Final = 250_000
_MAX_FACTS: Final = 4_000
"""Entries of tables in one part."""
_MAX_ROBOTS_BYTES: Final = 4 << 20
_ENTRY_BYTES: Final = 64
"""What an entry takes besides its URL."""
_Item = TypeVar("_Item")


class HostTransfer(msgspec.Struct):
    """A part of what is known about hosts that move. Tables have keys that begin with a host."""

    hosts: list[Host] = []
    """With queues and politeness; `next_time` is the number of seconds that remain."""
    seen: bytes = b""
    """Keys of URLs, u64 little-endian."""
    robots: list[CachedRobots] = []
    """`until` and `first` are seconds from now."""
    lists: list[int] = []
    probes: dict[int, str] = {}
    tables: dict[str, dict[str, Any]] = {}
    """By the name of a table of the state."""
    originals: dict[int, str] = {}
    near: bytes = b""
    digests: dict[int, int] = {}
    seeds: list[str] = []
    totals: Totals | None = None
    """Of a shard that is removed."""
    last: bool = False
    """Whether this is the last part from its sender to its receiver."""


class ForwardedPage(NamedTuple):
    """A page of a host that has moved."""

    record: bytes
    """The fetch record, as compressed msgpack."""
    response: bytes
    """The WARC record of its response, compressed; b'' if it is not sent."""


class TransferMessage(ShardMessage):
    """A message that may also carry hosts that move, their pages, and visits reported to another shard."""

    transfer: HostTransfer | None = None
    reports: list[VisitReport] = msgspec.field(default_factory=list)
    pages: list[ForwardedPage] = msgspec.field(default_factory=list)

    def __len__(self) -> int:
        return super().__len__() + len(self.reports) + len(self.pages) + (self.transfer is not None)


def split_message(message: TransferMessage, max_bytes: int) -> Iterator[TransferMessage]:
    """Yield a message without hosts and pages in parts of about `max_bytes`, unless a single item is larger."""
    part, size = TransferMessage(message.sender), 0
    for name in ("links", "seeds", "robots_requests", "robots_responses", "reports"):
        for item in getattr(message, name):
            weight = _ENTRY_BYTES + sum(len(value) for value in _values(item) if isinstance(value, str | bytes))
            if len(part) and size + weight > max_bytes:
                yield part
                part, size = TransferMessage(message.sender), 0
            getattr(part, name).append(item)
            size += weight
    if len(part):
        yield part


def _values(item: Any) -> Iterable[Any]:
    if isinstance(item, VisitReport):
        return (item.url, item.digest)
    return (item,) if isinstance(item, str) else tuple(item)


def export_hosts(
    state: CrawlState, owner: Callable[[str], int], number: int, shards: Iterable[int], now: float
) -> Iterator[tuple[int, HostTransfer]]:
    """Remove what belongs to other shards from a state; yield it in parts, with the shard that each part is for.

    Every one of `shards` but `number` gets at least one part, of which the last is marked. The state has no request in
    flight. If `number` is not among `shards`, the totals go to the first of them.
    """
    shards = list(shards)
    receivers = [shard for shard in shards if shard != number]
    moved: dict[int, list[Host]] = {shard: [] for shard in receivers}
    for host in state.frontier.export_hosts([name for name in state.frontier.hosts() if owner(name) != number]):
        host.next_time = max(0.0, host.next_time - now)
        moved[owner(host.name)].append(host)
    facts = {shard: HostTransfer() for shard in receivers}
    for name, table in _tables(state):
        for key in [key for key in table if isinstance(key, str) and owner(host_of_key(key)) != number]:
            facts[owner(host_of_key(key))].tables.setdefault(name, {})[key] = table.pop(key)
    for robots in state.robots.export_entries(lambda origin: owner(host_of_key(origin)) != number):
        entry = robots._replace(until=robots.until - now, first=robots.first - now)
        facts[owner(host_of_key(robots.origin))].robots.append(entry)
    _export_duplicates(state, owner, facts)
    state.outlinks.traps.refresh_mirrors()
    state.outlinks.regions.refresh()
    seen = state.frontier.seen_keys()
    totals, state.totals = (state.totals, Totals()) if number not in shards else (None, state.totals)
    for shard in receivers:
        yield from ((shard, HostTransfer(hosts=part)) for part in _host_parts(moved[shard]))
        for begin in range(0, len(seen), _MAX_KEYS):
            yield shard, HostTransfer(seen=seen[begin : begin + _MAX_KEYS].astype("<u8").tobytes())
        yield from ((shard, part) for part in _fact_parts(facts[shard]))
        yield from ((shard, part) for part in _common_parts(state))
        yield shard, HostTransfer(totals=totals if shard == shards[0] else None, last=True)


def import_hosts(state: CrawlState, part: HostTransfer, now: float) -> None:
    """Add a part of what moved here to a state."""
    for host in part.hosts:
        host.next_time = now + max(0.0, host.next_time)
    state.frontier.import_hosts(part.hosts)
    if part.seen:
        state.frontier.add_seen(np.frombuffer(part.seen, "<u8"))
    state.robots.import_entries(
        entry._replace(until=entry.until + now, first=entry.first + now) for entry in part.robots
    )
    tables = dict(_tables(state))
    for name, rows in part.tables.items():
        if name in tables:
            tables[name].update(_convert_rows(name, rows))
    state.outlinks.lists.update(part.lists)
    state.outlinks.traps.state.probes.update(part.probes)
    for content, url in part.originals.items():
        state.duplicates.urls.add(content, url)
    for simhash, content in np.frombuffer(part.near, "<u8").reshape(2, -1).T.tolist() if part.near else ():
        state.duplicates.near.add(simhash, content)
    for key, digest in part.digests.items():
        state.visit_reports.state.digests.setdefault(key, digest)
    for seed in part.seeds:
        try:
            state.outlinks.add_seed(parse_address(seed))
        except BadUrl:
            continue
    if part.totals is not None:
        state.totals.add(part.totals)
    state.outlinks.traps.refresh_mirrors()
    state.outlinks.regions.refresh()


def host_of_key(key: str) -> str:
    """Return the host that a key begins with: 'host', 'host something', 'scheme://host:port'."""
    text = key.partition(" ")[0]
    scheme, mark, rest = text.partition("://")
    return rest.rpartition(":")[0] if mark and scheme else text


def _batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _tables(state: CrawlState) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a state whose keys begin with a host, with their names."""
    outlinks = state.outlinks
    yield "lists_of_host", outlinks.lists_of_host
    yield "links_to_host", outlinks.links_to_host
    yield "pages_of_host", state.pages_of_host
    yield "usage", state.host_limits.usage
    yield "forms", outlinks.forms.state.hosts
    yield "regions", outlinks.regions.state.regions
    yield "regions.names", outlinks.regions.state.names
    for name, hint in TrapsState.__annotations__.items():
        if str(hint).startswith("dict[str"):
            yield f"traps.{name}", getattr(outlinks.traps.state, name)


def _convert_rows(name: str, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a table as what the state has there."""
    kind = {"forms": HostForms, "usage": HostUsage, "regions": Region}.get(name)
    return rows if kind is None else convert_to(rows, dict[str, kind])  # type: ignore[valid-type]


def _export_duplicates(state: CrawlState, owner: Callable[[str], int], facts: dict[int, HostTransfer]) -> None:
    """Copy the contents of pages whose hosts move, with their simhashes; they stay here too, since the pages do."""
    contents: dict[int, list[int]] = {}
    for content, url in state.duplicates.urls.items():
        try:
            shard = owner(parse_address(url).host)
        except BadUrl:
            continue
        if shard in facts:
            facts[shard].originals[content] = url
            contents.setdefault(shard, []).append(content)
    dump = state.duplicates.near.dump()
    rows = np.frombuffer(dump, "<u8").reshape(2, -1)
    for shard, keys in contents.items():
        chosen = np.isin(rows[1], np.array(keys, np.uint64))
        facts[shard].near = np.ascontiguousarray(rows[:, chosen]).tobytes()


def _host_parts(hosts: list[Host]) -> Iterator[list[Host]]:
    """Yield hosts in parts with a bounded number of bytes; a long queue is split over several parts."""
    part: list[Host] = []
    size = 0
    for host in hosts:
        piece = msgspec.structs.replace(host, queue=[])
        part.append(piece)
        size += len(host.name) + _ENTRY_BYTES
        for entry in host.queue:
            if size >= _MAX_QUEUE_BYTES:
                yield part
                piece = msgspec.structs.replace(host, queue=[], held=[])
                part, size = [piece], 0
            piece.queue.append(entry)
            size += len(entry.url) + _ENTRY_BYTES
    if part:
        yield part


def _common_parts(state: CrawlState) -> Iterator[HostTransfer]:
    """Yield what every receiver gets, since its keys do not reveal hosts, in parts of bounded size."""
    for keys in _batches(state.outlinks.lists, _MAX_KEYS):
        yield HostTransfer(lists=list(keys))
    for probes in _batches(state.outlinks.traps.state.probes.items(), _MAX_FACTS):
        yield HostTransfer(probes=dict(probes))
    for digests in _batches(state.visit_reports.state.digests.items(), _MAX_KEYS):
        yield HostTransfer(digests=dict(digests))
    for seeds in _batches((seed.url for seed in state.outlinks.seeds), _MAX_FACTS):
        yield HostTransfer(seeds=list(seeds))


def _fact_parts(facts: HostTransfer) -> Iterator[HostTransfer]:
    """Yield tables, robots.txt files and contents in parts of bounded size."""
    for name, table in facts.tables.items():
        for rows in _batches(table.items(), _MAX_FACTS):
            yield HostTransfer(tables={name: dict(rows)})
    entries: list[CachedRobots] = []
    size = 0
    for entry in facts.robots:
        if entries and size + len(entry.body) > _MAX_ROBOTS_BYTES:
            yield HostTransfer(robots=entries)
            entries, size = [], 0
        entries.append(entry)
        size += len(entry.body) + 100
    if entries:
        yield HostTransfer(robots=entries)
    for originals in _batches(facts.originals.items(), _MAX_FACTS):
        yield HostTransfer(originals=dict(originals))
    rows_near = np.frombuffer(facts.near, "<u8").reshape(2, -1) if facts.near else np.zeros((2, 0), "<u8")
    for begin in range(0, rows_near.shape[1], _MAX_KEYS):
        part = np.ascontiguousarray(rows_near[:, begin : begin + _MAX_KEYS])
        yield HostTransfer(near=part.tobytes())
