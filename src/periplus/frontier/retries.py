"""Attempts: whether a URL is tried again after a failure, live and when recovery replays records."""

from collections.abc import Iterable, Set
from typing import Final

from periplus.frontier.host import Entry, Host
from periplus.frontier.politeness import RETRYABLE, UNREACHABLE
from periplus.records import Outcome
from periplus.settings import FrontierSettings

__all__ = ["AttemptLog", "attempt_mark", "next_attempt"]

_ENDED: Final = "e"
_RETRY: Final = "a"
_UNREACHED: Final = "u"


def attempt_mark(host: Host, outcome: Outcome, settings: FrontierSettings) -> str:
    """Return one letter for how an attempt ended: for good, to be retried, or in vain because of the whole host."""
    if outcome in UNREACHABLE and host.failures > settings.retries:
        return _UNREACHED
    return _RETRY if outcome in RETRYABLE else _ENDED


def next_attempt(entry: Entry, mark: str, retries: int) -> Entry | None:
    """Return the entry of the next attempt, or None if there is to be none."""
    if mark != _ENDED and entry.attempt < retries:
        return entry._replace(attempt=entry.attempt + 1)
    # That a host cannot be reached says nothing about a page: no URL is lost for it, however long it lasts. It waits
    # behind all others, because it may be one port that refuses and not the host.
    return entry.behind()._replace(attempt=0) if mark == _UNREACHED else None


class AttemptLog:
    """How each URL was tried since the snapshot, by host."""

    def __init__(self) -> None:
        self._marks: dict[str, dict[str, str]] = {}

    def record(self, host: Host, url: str, outcome: Outcome, settings: FrontierSettings) -> None:
        """Record one more attempt."""
        marks = self._marks.setdefault(host.name, {})
        marks[url] = marks.get(url, "") + attempt_mark(host, outcome, settings)

    def __contains__(self, name: str) -> bool:
        return name in self._marks

    def tried(self, name: str) -> Set[str]:
        """Return the URLs of a host that were tried."""
        return self._marks.get(name, {}).keys()

    def remaining(self, name: str, retries: int, entries: Iterable[Entry]) -> list[Entry]:
        """Return the entries of a host that are still to be fetched, with their attempts counted."""
        marks = self._marks.get(name, {})
        left = (_after(entry, marks.get(entry.url, ""), retries) for entry in entries)
        return [entry for entry in left if entry is not None]


def _after(entry: Entry | None, marks: str, retries: int) -> Entry | None:
    for mark in marks:
        entry = None if entry is None else next_attempt(entry, mark, retries)
    return entry
