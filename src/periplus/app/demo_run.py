"""The whole way through on a generated web: crawl it, index it, ask it questions whose answers are known, serve it."""

import contextlib
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from periplus.app.jobs.crawl_runner import CrawlRun, run_crawl
from periplus.app.jobs.index_building import build_graph_and_index
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.files import DataFolder, lock_folder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.fakeweb import FakeWebPlan, JudgedQuery
    from periplus.index import IndexStatistics
    from periplus.records import ResultPage

__all__ = ["Demo", "DemoAnswer", "demo_queries", "free_port", "open_demo"]

_QUERIES: Final = 5
_PORTS_TO_TRY: Final = 50


class DemoAnswer(NamedTuple):
    """The answer to a question of the demo."""

    question: str
    page: "ResultPage"
    correct: bool
    """Whether a right page is the first result."""


@contextlib.contextmanager
def open_demo(
    settings: Settings, *, seed: int = 7, hosts: int = 30, pages: int = 1_500, observer: Observer = SILENT
) -> "Iterator[Demo]":
    """Lock and clear the folder of the demo, below the data folder."""
    from periplus.fakeweb import FakeWebPlan

    plan = FakeWebPlan(seed, hosts, pages)
    data = DataFolder(open_data_folder(Path(settings.folder) / "demo", create=True))
    compile_kernels(observer)
    with lock_folder(data.path, "demo"):
        for part in (data.store, data.crawl, data.graph, data.index):
            shutil.rmtree(part, ignore_errors=True)
        yield Demo(data, settings, plan, observer)


class Demo:
    """One run of the demo; its steps are called in their order."""

    def __init__(self, data: DataFolder, settings: Settings, plan: "FakeWebPlan", observer: Observer) -> None:
        self._data = data
        self._plan = plan
        self._observer = observer
        self._hosts_file = data.path / "fakeweb.hosts"
        self._settings = self._adapt(settings)

    def _adapt(self, settings: Settings) -> Settings:
        """Return settings for the generated web: its addresses are of this machine, and need no politeness."""
        change = msgspec.structs.replace
        return change(
            settings,
            folder=str(self._data.path),
            fetch=change(settings.fetch, allow=("127.0.0.0/8",), hosts_file=str(self._hosts_file)),
            frontier=change(settings.frontier, delay=0.0, delay_factor=0.0, max_delay=0.0),
            crawl=change(settings.crawl, scope="web"),
        )

    def crawl(self) -> CrawlRun:
        """Serve the generated web in a process of its own, and crawl it."""
        from periplus.fakeweb import run_in_process

        with run_in_process(self._plan, self._hosts_file) as web:
            self._observer.message(f"A generated web of {self._plan.hosts:,} hosts is up.")
            return run_crawl(self._data.path, self._settings, list(web.seeds), self._observer, handle_signals=True)

    def build(self) -> "IndexStatistics":
        """Build graph and index."""
        return build_graph_and_index(self._data.path, self._settings, self._observer)

    def ask(self) -> Iterator[DemoAnswer]:
        """Ask questions whose right answers are known, spread over all there are."""
        from periplus.records import Query
        from periplus.search import Searcher

        searcher = Searcher.open(self._data.path, self._settings)
        for query in demo_queries(self._plan):
            page = searcher.search(Query(query.words, size=3))
            yield DemoAnswer(query.words, page, bool(page.hits) and page.hits[0].url in query.urls)

    def serve(self, on_ready: Callable[[str], None]) -> None:
        """Serve the search page at the first free port, until SIGINT or SIGTERM."""
        from periplus.search import Searcher
        from periplus.serve import run

        settings = self._settings.serve
        port = free_port(settings.host, settings.port)
        if port != settings.port:
            self._observer.message(f"Port {settings.port} is in use; using {port}.")
        searcher = Searcher.open(self._data.path, self._settings)
        run(searcher, msgspec.structs.replace(settings, port=port), on_ready)


def demo_queries(plan: "FakeWebPlan", turn: int = 0) -> "Sequence[JudgedQuery]":
    """Return the questions of the demo, with their right pages: a few, spread over all there are.

    turn: each has other questions than the ones before, as long as there are enough.
    """
    from periplus.fakeweb import FakeWeb

    queries = FakeWeb(plan).truth().queries
    step = max(1, len(queries) // _QUERIES)
    return queries[turn % step :: step][:_QUERIES]


def free_port(host: str, port: int) -> int:
    """Return the first free port from `port` on; `port` if there is none, so that the server reports why."""
    for candidate in range(port, min(port + _PORTS_TO_TRY, 65_536)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError:
                continue
            return candidate
    return port
