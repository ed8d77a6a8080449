"""The search executor: bounded, fair to the event loop, and able to say no."""

import asyncio
import threading

import pytest
from asgi_caller import call
from fake_searcher import FakeSearcher

from periplus.errors import CorruptFile, Overloaded
from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve import make_app
from periplus.serve.search_executor import SearchExecutor
from periplus.settings import ServeSettings


class Blocking(FakeSearcher):
    """Holds every search until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()
        self.most = 0
        self._running = 0

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        self.let_go.wait(60)
        with self._lock:
            self._running -= 1
        return super().search(query)


def test_more_than_fit_are_refused_and_the_rest_are_answered() -> None:
    searcher = Blocking()
    executor = SearchExecutor(searcher, ServeSettings(threads=2, max_waiting=3))

    async def story() -> list[object]:
        tasks = [asyncio.create_task(executor.search(Query("x"))) for _ in range(9)]
        while sum(task.done() for task in tasks) < 4 or searcher.most < 2:
            await asyncio.sleep(0.001)
        searcher.let_go.set()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    found = asyncio.run(story())
    assert [isinstance(one, Overloaded) for one in found] == [False] * 5 + [True] * 4
    assert searcher.most == 2
    executor.close()


def test_room_is_given_back_after_failures() -> None:
    def fail(_: Query) -> ResultPage:
        raise CorruptFile("x")

    executor = SearchExecutor(FakeSearcher(answer=fail), ServeSettings(threads=1, max_waiting=1))

    async def story() -> None:
        for _ in range(10):
            with pytest.raises(CorruptFile):
                await executor.search(Query("x"))

    asyncio.run(story())
    executor.close()


def test_a_cancelled_search_gives_its_place_back() -> None:
    searcher = Blocking()
    executor = SearchExecutor(searcher, ServeSettings(threads=1, max_waiting=1))

    async def story() -> ResultPage:
        first, second = (asyncio.create_task(executor.search(Query("x"))) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        third = asyncio.create_task(executor.search(Query("third")))
        await asyncio.sleep(0)
        searcher.let_go.set()
        await first
        return await third

    assert asyncio.run(story()).query.words == "third"
    executor.close()


def test_closing_refuses_all_that_wait() -> None:
    searcher = Blocking()
    executor = SearchExecutor(searcher, ServeSettings(threads=1, max_waiting=5))

    async def story() -> list[object]:
        tasks = [asyncio.create_task(executor.search(Query("x"))) for _ in range(3)]
        await asyncio.sleep(0)
        executor.close()
        late = executor.search(Query("late"))
        return list(await asyncio.gather(*tasks, late, return_exceptions=True))

    assert all(isinstance(one, Overloaded) for one in asyncio.run(story()))
    searcher.let_go.set()


def test_the_index_is_refreshed_at_most_once_per_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("periplus.serve.search_executor.time.monotonic", lambda: clock[0])
    searcher = FakeSearcher()
    executor = SearchExecutor(searcher, ServeSettings(threads=1))

    async def ask(times: int) -> None:
        for _ in range(times):
            await executor.search(Query("x"))

    asyncio.run(ask(5))
    assert searcher.refreshes == 0
    for second in (1, 2):
        clock[0] += 1.01
        asyncio.run(ask(5))
        assert searcher.refreshes == second
    executor.close()


def test_a_new_index_that_cannot_be_opened_does_not_stop_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Torn(FakeSearcher):
        def refresh(self) -> bool:
            raise CorruptFile("torn")

    monkeypatch.setattr("periplus.serve.search_executor._REFRESH_SECONDS", 0.0)
    executor = SearchExecutor(Torn(), ServeSettings(threads=1))
    assert asyncio.run(executor.search(Query("x"))).hits
    executor.close()


def test_overload_is_reported_in_html_and_json() -> None:
    searcher = Blocking()
    app = make_app(searcher, ServeSettings(threads=1, max_waiting=1))

    async def story() -> None:
        known = await call(app, "/")
        assert known.status == 200
        held = [asyncio.create_task(call(app, f"/search?q=x{n}")) for n in range(2)]
        while app.executor.waiting < 2:
            await asyncio.sleep(0.001)
        page, data = await call(app, "/search?q=salt"), await call(app, "/api/search?q=salt")
        for answer in (page, data):
            assert answer.status == 429
            assert int(answer.headers["retry-after"]) >= 1
        assert '<meta http-equiv="refresh"' in page.text
        assert 'value="salt"' in page.text
        assert set(data.json) == {"error", "hint"}
        assert (await call(app, "/healthz")).status == 200
        assert (await call(app, "/")).status == 200
        searcher.let_go.set()
        assert [answer.status for answer in await asyncio.gather(*held)] == [200, 200]

    asyncio.run(story())
