"""Best first: of all hosts that may be contacted now, the one with the best URL, for a crawl with a topic.

An ordinary crawl contacts hosts in the order in which they became free, and uses crawl ranks within a host only, which
is fair to all. With a topic, hosts whose best URL promises too little are deferred, and are contacted only when no
other becomes free within a while. Every twentieth turn is theirs nevertheless: an unpromising page may lead somewhere.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

from periplus.frontier.host import SLOT_NAME, SLOT_RANK, SLOT_TIME, Host, Slot
from periplus.hashing import fingerprint_text

__all__ = ["BestFirst", "ReadyHeap", "raise_ranks"]

_MAX_RERANKED: Final = 2_000
"""Longest queue in which the ranks of entries are changed."""


class BestFirst(msgspec.Struct, frozen=True):
    """How a crawl with a topic chooses."""

    least: float
    """The crawl rank from which on a URL is promising."""
    patience: float
    """Seconds that a promising host is waited for before others are contacted."""

    def is_behind(self, host: Host) -> bool:
        """Return whether the best URL of a host promises too little."""
        return -host.best() < self.least


class ReadyHeap:
    """Hosts whose time has come, by the best rank that waits there."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, Slot]] = []

    def pop(self, slots: list[Slot], now: float, hosts: dict[str, Host]) -> Host | None:
        """Return the host with the best rank among those here and those of `slots` whose time has come."""
        while slots and slots[0][SLOT_TIME] <= now:
            slot = heappop(slots)
            heappush(self._heap, (slot[SLOT_RANK], slot))
        return hosts[heappop(self._heap)[1][SLOT_NAME]] if self.holds(hosts) else None

    def holds(self, hosts: dict[str, Host]) -> bool:
        """Return whether there is any; slots that hosts have left are removed."""
        heap = self._heap
        while heap:
            slot = heap[0][1]
            host = hosts.get(slot[SLOT_NAME])
            if host is not None and host.slot == slot:
                return True
            heappop(heap)
        return False


def raise_ranks(host: Host, ranks: Mapping[int, float]) -> bool:
    """Raise entries of a queue, by key, to better ranks; return whether any was. Very long queues stay as they are."""
    if len(host.queue) > _MAX_RERANKED:
        return False
    changed = False
    for number, entry in enumerate(host.queue):
        falling = -ranks.get(fingerprint_text(entry.url), -entry.falling)
        if falling < entry.falling:
            host.queue[number] = entry._replace(falling=falling)
            changed = True
    if changed:
        heapify(host.queue)
    return changed
