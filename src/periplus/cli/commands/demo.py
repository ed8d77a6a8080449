"""`periplus demo`: the whole way through on a made-up web, in about a minute."""

import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import typer

from periplus.cli.building import build, say_indexed
from periplus.cli.console import clean, note, say
from periplus.cli.crawling import run_crawl, say_summary
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import with_settings
from periplus.files import lock_folder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.fakeweb import Truth
    from periplus.search import Searcher

__all__ = ["demo"]

_QUERIES: Final = 5
_PORTS_TO_TRY: Final = 50
_PARTS: Final = ("store", "crawl", "graph", "index")


@with_settings(host="serve.host", port="serve.port")
def demo(
    settings: Settings,
    once: Annotated[bool, typer.Option("--once", help="End after the queries instead of serving.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same web.")] = 7,
    hosts: Annotated[int, typer.Option("--hosts", help="How many good hosts.")] = 30,
    pages: Annotated[int, typer.Option("--pages", help="How many articles.")] = 1_500,
) -> None:
    """Crawl a made-up web, index it, answer five queries, and serve the search page."""
    from periplus.fakeweb import FakeWeb, FakeWebPlan, running_apart
    from periplus.search import Searcher

    plan = FakeWebPlan(seed, hosts, pages)
    folder = open_data_folder(Path(settings.folder) / "demo", create=True)
    compile_kernels()
    with lock_folder(folder, "demo"):
        _clear(folder)
        names = folder / "fakeweb.hosts"
        with running_apart(plan, names) as web:
            note(f"A made-up web of {hosts:,} hosts is up.")
            wired = _wire(settings, folder, names)
            crawled = run_crawl(folder, wired, list(web.seeds))
        say_summary(crawled)
        if crawled.interrupted:
            raise KeyboardInterrupt
        say_indexed(build(folder, wired))
        say()
        searcher = Searcher.open(folder, wired)
        _ask(searcher, FakeWeb(plan).truth())
        if not once:
            _serve(searcher, wired)


def _clear(folder: Path) -> None:
    """Begin anew: a demo's folder holds nothing of worth."""
    for name in _PARTS:
        shutil.rmtree(folder / name, ignore_errors=True)


def _wire(settings: Settings, folder: Path, names: Path) -> Settings:
    """Point the crawler at the made-up web: its addresses are this machine's own, and need no politeness."""
    change = msgspec.structs.replace
    return change(
        settings,
        folder=str(folder),
        fetch=change(settings.fetch, allow=("127.0.0.0/8",), hosts=str(names)),
        frontier=change(settings.frontier, delay=0.0, delay_factor=0.0, max_delay=0.0),
        crawl=change(settings.crawl, scope="web"),
    )


def _ask(searcher: "Searcher", truth: "Truth") -> None:
    """Ask questions whose right answers are known, spread over all there are."""
    from periplus.records import Query

    step = max(1, len(truth.questions) // _QUERIES)
    asked = truth.questions[::step][:_QUERIES]
    right = 0
    for question in asked:
        page = searcher.search(Query(question.words, size=3))
        good = bool(page.hits) and page.hits[0].url in question.urls
        right += good
        say(f"{'✓' if good else '✗'} {question.words}   ({page.total:,} results, {page.seconds * 1000:.1f} ms)")
        for hit in page.hits:
            say(f"    {clean(hit.title)}   {clean(' › '.join(hit.breadcrumbs))}")
    say(f"\n{right} of {len(asked)} queries have a right page on top.")


def _serve(searcher: "Searcher", settings: Settings) -> None:
    from periplus.serve import run

    port = _free_port(settings.serve.host, settings.serve.port)
    if port != settings.serve.port:
        note(f"Port {settings.serve.port} is in use; taking {port}.")
    where = msgspec.structs.replace(settings.serve, port=port)
    run(searcher, where, lambda url: say(f"Search it at {url} (Ctrl-C stops)"))


def _free_port(host: str, port: int) -> int:
    """Give the first free port from `port` on; the same one where none is, so that the server says why."""
    for candidate in range(port, min(port + _PORTS_TO_TRY, 65_536)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError:
                continue
            return candidate
    return port
