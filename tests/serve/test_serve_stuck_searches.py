"""Searches that never end: the server answers at its deadline all the same, says so, and goes on when they end."""

import asyncio
import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from fake_searcher import FakeSearcher, FakeStatistics

from conditions import wait_until
from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve import background_server
from periplus.serve.workers.blocking_calls import call_in_thread
from periplus.serve.workers.thread_workers import WorkerThreads
from periplus.settings import ServeSettings

SETTINGS = ServeSettings(port=0, threads=2, deadline=0.05, max_waiting=8)


class Endless(FakeSearcher):
    """A searcher whose searches, and all else that reads the index, never end until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        self.released.wait()
        return super().search(query)

    def statistics(self) -> FakeStatistics:
        self.released.wait()
        return super().statistics()

    def refresh(self) -> bool:
        self.released.wait()
        return False


def ask(url: str, target: str) -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
    try:
        connection.request("GET", target)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.serve.search_executor._COLD_SECONDS", 0.0)
    monkeypatch.setattr("periplus.serve.search_executor._STUCK_SECONDS", 0.05)
    monkeypatch.setattr("periplus.serve.application._WATCH_SECONDS", 0.02)


@pytest.mark.usefixtures("_quick")
def test_all_is_answered_while_every_search_hangs() -> None:
    searcher = Endless()
    with background_server(searcher, SETTINGS) as url, ThreadPoolExecutor(40) as clients:
        try:
            targets = [f"{path}?q=x{n}" for n in range(20) for path in ("/search", "/api/search")]
            for status, headers, _ in clients.map(lambda target: ask(url, target), targets):
                assert status in (429, 503)
                assert int(headers["retry-after"]) >= 1
            wait_until(lambda: json.loads(ask(url, "/readyz")[2])["status"] == "stuck")
            status, headers, body = ask(url, "/readyz")
            assert (status, json.loads(body)["reason"]) == (503, "Searches do not end.")
            assert ask(url, "/api/search?q=more")[0] == 503
            assert ask(url, "/healthz")[0] == 200
            assert ask(url, "/robots.txt")[0] == 200
            assert ask(url, "/static/periplus.css")[0] == 200
            assert b"\nperiplus_stuck_threads_total " in ask(url, "/metrics")[2]
            assert ask(url, "/cached/0123456789abcdef")[0] in (404, 503)
        finally:
            searcher.released.set()
        wait_until(lambda: ask(url, "/readyz")[0] == 200)
        wait_until(lambda: ask(url, "/api/search?q=salt")[0] == 200)


@pytest.mark.usefixtures("_quick")
def test_stuck_threads_are_replaced() -> None:
    stuck = threading.Event()

    def hold(query: Query) -> ResultPage:
        if query.words.startswith("endless"):
            stuck.wait()
        return ResultPage(query, (), 0, True, False, 0.0, 1)

    with background_server(FakeSearcher(answer=hold), SETTINGS) as url:
        try:
            # As many as there are threads, and as many again for each thread that replaces one.
            for n in range(4):
                assert ask(url, f"/api/search?q=endless{n}")[0] == 503
            wait_until(lambda: ask(url, "/api/search?q=salt")[0] == 200)
            assert ask(url, "/readyz")[0] == 200
        finally:
            stuck.set()


def test_the_queue_of_stuck_threads_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.serve.workers.thread_workers._MAX_QUEUED", 10)
    stuck, begun = threading.Event(), threading.Event()
    workers = WorkerThreads(1)

    def hold() -> None:
        begun.set()
        stuck.wait()

    async def flood() -> int:
        first = workers.submit(hold)
        await asyncio.to_thread(begun.wait)
        for _ in range(1_000):
            workers.submit(lambda: None).cancel()
        size = workers._jobs.qsize()
        stuck.set()
        await first
        return size

    assert asyncio.run(flood()) <= 11
    workers.close()


def test_calls_in_threads_are_bounded() -> None:
    from periplus.errors import Overloaded

    released = threading.Event()

    async def story() -> None:
        with pytest.raises(Overloaded):
            await call_in_thread(released.wait, seconds=0.01)
        waiting = [asyncio.create_task(call_in_thread(released.wait)) for _ in range(63)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await call_in_thread(len, "abc")
        released.set()
        await asyncio.gather(*waiting)
        assert await call_in_thread(len, "abc") == 3
        with pytest.raises(KeyError):
            await call_in_thread({}.__getitem__, "x")

    asyncio.run(story())
