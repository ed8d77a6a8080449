"""Other shards than before: hosts move, with all that waits there, their pauses and what was learnt of them.

Nobody crawls meanwhile. Every shard's memory is recovered, hosts move from one to another, and each shard's next
snapshot is written beside its last one. One file then says that these hold: whoever is killed before has changed
nothing, whoever is killed after goes on from there. Pages stay where they were stored: all stores are read as one.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from periplus.crawl.crawl_snapshot import Totals
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.reported_visits import share_digests
from periplus.crawl.sharding.mailbox import SentLink, ShardMessage, read_message
from periplus.crawl.sharding.shard_router import Alone
from periplus.crawl.sharding.topology import (
    HostPartitioner,
    Topology,
    mailbox_dir,
    read_topology,
    shard_dir,
    write_topology,
)
from periplus.files import lock_folder, sync_folder
from periplus.records import Address, FetchRequest
from periplus.settings import Settings
from periplus.store import PageStore, shard_folder
from periplus.url import parse_address

__all__ = ["reshard"]

_NEXT: Final = "frontier.next"
_LAST: Final = "frontier.bin"


class _Gathering(Alone):
    """Stands for the other shards while nobody crawls: keeps what is to be sent."""

    def __init__(self, number: int, ring: HostPartitioner) -> None:
        self.number = number
        self._ring = ring
        self.parcel = ShardMessage(number)

    def mine(self, host: str) -> bool:
        return self._ring.owner(host) == self.number

    def ours(self, dues: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        for due in dues:
            if not self.mine(due.address.host):
                place = due.address
                self.parcel.links.append(SentLink(place.url, due.depth, due.rank, due.hops, place.key in lists))
        return [due for due in dues if self.mine(due.address.host)]


def reshard(folder: Path, settings: Settings, count: int, seeds: Iterable[Address]) -> Topology:
    """Let a crawl have `count` shards, or as many as it had with 0, and these seeds too; give what holds now.

    The caller holds the whole crawl, and no shard runs.
    """
    known = _finish(folder, read_topology(folder))
    shards = tuple(range(count)) if count else known.shards
    names = dict.fromkeys((*known.seeds, *(seed.url for seed in seeds)))
    wanted = Topology(shards, tuple(names))
    if set(shards) != set(known.shards):
        wanted = _move(folder, settings, known, wanted)
    elif wanted != known:
        write_topology(folder, wanted)
    for number in shards:
        # A store that is not there yet would not be looked for by those who read all of them.
        shard_folder(folder / "store", number).mkdir(parents=True, exist_ok=True)
        mailbox_dir(folder, number).mkdir(parents=True, exist_ok=True)
    return _finish(folder, wanted)


def _finish(folder: Path, topology: Topology) -> Topology:
    """Let the next snapshots hold where that was decided; forget those of a move that was not."""
    every = {0, *topology.shards, *topology.moving, *_numbers(folder)}
    for number in every:
        following = shard_dir(folder, number) / _NEXT
        if number in topology.moving and following.exists():
            os.replace(following, shard_dir(folder, number) / _LAST)
            sync_folder(shard_dir(folder, number))
        following.unlink(missing_ok=True)
        if number in topology.moving:
            for path in _parcels(folder, number):
                path.unlink(missing_ok=True)
    if topology.moving:
        topology = msgspec.structs.replace(topology, moving=())
        write_topology(folder, topology)
    return topology


def _numbers(folder: Path) -> list[int]:
    found = (path.name.removeprefix("shard-") for path in (folder / "crawl").glob("shard-*") if path.is_dir())
    return [int(name) for name in found if name.isdigit()]


def _parcels(folder: Path, number: int) -> list[Path]:
    return sorted((mailbox_dir(folder, number) / "inbox").glob("*.parcel"))


def _move(folder: Path, settings: Settings, before: Topology, wanted: Topology) -> Topology:
    """Write the next snapshot of every shard, old and new; give the topology that makes them hold."""
    now = time.time()
    every = tuple(sorted({*before.shards, *wanted.shards}))
    with contextlib.ExitStack() as held:
        shards = {
            number: held.enter_context(_open(folder, settings, number, HostPartitioner(before.shards), now))
            for number in every
        }
        memories = {number: shard[0] for number, shard in shards.items()}
        loose = [memory.neighbours.parcel for memory in memories.values() if isinstance(memory.neighbours, _Gathering)]
        loose += [read_message(path) for number in every for path in _parcels(folder, number)]
        _hear_out(shards, before.shards)
        ring = HostPartitioner(wanted.shards)
        for number, memory in memories.items():
            memory.neighbours = _Gathering(number, ring)
        _move_all(memories, ring, wanted.shards)
        known = _share_seeds(memories, loose, wanted)
        for parcel in loose:
            _deliver(parcel, memories, ring)
        for number, (memory, store) in shards.items():
            memory.save(store.commit(), now, shard_dir(folder, number) / _NEXT)
    with PageStore.open(folder / "store", settings.store) as stored:
        # What was stored before comes before what is stored from now on, wherever it is.
        stored.number_records()
    topology = Topology(wanted.shards, known, every)
    write_topology(folder, topology)
    return topology


def _hear_out(shards: dict[int, tuple[CrawlState, PageStore]], before: tuple[int, ...]) -> None:
    """Let all shards have read as much of what others reported as the first of them, while hosts are still theirs.

    Each reads all reports and takes those of its own hosts: a host that moves to one that has read on would lose some.
    """
    passives = [memory.passive for memory, _ in shards.values()]
    until = max(passive.position for passive in passives)
    for number, (memory, store) in shards.items():
        while number in before and memory.passive.position < until and memory.hear(store, until):
            pass
        memory.passive.state.position = until
    share_digests([passive.state for passive in passives])


@contextlib.contextmanager
def _open(
    folder: Path, settings: Settings, number: int, ring: HostPartitioner, now: float
) -> Iterator[tuple[CrawlState, PageStore]]:
    """Recover one shard as it was."""
    plain = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, recrawl=False))
    with (
        lock_folder(shard_dir(folder, number), "crawl"),
        PageStore.open(shard_folder(folder / "store", number), settings.store, write=True) as store,
    ):
        path = shard_dir(folder, number) / _LAST
        memory = CrawlState.recover(path, plain, store, (), now, _Gathering(number, ring))
        try:
            yield memory, store
        finally:
            memory.frontier.close()


def _share_seeds(memories: dict[int, CrawlState], loose: list[ShardMessage], wanted: Topology) -> tuple[str, ...]:
    """Let every shard know the seeds of all; give them."""
    seeds = {url: None for parcel in loose for url in parcel.seeds}
    seeds.update((seed.url, None) for memory in memories.values() for seed in memory.harvester.seeds)
    for number in wanted.shards:
        memories[number].take(ShardMessage(number, seeds=list(seeds)))
    return tuple(dict.fromkeys((*wanted.seeds, *seeds)))


def _deliver(parcel: ShardMessage, memories: dict[int, CrawlState], ring: HostPartitioner) -> None:
    parts: dict[int, ShardMessage] = {}
    for link in parcel.links:
        owner = ring.owner(parse_address(link.url).host)
        parts.setdefault(owner, ShardMessage(parcel.sender)).links.append(link)
    for owner, part in parts.items():
        memories[owner].take(part)


def _move_all(memories: dict[int, CrawlState], ring: HostPartitioner, shards: tuple[int, ...]) -> None:
    keys = np.unique(np.concatenate([memory.frontier.seen_keys() for memory in memories.values()]))
    counted = sum(memory.frontier.statistics().seen for memory in memories.values())
    for number, memory in memories.items():
        gone = [name for name in memory.frontier.hosts() if ring.owner(name) != number]
        for host in memory.frontier.export_hosts(gone):
            memories[ring.owner(host.name)].frontier.import_hosts([host])
    for number, memory in memories.items():
        # URLs are known by their keys alone, which do not say whose they are: each shard knows them all from here on.
        memory.frontier.set_seen(keys, len(keys) - counted if number == 0 else len(keys))
    _move_facts(memories, ring)
    first = memories[0]
    for number in set(memories) - set(shards):
        _add_totals(first.totals, memories[number].totals)
        memories[number].totals = Totals()


def _move_facts(memories: dict[int, CrawlState], ring: HostPartitioner) -> None:
    """Move what is known of hosts that have moved."""
    for number, memory in memories.items():

        def owner(key: str, number: int = number) -> CrawlState | None:
            found = ring.owner(_host_of(key))
            return memories[found] if found != number else None

        memory.robots.hand_over(owner)
        harvester = memory.harvester
        _hand_over(harvester.lists_of_host, owner, lambda other: other.harvester.lists_of_host)
        _hand_over(harvester.links_to_host, owner, lambda other: other.harvester.links_to_host)
        _hand_over(memory.pages_of_host, owner, lambda other: other.pages_of_host)
        _hand_over(harvester.forms.state.hosts, owner, lambda other: other.harvester.forms.state.hosts)
        for name in harvester.traps.state.__struct_fields__:
            _hand_over(getattr(harvester.traps.state, name), owner, partial(_traps_table, name))
    lists = set().union(*(memory.harvester.lists for memory in memories.values()))
    probes = {key: host for memory in memories.values() for key, host in memory.harvester.traps.state.probes.items()}
    for memory in memories.values():
        memory.harvester.lists.update(lists)
        memory.harvester.traps.state.probes.update(probes)


def _traps_table(name: str, memory: CrawlState) -> dict[str, Any]:
    found: dict[str, Any] = getattr(memory.harvester.traps.state, name)
    return found


def _hand_over(
    table: Any, owner: Callable[[str], CrawlState | None], place: Callable[[CrawlState], dict[str, Any]]
) -> None:
    """Move the entries of a table whose keys begin with a host to the shards that have these hosts."""
    if not isinstance(table, dict):
        return
    for key in [key for key in table if isinstance(key, str)]:
        other = owner(key)
        if other is not None:
            place(other)[key] = table.pop(key)


def _host_of(key: str) -> str:
    """Give the host that a key begins with: 'host', 'host something', 'scheme://host:port'."""
    text = key.partition(" ")[0]
    scheme, mark, rest = text.partition("://")
    return rest.rpartition(":")[0] if mark and scheme else text


def _add_totals(first: Totals, other: Totals) -> None:
    for name in ("pages", "fetched", "copies", "answered", "bytes"):
        setattr(first, name, getattr(first, name) + getattr(other, name))
    for outcome, times in other.outcomes.items():
        first.outcomes[outcome] = first.outcomes.get(outcome, 0) + times
