"""Why a host is left alone for the rest of a run: limits of pages, bytes, requests a day, an absurd Crawl-delay,
or that the operator has blocked it.
"""

import enum
from collections.abc import Sequence
from typing import Final

import msgspec

from periplus.crawl.hosts.blocked_hosts import BlockedHosts
from periplus.crawl.inspection.cuts import CutKind, WaitingCounts
from periplus.crawl.policies.host_table import HostTable
from periplus.frontier import Frontier
from periplus.records import FetchRecord, Outcome
from periplus.settings import Settings

__all__ = ["Hold", "HostLimits", "HostUsage"]

_DAY: Final = 86_400
_MAX_NAMED: Final = 5
_MAX_HELD: Final = 100_000
"""Held hosts that are remembered, to be named."""


class Hold(enum.StrEnum):
    """Why a host is held back, with the setting that says so."""

    PAGES = "crawl.host_pages"
    BYTES = "crawl.host_bytes"
    DAY = "crawl.host_requests_per_day"
    CRAWL_DELAY = "frontier.max_crawl_delay"
    BLOCKED = "blocked hosts"


CUTS: Final = {
    Hold.PAGES: CutKind.HOST_PAGES,
    Hold.BYTES: CutKind.HOST_BYTES,
    Hold.DAY: CutKind.HOST_DAY,
    Hold.CRAWL_DELAY: CutKind.CRAWL_DELAY,
    Hold.BLOCKED: CutKind.BLOCKED,
}
_REASONS: Final = {
    Hold.PAGES: "reached the limit of pages",
    Hold.BYTES: "reached the limit of bytes",
    Hold.DAY: "used up the requests of today",
    Hold.CRAWL_DELAY: "asks for a longer Crawl-delay than is waited for, and is parked",
    Hold.BLOCKED: "was blocked by the operator",
}


class HostUsage(msgspec.Struct, array_like=True):
    """What was fetched from one host, where a limit needs it."""

    bytes: int = 0
    day: int = 0
    """Days since 1970."""
    requests: int = 0
    """On that day."""


class HostLimits:
    """Counts what hosts have used, and decides which of them are held back."""

    def __init__(self, settings: Settings, table: HostTable, usage: dict[str, HostUsage] | None = None) -> None:
        self._crawl, self._max_crawl_delay = settings.crawl, settings.frontier.max_crawl_delay
        self._obeys_crawl_delay = settings.frontier.max_delay > 0
        self._table, self._has_sections = table, bool(table)
        sections = settings.host.values()
        self._counts_bytes = self._crawl.host_bytes > 0 or any(section.bytes for section in sections)
        self._counts_days = self._crawl.host_requests_per_day > 0 or any(section.per_day for section in sections)
        self.usage: dict[str, HostUsage] = usage if usage is not None else {}
        self.held: dict[str, Hold] = {}
        """Hosts that were held back in this run, and why."""
        self._waiting = WaitingCounts()
        self.blocked = BlockedHosts()

    def count(self, record: FetchRecord, host: str) -> None:
        """Count a request, if a limit needs it; one that was not sent does not count."""
        if not (self._counts_bytes or self._counts_days) or record.outcome is Outcome.ROBOTS:
            return
        usage = self.usage.get(host)
        if usage is None:
            usage = self.usage[host] = HostUsage()
        usage.bytes += record.bytes
        day = int(record.when) // _DAY
        if day != usage.day:
            usage.day, usage.requests = day, 0
        usage.requests += 1

    def crawl_delay(self, delay: float | None) -> float | None:
        """Return the Crawl-delay to apply: none if it is absurd, since its host is parked at its next turn."""
        return None if delay is not None and delay > self._max_crawl_delay else delay

    def holds(self, host: str, pages: int, crawl_delay: float | None, now: float) -> bool:
        """Return whether a host with so many pages is left alone for the rest of this run."""
        hold = self._reason(host, pages, crawl_delay, now)
        if hold is not None and (host in self.held or len(self.held) < _MAX_HELD):
            self.held[host] = hold
        return hold is not None

    def read_blocked(self) -> bool:
        """Read again which hosts are blocked; return whether others are now."""
        if not self.blocked.read_again():
            return False
        self.held = {host: why for host, why in self.held.items() if why is not Hold.BLOCKED}
        return True

    def _reason(self, host: str, pages: int, crawl_delay: float | None, now: float) -> Hold | None:
        if self.blocked.covers(host):
            return Hold.BLOCKED
        own = self._table.find(host) if self._has_sections else None
        if pages >= ((own.pages if own is not None else 0) or self._crawl.host_pages):
            return Hold.PAGES
        if self._obeys_crawl_delay and crawl_delay is not None and crawl_delay > self._max_crawl_delay:
            return Hold.CRAWL_DELAY
        usage = self.usage.get(host)
        if usage is None:
            return None
        max_bytes = (own.bytes if own is not None else 0) or self._crawl.host_bytes
        if 0 < max_bytes <= usage.bytes:
            return Hold.BYTES
        per_day = (own.per_day if own is not None else 0) or self._crawl.host_requests_per_day
        if 0 < per_day <= usage.requests and usage.day == int(now) // _DAY:
            return Hold.DAY
        return None

    def waiting(self, frontier: Frontier, now: float, *, anew: bool = True) -> dict[CutKind, tuple[int, Sequence[str]]]:
        """Return the URLs that wait at suspended hosts, and the hosts, by the limit that they have reached."""

        def count(name: str) -> int:
            host = frontier.host(name)
            return len(host) if host is not None and host.is_suspended() else 0

        def find_hosts() -> dict[str, CutKind]:
            return {name: CUTS[hold] for name, hold in self.held.items()}

        counts = dict(self._waiting.count(find_hosts, count, now, anew=anew))
        behind = frontier.statistics().behind - sum(urls for urls, _ in counts.values())
        return {**counts, CutKind.NO_ANSWER: (max(0, behind), ())}

    def notes(self) -> list[str]:
        """Return a sentence for each reason, with the hosts that it concerns."""
        by_reason: dict[Hold, list[str]] = {}
        for host, hold in self.held.items():
            by_reason.setdefault(hold, []).append(host)
        return [_note(hold, hosts) for hold, hosts in by_reason.items()]


def _note(hold: Hold, hosts: list[str]) -> str:
    more = f" and {len(hosts) - _MAX_NAMED:,} more" if len(hosts) > _MAX_NAMED else ""
    return f"Held back, because it {_REASONS[hold]} ({hold.value}): {', '.join(hosts[:_MAX_NAMED])}{more}."
