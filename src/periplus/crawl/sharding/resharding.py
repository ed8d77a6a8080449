"""Resharding: hosts move between shards with their queues, their delays and what was learned about them.

No shard runs meanwhile. Every shard's state is recovered, hosts are moved, and each shard's next snapshot is written
beside its last one. Writing the topology then commits the move: a process killed before has changed nothing, and after
a later kill the move is completed. Pages stay where they are stored: all stores are read as one.
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
from periplus.crawl.sharding.host_transfer import host_of_key
from periplus.crawl.sharding.mailbox import MESSAGE_SUFFIX, ForwardedLink, ShardMessage, read_message
from periplus.crawl.sharding.topology import (
    HostPartitioner,
    Topology,
    mailbox_dir,
    read_topology,
    shard_dir,
    write_topology,
)
from periplus.files import disk_errors, lock_folder, make_folder, sync_folder
from periplus.records import Address, FetchRecord, FetchRequest
from periplus.settings import Settings
from periplus.store import PageStore, shard_folder
from periplus.url import parse_address

__all__ = ["reshard"]

_NEXT_SNAPSHOT: Final = "frontier.next"
_SNAPSHOT: Final = "frontier.bin"


class _LinkCollector:
    """Implements `LinkRouter` while no shard crawls: collects the links to hosts of other shards in a message."""

    supervised = True

    def __init__(self, number: int, partitioner: HostPartitioner) -> None:
        self.number = number
        self.message = ShardMessage(number)
        self._partitioner = partitioner

    def owns(self, host: str) -> bool:
        return self._partitioner.owner(host) == self.number

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        own = []
        for request in requests:
            address = request.address
            if self.owns(address.host):
                own.append(request)
            else:
                link = ForwardedLink(address.url, request.depth, request.rank, request.hops, address.key in lists)
                self.message.links.append(link)
        return own

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        pass

    def dump_mail(self) -> bytes:
        return b""

    def load_mail(self, data: bytes) -> None:
        pass

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        yield from store.records()

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        return store.find(key)


def reshard(folder: Path, settings: Settings, count: int, seeds: Iterable[Address]) -> Topology:
    """Change a crawl to `count` shards (0 leaves their number) and add seeds; return the new topology.

    The caller has locked the whole crawl, and no shard runs.
    """
    current = _complete_move(folder, read_topology(folder))
    shards = tuple(range(count)) if count else current.shards
    names = dict.fromkeys((*current.seeds, *(seed.url for seed in seeds)))
    wanted = Topology(shards, tuple(names))
    if set(shards) != set(current.shards):
        wanted = _move(folder, settings, current, wanted)
    elif wanted != current:
        write_topology(folder, wanted)
    for number in shards:
        # Readers of all stores would not find one that is created later.
        for part in (shard_folder(folder / "store", number), mailbox_dir(folder, number)):
            with disk_errors(part):
                make_folder(part)
    return _complete_move(folder, wanted)


def _complete_move(folder: Path, topology: Topology) -> Topology:
    """Put the next snapshots of a committed move into effect; delete those of a move that was not committed."""
    numbers = {0, *topology.shards, *topology.moving, *_folder_numbers(folder)}
    for number in numbers:
        next_snapshot = shard_dir(folder, number) / _NEXT_SNAPSHOT
        with disk_errors(next_snapshot):
            if number not in topology.moving:
                next_snapshot.unlink(missing_ok=True)
                continue
            if next_snapshot.exists():
                os.replace(next_snapshot, shard_dir(folder, number) / _SNAPSHOT)
            if next_snapshot.parent.is_dir():
                sync_folder(next_snapshot.parent)  # an earlier attempt may have failed after it was renamed
            for path in _message_files(folder, number):
                path.unlink(missing_ok=True)
    if topology.moving:
        topology = msgspec.structs.replace(topology, moving=())
        write_topology(folder, topology)
    return topology


def _folder_numbers(folder: Path) -> list[int]:
    names = (path.name.removeprefix("shard-") for path in (folder / "crawl").glob("shard-*") if path.is_dir())
    return [int(name) for name in names if name.isdigit()]


def _message_files(folder: Path, number: int) -> list[Path]:
    return sorted((mailbox_dir(folder, number) / "inbox").glob(f"*{MESSAGE_SUFFIX}"))


def _move(folder: Path, settings: Settings, before: Topology, wanted: Topology) -> Topology:
    """Write the next snapshot of every shard, old and new; return the topology that commits them."""
    now = time.time()
    numbers = tuple(sorted({*before.shards, *wanted.shards}))
    with contextlib.ExitStack() as stack:
        shards = {
            number: stack.enter_context(_open_shard(folder, settings, number, HostPartitioner(before.shards), now))
            for number in numbers
        }
        states = {number: shard[0] for number, shard in shards.items()}
        undelivered = [state.router.message for state in states.values() if isinstance(state.router, _LinkCollector)]
        undelivered += [read_message(path) for number in numbers for path in _message_files(folder, number)]
        _read_pending_reports(shards, before.shards)
        partitioner = HostPartitioner(wanted.shards)
        for number, state in states.items():
            state.router = _LinkCollector(number, partitioner)
        _move_hosts(states, partitioner, wanted.shards)
        seeds = _share_seeds(states, undelivered, wanted)
        for message in undelivered:
            _deliver(message, states, partitioner)
        for number, (state, store) in shards.items():
            state.save(store.commit(), now, shard_dir(folder, number) / _NEXT_SNAPSHOT)
    with PageStore.open(folder / "store", settings.store) as stored:
        # Records stored before the move precede those stored after it, in whichever store they are.
        stored.number_records()
    topology = Topology(wanted.shards, seeds, numbers)
    write_topology(folder, topology)
    return topology


def _read_pending_reports(shards: dict[int, tuple[CrawlState, PageStore]], before: tuple[int, ...]) -> None:
    """Advance all shards to the same position in the visit reports before hosts move.

    Each shard reads all reports and uses those of its own hosts: a host that moved to a shard further ahead would
    lose some.
    """
    passives = [state.visit_reports for state, _ in shards.values()]
    until = max(passive.position for passive in passives)
    for number, (state, store) in shards.items():
        while number in before and state.visit_reports.position < until and state.read_reports(store, until):
            pass
        state.visit_reports.state.position = until
    share_digests([passive.state for passive in passives])


@contextlib.contextmanager
def _open_shard(
    folder: Path, settings: Settings, number: int, partitioner: HostPartitioner, now: float
) -> Iterator[tuple[CrawlState, PageStore]]:
    """Recover the state of one shard."""
    plain = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, recrawl=False))
    with (
        lock_folder(shard_dir(folder, number), "crawl"),
        PageStore.open(shard_folder(folder / "store", number), settings.store, write=True) as store,
    ):
        path = shard_dir(folder, number) / _SNAPSHOT
        state = CrawlState.recover(path, plain, store, (), now, _LinkCollector(number, partitioner))
        try:
            yield state, store
        finally:
            state.frontier.close()


def _share_seeds(states: dict[int, CrawlState], undelivered: list[ShardMessage], wanted: Topology) -> tuple[str, ...]:
    """Send the seeds of all shards to every shard; return them."""
    seeds = {url: None for message in undelivered for url in message.seeds}
    seeds.update((seed.url, None) for state in states.values() for seed in state.outlinks.seeds)
    for number in wanted.shards:
        states[number].accept_message(ShardMessage(number, seeds=list(seeds)))
    return tuple(dict.fromkeys((*wanted.seeds, *seeds)))


def _deliver(message: ShardMessage, states: dict[int, CrawlState], partitioner: HostPartitioner) -> None:
    parts: dict[int, ShardMessage] = {}
    for link in message.links:
        owner = partitioner.owner(parse_address(link.url).host)
        parts.setdefault(owner, ShardMessage(message.sender)).links.append(link)
    for owner, part in parts.items():
        states[owner].accept_message(part)


def _move_hosts(states: dict[int, CrawlState], partitioner: HostPartitioner, shards: tuple[int, ...]) -> None:
    keys = np.unique(np.concatenate([state.frontier.seen_keys() for state in states.values()]))
    seen_count = sum(state.frontier.statistics().seen for state in states.values())
    for number, state in states.items():
        moved = [name for name in state.frontier.hosts() if partitioner.owner(name) != number]
        for host in state.frontier.export_hosts(moved):
            states[partitioner.owner(host.name)].frontier.import_hosts([host])
    for number, state in states.items():
        # Keys of URLs do not reveal their hosts: from here on each shard has the keys of all.
        state.frontier.set_seen(keys, len(keys) - seen_count if number == 0 else len(keys))
    _move_facts(states, partitioner)
    first = states[0]
    for number in set(states) - set(shards):
        first.totals.add(states[number].totals)
        states[number].totals = Totals()


def _move_facts(states: dict[int, CrawlState], partitioner: HostPartitioner) -> None:
    """Move the data about hosts that have moved."""
    for number, state in states.items():

        def owner(key: str, number: int = number) -> CrawlState | None:
            shard = partitioner.owner(host_of_key(key))
            return states[shard] if shard != number else None

        state.robots.move_rules(owner)
        outlinks = state.outlinks
        _hand_over(outlinks.lists_of_host, owner, lambda other: other.outlinks.lists_of_host)
        _hand_over(outlinks.links_to_host, owner, lambda other: other.outlinks.links_to_host)
        _hand_over(state.pages_of_host, owner, lambda other: other.pages_of_host)
        _hand_over(state.host_limits.usage, owner, lambda other: other.host_limits.usage)
        _hand_over(outlinks.forms.state.hosts, owner, lambda other: other.outlinks.forms.state.hosts)
        _hand_over(outlinks.regions.state.regions, owner, lambda other: other.outlinks.regions.state.regions)
        _hand_over(outlinks.regions.state.names, owner, lambda other: other.outlinks.regions.state.names)
        for name in outlinks.traps.state.__struct_fields__:
            _hand_over(getattr(outlinks.traps.state, name), owner, partial(_traps_table, name))
    lists = set().union(*(state.outlinks.lists for state in states.values()))
    probes = {key: host for state in states.values() for key, host in state.outlinks.traps.state.probes.items()}
    for state in states.values():
        state.outlinks.lists.update(lists)
        state.outlinks.traps.state.probes.update(probes)


def _traps_table(name: str, state: CrawlState) -> dict[str, Any]:
    table: dict[str, Any] = getattr(state.outlinks.traps.state, name)
    return table


def _hand_over(
    table: Any, owner: Callable[[str], CrawlState | None], table_of: Callable[[CrawlState], dict[str, Any]]
) -> None:
    """Move the entries of a table whose keys begin with a host to the shards that own these hosts."""
    if not isinstance(table, dict):
        return
    for key in [key for key in table if isinstance(key, str)]:
        other = owner(key)
        if other is not None:
            table_of(other)[key] = table.pop(key)
