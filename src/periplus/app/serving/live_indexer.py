"""Index pages while a crawl stores them, and rank all of them again from time to time."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.disk_estimates import merge_permission, require_index_room
from periplus.app.observer import Observer
from periplus.errors import DataError, NothingHere, PeriplusError
from periplus.files import DataFolder
from periplus.health import part, share_health
from periplus.limits import DiskLimit
from periplus.settings import Settings
from periplus.supervision import supervise_once
from periplus.writer_queue import is_awaited, queue_for_lock

if TYPE_CHECKING:
    from periplus.index import BuildStatistics, LiveIndex
    from periplus.publish import Inbox
    from periplus.records import FetchRecord

__all__ = ["RecordFilter", "index_forever"]

_POLL_SECONDS: Final = 0.2
"""How often the store is checked for new pages."""
_RETRY_SECONDS: Final = 5.0
_QUEUE_SECONDS: Final = 3600.0
"""How long to wait for a build."""
_IDLE_FACTOR: Final = 10
"""After all pages were ranked again, the pause is at least this many times as long as that took."""


RecordFilter = Callable[[Iterable["FetchRecord"]], Iterator["FetchRecord"]]
"""Yields a record for each that it is given, those of pages that are not to be indexed as pages that are gone."""


CollectionSource = Callable[[], "BuildStatistics | None"]
"""Returns the statistics of the collection that an index is a part of, as they are now; None if it is all of it."""


def index_forever(
    folder: Path,
    settings: Settings,
    every: float,
    observer: Observer,
    select: RecordFilter = iter,
    collection: CollectionSource = lambda: None,
) -> None:
    """Index new pages of the store and the inbox until this process ends; rank all again `every` so many seconds.

    All pages are indexed again with new statistics of the collection, too.
    """
    from periplus.publish import Inbox, PublicationStore

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox, reporter = Inbox(folder), part("indexer")
    with share_health(folder):
        while True:
            try:
                _index_until_awaited(DataFolder(folder), settings, inbox, every, observer, select, collection)
            except NothingHere:
                if inbox.has_pending():  # the first page is a published one
                    PublicationStore(folder, settings.store).create()
                time.sleep(_POLL_SECONDS)
            except (PeriplusError, OSError, MemoryError) as error:
                reporter.fail(str(error) or type(error).__name__)
                observer.message(f"periplus: new pages are not indexed. {error}")
                time.sleep(_RETRY_SECONDS)


def _index_until_awaited(
    data: DataFolder,
    settings: Settings,
    inbox: "Inbox",
    every: float,
    observer: Observer,
    select: RecordFilter,
    collection: CollectionSource,
) -> None:
    """Index new pages until another writer waits for the index, such as a build."""
    from periplus.graph import Graph
    from periplus.index import LiveIndex
    from periplus.publish import StoreMover, publish_pending
    from periplus.store import PageStore

    graph, reporter = None, part("indexer")
    with contextlib.suppress(DataError):
        graph = Graph.open(data.graph)
    with (
        PageStore.open(data.store, settings.store) as store,
        queue_for_lock(data.path, "index", _QUEUE_SECONDS, "indexing new pages"),
        LiveIndex(data.index, settings.index, graph) as live,
        contextlib.closing(StoreMover(inbox, data.path, settings)) as mover,
    ):
        inbox.requeue_indexed()
        live.may_merge = merge_permission(data.index, DiskLimit(data.path, settings.limits))
        ranking = _PeriodicRanking(data, settings, live, every, observer, select, collection)
        failure = ""
        while ranking.is_running() or not is_awaited(data.path, "index"):
            publish_pending(live, inbox)
            mover.move()
            start = live.record_count
            for number, record in enumerate(select(inbox.deletions.apply_to_records(store.records(start))), start + 1):
                live.add(record, number)
            ranking.start_if_due()
            if live.failure and live.failure != failure:
                observer.message(f"periplus: new pages wait. {live.failure}")
            failure = live.failure
            reporter.recover()
            time.sleep(_POLL_SECONDS)


class _PeriodicRanking:
    """Ranks all pages again in a thread, when there are new ones and the last time is long enough ago."""

    def __init__(
        self,
        data: DataFolder,
        settings: Settings,
        live: "LiveIndex",
        every: float,
        observer: Observer,
        select: RecordFilter,
        collection: CollectionSource,
    ) -> None:
        self._data, self._settings, self._live, self._every = data, settings, live, every
        self._observer, self._select, self._collection = observer, select, collection
        self._thread: threading.Thread | None = None
        self._ranked = 0
        self._next = time.monotonic() + every

    def is_running(self) -> bool:
        """Return whether pages are being ranked."""
        return self._thread is not None and self._thread.is_alive()

    def start_if_due(self) -> None:
        """Start to rank if it is time and there are new pages, or new statistics of the collection."""
        if not self.is_running() and time.monotonic() >= self._next and self._has_changed():
            self._thread = threading.Thread(target=supervise_once("ranking", self._rank_and_wait), daemon=True)
            self._thread.start()

    def _has_changed(self) -> bool:
        from periplus.index import folder_statistics

        if self._live.record_count > self._ranked:
            return True
        collection = self._collection() if self._ranked else None
        return collection is not None and collection != folder_statistics(self._live.folder)

    def _rank_and_wait(self) -> None:
        """Rank, and set the time of the next ranking whether that succeeds or not."""
        began = time.monotonic()
        try:
            self._rank()
        except PeriplusError as error:
            self._observer.message(f"periplus: pages were not ranked again. {error}")
            raise
        finally:
            ended = time.monotonic()
            self._next = ended + max(self._every, _IDLE_FACTOR * (ended - began))

    def _rank(self) -> None:
        from periplus.graph import Graph, build_graph
        from periplus.publish import DeletionList, Inbox
        from periplus.store import PageStore

        require_index_room(self._data.path, self._settings)
        deleted = DeletionList(self._data.path)
        with contextlib.suppress(NothingHere):  # as long as every fetch has failed
            with PageStore.open(self._data.store, self._settings.store) as store:
                build_graph(store, self._data.graph, self._settings.graph)
                graph = Graph.open(self._data.graph)
                self._live.rebuild(
                    lambda start: self._select(deleted.apply_to_records(store.records(start))),
                    graph,
                    statistics=self._collection(),
                )
            deleted.apply_to_index(self._live)  # what was deleted meanwhile
            self._ranked = self._live.manifest.record_count
            Inbox(self._data.path).requeue_indexed()  # those that were not in the store yet
