"""The figures of a frontier, for its operator."""

from collections.abc import Mapping
from heapq import nlargest
from typing import Final

import msgspec

from periplus.frontier.host import Host

__all__ = ["FrontierStatistics", "SlowestHosts"]

_MOST: Final = 1_024
"""Hosts that are followed."""


class FrontierStatistics(msgspec.Struct, frozen=True):
    """The figures of a frontier."""

    waiting: int
    """URLs of hosts that are not suspended."""
    busy: int
    """Requests in flight."""
    hosts: int
    seen: int
    """URLs ever added."""
    retries: int
    given_up: int
    """Suspended hosts: they do not answer, or have reached their share of pages."""
    dropped: int = 0
    """URLs that were refused because the queue of their host was full."""
    deferred: int = 0
    """Hosts that wait behind others: over their budget or their share."""
    spilled: int = 0
    """URLs on disk."""
    held: int = 0
    """URLs that are held back: their regions have brought nothing new."""
    behind: int = 0
    """URLs of suspended hosts."""


class SlowestHosts:
    """Follows a bounded number of slow hosts; no host that it does not follow is slower than one that it does."""

    def __init__(self, hosts: Mapping[str, Host]) -> None:
        self._hosts = hosts
        self._seconds: dict[str, float] = {}
        self._fastest = 0.0
        """No host that is not followed took longer."""

    def update(self, host: Host) -> None:
        """Note how long the last response of a host took."""
        if host.elapsed < self._fastest:
            self._seconds.pop(host.name, None)
            return
        self._seconds[host.name] = host.elapsed
        if len(self._seconds) > _MOST:
            self._follow(self._seconds)

    def scan(self) -> None:
        """Look at all hosts: at the start, and when nearly all that were followed have become fast."""
        self._fastest = 0.0
        self._follow({name: host.elapsed for name, host in self._hosts.items()})

    def top(self, count: int) -> list[tuple[str, float]]:
        """Return the hosts whose last response took longest, with its seconds."""
        for name in [name for name in self._seconds if name not in self._hosts]:
            del self._seconds[name]
        if len(self._seconds) < min(count, len(self._hosts)):
            self.scan()
        return nlargest(count, self._seconds.items(), key=lambda pair: pair[1])

    def _follow(self, seconds: dict[str, float]) -> None:
        """Follow the slower half of what may be followed."""
        if len(seconds) > _MOST:
            slow = nlargest(_MOST // 2, seconds.items(), key=lambda pair: pair[1])
            self._fastest = slow[-1][1]
            seconds = dict(slow)
        self._seconds = seconds
