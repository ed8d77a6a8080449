"""Takes pages out of the inbox into a live index, for a server that has no crawl beside it."""

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
_LOOK_SECONDS: Final = 0.03
_IDLE_SECONDS: Final = 5.0
"""The index is let go after so long without a page, so that others can build it."""
_PATIENCE: Final = 0.5
_REST_SECONDS: Final = 1.0
"""The first questions come before what the first page will need, unless that page is there."""


def publish_pending(live: "LiveIndex", inbox: Inbox) -> int:
    """Give all pages of the inbox to a live index; say how many there were. What was deleted meanwhile leaves it."""
    inbox.deletions.apply_to_index(live)
    taken = []
    for path, visit in inbox.pending_records():
        live.add(inbox.deletions.apply_to_record(visit))
        taken.append(path)
    if taken:
        live.sync()  # only what survives a power cut may be called done
    for path in taken:
        inbox.mark_indexed(path)
    return len(taken)


@contextlib.contextmanager
def background_publisher(folder: Path, settings: Settings) -> Iterator[None]:
    """While inside, a thread makes what is put into the inbox findable. It holds the index only while there is work."""
    ended = threading.Event()
    thread = threading.Thread(target=_work, args=(folder, settings, ended), name="periplus-publish", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _work(folder: Path, settings: Settings, ended: threading.Event) -> None:
    inbox = Inbox(folder)
    until = time.monotonic() + _REST_SECONDS
    while not inbox.has_pending() and time.monotonic() < until and not ended.wait(_LOOK_SECONDS):
        pass
    _warm_up(settings)
    inbox.requeue_indexed()  # an index that was built meanwhile may lack them; to add a page twice does no harm
    while not ended.wait(_LOOK_SECONDS):
        if not inbox.has_pending() and not inbox.deletions.has_changed():
            continue
        try:
            _take(folder, settings, inbox, ended)
        except FolderInUse:
            ended.wait(_PATIENCE)  # a build, or a crawl that feeds the index itself
        except (PeriplusError, OSError) as error:
            _LOG.warning("Published pages wait: %s", error)
            ended.wait(_PATIENCE)


def _warm_up(settings: Settings) -> None:
    """Index one page of nobody's: the compiled kernels are loaded now, and not when the first page comes."""
    from periplus.index import LiveIndex

    with (
        contextlib.suppress(PeriplusError, OSError),
        tempfile.TemporaryDirectory() as name,
        LiveIndex(Path(name), settings.index, background=False) as live,
    ):
        live.add(make_published_record("One", "One page."))


def _take(folder: Path, settings: Settings, inbox: Inbox, ended: threading.Event) -> None:
    """Hold the index for as long as pages come."""
    from periplus.index import LiveIndex

    with lock_folder(folder, "index"), LiveIndex(folder / "index", settings.index) as live:
        last = time.monotonic()
        while not ended.wait(_LOOK_SECONDS) and time.monotonic() - last < _IDLE_SECONDS:
            if publish_pending(live, inbox):
                last = time.monotonic()
    inbox.move_to_store(settings.store)
