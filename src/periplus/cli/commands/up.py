"""`periplus up`: crawl, index and serve at once; new pages become searchable while the crawl goes on."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from periplus.cli.commands.crawl import check_seeds
from periplus.cli.commands.embeddings import embed_on
from periplus.cli.console import count, note, say
from periplus.cli.crawling import run_crawl
from periplus.cli.folders import folder_to_fill
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import with_settings
from periplus.cli.serving import open_all
from periplus.errors import BadInput, DataError, NothingHere, PeriplusError
from periplus.files import lock_folder
from periplus.settings import Settings

__all__ = ["up"]

_STOP_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.2
"""How often we look for new pages, and for a new generation of the index."""
_SAY_SECONDS: Final = 5.0
_REST: Final = 10
"""After ranking all pages anew, wait this many times as long as it took."""


@with_settings(
    host="serve.host",
    port="serve.port",
    pages="crawl.pages",
    shards="crawl.shards",
    depth="crawl.depth",
    scope="crawl.scope",
    delay="frontier.delay",
    allow="fetch.allow",
    hosts_file="fetch.hosts",
)
def up(
    settings: Settings,
    seeds: Annotated[
        list[str] | None, typer.Argument(help="URLs to begin at; none to go on with the last crawl.")
    ] = None,
    every: Annotated[
        float, typer.Option("--every", min=1, help="Seconds between two rankings of all pages, at least.")
    ] = 15.0,
) -> None:
    """Crawl, index and serve at once, until stopped."""
    check_seeds(seeds or [])
    if not seeds and not (Path(settings.folder) / "crawl").is_dir():
        raise BadInput(f"There is no crawl in {settings.folder} to go on with.", "Give at least one URL to begin at.")
    compile_kernels()
    from periplus.serve import run

    with folder_to_fill(settings) as folder, contextlib.ExitStack() as beside:
        opened = open_all(folder, settings, may_be_empty=True)
        searcher = opened.searcher

        def ready(url: str) -> None:
            """Begin the rest only now: a port that is taken should not start a crawl."""
            beside.enter_context(_beside(_crawl, folder, settings, seeds or []))
            beside.enter_context(_beside(_index, folder, settings, every))
            if settings.semantic.on:
                beside.enter_context(_beside(embed_on, folder, settings))
            beside.enter_context(_fresh(searcher))
            say(f"Searching at {url}, while the crawl goes on (Ctrl-C stops all)")

        run(searcher, settings.serve, ready, opened.actions, opened.keys)
    _say_end(searcher)


def _say_end(searcher: Any) -> None:
    """Say what there is now, and how to go on."""
    with contextlib.suppress(PeriplusError, OSError):
        searcher.refresh()
    say(f"Stopped. {count(searcher.statistics().documents, 'page')} can be found. Go on: the same command.")
    say("Without crawling on: periplus index build takes in the last pages, periplus serve shows them.")


@contextlib.contextmanager
def _beside(job: Any, *arguments: Any) -> Iterator[None]:
    """Run a job in a process of its own for as long as the block runs."""
    import multiprocessing

    process = multiprocessing.get_context("spawn").Process(target=job, args=arguments, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(_STOP_SECONDS)
        if process.is_alive():
            process.kill()


@contextlib.contextmanager
def _fresh(searcher: Any) -> Iterator[None]:
    """Say from time to time how much can be found; the server moves the searcher to each new generation itself."""
    ended = threading.Event()

    def watch() -> None:
        said, told = -_SAY_SECONDS, 0
        while not ended.wait(_LOOK_SECONDS):
            with contextlib.suppress(PeriplusError, OSError):
                found = searcher.statistics().documents
                if found != told and time.monotonic() - said >= _SAY_SECONDS:
                    said, told = time.monotonic(), found
                    note(f"{found:,} pages can be found now")

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _crawl(folder: Path, settings: Settings, seeds: list[str]) -> None:
    """Crawl in a child process; Ctrl-C is the parent's, which ends this one in good order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        crawled = run_crawl(folder, settings, seeds, quiet=True)
    except PeriplusError as error:
        note(f"periplus: the crawl stopped. {error}")
    except KeyboardInterrupt:
        pass
    else:
        if not crawled.interrupted:
            note(f"The crawl is done: {crawled.statistics.pages:,} pages.")


def _index(folder: Path, settings: Settings, every: float) -> None:
    """Feed new pages to a live index as they come, and rank all of them anew now and then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            _feed_on(folder, settings, every)
        except NothingHere:
            time.sleep(_LOOK_SECONDS)
        except PeriplusError as error:
            note(f"periplus: new pages are not indexed. {error}")
            time.sleep(_SAY_SECONDS)


def _feed_on(folder: Path, settings: Settings, every: float) -> None:
    """Feed pages from the store to the index for as long as nothing fails."""
    from periplus.graph import Graph
    from periplus.index import LiveIndex
    from periplus.publish import Inbox, publish_pending
    from periplus.store import PageStore

    graph, inbox = None, Inbox(folder)
    inbox.requeue_indexed()
    with contextlib.suppress(DataError):
        graph = Graph.open(folder / "graph")
    with (
        PageStore.open(folder / "store", settings.store) as store,
        lock_folder(folder, "index"),
        LiveIndex(folder / "index", settings.index, graph) as live,
    ):
        ranking = _Ranking(folder, settings, live, every)
        failure = ""
        while True:
            publish_pending(live, inbox)
            start = live.visits
            for number, visit in enumerate(inbox.deletions.apply_to_records(store.records(start)), start + 1):
                live.add(visit, number)
            ranking.go_on()
            if live.failure and live.failure != failure:
                note(f"periplus: new pages wait. {live.failure}")
            failure = live.failure
            time.sleep(_LOOK_SECONDS)


class _Ranking:
    """Ranks all pages anew in a thread, when there are new ones and the last time is long enough ago."""

    def __init__(self, folder: Path, settings: Settings, live: Any, every: float) -> None:
        self._folder, self._settings, self._live, self._every = folder, settings, live, every
        self._thread: threading.Thread | None = None
        self._ranked = 0
        self._next = time.monotonic() + every

    def go_on(self) -> None:
        """Begin to rank if it is time."""
        busy = self._thread is not None and self._thread.is_alive()
        if not busy and self._live.visits > self._ranked and time.monotonic() >= self._next:
            self._thread = threading.Thread(target=self._rank, daemon=True)
            self._thread.start()

    def _rank(self) -> None:
        from periplus.graph import Graph, build_graph
        from periplus.publish import DeletionList, Inbox
        from periplus.store import PageStore

        deleted = DeletionList(self._folder)
        began = time.monotonic()
        try:
            with contextlib.suppress(NothingHere):  # as long as every page has failed
                with PageStore.open(self._folder / "store", self._settings.store) as store:
                    build_graph(store, self._folder / "graph", self._settings.graph)
                    graph = Graph.open(self._folder / "graph")
                    self._live.rebuild(lambda start: deleted.apply_to_records(store.records(start)), graph)
                deleted.apply_to_index(self._live)  # what was deleted meanwhile
                self._ranked = self._live.manifest.visits
                Inbox(self._folder).requeue_indexed()  # a crawl holds the store: published pages are not in it
        except PeriplusError as error:
            note(f"periplus: pages were not ranked anew. {error}")
        ended = time.monotonic()
        self._next = ended + max(self._every, _REST * (ended - began))
