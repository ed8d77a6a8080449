"""The gate in front of the searcher: a few threads that search, a bounded queue, and a refusal when that is full."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from periplus.errors import Overloaded, PeriplusError
from periplus.records import Query, ResultPage
from periplus.serve.searching import CachedPageLike, SearcherLike, StatisticsLike
from periplus.serve.workers import Workers
from periplus.settings import ServeSettings

__all__ = ["Gate"]

T = TypeVar("T")

_LOG: Final = logging.getLogger("periplus.serve")
_REFRESH_SECONDS: Final = 1.0
_PATIENCE: Final = 30
"""The longest time, in seconds, that a refused request is told to wait."""


class Gate:
    """Runs a searcher's methods in threads. Call it from one event loop; kernels leave the loop free meanwhile."""

    def __init__(self, searcher: SearcherLike, settings: ServeSettings) -> None:
        self._searcher = searcher
        self._threads = settings.threads or max(2, os.cpu_count() or 1)
        self._room = self._threads + settings.max_waiting
        self._workers = Workers(self._threads)
        self._inside: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._mean_seconds = 0.01
        self._refreshed = time.monotonic()
        self._refreshing = threading.Lock()
        self._facts: StatisticsLike | None = None
        self._facts_time = 0.0

    async def search(self, query: Query) -> ResultPage:
        """Answer a query; raise `Overloaded` when too many wait."""
        return await self._run(lambda: self._searcher.search(query))

    async def cached(self, key: int) -> CachedPageLike | None:
        """Give the kept copy of a page; raise `Overloaded` when too many wait."""
        return await self._run(lambda: self._searcher.cached(key))

    async def statistics(self) -> StatisticsLike:
        """Say how much there is to search: at most a second old, or the last that is known when too many wait."""
        known = self._facts
        if known is not None and time.monotonic() - self._facts_time < _REFRESH_SECONDS:
            return known
        try:
            known = await self._run(self._searcher.statistics)
        except Overloaded:
            if known is None:
                raise
            return known
        self._facts, self._facts_time = known, time.monotonic()
        return known

    def retry_after(self) -> int:
        """Guess, in whole seconds, when a refused request may come back."""
        ahead = len(self._inside) * self._mean_seconds / self._threads
        return max(1, min(_PATIENCE, round(ahead + 0.5)))

    def close(self) -> None:
        """Refuse all that wait and all that come; what runs is left to end by itself."""
        if self._closed:
            return
        self._closed = True
        for future in list(self._inside):
            if not future.done():
                future.set_exception(_stopping())
        self._workers.close()

    async def _run(self, call: Callable[[], T]) -> T:
        if self._closed:
            raise _stopping()
        if len(self._inside) >= self._room:
            raise Overloaded("Too many searches at once.", "Try again in a moment.")
        future = self._workers.submit(lambda: self._timed(call))
        self._inside.add(future)
        future.add_done_callback(self._inside.discard)
        return await future

    def _timed(self, call: Callable[[], T]) -> T:
        self._refresh()
        begin = time.monotonic()
        try:
            return call()
        finally:
            with self._lock:
                self._mean_seconds += 0.1 * (time.monotonic() - begin - self._mean_seconds)

    def _refresh(self) -> None:
        """Let the searcher look for a newer index, at most once a second and in one thread; a failure keeps the old."""
        if time.monotonic() - self._refreshed < _REFRESH_SECONDS or not self._refreshing.acquire(blocking=False):
            return
        try:
            self._searcher.refresh()
        except PeriplusError as error:
            _LOG.warning("The new index cannot be opened, the old one stays: %s", error)
        finally:
            self._refreshed = time.monotonic()
            self._refreshing.release()


def _stopping() -> Overloaded:
    return Overloaded("The server is stopping.", "Try again in a moment.")
