"""The URLs that wait at each host, all of them counted: in its queue, for a second try, or on disk."""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush, nlargest
from pathlib import Path
from typing import Final

from periplus.frontier.host_state import Entry, Host
from periplus.frontier.spill_files import SpillFolder

__all__ = ["Queues"]

_ENTRY_BYTES: Final = 350
"""What a waiting URL takes in memory, about."""
_SPILL_SHARE: Final = 0.25
"""How much of the memory is freed at once."""


class Queues:
    """Puts URLs into the queues of hosts and takes them out again, and knows how many wait where."""

    def __init__(self, memory_mb: int, folder: Path | None) -> None:
        self._spill = SpillFolder(folder) if folder is not None else None
        self._most = memory_mb * 1_000_000 // _ENTRY_BYTES
        self._here = 0
        """URLs that wait in memory, and on disk."""
        self.there = 0
        self.waiting = 0
        """URLs of hosts that were not given up."""
        self.given_up = 0

    @property
    def on_disk(self) -> bool:
        """Whether there is a disk for what memory does not hold."""
        return self._spill is not None

    def push(self, host: Host, entry: Entry) -> None:
        """Let a URL wait."""
        heappush(host.queue, entry)
        self._here += 1
        self.waiting += not host.given_up

    def push_later(self, host: Host, entry: Entry, when: float) -> None:
        """Let a URL wait until a moment."""
        heappush(host.later, (when, entry))
        self._here += 1
        self.waiting += not host.given_up

    def pop(self, host: Host, now: float) -> Entry:
        """Take the best URL of a host that may be fetched now."""
        while host.later and host.later[0][0] <= now:
            heappush(host.queue, heappop(host.later)[1])
        while host.spilled and (not host.queue or host.spilled[0].falling < host.queue[0].falling):
            self._read_back(host)
        self._here -= 1
        self.waiting -= 1
        return heappop(host.queue)

    def give_up(self, host: Host) -> None:
        """Count a host's URLs no longer as waiting."""
        if not host.given_up:
            host.given_up = True
            self.given_up += 1
            self.waiting -= len(host)

    def revive(self, host: Host) -> None:
        """Count them again."""
        host.given_up = False
        self.given_up -= 1
        self.waiting += len(host)

    def count(self, hosts: Iterable[Host]) -> None:
        """Take over the hosts of a snapshot; raise `CorruptFile` when something of theirs on disk is damaged."""
        known = list(hosts)
        if self._spill is not None:
            self._spill.check(known)
        for host in known:
            self._add(host, 1)

    def discount(self, host: Host) -> list[Entry]:
        """Let go of a host; give all URLs that wait there."""
        while host.spilled:
            self._read_back(host)
        self._add(host, -1)
        return host.entries()

    def take_over(self, host: Host) -> None:
        """Take over one host that has nothing on disk."""
        self._add(host, 1)

    def _add(self, host: Host, sign: int) -> None:
        self.given_up += sign * host.given_up
        self.waiting += 0 if host.given_up else sign * len(host)
        self.there += sign * sum(chunk.urls for chunk in host.spilled)
        self._here += sign * (len(host.queue) + len(host.later))

    def replace(self, host: Host, keep: Callable[[list[Entry]], list[Entry]]) -> None:
        """Let only those wait that `keep` gives back of all that wait."""
        host.queue = keep(self.discount(host))
        host.later = []
        heapify(host.queue)
        self._add(host, 1)

    def limit(self, host: Host, most: int) -> None:
        """Send half of a queue that is longer than `most` to disk."""
        if len(host.queue) > most:
            self._spill_some(host, len(host.queue) // 2)

    def fit(self, hosts: Iterable[Host]) -> None:
        """When memory is full, send the least promising URLs of the longest queues to disk until a part is free."""
        if self._here <= self._most:
            return
        goal = int(self._most * (1 - _SPILL_SHARE))
        for host in nlargest(1_000, hosts, key=lambda host: len(host.queue)):
            if self._spill is None or self._here <= goal or len(host.queue) < 2:
                return
            self._spill_some(host, max(1, len(host.queue) // 4))

    def sync(self) -> None:
        """Make what is on disk durable, as a snapshot is about to name it."""
        if self._spill is not None:
            self._spill.sync()

    def close(self) -> None:
        """Let go of the spill file, where there is one."""
        if self._spill is not None:
            self._spill.close()

    def _spill_some(self, host: Host, kept: int) -> None:
        if self._spill is not None:
            moved = self._spill.spill(host, kept)
            self._here -= moved
            self.there += moved

    def _read_back(self, host: Host) -> None:
        assert self._spill is not None
        moved = self._spill.read_back(host)
        self._here += moved
        self.there -= moved
