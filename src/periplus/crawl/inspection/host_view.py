"""A table of hosts for the operator: those with most URLs, what they do, and when they are contacted next."""

from collections.abc import Mapping
from heapq import nlargest
from typing import Final

import msgspec

from periplus.frontier import Frontier, Host

__all__ = ["HostRow", "HostView", "make_row"]

_ROWS: Final = 20
_HOSTS_A_SECOND: Final = 20_000
"""Hosts that are looked at in a second of a crawl."""


class HostRow(msgspec.Struct, frozen=True):
    """One host of a crawl."""

    host: str
    state: str
    """As in `periplus crawl --queue`: 'scheduled', 'in_flight', 'deferred', 'blocked', 'suspended', 'empty' ..."""
    waiting: int
    fetched: int
    """Pages stored."""
    errors: int
    """Requests without a page."""
    held: int
    """URLs that are held back."""
    next_seconds: float
    """Until it may be contacted again."""
    delay: float
    """Between two requests, in seconds."""
    failures: int
    """In a row."""


class HostView:
    """The hosts with most URLs, chosen again at intervals that grow with the number of hosts."""

    def __init__(self) -> None:
        self._next = 0.0
        self._names: list[str] = []

    def rows(
        self, frontier: Frontier, pages: Mapping[str, int], errors: Mapping[str, int], now: float
    ) -> tuple[HostRow, ...]:
        """Return a row for each host, those with most URLs first."""
        names = frontier.hosts() if now >= self._next else self._names
        if now >= self._next:
            self._next = now + len(names) / _HOSTS_A_SECOND
        found = [host for name in names if (host := frontier.host(name)) is not None]
        best = nlargest(_ROWS, found, key=lambda host: (len(host), host.in_flight is not None, host.next_time))
        self._names = [host.name for host in best]
        return tuple(make_row(frontier, host, pages, errors, now) for host in best)


def make_row(
    frontier: Frontier, host: Host, pages: Mapping[str, int], errors: Mapping[str, int], now: float
) -> HostRow:
    """Return the row of one host."""
    return HostRow(
        host.name,
        host.state.name.lower(),
        len(host),
        pages.get(host.name, 0),
        errors.get(host.name, 0),
        len(host.held) + sum(chunk.urls for chunk in host.held_chunks),
        round(max(0.0, host.next_time - now), 3),
        round(frontier.delays.seconds(host), 3),
        host.failures,
    )
