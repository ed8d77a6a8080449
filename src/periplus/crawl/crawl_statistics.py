"""How a crawl is doing, for people who watch it."""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["CrawlStatistics", "Meter", "sum_statistics"]

_WINDOW: Final = 10.0
_RECENT: Final = 5


class CrawlStatistics(msgspec.Struct, frozen=True):
    """How a crawl is doing."""

    pages: int
    """Pages stored, copies not counted, over all runs."""
    fetched: int
    """Requests that ended, over all runs."""
    rate: float
    """Pages a second over the last few seconds."""
    errors: dict[str, int]
    """Requests that brought no page, by outcome, over all runs."""
    bytes: int
    waiting: int
    busy: int
    hosts: int
    seen: int
    seconds: float
    """Since this run began."""
    copies: int = 0
    given_up: int = 0
    """Hosts left alone for now: they do not answer, or have had their share."""
    recent: tuple[str, ...] = ()
    slowest: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know, such as a snapshot that had to be made again."""


def sum_statistics(parts: Sequence[CrawlStatistics]) -> CrawlStatistics:
    """Add up how several processes of one crawl are doing."""
    errors: dict[str, int] = {}
    for one in parts:
        for name, count in one.errors.items():
            errors[name] = errors.get(name, 0) + count
    summed = ("pages", "fetched", "bytes", "waiting", "busy", "hosts", "seen", "copies", "given_up")
    numbers: dict[str, int] = {name: sum(getattr(one, name) for one in parts) for name in summed}
    slowest = sorted((pair for one in parts for pair in one.slowest), key=lambda pair: -pair[1])
    return CrawlStatistics(
        **numbers,
        rate=sum(one.rate for one in parts),
        errors=errors,
        seconds=max((one.seconds for one in parts), default=0.0),
        recent=tuple(url for one in parts for url in one.recent[-2:])[-_RECENT:],
        slowest=tuple(slowest[:_RECENT]),
        notes=tuple(dict.fromkeys(note for one in parts for note in one.notes)),
    )


class Meter:
    """Remembers the last pages, to say how fast they come."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=20_000)
        self.recent: deque[str] = deque(maxlen=_RECENT)

    def count(self, url: str, now: float) -> None:
        """Take note of a page."""
        self._times.append(now)
        self.recent.append(url)

    def rate(self, now: float, began: float) -> float:
        """Give the pages a second of the last ten seconds, or since the run began if that is less."""
        while self._times and self._times[0] < now - _WINDOW:
            self._times.popleft()
        return len(self._times) / max(0.001, min(_WINDOW, now - began))
