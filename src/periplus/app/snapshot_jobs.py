"""Make, list and remove snapshots of the index."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from periplus.app.disk_estimates import require_index_room
from periplus.app.jobs.index_queue import queue_for_index
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput, NothingHere
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.records import FetchRecord
    from periplus.search import Snapshot
    from periplus.store import PageStore

__all__ = ["SnapshotSize", "create_snapshot", "delete_snapshot", "snapshot_sizes"]


class SnapshotSize(msgspec.Struct, frozen=True):
    """A snapshot, and what it takes on disk."""

    snapshot: "Snapshot"
    bytes: int
    """Of its files."""
    own: int
    """Of those that nothing else has: what its removal frees."""


def create_snapshot(
    folder: Path, settings: Settings, name: str, as_of: str = "", wait: float = 60.0, observer: Observer = SILENT
) -> "Snapshot":
    """Keep the index as it is now under a name; with a date, build one of the versions that were current at its end.

    wait: how many seconds to queue for the index if another process writes to it.
    """
    from periplus.search import complete_snapshot, link_files, new_snapshot_folder

    data = DataFolder(open_data_folder(folder, create=False))
    end = _end_of_day(as_of) if as_of else 0.0
    with queue_for_index(folder, wait, "snapshot", observer), new_snapshot_folder(folder, name) as hidden:
        if as_of:
            compile_kernels(observer)
            require_index_room(folder, settings)
            _build_as_of(data, settings, hidden, end, observer)
        else:
            link_files(folder, hidden)
        return complete_snapshot(hidden, name, settings, time.time(), as_of)


def _end_of_day(date: str) -> float:
    import datetime

    try:
        day = datetime.datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=datetime.UTC)
    except ValueError:
        raise BadInput("This is not a date.", "Write it as 2026-05-01.") from None
    return (day + datetime.timedelta(days=1)).timestamp()


class _EarlierRecords:
    """A page store as it was at a time."""

    def __init__(self, store: "PageStore", end: float) -> None:
        self._store = store
        self._end = end
        self.folder = store.folder
        self.statistics = store.statistics

    def records(self, start: int = 0) -> "Iterator[FetchRecord]":
        """Yield the records of fetches before the time, in the order of the store."""
        return (record for record in self._store.records(start) if record.when < self._end)


def _build_as_of(data: DataFolder, settings: Settings, target: Path, end: float, observer: Observer) -> None:
    """Build graph and index of the versions that were current at a time; pages that were deleted since stay out."""
    from periplus.graph import Graph, build_graph, learn_synonyms
    from periplus.index import build_index, read_schema, write_schema
    from periplus.publish import DeletionList
    from periplus.store import PageStore

    with PageStore.open(data.store, settings.store) as store:
        earlier = _EarlierRecords(store, end)
        if next(iter(earlier.records()), None) is None:
            raise NothingHere("No page was fetched up to this date.", "Give a later date.")
        build_graph(cast("PageStore", earlier), target / "graph", settings.graph, observer.progress)
        graph = Graph.open(target / "graph")
        if settings.search.synonym_weight:
            learn_synonyms(graph, target / "graph")
        if schema := read_schema(data.index):
            write_schema(target / "index", schema)
        records = DeletionList(data.path).apply_to_records(earlier.records())
        build_index(records, target / "index", settings.index, graph, observer.progress)


def snapshot_sizes(folder: Path) -> list[SnapshotSize]:
    """Return all snapshots with their sizes, the oldest first."""
    from periplus.search import list_snapshots, snapshots_folder

    open_data_folder(folder, create=False)
    return [_measure(snapshot, snapshots_folder(folder) / snapshot.name) for snapshot in list_snapshots(folder)]


def _measure(snapshot: "Snapshot", folder: Path) -> SnapshotSize:
    states: list[Any] = [path.stat() for path in folder.rglob("*") if path.is_file()]
    own = sum(state.st_blocks * 512 for state in states if state.st_nlink == 1)
    return SnapshotSize(snapshot, sum(state.st_blocks * 512 for state in states), own)


def delete_snapshot(folder: Path, name: str) -> "Snapshot":
    """Remove a snapshot; raise `BadInput` if there is none of this name."""
    from periplus.search import remove_snapshot

    return remove_snapshot(open_data_folder(folder, create=False), name)
