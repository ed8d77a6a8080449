"""The statistics of a crawl, as shown to its operator."""

from collections import deque
from collections.abc import Sequence
from heapq import nlargest
from typing import Final

import msgspec

from periplus.crawl.inspection.cuts import Cut, sum_cuts
from periplus.crawl.inspection.host_view import HostRow
from periplus.frontier import Frontier

__all__ = ["WAITING", "CrawlStatistics", "RateMeter", "explain_wait", "idle_note", "sum_statistics"]

_WINDOW: Final = 10.0
_RECENT: Final = 5
_ROWS: Final = 20
_IDLE_SECONDS: Final = 1.0
"""Waits that are worth an explanation."""
WAITING: Final = "Nothing is being fetched: "
"""What the note begins with that says what is waited for."""


class CrawlStatistics(msgspec.Struct, frozen=True):
    """The statistics of a crawl."""

    pages: int
    """Pages stored, without duplicates, over all runs."""
    fetched: int
    """Finished requests, over all runs."""
    rate: float
    """Pages per second over the last few seconds."""
    errors: dict[str, int]
    """Requests without a page, by outcome, over all runs."""
    bytes: int
    waiting: int
    busy: int
    hosts: int
    seen: int
    seconds: float
    """Since the start of this run."""
    copies: int = 0
    given_up: int = 0
    """Suspended hosts: they do not answer, or have reached their limit."""
    recent: tuple[str, ...] = ()
    slowest: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    """Messages for the operator, such as that a snapshot had to be rebuilt."""
    held: int = 0
    """URLs held back: their regions have brought nothing new (`periplus crawl --held`)."""
    paused: str = ""
    """Why the crawl is paused, if a limit of disk space or memory is the reason."""
    behind: int = 0
    """URLs that wait at suspended hosts, and are not among those `waiting`."""
    cuts: tuple[Cut, ...] = ()
    """What limits keep from being fetched or read, with the settings of those limits."""
    host_rows: tuple[HostRow, ...] = ()
    """The hosts with most URLs."""
    under_way: tuple[tuple[str, float, int], ...] = ()
    """Requests in flight that take longest: URL, seconds, bytes received."""

    @property
    def idle(self) -> str:
        """What is waited for, if nothing is being fetched; one of the notes."""
        return idle_note(self.notes)


def idle_note(notes: Sequence[str]) -> str:
    """Return the note that says what is waited for, without its mark; '' if there is none."""
    return next((note.removeprefix(WAITING) for note in notes if note.startswith(WAITING)), "")


def explain_wait(frontier: Frontier, now: float) -> tuple[str, ...]:
    """Return what is waited for while nothing is in flight, such as the delay of the only host."""
    host = frontier.next_host()
    if host is None or (seconds := host.soonest() - now) < _IDLE_SECONDS:
        return ()
    delay = f", its Crawl-delay is {host.crawl_delay:,.0f} s" if host.crawl_delay >= _IDLE_SECONDS else ""
    failed = f", after {host.failures} failures" if host.failures else ""
    return (f"{WAITING}{len(host):,} URLs wait for {host.name}, next in {seconds:,.0f} s{delay}{failed}",)


def sum_statistics(parts: Sequence[CrawlStatistics]) -> CrawlStatistics:
    """Return the sum of the statistics of several processes of a crawl."""
    errors: dict[str, int] = {}
    for part in parts:
        for name, count in part.errors.items():
            errors[name] = errors.get(name, 0) + count
    summed = ("pages", "fetched", "bytes", "waiting", "busy", "hosts", "seen", "copies", "given_up", "held", "behind")
    numbers: dict[str, int] = {name: sum(getattr(part, name) for part in parts) for name in summed}
    slowest = sorted((pair for part in parts for pair in part.slowest), key=lambda pair: -pair[1])
    return CrawlStatistics(
        **numbers,
        rate=sum(part.rate for part in parts),
        errors=errors,
        seconds=max((part.seconds for part in parts), default=0.0),
        recent=tuple(url for part in parts for url in part.recent[-2:])[-_RECENT:],
        slowest=tuple(slowest[:_RECENT]),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        paused=next((part.paused for part in parts if part.paused), ""),
        cuts=sum_cuts(part.cuts for part in parts),
        host_rows=tuple(
            nlargest(_ROWS, (row for part in parts for row in part.host_rows), key=lambda row: row.waiting)
        ),
        under_way=tuple(nlargest(_ROWS, (row for part in parts for row in part.under_way), key=lambda row: row[1])),
    )


class RateMeter:
    """Measures the rate of pages."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=20_000)
        self.recent: deque[str] = deque(maxlen=_RECENT)

    def count(self, url: str, now: float) -> None:
        """Count a page."""
        self._times.append(now)
        self.recent.append(url)

    def rate(self, now: float, began: float) -> float:
        """Return pages per second of the last ten seconds, or since `began` if that is less."""
        while self._times and self._times[0] < now - _WINDOW:
            self._times.popleft()
        return len(self._times) / max(0.001, min(_WINDOW, now - began))
