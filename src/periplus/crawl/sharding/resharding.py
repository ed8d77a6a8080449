"""Other shards than before: hosts move, with all that waits there, their pauses and what was learnt of them.

Nobody crawls meanwhile. Every shard's state is recovered, hosts move from one to another, and each shard's next
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
from periplus.crawl.sharding.mailbox import ForwardedLink, ShardMessage, read_message
from periplus.crawl.sharding.topology import (
    HostPartitioner,
    Topology,
    mailbox_dir,
    read_topology,
    shard_dir,
    write_topology,
)
from periplus.files import lock_folder, sync_folder
from periplus.records import Address, FetchRecord, FetchRequest
from periplus.settings import Settings
from periplus.store import PageStore, shard_folder
from periplus.url import parse_address

__all__ = ["reshard"]

_NEXT: Final = "frontier.next"
_LAST: Final = "frontier.bin"


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

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        yield from store.records()

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        return store.find(key)


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
            for path in _messages(folder, number):
                path.unlink(missing_ok=True)
    if topology.moving:
        topology = msgspec.structs.replace(topology, moving=())
        write_topology(folder, topology)
    return topology


def _numbers(folder: Path) -> list[int]:
    found = (path.name.removeprefix("shard-") for path in (folder / "crawl").glob("shard-*") if path.is_dir())
    return [int(name) for name in found if name.isdigit()]


def _messages(folder: Path, number: int) -> list[Path]:
    return sorted((mailbox_dir(folder, number) / "inbox").glob("*.message"))


def _move(folder: Path, settings: Settings, before: Topology, wanted: Topology) -> Topology:
    """Write the next snapshot of every shard, old and new; give the topology that makes them hold."""
    now = time.time()
    every = tuple(sorted({*before.shards, *wanted.shards}))
    with contextlib.ExitStack() as held:
        shards = {
            number: held.enter_context(_open(folder, settings, number, HostPartitioner(before.shards), now))
            for number in every
        }
        states = {number: shard[0] for number, shard in shards.items()}
        loose = [state.router.message for state in states.values() if isinstance(state.router, _LinkCollector)]
        loose += [read_message(path) for number in every for path in _messages(folder, number)]
        _hear_out(shards, before.shards)
        partitioner = HostPartitioner(wanted.shards)
        for number, state in states.items():
            state.router = _LinkCollector(number, partitioner)
        _move_all(states, partitioner, wanted.shards)
        known = _share_seeds(states, loose, wanted)
        for message in loose:
            _deliver(message, states, partitioner)
        for number, (state, store) in shards.items():
            state.save(store.commit(), now, shard_dir(folder, number) / _NEXT)
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
    passives = [state.visit_reports for state, _ in shards.values()]
    until = max(passive.position for passive in passives)
    for number, (state, store) in shards.items():
        while number in before and state.visit_reports.position < until and state.read_reports(store, until):
            pass
        state.visit_reports.state.position = until
    share_digests([passive.state for passive in passives])


@contextlib.contextmanager
def _open(
    folder: Path, settings: Settings, number: int, partitioner: HostPartitioner, now: float
) -> Iterator[tuple[CrawlState, PageStore]]:
    """Recover one shard as it was."""
    plain = msgspec.structs.replace(settings, crawl=msgspec.structs.replace(settings.crawl, recrawl=False))
    with (
        lock_folder(shard_dir(folder, number), "crawl"),
        PageStore.open(shard_folder(folder / "store", number), settings.store, write=True) as store,
    ):
        path = shard_dir(folder, number) / _LAST
        state = CrawlState.recover(path, plain, store, (), now, _LinkCollector(number, partitioner))
        try:
            yield state, store
        finally:
            state.frontier.close()


def _share_seeds(states: dict[int, CrawlState], loose: list[ShardMessage], wanted: Topology) -> tuple[str, ...]:
    """Let every shard know the seeds of all; give them."""
    seeds = {url: None for message in loose for url in message.seeds}
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


def _move_all(states: dict[int, CrawlState], partitioner: HostPartitioner, shards: tuple[int, ...]) -> None:
    keys = np.unique(np.concatenate([state.frontier.seen_keys() for state in states.values()]))
    counted = sum(state.frontier.statistics().seen for state in states.values())
    for number, state in states.items():
        gone = [name for name in state.frontier.hosts() if partitioner.owner(name) != number]
        for host in state.frontier.export_hosts(gone):
            states[partitioner.owner(host.name)].frontier.import_hosts([host])
    for number, state in states.items():
        # URLs are known by their keys alone, which do not say whose they are: each shard knows them all from here on.
        state.frontier.set_seen(keys, len(keys) - counted if number == 0 else len(keys))
    _move_facts(states, partitioner)
    first = states[0]
    for number in set(states) - set(shards):
        _add_totals(first.totals, states[number].totals)
        states[number].totals = Totals()


def _move_facts(states: dict[int, CrawlState], partitioner: HostPartitioner) -> None:
    """Move what is known of hosts that have moved."""
    for number, state in states.items():

        def owner(key: str, number: int = number) -> CrawlState | None:
            found = partitioner.owner(_host_of(key))
            return states[found] if found != number else None

        state.robots.move_rules(owner)
        outlinks = state.outlinks
        _hand_over(outlinks.lists_of_host, owner, lambda other: other.outlinks.lists_of_host)
        _hand_over(outlinks.links_to_host, owner, lambda other: other.outlinks.links_to_host)
        _hand_over(state.pages_of_host, owner, lambda other: other.pages_of_host)
        _hand_over(outlinks.forms.state.hosts, owner, lambda other: other.outlinks.forms.state.hosts)
        for name in outlinks.traps.state.__struct_fields__:
            _hand_over(getattr(outlinks.traps.state, name), owner, partial(_traps_table, name))
    lists = set().union(*(state.outlinks.lists for state in states.values()))
    probes = {key: host for state in states.values() for key, host in state.outlinks.traps.state.probes.items()}
    for state in states.values():
        state.outlinks.lists.update(lists)
        state.outlinks.traps.state.probes.update(probes)


def _traps_table(name: str, state: CrawlState) -> dict[str, Any]:
    found: dict[str, Any] = getattr(state.outlinks.traps.state, name)
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
