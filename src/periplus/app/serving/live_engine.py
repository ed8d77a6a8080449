"""Crawl, index and serve at once; new pages become searchable while the crawl goes on."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.administration.job_scheduler import background_scheduler
from periplus.app.jobs.crawl_runner import check_seeds, run_crawl
from periplus.app.jobs.embedding_jobs import embed_forever, embeds_new_pages
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.new_folder import writable_folder
from periplus.app.observer import SILENT, Observer
from periplus.app.priority import lower_priority
from periplus.app.serving.background_jobs import background_job
from periplus.app.serving.folder_server import open_server
from periplus.app.serving.live_indexer import index_forever
from periplus.errors import DiskFailed, PeriplusError, ProcessFailed
from periplus.files import DataFolder
from periplus.health import share_health
from periplus.limits import ResourceMonitor, divide_memory, release_memory
from periplus.settings import Settings
from periplus.supervision import start_supervised

if TYPE_CHECKING:
    from periplus.serve import SearcherLike

__all__ = ["run_live"]

_POLL_SECONDS: Final = 0.2
_MESSAGE_SECONDS: Final = 5.0


def run_live(
    folder: Path,
    settings: Settings,
    seeds: Sequence[str],
    on_ready: Callable[[str], None],
    *,
    every: float = 15.0,
    observer: Observer = SILENT,
) -> int:
    """Crawl, index and serve until SIGINT or SIGTERM; return the number of pages in the index.

    Without seeds, the last crawl is resumed; where there was none, only documents that are sent are indexed. All pages
    are ranked again `every` so many seconds, at most.
    """
    check_seeds(seeds, settings)
    crawls = bool(seeds) or DataFolder(folder).crawl.is_dir()
    settings = divide_memory(settings)
    compile_kernels(observer)
    from periplus.serve import run

    with writable_folder(folder, settings), share_health(folder), contextlib.ExitStack() as stack:
        opened = open_server(folder, settings)

        def ready(url: str) -> None:
            """Start the other processes only now: a port that is in use should not start a crawl."""
            from periplus.publish import collection_publisher

            monitor = ResourceMonitor(folder, settings.limits, observer.message, release_memory)
            stack.enter_context(monitor.running())
            stack.enter_context(background_scheduler(folder, settings))
            if crawls:
                stack.enter_context(background_job(observer, "crawl", _crawl, folder, settings, list(seeds)))
            stack.enter_context(background_job(observer, "indexer", index_forever, folder, settings, every))
            stack.enter_context(collection_publisher(folder, settings))
            if embeds_new_pages(settings):
                stack.enter_context(background_job(observer, "embedder", embed_forever, folder, settings))
            stack.enter_context(_report_size(opened.searcher, observer))
            on_ready(url)

        run(opened.searcher, settings.serve, ready, opened.actions, opened.keys)
    with contextlib.suppress(PeriplusError, OSError):
        opened.searcher.refresh()
    return opened.searcher.statistics().documents


@contextlib.contextmanager
def _report_size(searcher: "SearcherLike", observer: Observer) -> Iterator[None]:
    """Within the block, report from time to time how many pages are searchable."""
    ended = threading.Event()

    def watch() -> None:
        reported_at, reported = -_MESSAGE_SECONDS, 0
        while not ended.wait(_POLL_SECONDS):
            with contextlib.suppress(PeriplusError, OSError):
                documents = searcher.statistics().documents
                if documents != reported and time.monotonic() - reported_at >= _MESSAGE_SECONDS:
                    reported_at, reported = time.monotonic(), documents
                    observer.message(f"{documents:,} pages are searchable now")

    start_supervised("size-report", watch, ended)
    try:
        yield
    finally:
        ended.set()


def _crawl(folder: Path, settings: Settings, seeds: list[str], observer: Observer) -> None:
    """Crawl in a child process. Ctrl-C is handled by the parent, which ends this one with SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority()
    try:
        crawl = run_crawl(folder, settings, seeds, SILENT, handle_signals=True)
    except (DiskFailed, ProcessFailed) as error:
        observer.message(f"periplus: the crawl stopped, and is started again. {error}")
        raise
    except PeriplusError as error:
        observer.message(f"periplus: the crawl stopped. {error}")
    except KeyboardInterrupt:
        pass
    else:
        if not crawl.interrupted:
            observer.message(f"The crawl is finished: {crawl.statistics.pages:,} pages.")
