"""The queues of all hosts: entries in memory, retries, chunks on disk; and how many URLs wait where."""

from collections.abc import Callable, Iterable, Iterator, Set
from heapq import heapify, heappop, heappush, nlargest
from pathlib import Path
from typing import Final

from periplus.frontier.host import Entry, Host, origin_of
from periplus.frontier.host_states import HostState
from periplus.frontier.spill_files import SpillFolder
from periplus.hashing import fingerprint_text

__all__ = ["HostQueues"]

_ENTRY_BYTES: Final = 350
"""Memory that an entry takes, approximately."""
_SPILL_SHARE: Final = 0.25
"""The part of the memory that is freed at once."""
_MAX_HELD: Final = 256
"""Entries of a host that are held back in memory; more are on disk."""
_SUSPENDED: Final = HostState.SUSPENDED


class HostQueues:
    """Adds entries to the queues of hosts and removes them, and counts them."""

    def __init__(self, memory_mb: int, folder: Path | None) -> None:
        self._spill = SpillFolder(folder) if folder is not None else None
        self._max_in_memory = memory_mb * 1_000_000 // _ENTRY_BYTES
        self._in_memory = 0
        self.on_disk_urls = 0
        self.waiting = 0
        """URLs of hosts that are not suspended."""
        self.suspended = 0
        """Suspended hosts."""
        self.behind = 0
        """URLs of suspended hosts."""
        self.held: dict[str, int] = {}
        """By host, URLs that are held back."""

    @property
    def on_disk(self) -> bool:
        """Whether entries may be moved to disk."""
        return self._spill is not None

    def push(self, host: Host, entry: Entry) -> None:
        """Add an entry to the queue of a host."""
        heappush(host.queue, entry)
        self._in_memory += 1
        if host.state < _SUSPENDED:
            self.waiting += 1
        else:
            self.behind += 1

    def push_later(self, host: Host, entry: Entry, when: float) -> None:
        """Add an entry that is not to be fetched before `when`."""
        heappush(host.later, (when, entry))
        self._in_memory += 1
        self._add_waiting(host, 1)

    def _add_waiting(self, host: Host, count: int) -> None:
        if host.state < _SUSPENDED:
            self.waiting += count
        else:
            self.behind += count

    def pop(self, host: Host, now: float) -> Entry:
        """Remove and return the best entry of a host that may be fetched now."""
        while host.later and host.later[0][0] <= now:
            heappush(host.queue, heappop(host.later)[1])
        while host.spilled and (not host.queue or host.spilled[0].falling < host.queue[0].falling):
            self._read_back(host)
        self._in_memory -= 1
        self.waiting -= 1
        return heappop(host.queue)

    def find_waiting(self, host: Host, urls: Set[str]) -> set[str]:
        """Return those of some URLs that wait at a host, on disk and for a retry too, or are in flight."""
        found = {entry.url for entry in host.entries() if entry.url in urls}
        if host.in_flight is not None and host.in_flight.url in urls:
            found.add(host.in_flight.url)
        keys = {fingerprint_text(url) for url in urls - found}
        for chunk in host.spilled:
            assert self._spill is not None
            if self._spill.holds_any(chunk, keys):
                found.update(entry.url for entry in self._spill.peek(chunk) if entry.url in urls)
        return found

    def hold(self, host: Host, entry: Entry) -> None:
        """Hold an entry back: it no longer waits."""
        host.held.append(entry)
        self._count_held(host, 1)
        if len(host.held) >= _MAX_HELD:
            self._spill_held(host)

    def release(self, host: Host, wanted: Callable[[str], bool], most: int, urls: Set[str] | None = None) -> list[str]:
        """Return up to `most` entries whose URLs are wanted to the queue of their host; return their URLs.

        What is in memory comes first, then what was written to disk last; if `urls` are all that can be wanted, chunks
        without any of them are not read.
        """
        chosen = self._choose(host, wanted, most)
        keys = {fingerprint_text(url) for url in urls} if urls is not None else None
        for chunk in reversed(host.held_chunks[:]):
            if len(chosen) >= most:
                break
            assert self._spill is not None
            if keys is not None and not self._spill.holds_any(chunk, keys):
                continue
            if any(wanted(entry.url) for entry in self._spill.peek(chunk)):
                host.held_chunks.remove(chunk)
                host.held += self._spill.take(chunk)
                chosen += self._choose(host, wanted, most - len(chosen))
        if len(host.held) >= 2 * _MAX_HELD:
            self._spill_held(host)
        self._count_held(host, -len(chosen))
        for entry in chosen:
            self.push(host, entry)
        return [entry.url for entry in chosen]

    def held_urls(self, host: Host) -> Iterator[str]:
        """Yield the URLs of a host that are held back, on disk too."""
        yield from [entry.url for entry in host.held]
        for chunk in host.held_chunks:
            assert self._spill is not None
            yield from [entry.url for entry in self._spill.peek(chunk)]

    def _choose(self, host: Host, wanted: Callable[[str], bool], most: int) -> list[Entry]:
        """Remove up to `most` entries in memory that are wanted from those held back; return them."""
        chosen: list[Entry] = []
        others: list[Entry] = []
        for entry in host.held:
            (chosen if len(chosen) < most and wanted(entry.url) else others).append(entry)
        host.held = others
        return chosen

    def _count_held(self, host: Host, change: int) -> None:
        count = self.held.get(host.name, 0) + change
        if count > 0:
            self.held[host.name] = count
        else:
            self.held.pop(host.name, None)

    def _spill_held(self, host: Host) -> None:
        if self._spill is not None:
            host.held_chunks.append(self._spill.put(host.held))
            host.held = []

    def _read_held(self, host: Host) -> None:
        """Read back what is held of a host on disk."""
        for chunk in host.held_chunks:
            assert self._spill is not None
            host.held += self._spill.take(chunk)
        host.held_chunks = []

    def pause_origin(self, host: Host, origin: str, until: float) -> bool:
        """Move the URLs of one port of a host behind `until`; return False, and move none, if no other port waits."""
        same = [entry for entry in host.queue if origin_of(entry.url) == origin]
        if len(same) == len(host.queue):
            return False
        for entry in same:
            heappush(host.later, (until, entry))
        host.queue = [entry for entry in host.queue if origin_of(entry.url) != origin]
        heapify(host.queue)
        return True

    def exclude(self, host: Host) -> None:
        """Count the URLs of a host that is about to be suspended no longer as waiting."""
        self.suspended += 1
        self.waiting -= len(host)
        self.behind += len(host)

    def include(self, host: Host) -> None:
        """Count the URLs of a host that is about to be revived as waiting."""
        self.suspended -= 1
        self.waiting += len(host)
        self.behind -= len(host)

    def load(self, hosts: Iterable[Host]) -> None:
        """Count the hosts of a snapshot; raise `CorruptFile` if one of their chunks on disk is damaged."""
        loaded = list(hosts)
        if self._spill is not None:
            self._spill.check(loaded)
        for host in loaded:
            self._count(host, 1)

    def remove(self, host: Host) -> list[Entry]:
        """Stop counting a host; return all its entries, those on disk included."""
        while host.spilled:
            self._read_back(host)
        self._read_held(host)
        self._count(host, -1)
        return host.entries()

    def add(self, host: Host) -> None:
        """Count a host that has nothing on disk."""
        self._count(host, 1)

    def _count(self, host: Host, sign: int) -> None:
        self.suspended += sign * host.is_suspended()
        self._add_waiting(host, sign * len(host))
        self.on_disk_urls += sign * sum(chunk.urls for chunk in host.spilled)
        self._in_memory += sign * (len(host.queue) + len(host.later))
        held = len(host.held) + sum(chunk.urls for chunk in host.held_chunks)
        if held and sign > 0:
            self.held[host.name] = held
        else:
            self.held.pop(host.name, None)

    def replace(self, host: Host, select: Callable[[list[Entry]], list[Entry]]) -> None:
        """Replace all entries of a host by those that `select` returns of them."""
        host.queue = select(self.remove(host))
        host.later = []
        heapify(host.queue)
        self._count(host, 1)

    def limit(self, host: Host, max_entries: int) -> None:
        """Move half of a queue that is longer than `max_entries` to disk."""
        if len(host.queue) > max_entries:
            self._spill_rest(host, len(host.queue) // 2)

    def fit(self, hosts: Iterable[Host]) -> None:
        """If memory is full, move the worst entries of the longest queues to disk until a part is free."""
        if self._in_memory <= self._max_in_memory:
            return
        goal = int(self._max_in_memory * (1 - _SPILL_SHARE))
        for host in nlargest(1_000, hosts, key=lambda host: len(host.queue)):
            if self._spill is None or self._in_memory <= goal or len(host.queue) < 2:
                return
            self._spill_rest(host, max(1, len(host.queue) // 4))

    def sync(self) -> None:
        """Make the chunks on disk durable before a snapshot names them."""
        if self._spill is not None:
            self._spill.sync()

    def close(self) -> None:
        """Close the spill file, if there is one."""
        if self._spill is not None:
            self._spill.close()

    def _spill_rest(self, host: Host, keep: int) -> None:
        if self._spill is not None:
            moved = self._spill.spill(host, keep)
            self._in_memory -= moved
            self.on_disk_urls += moved

    def _read_back(self, host: Host) -> None:
        assert self._spill is not None
        moved = self._spill.read_back(host)
        self._in_memory += moved
        self.on_disk_urls -= moved
