"""Indexes the documents of all collections from one thread; only those that have any to index are open.

A few collections are written at a time. One that has nothing more is closed after a while, or as soon as another one
waits, so that the number of collections costs neither memory nor file descriptors.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from periplus.errors import FolderInUse, PeriplusError
from periplus.health import part, share_health
from periplus.publish.collections.collection_catalog import CollectionCatalog
from periplus.publish.inbox import Inbox
from periplus.publish.publisher import StoreMover, publish_pending
from periplus.settings import Settings
from periplus.supervision import report_exception, supervised_thread
from periplus.writer_queue import is_awaited, queue_for_lock

__all__ = ["collection_publisher"]

_PART: Final = "collection-publisher"
_POLL_SECONDS: Final = 0.03
_IDLE_SECONDS: Final = 5.0
_MIN_IDLE_SECONDS: Final = 0.2
"""How long a collection stays open without documents where another one waits."""
_RETRY_SECONDS: Final = 0.5
_MAX_RETRY_SECONDS: Final = 5.0
_MOST_OPEN: Final = 4
_KEEP_SECONDS: Final = 30.0
"""How long the files of a deleted collection stay, for requests that have begun."""
_SWEEP_SECONDS: Final = 5.0


@contextlib.contextmanager
def collection_publisher(folder: Path, settings: Settings) -> Iterator[None]:
    """Within the block, run a thread that indexes the documents of all collections of a data folder."""
    stopped = threading.Event()
    publisher = _CollectionPublisher(folder, settings, stopped)
    with share_health(folder), supervised_thread(_PART, publisher.run, stopped, _MAX_RETRY_SECONDS):
        yield


class _Writer:
    """A collection whose index is open."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        from periplus.index import LiveIndex

        self._folder = folder
        self._inbox = Inbox(folder)
        with contextlib.ExitStack() as stack:
            stack.enter_context(queue_for_lock(folder, "index", 0.0, "publishing"))
            self._live = stack.enter_context(LiveIndex(folder / "index", settings.index))
            self._mover = stack.enter_context(contextlib.closing(StoreMover(self._inbox, folder, settings)))
            self._inbox.requeue_indexed()
            self._stack = stack.pop_all()
        self._last = time.monotonic()

    def step(self) -> bool:
        """Index what is pending, and store what is indexed; return whether there was anything."""
        worked = publish_pending(self._live, self._inbox) > 0
        if self._inbox.should_move():
            self._mover.move()
        if worked or self._inbox.has_pending():
            self._last = time.monotonic()
        return worked

    def may_close(self, others_wait: bool) -> bool:
        """Return whether it has had nothing to do for long enough, or another process waits for the index."""
        idle = time.monotonic() - self._last
        return idle > (_MIN_IDLE_SECONDS if others_wait else _IDLE_SECONDS) or is_awaited(self._folder, "index")

    def close(self) -> bool:
        """Release the index; return whether documents are left."""
        self._stack.close()
        return self._inbox.has_pending() or self._inbox.has_indexed()


class _CollectionPublisher:
    """The work of the thread; it may be started again after any failure."""

    def __init__(self, folder: Path, settings: Settings, stopped: threading.Event) -> None:
        self._folder, self._settings, self._stopped = folder, settings, stopped
        self._catalog = CollectionCatalog(folder)
        self._waiting: dict[str, float] = {}
        """Folders of collections with documents, and when to try them (monotonic)."""
        self._open: dict[str, _Writer] = {}
        self._orphans: dict[Path, float] = {}
        self._next_sweep = 0.0

    def run(self) -> None:
        """Index what is pending until stopped."""
        for collection in self._catalog.all():  # what an earlier process has left
            inbox = Inbox(self._catalog.path(collection))
            if inbox.has_pending() or inbox.has_indexed():
                self._waiting[collection.folder] = 0.0
        try:
            while not self._stopped.wait(_POLL_SECONDS):
                self._turn()
        finally:
            for name in list(self._open):
                self._close(name)

    def _turn(self) -> None:
        """Index some documents of every open collection, and open those that wait."""
        for name in self._catalog.take_pending():
            self._waiting.setdefault(name, 0.0)
        now = time.monotonic()
        due = [name for name, when in self._waiting.items() if when <= now and name not in self._open]
        for name in due[: _MOST_OPEN - len(self._open)]:
            self._guarded(name, self._start)
        for name, writer in list(self._open.items()):
            self._waiting.pop(name, None)
            self._guarded(name, lambda name: self._open[name].step())
            if name in self._open and writer.may_close(len(due) > 0):
                self._guarded(name, self._close)
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_SECONDS
            self._sweep()

    def _start(self, name: str) -> None:
        collection = self._catalog.find_folder(name)
        if collection is None:
            del self._waiting[name]
        else:
            self._open[name] = _Writer(self._catalog.path(collection), self._settings)

    def _close(self, name: str) -> None:
        writer = self._open.pop(name)
        if writer.close():
            self._waiting[name] = time.monotonic() + _RETRY_SECONDS

    def _guarded(self, name: str, work: Callable[[str], Any]) -> None:
        """Do something for one collection; if it fails, that is reported and tried again, and others go on."""
        try:
            work(name)
            part(_PART).recover()
        except FolderInUse:
            self._waiting[name] = time.monotonic() + _RETRY_SECONDS  # a build of this collection
        except (PeriplusError, OSError, MemoryError) as error:
            report_exception(part(_PART), error)
            self._waiting[name] = time.monotonic() + _MAX_RETRY_SECONDS
            if name in self._open:
                with contextlib.suppress(PeriplusError, OSError):
                    self._open.pop(name).close()

    def _sweep(self) -> None:
        """Remove the files of collections that were deleted a while ago."""
        now, found = time.monotonic(), self._catalog.orphans()
        for path in found:
            if path.name in self._open:
                self._guarded(path.name, self._close)
        self._orphans = {path: self._orphans.get(path, now) for path in found}
        for path in [path for path, since in self._orphans.items() if now - since > _KEEP_SECONDS]:
            self._catalog.remove_orphan(path)
