"""Tries: whether a URL is tried again after a failure, live and when recovery counts the visits after a snapshot."""

from collections.abc import Iterable
from typing import Final

from periplus.frontier.host_state import Entry, Host
from periplus.frontier.politeness import RETRYABLE, UNREACHABLE
from periplus.records import Outcome
from periplus.settings import FrontierSettings

__all__ = ["Tries", "mark_of", "tried"]

_ENDED: Final = "e"
_AGAIN: Final = "a"
_UNREACHED: Final = "u"


def mark_of(host: Host, outcome: Outcome, settings: FrontierSettings) -> str:
    """Give one letter for how a try ended: for good, to be repeated, or in vain, as for the whole host."""
    if outcome in UNREACHABLE and host.failures > settings.retries:
        return _UNREACHED
    return _AGAIN if outcome in RETRYABLE else _ENDED


def tried(entry: Entry, mark: str, retries: int) -> Entry | None:
    """Give what is left to do after a try of `entry`: the same once more, or None."""
    if mark != _ENDED and entry.attempt < retries:
        return entry._replace(attempt=entry.attempt + 1)
    # That a host cannot be reached says nothing about a page: no URL is lost for it, however long it lasts. It waits
    # behind all others, because it may be one port that refuses and not the host.
    return entry.behind()._replace(attempt=0) if mark == _UNREACHED else None


class Tries:
    """How each URL was tried since the snapshot, by host."""

    def __init__(self) -> None:
        self._marks: dict[str, dict[str, str]] = {}

    def note(self, host: Host, url: str, outcome: Outcome, settings: FrontierSettings) -> None:
        """Count one more try."""
        marks = self._marks.setdefault(host.name, {})
        marks[url] = marks.get(url, "") + mark_of(host, outcome, settings)

    def __contains__(self, name: str) -> bool:
        return name in self._marks

    def left(self, name: str, retries: int, entries: Iterable[Entry]) -> list[Entry]:
        """Give the entries of a host that are still to be fetched, with their tries counted."""
        marks = self._marks.get(name, {})
        found = (_after(entry, marks.get(entry.url, ""), retries) for entry in entries)
        return [entry for entry in found if entry is not None]


def _after(entry: Entry | None, marks: str, retries: int) -> Entry | None:
    for mark in marks:
        entry = None if entry is None else tried(entry, mark, retries)
    return entry
