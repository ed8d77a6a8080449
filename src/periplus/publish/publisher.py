"""Indexes the pages of the inbox in a live index, for a server that runs without a crawl."""

import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.errors import FolderInUse, PeriplusError
from periplus.health import part, share_health
from periplus.publish.inbox import Inbox
from periplus.publish.inbox_files import batch_size
from periplus.publish.publication import make_published_record
from periplus.publish.publication_store import PublicationStore
from periplus.records import FetchRecord
from periplus.settings import Settings
from periplus.supervision import report_exception, supervised_thread
from periplus.writer_queue import is_awaited, queue_for_lock

if TYPE_CHECKING:
    from periplus.index import LiveIndex

__all__ = ["StoreMover", "background_publisher", "publish_all", "publish_pending", "warm_publisher"]

_PART: Final = "publisher"
_POLL_SECONDS: Final = 0.03
_IDLE_SECONDS: Final = 5.0
"""The index is released after this long without a page."""
_RETRY_SECONDS: Final = 0.5
_MAX_RETRY_SECONDS: Final = 5.0
_START_DELAY_SECONDS: Final = 1.0
"""The first queries take precedence over warming up, unless a page is pending."""
_WARMING: Final = threading.Lock()
_WARM: Final = threading.Event()
"""Whether a page was indexed in this process."""


def publish_pending(live: "LiveIndex", inbox: Inbox) -> int:
    """Index a round of pending pages of the inbox, and remove deleted ones; return the number of pages indexed."""
    inbox.deletions.apply_to_index(live)
    pages: dict[Path, list[FetchRecord]] = {}
    count = 0
    batches: dict[Path, list[FetchRecord]] = {}
    for path, records in inbox.pending_records():
        if batch_size(path.name):
            batches[path] = records
            continue
        count += _publish_batches(live, inbox, batches)  # they came before this page
        try:
            for record in inbox.order.without_replaced(path.name, records):
                live.add(inbox.deletions.apply_to_record(record))
        except (PeriplusError, OSError, MemoryError):
            raise
        except Exception as error:  # this page only
            inbox.postpone(path, error)
            continue
        pages[path] = records
        count += 1
    if pages:
        live.sync()  # only what is durable may be marked as indexed
    for path, records in pages.items():
        inbox.mark_indexed(path, records)
    return count + _publish_batches(live, inbox, batches)


def _publish_batches(live: "LiveIndex", inbox: Inbox, batches: "dict[Path, list[FetchRecord]]") -> int:
    """Make batches of documents searchable, as one segment; return how many documents they have. `batches` is emptied.

    They are not in the journal: until they are committed, their files are in the inbox.
    """
    if not batches:
        return 0
    began = time.thread_time()
    last = [record for path, records in batches.items() for record in inbox.order.without_replaced(path.name, records)]
    unchanged, failed = _add_records(live, [inbox.deletions.apply_to_record(record) for record in last])
    # Of two versions in different files, the last may be that of the index: the first has to be stored before it then.
    is_same = all(record.key in unchanged for records in batches.values() for record in records)
    for path, records in batches.items():
        if wrong := [record for record in records if record.key in failed]:
            inbox.set_aside_documents(path, wrong, failed[wrong[0].key])
        if is_same:
            inbox.remove_unchanged(path, records)
        else:
            inbox.mark_indexed(path, records)
    count = sum(map(len, batches.values()))
    inbox.order.note_round(count, time.thread_time() - began)
    batches.clear()
    return count


def _add_records(live: "LiveIndex", records: "list[FetchRecord]") -> "tuple[set[int], dict[int, Exception]]":
    """Add records to an index; return the keys of those that are there already, and of those that cannot be indexed.

    Where one of many raises, halves of them are tried, so that the others are indexed.
    """
    try:
        return live.add_batch(records), {}
    except (PeriplusError, OSError, MemoryError):
        raise
    except Exception as error:
        if len(records) <= 1:
            return set(), {record.key: error for record in records}
    middle = len(records) // 2
    unchanged, failed = _add_records(live, records[:middle])
    others, more = _add_records(live, records[middle:])
    return unchanged | others, failed | more


def publish_all(folder: Path, settings: Settings, inbox: Inbox) -> None:
    """Index everything in the inbox of a folder; it is searchable on return. Raise `FolderInUse`."""
    from periplus.index import LiveIndex

    with (
        queue_for_lock(folder, "index", _RETRY_SECONDS, "publishing"),
        LiveIndex(folder / "index", settings.index, background=False) as live,
    ):
        inbox.requeue_indexed()
        while publish_pending(live, inbox):
            pass


