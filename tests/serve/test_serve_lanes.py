"""Expensive searches run in a lane of their own; every search is answered or refused by its deadline; slow ones are
logged."""

import asyncio
import logging
import threading

import msgspec
import pytest
from asgi_caller import call
from fake_searcher import FakeSearcher

from periplus.errors import ExpensiveQuery, Overloaded
from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve import make_app
from periplus.serve.middleware.slow_query_log import SlowQueryLog
from periplus.serve.search_executor import EXPENSIVE, TIMED_OUT, SearchExecutor
from periplus.serve.search_request import seems_expensive
from periplus.settings import ServeSettings


class LaneSearcher(FakeSearcher):
    """Finds queries with the word 'costly' expensive, and holds those with the word 'held' until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()
        self.planned = 0
        self.running = 0
        self.limits: list[SearchLimits] = []

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        assert limits is not None
        with self._lock:
            self.limits.append(limits)
            self.planned += 1
        if "costly" in query.words and limits.cost < float("inf"):
            raise ExpensiveQuery("too expensive")
        if "held" in query.words:
            with self._lock:
                self.running += 1
            self.release.wait(60)
        return super().search(query)


async def until(condition: object) -> None:
    assert callable(condition)
    while not condition():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_expensive_searches_never_take_the_last_thread(threads: int) -> None:
    searcher = LaneSearcher()
    executor = SearchExecutor(searcher, ServeSettings(threads=threads, max_waiting=200))

    async def story() -> tuple[ResultPage, list[object]]:
        lanes = max(1, threads - 1)
        tasks = [asyncio.create_task(executor.search(Query(f"costly held {n}"))) for n in range(4 * lanes + 5)]
        await until(lambda: sum(task.done() for task in tasks) == 5 and searcher.running == lanes)
        ordinary = await executor.search(Query("plain"))
        assert searcher.running == lanes
        searcher.release.set()
        return ordinary, list(await asyncio.gather(*tasks, return_exceptions=True))

    ordinary, answers = asyncio.run(story())
    assert ordinary.query.words == "plain"
    refused = [answer for answer in answers if isinstance(answer, Overloaded)]
    assert [error.message for error in refused] == [EXPENSIVE] * 5
    assert sum(isinstance(answer, ResultPage) for answer in answers) == len(answers) - 5
    executor.close()


def test_an_expensive_search_is_run_without_a_limit_of_cost_and_an_ordinary_one_once() -> None:
    searcher = LaneSearcher()
    executor = SearchExecutor(searcher, ServeSettings(threads=2, expensive_query=7.0, deadline=30.0))
    asyncio.run(executor.search(Query("plain")))
    assert [limits.cost for limits in searcher.limits] == [7.0]
    assert 0 < searcher.limits[0].seconds <= 30.0
    asyncio.run(executor.search(Query("costly")))
    assert [limits.cost for limits in searcher.limits[1:]] == [7.0, float("inf")]
    executor.close()


def test_a_search_that_waited_has_half_the_deadline_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("periplus.serve.search_executor.time.monotonic", lambda: clock[0])
    executor = SearchExecutor(LaneSearcher(), ServeSettings(threads=1, deadline=2.0))
    assert executor._limits(99.5).seconds == 1.5
    assert executor._limits(98.1).seconds == 1.0
    executor.close()


def test_a_search_that_hangs_is_refused_by_its_deadline_and_others_are_answered() -> None:
    searcher = LaneSearcher()
    executor = SearchExecutor(searcher, ServeSettings(threads=2, deadline=0.3))

    async def story() -> None:
        await executor.search(Query("first"))  # after which kernels are loaded
        for words in ("held", "costly held"):
            with pytest.raises(Overloaded) as caught:
                await executor.search(Query(words))
            assert caught.value.message == TIMED_OUT
        assert executor.waiting == 0
        searcher.release.set()

    asyncio.run(story())
    executor.close()


def test_the_first_search_may_take_longer_than_any_deadline() -> None:
    searcher = LaneSearcher()
    # It has to begin before the deadline, on a busy machine too, and goes on beyond twice the deadline.
    deadline = 0.5
    executor = SearchExecutor(searcher, ServeSettings(threads=1, deadline=deadline))
    timer = threading.Timer(2.2 * deadline, searcher.release.set)
    timer.start()
    assert asyncio.run(executor.search(Query("held"))).query.words == "held"
    timer.join()
    executor.close()


def test_over_http_a_full_lane_is_a_declared_refusal_and_an_ordinary_search_is_answered() -> None:
    searcher = LaneSearcher()
    app = make_app(searcher, ServeSettings(threads=2))

    async def story() -> None:
        held = [asyncio.create_task(call(app, f"/api/search?q=costly+held+{n}")) for n in range(4)]
        await until(lambda: searcher.running == 1 and app.executor.waiting == 4)
        refused = await call(app, "/api/search?q=costly+held+more")
        assert refused.status == 503
        assert refused.json["error"] == EXPENSIVE
        assert int(refused.headers["retry-after"]) >= 1
        page = await call(app, "/search?q=costly+held+more")
        assert page.status == 503
        assert "retry-after" in page.headers
        for target in ("/api/search?q=plain", "/search?q=plain+too", "/suggest?q=pl"):
            assert (await call(app, target)).status == 200
        searcher.release.set()
        assert [answer.status for answer in await asyncio.gather(*held)] == [200] * 4

    asyncio.run(story())
    app.close()


def test_requests_that_nobody_types_go_to_the_lane_before_they_are_planned() -> None:
    for typed in ("lighthouse+keepers", "%22sea+charts%22+site%3Acoast.test+-fog", "what+is+the+" + "long+" * 60):
        assert not seems_expensive(f"q={typed}&format=json".encode())
    for more in ("start=90", "page=3", "explain=1", "count=100", "restart=900"):
        assert not seems_expensive(f"q=x&{more}".encode())
    for more in ("start=100", "page=12", "pageno=30", "explain=1&count=100", "count=100&lang=de&explain=1"):
        assert seems_expensive(f"q=x&{more}".encode())
    for typed in ("a*+" * 9, "%61%2A+" * 9, "1..2+" * 9, "site%3Aa.b+" * 9, "%22a+b%22+" * 9, "word+" * 100):
        assert seems_expensive(f"q={typed}".encode())
    searcher = LaneSearcher()
    app = make_app(searcher, ServeSettings(threads=1))

    async def story() -> None:
        assert (await call(app, "/api/search?q=" + "a*+" * 20)).status == 200
        assert (await call(app, "/api/search?q=plain")).status == 200

    asyncio.run(story())
    assert [limits.cost for limits in searcher.limits] == [float("inf"), 40.0]
    app.close()


def test_answers_that_are_incomplete_are_not_cached() -> None:
    searcher = FakeSearcher()
    app = make_app(searcher, ServeSettings(threads=1))

    async def story() -> None:
        for words, searches in (("plain", 1), ("partial", 2)):
            before = len(searcher.asked)
            for _ in range(2):
                assert (await call(app, f"/api/search?q={words}")).status == 200
            assert len(searcher.asked) - before == searches

    asyncio.run(story())
    app.close()


def slow_page(seconds: float, words: str = "secret words") -> ResultPage:
    timings = (("query", 0.1), ("retrieve", seconds))
    return ResultPage(
        Query(words, start=20), (), 7, True, True, seconds, 100, timings=timings, plan="3 leaves", work=12_345
    )


def test_a_slow_query_is_logged_with_its_plan_and_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "periplus.serve")
    log = SlowQueryLog(ServeSettings(slow_query_ms=500.0))
    log.add(slow_page(0.4))
    assert not caplog.records
    log.add(slow_page(0.6))
    line = caplog.records[0].getMessage()
    assert "\n" not in line
    for part in ("600 ms", "retrieve 600", "plan: 3 leaves", "12,345 work units", "7 results from 20, partial"):
        assert part in line
    assert "secret" not in line


def test_words_of_slow_queries_are_logged_only_if_that_is_set(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "periplus.serve")
    SlowQueryLog(ServeSettings(slow_query_words=True)).add(slow_page(9.0, "secret\nwords " * 100))
    line = caplog.records[0].getMessage()
    assert "secret" in line
    assert "\n" not in line
    assert len(line) < 600
    SlowQueryLog(ServeSettings(slow_query_ms=0)).add(slow_page(9.0))
    assert len(caplog.records) == 1


def test_the_log_of_slow_queries_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "periplus.serve")
    now = [0.0]
    log = SlowQueryLog(ServeSettings(), clock=lambda: now[0])
    for _ in range(500):
        log.add(slow_page(1.0))
    assert len(caplog.records) == 20
    now[0] = 61.0
    log.add(slow_page(1.0))
    assert "480 slow queries before were not logged" in caplog.records[-1].getMessage()


def test_settings_of_slow_queries_have_defaults() -> None:
    settings = ServeSettings()
    assert msgspec.structs.asdict(settings)["slow_query_ms"] == 250.0
    assert not settings.slow_query_words
