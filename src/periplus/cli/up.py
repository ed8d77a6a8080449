"""`periplus up`: crawl, index and serve at once; new pages become searchable while the crawl goes on."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from periplus.cli.building import build
from periplus.cli.console import note, say
from periplus.cli.crawl import check_seeds
from periplus.cli.crawling import run_crawl
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import with_settings
from periplus.errors import NothingHere, PeriplusError
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["up"]

_STOP_SECONDS: Final = 10.0
_FIRST_LOOK: Final = 2.0


@with_settings(
    host="serve.host",
    port="serve.port",
    pages="crawl.pages",
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
    every: Annotated[float, typer.Option("--every", min=1, help="Seconds between two builds of the index.")] = 15.0,
) -> None:
    """Crawl, index and serve at once, until stopped."""
    check_seeds(seeds or [])
    folder = open_data_folder(Path(settings.folder), create=True)
    compile_kernels()
    from periplus.search import Searcher
    from periplus.serve import run

    searcher = Searcher.open(folder, settings, may_be_empty=True)
    with contextlib.ExitStack() as beside:

        def ready(url: str) -> None:
            """Begin the rest only now: a port that is taken should not start a crawl."""
            beside.enter_context(_beside(_crawl, folder, settings, seeds or []))
            beside.enter_context(_beside(_index, folder, settings, every))
            beside.enter_context(_fresh(searcher))
            say(f"Searching at {url}, while the crawl goes on (Ctrl-C stops all)")

        run(searcher, settings.serve, ready)


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
    """Move the searcher to each new index within a second."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            with contextlib.suppress(PeriplusError, OSError):
                if searcher.refresh():
                    note(f"{searcher.statistics().documents:,} pages can be found now")

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
    """Build the index again whenever there are new pages."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    indexed, pause = -1, _FIRST_LOOK
    while True:
        time.sleep(pause)
        try:
            visits = _count(folder, settings)
            if visits != indexed:
                build(folder, settings, quiet=True)
                indexed, pause = visits, every
        except NothingHere:
            continue
        except PeriplusError as error:
            note(f"periplus: the index was not built. {error}")


def _count(folder: Path, settings: Settings) -> int:
    from periplus.store import PageStore

    with PageStore.open(folder / "store", settings.store) as store:
        return store.statistics().visits