class StoreMover:
    """Moves pages that are indexed into the page store; a failure is reported, and does not hold up indexing."""

    def __init__(self, inbox: Inbox, folder: Path, settings: Settings) -> None:
        self._inbox = inbox
        self._store = PublicationStore(folder, settings.store)
        self._next = 0.0

    def move(self) -> None:
        """Move a batch of pages, unless the last one failed a moment ago."""
        if time.monotonic() < self._next or not self._inbox.has_indexed():
            return
        try:
            self._inbox.move_batch(self._store)
        except (PeriplusError, OSError) as error:
            report_exception(part("publication-store"), error)
            self._next = time.monotonic() + _MAX_RETRY_SECONDS
        else:
            part("publication-store").recover()

    def close(self) -> None:
        """Release the store."""
        with contextlib.suppress(PeriplusError, OSError):
            self._store.close()


@contextlib.contextmanager
def background_publisher(folder: Path, settings: Settings) -> Iterator[None]:
    """Run a thread that indexes the pages of the inbox. It holds the index only while there are pages.

    Whatever fails is tried again, and reported as the health of the part 'publisher'.
    """
    stopped = threading.Event()
    publisher = _Publisher(folder, settings, stopped)
    with share_health(folder), supervised_thread(_PART, publisher.run, stopped, _MAX_RETRY_SECONDS):
        yield


class _Publisher:
    """The work of the thread; it may be started again after any failure."""

    def __init__(self, folder: Path, settings: Settings, stopped: threading.Event) -> None:
        self._folder, self._settings, self._stopped = folder, settings, stopped
        self._inbox = Inbox(folder)
        self._unfinished = False
        """Whether the last attempt failed: the journal of the index may have pages that are not searchable yet."""

    def run(self) -> None:
        """Index what is pending until stopped."""
        inbox = self._inbox
        if not _WARM.is_set():
            _warm_up(self._settings, inbox, self._stopped)
        while not self._stopped.wait(_POLL_SECONDS):
            if self._unfinished or inbox.has_pending() or inbox.has_indexed() or inbox.deletions.has_changed():
                try:
                    _index_pending(self._folder, self._settings, inbox, self._stopped)
                    self._unfinished = False
                except FolderInUse:
                    self._stopped.wait(_RETRY_SECONDS)  # a build, or a crawl that feeds the index itself
                except BaseException:
                    self._unfinished = True
                    raise


def _warm_up(settings: Settings, inbox: Inbox, stopped: threading.Event) -> None:
    """Load what publishing takes, after the first queries."""
    deadline = time.monotonic() + _START_DELAY_SECONDS
    while not inbox.has_pending() and time.monotonic() < deadline and not stopped.wait(_POLL_SECONDS):
        pass
    warm_publisher(settings)


def warm_publisher(settings: Settings) -> None:
    """Index a sample page, once in a process: loading the compiled kernels takes longer than indexing a page."""
    from periplus.index import LiveIndex

    with _WARMING:
        if _WARM.is_set():
            return
        with (
            contextlib.suppress(PeriplusError, OSError),
            tempfile.TemporaryDirectory() as name,
            LiveIndex(Path(name), settings.index, background=False) as live,
        ):
            live.add(make_published_record("One", "One page."))
        _WARM.set()


def _index_pending(folder: Path, settings: Settings, inbox: Inbox, stopped: threading.Event) -> None:
    """Hold the index and publish until no page was added for a while and nothing is merged.

    If another writer waits for the index, it is released at once; a merge of an idle index is given up then.
    """
    from periplus.index import LiveIndex

    with (
        queue_for_lock(folder, "index", _RETRY_SECONDS, "publishing"),
        LiveIndex(folder / "index", settings.index) as live,
        contextlib.closing(StoreMover(inbox, folder, settings)) as mover,
    ):
        inbox.requeue_indexed()  # an index that was built since may lack them; adding a page twice is harmless
        last_page = time.monotonic()
        while live.is_merging or time.monotonic() - last_page < _IDLE_SECONDS:
            if publish_pending(live, inbox):
                last_page = time.monotonic()
            if inbox.should_move():
                mover.move()
            part(_PART).recover()
            if is_awaited(folder, "index") or stopped.wait(_POLL_SECONDS):
                return
