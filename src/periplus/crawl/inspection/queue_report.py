"""What waits at a host, and why: from the last snapshot, without disturbing a crawl that runs."""

import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.inspection.url_lookup import load_frontier, read_snapshots
from periplus.errors import BadUrl, NothingHere, PeriplusError
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["HostQueue", "QueuedUrl", "host_queue"]

_MAX_URLS: Final = 1_000


class QueuedUrl(msgspec.Struct, frozen=True):
    """One URL that waits."""

    url: str
    rank: float
    depth: int
    attempt: int


class HostQueue(msgspec.Struct, frozen=True):
    """The queue of one host at the time of the last snapshot."""

    host: str
    state: str
    """'empty', 'scheduled', 'deferred', 'blocked', 'in_flight', 'reserved', 'suspended' or 'suspended_reserved'."""
    waiting: int
    on_disk: int
    next_seconds: float
    """Until the next request."""
    crawl_delay: float
    failures: int
    urls: tuple[QueuedUrl, ...]
    """The next ones, best first; those on disk are not listed."""


def host_queue(folder: Path, settings: Settings, name: str, count: int = 20) -> HostQueue:
    """Return the queue of a host with its `count` next URLs; raise `NothingHere` if the host is unknown."""
    host_name = _host_of(name)
    for directory, snapshot in read_snapshots(folder):
        try:
            frontier = load_frontier(directory, snapshot, settings)
        except PeriplusError:
            continue  # a running crawl has changed the files meanwhile
        frontier.close()
        host = frontier.host(host_name)
        if host is not None:
            best = sorted(host.entries())[: min(count, _MAX_URLS)]
            return HostQueue(
                host.name,
                host.state.name.lower(),
                len(host),
                sum(chunk.urls for chunk in host.spilled),
                max(0.0, host.next_time - time.time()),
                host.crawl_delay,
                host.failures,
                tuple(QueuedUrl(entry.url, -entry.falling, entry.depth, entry.attempt) for entry in best),
            )
    raise NothingHere(f"The crawl in {folder} does not know the host '{host_name}'.", "See: periplus crawl --status.")


def _host_of(name: str) -> str:
    try:
        return parse_address(name if "://" in name else f"http://{name}/").host
    except BadUrl:
        return name.lower()
