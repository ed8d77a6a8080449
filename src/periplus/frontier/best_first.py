"""Best first: of all hosts that may be asked now, the one with the best URL, as a crawl with a topic wants it.

An ordinary crawl asks hosts in the order in which they became free, and only within a host by rank: that is fair to
all. With a topic, hosts whose best URL promises too little wait behind the others, and only when no other becomes free
within a while are they asked. Every twentieth turn is theirs all the same: what looks dull may lead somewhere.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec

from periplus.frontier.host_state import Host, Place
from periplus.hashing import fingerprint_text

__all__ = ["BestFirst", "Ripe", "lift_queue", "pop_time", "prune"]

_LIFTED: Final = 2_000
"""Longest queue in which ranks of waiting URLs are changed."""


class BestFirst(msgspec.Struct, frozen=True):
    """How a crawl with a topic chooses."""

    least: float
    """The crawl rank from which on a URL is promising."""
    patience: float
    """Seconds that a promising host is waited for before others are asked."""

    def is_behind(self, host: Host) -> bool:
        """Tell whether the best that waits at a host promises too little."""
        return -host.best() < self.least


class Ripe:
    """Hosts whose time has come, by the best rank that waits there."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, Place]] = []

    def pop(self, times: list[Place], now: float, hosts: dict[str, Host]) -> Host | None:
        """Give the host with the best rank of those here and in the heap `times` whose time has come, None if none."""
        while times and times[0][0] <= now:
            place = heappop(times)
            heappush(self._heap, (place[1], place))
        return hosts[heappop(self._heap)[1][3]] if self.holds(hosts) else None

    def holds(self, hosts: dict[str, Host]) -> bool:
        """Tell whether there is any; places that hosts have left are forgotten."""
        heap = self._heap
        while heap and (heap[0][1][3] not in hosts or hosts[heap[0][1][3]].ready != heap[0][1]):
            heappop(heap)
        return bool(heap)


def pop_time(heap: list[Place], now: float, hosts: dict[str, Host]) -> Host | None:
    """Give the host that has been ready for longest, None when the time of none has come."""
    while heap and heap[0][0] <= now:
        place = heappop(heap)
        if hosts[place[3]].ready == place:
            return hosts[place[3]]
    return None


def prune(heap: list[Place], hosts: dict[str, Host]) -> None:
    """Forget places that hosts have left, as far as they are in front."""
    while heap and hosts[heap[0][3]].ready != heap[0]:
        heappop(heap)


def lift_queue(host: Host, wanted: Mapping[int, float]) -> bool:
    """Raise URLs of a queue, by key, to better ranks; tell whether any was. Very long queues stay as they are."""
    if len(host.queue) > _LIFTED:
        return False
    changed = False
    for place, entry in enumerate(host.queue):
        falling = -wanted.get(fingerprint_text(entry.url), -entry.falling)
        if falling < entry.falling:
            host.queue[place] = entry._replace(falling=falling)
            changed = True
    if changed:
        heapify(host.queue)
    return changed
