"""Searches of snapshots: the same request gives the same answer, whatever became of the index since."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from periplus.records import Query, ResultPage
from periplus.search.pinning.snapshot_files import (
    Snapshot,
    choose_snapshot,
    read_snapshot,
    snapshot_settings,
    snapshots_folder,
)
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.search.searcher import Searcher

__all__ = ["PinnedSearchers", "as_answered", "as_asked"]

_MOST_OPEN: Final = 4
"""Snapshots that are open at a time."""
_NO_LIMIT_MS: Final = 600_000.0
"""Time for a query: its work limits it, which is the same on any machine, and its time does not."""

T = TypeVar("T")


class PinnedSearchers:
    """The searchers of some snapshots of a data folder, opened when they are first asked."""

    def __init__(
        self, folder: Path, settings: Settings, open_folder: "Callable[[Path, Settings, int], Searcher]"
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._open_folder = open_folder
        self._lock = threading.Lock()
        self._version = _version(folder)
        self._open: OrderedDict[tuple[str, float], Searcher] = OrderedDict()

    def changed(self) -> bool:
        """Return whether snapshots were made or removed since this was last asked."""
        before, self._version = self._version, _version(self._folder)
        return before != self._version

    def find(self, query: Query) -> "tuple[Snapshot, Searcher]":
        """Return the snapshot that a query names, or that is of the date that it names after '@', and its searcher.

        Raise `BadInput` if there is none.
        """
        name = query.snapshot
        named = choose_snapshot(self._folder, name[1:]) if name.startswith("@") else read_snapshot(self._folder, name)
        with self._lock:
            key = named.name, named.made
            searcher = self._open.get(key)
            if searcher is None:
                settings = snapshot_settings(named, self._settings)
                search = msgspec.structs.replace(settings.search, budget_ms=_NO_LIMIT_MS, popular_after=0)
                settings = msgspec.structs.replace(settings, search=search)
                searcher = self._open_folder(snapshots_folder(self._folder) / named.name, settings, named.today)
                self._open[key] = searcher
            self._open.move_to_end(key)
            while len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        return named, searcher


def _version(folder: Path) -> int:
    """Return what changes when a snapshot is made or removed."""
    try:
        return snapshots_folder(folder).stat().st_mtime_ns
    except OSError:
        return 0


def as_asked(snapshot: Snapshot, query: Query) -> Query:
    """Return a query as it is asked of a snapshot: on the day that it was made."""
    return msgspec.structs.replace(query, snapshot="", today=snapshot.today)


def as_answered(snapshot: Snapshot, query: Query, page: ResultPage) -> ResultPage:
    """Return the answer to a query without what differs from time to time, and with a note where a date was given.

    Its query says on which day it was asked: how old pages are is told as of that day.
    """
    notes = page.notes
    if query.snapshot.startswith("@") and snapshot.as_of != query.snapshot[1:]:
        notes = (f"From the snapshot {snapshot.name}, the last one up to {query.snapshot[1:]}.", *notes)
    query = msgspec.structs.replace(query, today=snapshot.today)
    return msgspec.structs.replace(page, query=query, seconds=0.0, timings=(), notes=notes)
