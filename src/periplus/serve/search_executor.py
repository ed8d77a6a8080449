"""Searches run in a few threads behind a bounded queue; what does not fit, or would wait too long, is refused.

A search begins in a thread for ordinary ones. If it turns out, once it is planned, to be expensive, it begins again in
a lane of its own: fewer threads of lower priority behind a short queue. So however many expensive queries there are,
ordinary ones wait for their planning only.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from periplus.errors import ExpensiveQuery, Overloaded, PeriplusError
from periplus.records import Query, ResultPage, SearchLimits
from periplus.serve.protocols import (
    CachedPageLike,
    IndexPartsLike,
    PageStatusLike,
    SearcherLike,
    StatisticsLike,
    TextBlockLike,
    WeightLike,
)
from periplus.serve.workers.blocking_calls import call_in_thread
from periplus.serve.workers.thread_workers import WorkerThreads
from periplus.settings import ServeSettings

__all__ = ["EXPENSIVE", "FULL", "LATE", "STOPPING", "STUCK", "TIMED_OUT", "SearchExecutor"]

LATE: Final = "Too many searches are waiting."
FULL: Final = "Too many searches at once."
EXPENSIVE: Final = "Too many expensive searches at once."
TIMED_OUT: Final = "The search took too long."
STUCK: Final = "Searches do not end."
STOPPING: Final = "The server is stopping."

T = TypeVar("T")

_LOG: Final = logging.getLogger("periplus.serve")
_REFRESH_SECONDS: Final = 0.2
"""How often the searcher checks for a new commit of the index."""
_MIN_SEARCH_SECONDS: Final = 0.0001
"""A call that takes less is not a search, and does not count for the mean."""
_GAIN: Final = 0.05
"""Weight of the latest search in the moving mean of their durations."""
_MAX_SEARCH_SECONDS: Final = 0.25
"""A search that takes longer, such as the very first, counts as this much."""
_LANE_NICE: Final = 5
"""How much lower the priority of threads for expensive queries is."""
_LANE_QUEUE: Final = 3
"""Expensive queries that wait for each of these threads; they take up to the deadline each."""
_HARD_DEADLINE: Final = 1.8
"""Deadlines after which a search is refused, whatever its thread does."""
_COLD_SECONDS: Final = 5.0
"""Age of a process up to which searches wait longer: the first one loads compiled kernels."""
_OTHER_SECONDS: Final = 5.0
"""Time after which calls other than searches are refused, unless the deadline of searches is later."""
_STUCK_DEADLINES: Final = 6.0
_STUCK_SECONDS: Final = 6.0
"""Deadlines, and the least time, after which the thread of a search is replaced: its limits should have ended it."""
_MIN_SHARE: Final = 0.5
"""Share of the deadline that a search has to itself, however long it waited."""
_STATISTICS_SECONDS: Final = 1.0
_ALONE_SECONDS: Final = 60.0
"""Time for a call that reads the store and the crawl."""
_PROBE: Final = Query("first")
_MAX_RETRY_SECONDS: Final = 30


class SearchExecutor:
    """Runs methods of a searcher in threads. Call it from one event loop, which kernels leave free."""

    def __init__(
        self, searcher: SearcherLike, settings: ServeSettings, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._searcher = searcher
        self._on_change = on_change
        self._deadline = settings.deadline
        self._threads = settings.threads or max(2, os.cpu_count() or 1)
        self._capacity = self._threads + settings.max_waiting
        self._workers = WorkerThreads(self._threads)
        lane_threads = max(1, self._threads - 1)
        # With a process of their own, expensive queries leave little to do here: it should not be put off.
        self._lane = WorkerThreads(lane_threads, "expensive", 0 if settings.expensive_process else _LANE_NICE)
        self._lane_capacity = lane_threads * (1 + _LANE_QUEUE)
        self._expensive_cost = settings.expensive_query
        self._pending: set[asyncio.Future[Any]] = set()
        self._lane_pending: set[asyncio.Future[Any]] = set()
        self._warm = False
        self._cold_until = time.monotonic() + _COLD_SECONDS
        self._stuck_seconds = max(_STUCK_SECONDS, _STUCK_DEADLINES * self._deadline)
        self._hard_seconds = max(_OTHER_SECONDS, _HARD_DEADLINE * self._deadline)
        self._is_stuck = False
        self._succeeded = self._timed_out = 0.0
        self._probe: asyncio.Task[None] | None = None
        self._closed = False
        self._status_lock = asyncio.Lock()
        self._mean_lock = threading.Lock()
        self._mean_seconds = 0.01
        self._refreshed = time.monotonic()
        self._refresh_lock = threading.Lock()
        self._statistics: StatisticsLike | None = None
        self._statistics_time = 0.0
        self._statistics_call: asyncio.Task[StatisticsLike] | None = None

    @property
    def waiting(self) -> int:
        """Number of searches that are queued or running."""
        return len(self._pending) + len(self._lane_pending)

    @property
    def documents(self) -> int:
        """Number of pages in the index, as of the last call of `statistics`."""
        return self._statistics.documents if self._statistics else 0

    @property
    def replaced_threads(self) -> int:
        """Number of threads that were stuck and replaced."""
        return self._workers.replaced + self._lane.replaced

    def problem(self) -> str:
        """Return why no search is likely to succeed, or ''."""
        if self._is_stuck:
            return STUCK
        hanging = self._workers.count_running(_HARD_DEADLINE * self._deadline)
        return STUCK if hanging and self._timed_out > self._succeeded else ""

    def check_threads(self) -> bool:
        """Replace threads that are stuck; return False if all are, and no more can be replaced."""
        for workers in (self._workers, self._lane):
            workers.replace_stuck(self._stuck_seconds)
        self._is_stuck = self._workers.is_stuck(self._stuck_seconds)
        if self._probe is None and not self._is_stuck and self.problem():
            # Nobody may ask again while this server reports that it is not ready.
            self._probe = asyncio.create_task(self._search_once())
        return not self._is_stuck

    async def _search_once(self) -> None:
        try:
            with contextlib.suppress(PeriplusError):
                await self.search(_PROBE)
        finally:
            self._probe = None

    async def search(self, query: Query) -> ResultPage:
        """Answer a query; raise `Overloaded` when too many wait."""
        return await self.run_search(lambda limits: self._searcher.search(query, limits))

    async def page_status(self, url: str) -> PageStatusLike:
        """Return whether a page is in the index.

        One call at a time, in a thread of its own: it may read much of a large store.
        """
        if self._status_lock.locked():
            raise Overloaded("Another page is being looked up.", "Try again in a moment.")
        async with self._status_lock:
            return await call_in_thread(self._searcher.page_status, url)

    async def run_alone(self, call: Callable[[], T]) -> T:
        """Run a call that may take long, in a thread of its own; raise `Overloaded` while another one runs."""
        if self._status_lock.locked():
            raise Overloaded("Another page is being looked up.", "Try again in a moment.")
        async with self._status_lock:
            return await call_in_thread(call, seconds=_ALONE_SECONDS)

    async def cached(self, key: int) -> CachedPageLike | None:
        """Return the cached copy of a page; raise `Overloaded` when too many wait."""
        return await self._run_within(self._hard_seconds, lambda: self._searcher.cached_page(key))

    async def cached_blocks(self, key: int) -> Sequence[TextBlockLike]:
        """Return the blocks of a cached copy; none while another page is looked up, as its text is enough then."""
        if self._status_lock.locked():
            return ()
        async with self._status_lock:
            return await call_in_thread(self._searcher.cached_blocks, key)

    async def index_parts(self) -> IndexPartsLike | None:
        """Return what the index consists of; raise `Overloaded` when too many wait."""
        return await self._run_within(self._hard_seconds, self._searcher.index_parts)

    async def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query with other weights; raise `Overloaded` when too many wait."""
        return await self._run_within(self._hard_seconds, lambda: self._searcher.preview(query, weights))

    def weights(self) -> Sequence[WeightLike]:
        """Return the weights of ranking."""
        return self._searcher.weights()

    async def watch_index(self) -> None:
        """Check for new commits of the index until closed."""
        while not self._closed:
            with contextlib.suppress(Overloaded):
                await self._run_within(self._hard_seconds, lambda: None)
            await asyncio.sleep(_REFRESH_SECONDS)

    async def statistics(self) -> StatisticsLike:
        """Return the size of the index: at most a second old, or the last one known if it cannot be had in time.

        No thread of a search is needed for it. Raise `Overloaded` if none is known.
        """
        latest = self._statistics
        if latest is not None and time.monotonic() - self._statistics_time < _STATISTICS_SECONDS:
            return latest
        if self._statistics_call is None:
            self._statistics_call = asyncio.create_task(self._read_statistics())
            self._statistics_call.add_done_callback(lambda task: task.cancelled() or task.exception())
        reading = self._statistics_call
        try:
            async with asyncio.timeout(self._deadline if latest else self._hard_seconds):
                return await asyncio.shield(reading)
        except (TimeoutError, Overloaded):
            if latest is None:
                raise Overloaded(TIMED_OUT, "Try again in a moment.") from None
            return latest

    async def _read_statistics(self) -> StatisticsLike:
        try:
            statistics = await call_in_thread(self._searcher.statistics, seconds=float("inf"))
            self._statistics, self._statistics_time = statistics, time.monotonic()
            return statistics
        finally:
            self._statistics_call = None

    def retry_after(self) -> int:
        """Return an estimate, in whole seconds, of when a refused request may be repeated."""
        queued = len(self._pending) * self._mean_seconds / self._threads
        return max(1, min(_MAX_RETRY_SECONDS, round(queued + 0.5)))

    def close(self) -> None:
        """Refuse what is queued and what comes; searches that are running end by themselves."""
        if self._closed:
            return
        self._closed = True
        for future in [*self._pending, *self._lane_pending]:
            if not future.done():
                future.set_exception(_stopping())
        self._workers.close()
        self._lane.close()

    async def run_search(
        self, call: Callable[[SearchLimits], T], started: float = 0.0, *, expensive: bool = False
    ) -> T:
        """Run a search, in the lane of expensive ones if it turns out to be one; raise `Overloaded` as `run` does.

        call: a search within limits, which raises `ExpensiveQuery`; started: as for `run`; expensive: whether that is
        known beforehand. Answers or raises before twice the deadline; a thread that is still at work then ends by the
        limits of its search.
        """
        started = started or time.monotonic()
        # The first search of a process loads compiled kernels, which may take longer than the deadline.
        hard = max(started + _HARD_DEADLINE * self._deadline, 0.0 if self._warm else self._cold_until)
        if not expensive:
            with contextlib.suppress(ExpensiveQuery):
                ordinary = self.run(lambda: call(self._limits(started, self._expensive_cost)), started)
                return await self._finish(ordinary, hard)
        return await self._finish(self._run_expensive(lambda: call(self._limits(started)), started), hard)

    async def _finish(self, search: Coroutine[Any, Any, T], hard: float) -> T:
        """Return the result of a search, and note whether there was one by the time `hard`."""
        try:
            result = await _wait(search, hard)
        except Overloaded as error:
            if error.message == TIMED_OUT:
                self._timed_out = time.monotonic()
            raise
        self._warm = True
        self._succeeded = time.monotonic()
        return result

    def _limits(self, started: float, cost: float = float("inf")) -> SearchLimits:
        """Return the limits of a search that arrived at a time and begins now."""
        left = started + self._deadline - time.monotonic()
        return SearchLimits(max(left, _MIN_SHARE * self._deadline), cost)

    async def _run_expensive(self, call: Callable[[], T], started: float) -> T:
        """Run a call in the lane of expensive queries; raise `Overloaded` when it is full."""
        self._check_open()
        if len(self._lane_pending) >= self._lane_capacity:
            raise Overloaded(EXPENSIVE, "Try again in a moment.")
        future = self._lane.submit(lambda: self._unless_late(call, started))
        self._lane_pending.add(future)
        future.add_done_callback(self._lane_pending.discard)
        return await future

    def _unless_late(self, call: Callable[[], T], started: float) -> T:
        if time.monotonic() - started > self._deadline:
            raise _late()
        return call()

    def _check_open(self) -> None:
        if self._closed:
            raise _stopping()
        if self._is_stuck:
            raise Overloaded(STUCK, "Try again later.")

    async def _run_within(self, seconds: float, call: Callable[[], T]) -> T:
        """Run a call as `run` does; raise `Overloaded` if it takes longer than this."""
        return await _wait(self.run(call), time.monotonic() + seconds)

    async def run(self, call: Callable[[], T], started: float = 0.0) -> T:
        """Run a call in a thread; raise `Overloaded` when too many wait, or for too long.

        started: when the request arrived (monotonic), if earlier than now.
        """
        self._check_open()
        if len(self._pending) >= self._capacity:
            raise Overloaded(FULL, "Try again in a moment.")
        loop, now = asyncio.get_running_loop(), time.monotonic()
        started = started or now
        if self._would_be_late(now - started):
            raise _late()
        future = self._workers.submit(lambda: self._timed(call, loop, started))
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return await future

    def is_full(self, waited: float = 0.0) -> bool:
        """Return whether a request that has already waited for some seconds would be refused."""
        if self._closed or self._is_stuck:
            return True
        return len(self._pending) >= self._capacity or self._would_be_late(waited)

    def refusal_reason(self) -> str:
        """Return why a request would be refused."""
        if self._closed:
            return STOPPING
        if self._is_stuck:
            return STUCK
        return FULL if len(self._pending) >= self._capacity else LATE

    def is_busy(self) -> bool:
        """Return whether searches are queued."""
        return len(self._pending) > self._threads

    def _would_be_late(self, waited: float) -> bool:
        return waited + len(self._pending) * self._mean_seconds / self._threads > self._deadline

    def _timed(self, call: Callable[[], T], loop: asyncio.AbstractEventLoop, started: float) -> T:
        begin = time.monotonic()
        if begin - started > self._deadline:
            raise _late()  # the client has waited long enough, and others are queued behind it
        self._refresh(loop)
        try:
            return call()
        finally:
            # Wall time, not CPU time: it is what queued clients wait for, however busy the machine is.
            seconds = time.monotonic() - begin
            if seconds > _MIN_SEARCH_SECONDS:
                with self._mean_lock:
                    self._mean_seconds += _GAIN * (min(seconds, _MAX_SEARCH_SECONDS) - self._mean_seconds)

    async def refresh(self) -> None:
        """Open the newest generation of the index now."""
        loop = asyncio.get_running_loop()
        if await call_in_thread(self._open_newest):
            loop.call_soon(self._on_change)

    def _open_newest(self) -> bool:
        with self._refresh_lock:
            return self._searcher.refresh()

    def _refresh(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check for a newer index, periodically and in one thread; if it cannot be opened the old one stays."""
        if time.monotonic() - self._refreshed < _REFRESH_SECONDS or not self._refresh_lock.acquire(blocking=False):
            return
        try:
            if self._searcher.refresh():
                with contextlib.suppress(RuntimeError):  # the loop is closed: the server is stopping
                    loop.call_soon_threadsafe(self._on_change)
        except PeriplusError as error:
            _LOG.warning("Cannot open the new index, continuing with the old one: %s", error)
        finally:
            self._refreshed = time.monotonic()
            self._refresh_lock.release()


async def _wait(running: Coroutine[Any, Any, T], end: float) -> T:
    """Return the result of a search; raise `Overloaded` if it is not there by a time (monotonic)."""
    try:
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            return await running
    except TimeoutError:
        raise Overloaded(TIMED_OUT, "Try a simpler query.") from None


def _late() -> Overloaded:
    return Overloaded(LATE, "Try again in a moment.")


def _stopping() -> Overloaded:
    return Overloaded(STOPPING, "Try again in a moment.")
