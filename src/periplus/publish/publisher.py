"""Indexes the pages of the inbox in a live index, for a server that runs without a crawl."""

import contextlib
import logging
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.errors import FolderInUse, PeriplusError
from periplus.files import lock_folder
from periplus.publish.inbox import Inbox, make_published_record
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.index import LiveIndex

__all__ = ["background_publisher", "publish_pending"]

_LOG: Final = logging.getLogger("periplus.search")
_POLL_SECONDS: Final = 0.03
_IDLE_SECONDS: Final = 5.0
"""The index is released after this long without a page, so that others can build it."""
_RETRY_SECONDS: Final = 0.5
_START_DELAY_SECONDS: Final = 1.0
"""The first queries take precedence over warming up, unless a page is pending."""


def publish_pending(live: "LiveIndex", inbox: Inbox) -> int:
    """Index all pending pages of the inbox, and remove deleted ones; return the number of pages indexed."""
    inbox.deletions.apply_to_index(live)
    indexed = []
    for path, record in inbox.pending_records():
        live.add(inbox.deletions.apply_to_record(record))
        indexed.append(path)
    if indexed:
        live.sync()  # only what is durable may be marked as indexed
    for path in indexed:
        inbox.mark_indexed(path)
    return len(indexed)


@contextlib.contextmanager
def background_publisher(folder: Path, settings: Settings) -> Iterator[None]:
    """Run a thread that indexes the pages of the inbox. It holds the index only while there are pages."""
    stopped = threading.Event()
    thread = threading.Thread(
        target=_run_publisher, args=(folder, settings, stopped), name="periplus-publish", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _run_publisher(folder: Path, settings: Settings, stopped: threading.Event) -> None:
    inbox = Inbox(folder)
    deadline = time.monotonic() + _START_DELAY_SECONDS
    while not inbox.has_pending() and time.monotonic() < deadline and not stopped.wait(_POLL_SECONDS):
        pass
    _warm_up(settings)
    inbox.requeue_indexed()  # an index that was built since may lack them; adding a page twice is harmless
    while not stopped.wait(_POLL_SECONDS):
        if not inbox.has_pending() and not inbox.deletions.has_changed():
            continue
        try:
            _index_pending(folder, settings, inbox, stopped)
        except FolderInUse:
            stopped.wait(_RETRY_SECONDS)  # a build, or a crawl that feeds the index itself
        except (PeriplusError, OSError) as error:
            _LOG.warning("Published pages are not indexed yet: %s", error)
            stopped.wait(_RETRY_SECONDS)


def _warm_up(settings: Settings) -> None:
    """Index a sample page, so that the compiled kernels are loaded before the first page is published."""
    from periplus.index import LiveIndex

    with (
        contextlib.suppress(PeriplusError, OSError),
        tempfile.TemporaryDirectory() as name,
        LiveIndex(Path(name), settings.index, background=False) as live,
    ):
        live.add(make_published_record("One", "One page."))


def _index_pending(folder: Path, settings: Settings, inbox: Inbox, stopped: threading.Event) -> None:
    """Hold the index and publish until no page was added for a while."""
    from periplus.index import LiveIndex

    with lock_folder(folder, "index"), LiveIndex(folder / "index", settings.index) as live:
        last_page = time.monotonic()
        while not stopped.wait(_POLL_SECONDS) and time.monotonic() - last_page < _IDLE_SECONDS:
            if publish_pending(live, inbox):
                last_page = time.monotonic()
    inbox.move_to_store(settings.store)
