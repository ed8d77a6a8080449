"""Index pages while a crawl stores them, and rank all of them again from time to time."""

import contextlib
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.observer import Observer
from periplus.errors import DataError, NothingHere, PeriplusError
from periplus.files import DataFolder, lock_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.index import LiveIndex

__all__ = ["index_forever"]

_POLL_SECONDS: Final = 0.2
"""How often the store is checked for new pages."""
_RETRY_SECONDS: Final = 5.0
_IDLE_FACTOR: Final = 10
"""After all pages were ranked again, the pause is at least this many times as long as that took."""


def index_forever(folder: Path, settings: Settings, every: float, observer: Observer) -> None:
    """Index new pages of the store and the inbox until this process ends; rank all again `every` so many seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            _index_until_error(DataFolder(folder), settings, every, observer)
        except NothingHere:
            time.sleep(_POLL_SECONDS)
        except PeriplusError as error:
            observer.message(f"periplus: new pages are not indexed. {error}")
            time.sleep(_RETRY_SECONDS)


def _index_until_error(data: DataFolder, settings: Settings, every: float, observer: Observer) -> None:
    from periplus.graph import Graph
    from periplus.index import LiveIndex
    from periplus.publish import Inbox, publish_pending
    from periplus.store import PageStore

    graph, inbox = None, Inbox(data.path)
    inbox.requeue_indexed()
    with contextlib.suppress(DataError):
        graph = Graph.open(data.graph)
    with (
        PageStore.open(data.store, settings.store) as store,
        lock_folder(data.path, "index"),
        LiveIndex(data.index, settings.index, graph) as live,
    ):
        ranking = _PeriodicRanking(data, settings, live, every, observer)
        failure = ""
        while True:
            publish_pending(live, inbox)
            start = live.record_count
            for number, record in enumerate(inbox.deletions.apply_to_records(store.records(start)), start + 1):
                live.add(record, number)
            ranking.start_if_due()
            if live.failure and live.failure != failure:
                observer.message(f"periplus: new pages wait. {live.failure}")
            failure = live.failure
            time.sleep(_POLL_SECONDS)


class _PeriodicRanking:
    """Ranks all pages again in a thread, when there are new ones and the last time is long enough ago."""

    def __init__(
        self, data: DataFolder, settings: Settings, live: "LiveIndex", every: float, observer: Observer
    ) -> None:
        self._data, self._settings, self._live, self._every = data, settings, live, every
        self._observer = observer
        self._thread: threading.Thread | None = None
        self._ranked = 0
        self._next = time.monotonic() + every

    def start_if_due(self) -> None:
        """Start to rank if it is time and there are new pages."""
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and self._live.record_count > self._ranked and time.monotonic() >= self._next:
            self._thread = threading.Thread(target=self._rank, daemon=True)
            self._thread.start()

    def _rank(self) -> None:
        from periplus.graph import Graph, build_graph
        from periplus.publish import DeletionList, Inbox
        from periplus.store import PageStore

        deleted = DeletionList(self._data.path)
        began = time.monotonic()
        try:
            with contextlib.suppress(NothingHere):  # as long as every fetch has failed
                with PageStore.open(self._data.store, self._settings.store) as store:
                    build_graph(store, self._data.graph, self._settings.graph)
                    graph = Graph.open(self._data.graph)
                    self._live.rebuild(lambda start: deleted.apply_to_records(store.records(start)), graph)
                deleted.apply_to_index(self._live)  # what was deleted meanwhile
                self._ranked = self._live.manifest.record_count
                # Published pages are not in the store while a crawl writes to it.
                Inbox(self._data.path).requeue_indexed()
        except PeriplusError as error:
            self._observer.message(f"periplus: pages were not ranked again. {error}")
        ended = time.monotonic()
        self._next = ended + max(self._every, _IDLE_FACTOR * (ended - began))
