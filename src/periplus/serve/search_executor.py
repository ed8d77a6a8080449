"""The gate in front of the searcher: a few threads that search, a bounded queue, and a refusal when that is full."""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from periplus.errors import Overloaded, PeriplusError
from periplus.records import Query, ResultPage
from periplus.serve.protocols import (
    CachedPageLike,
    IndexPartsLike,
    PageStatusLike,
    SearcherLike,
    StatisticsLike,
    WeightLike,
)
from periplus.serve.thread_workers import Workers
from periplus.settings import ServeSettings

__all__ = ["FULL", "LATE", "STOPPING", "SearchExecutor"]

LATE: Final = "Too many searches wait."
FULL: Final = "Too many searches at once."
STOPPING: Final = "The server is stopping."

T = TypeVar("T")

_LOG: Final = logging.getLogger("periplus.serve")
_REFRESH_SECONDS: Final = 0.2
"""How often we look for a new commit of the index."""
_TRIFLE: Final = 0.0001
"""What takes fewer seconds is no search, and says nothing about how long one takes."""
_GAIN: Final = 0.05
_LONGEST: Final = 0.25
"""Seconds: one search that takes longer, such as the very first, counts as this much."""
_FACTS_SECONDS: Final = 1.0
_PATIENCE: Final = 30
"""The longest time, in seconds, that a refused request is told to wait."""


class SearchExecutor:
    """Runs a searcher's methods in threads. Call it from one event loop; kernels leave the loop free meanwhile."""

    def __init__(
        self, searcher: SearcherLike, settings: ServeSettings, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self._searcher = searcher
        self._on_change = on_change
        self._deadline = settings.deadline
        self._threads = settings.threads or max(2, os.cpu_count() or 1)
        self._room = self._threads + settings.max_waiting
        self._workers = Workers(self._threads)
        self._inside: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._finding = asyncio.Lock()
        self._lock = threading.Lock()
        self._mean_seconds = 0.01
        self._refreshed = time.monotonic()
        self._refreshing = threading.Lock()
        self._facts: StatisticsLike | None = None
        self._facts_time = 0.0

    @property
    def waiting(self) -> int:
        """How many searches wait or run."""
        return len(self._inside)

    @property
    def documents(self) -> int:
        """How many pages there were to search when somebody last asked."""
        return self._facts.documents if self._facts else 0

    async def search(self, query: Query) -> ResultPage:
        """Answer a query; raise `Overloaded` when too many wait."""
        return await self.run(lambda: self._searcher.search(query))

    async def find(self, url: str) -> PageStatusLike:
        """Say whether a page is in the index. One at a time, beside the searches: it may read much of a large store."""
        if self._finding.locked():
            raise Overloaded("Somebody else is looking a page up.", "Try again in a moment.")
        async with self._finding:
            return await asyncio.to_thread(self._searcher.page_status, url)

    async def cached(self, key: int) -> CachedPageLike | None:
        """Give the kept copy of a page; raise `Overloaded` when too many wait."""
        return await self.run(lambda: self._searcher.cached_page(key))

    async def parts(self) -> IndexPartsLike | None:
        """Say what the index is made of; raise `Overloaded` when too many wait."""
        return await self.run(self._searcher.index_parts)

    async def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Answer a query as other weights would have it; raise `Overloaded` when too many wait."""
        return await self.run(lambda: self._searcher.preview(query, weights))

    def weights(self) -> Sequence[WeightLike]:
        """List the weights of ranking."""
        return self._searcher.weights()

    async def watch(self) -> None:
        """Look for new commits of the index for as long as this runs."""
        while not self._closed:
            with contextlib.suppress(Overloaded):
                await self.run(lambda: None)
            await asyncio.sleep(_REFRESH_SECONDS)

    async def statistics(self) -> StatisticsLike:
        """Say how much there is to search: at most a second old, or the last that is known when too many wait."""
        known = self._facts
        if known is not None and time.monotonic() - self._facts_time < _FACTS_SECONDS:
            return known
        try:
            known = await self.run(self._searcher.statistics)
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

    async def run(self, call: Callable[[], T], began: float = 0.0) -> T:
        """Have a thread do something; raise `Overloaded` when too many wait, or for too long.

        began: when it was asked for, on the monotonic clock, if that was earlier.
        """
        if self._closed:
            raise _stopping()
        if len(self._inside) >= self._room:
            raise Overloaded(FULL, "Try again in a moment.")
        loop, now = asyncio.get_running_loop(), time.monotonic()
        began = began or now
        if self._would_be_late(now - began):
            raise _late()
        future = self._workers.submit(lambda: self._timed(call, loop, began))
        self._inside.add(future)
        future.add_done_callback(self._inside.discard)
        return await future

    def full(self, waited: float = 0.0) -> bool:
        """Say whether one more would be refused, that has waited some seconds already."""
        return self._closed or len(self._inside) >= self._room or self._would_be_late(waited)

    def reason(self) -> str:
        """Say why one more would be refused."""
        if self._closed:
            return STOPPING
        return FULL if len(self._inside) >= self._room else LATE

    def busy(self) -> bool:
        """Say whether others wait for their turn."""
        return len(self._inside) > self._threads

    def _would_be_late(self, waited: float) -> bool:
        return waited + len(self._inside) * self._mean_seconds / self._threads > self._deadline

    def _timed(self, call: Callable[[], T], loop: asyncio.AbstractEventLoop, began: float) -> T:
        begin = time.monotonic()
        if begin - began > self._deadline:
            raise _late()  # whoever asked has waited long enough, and others wait behind
        self._refresh(loop)
        try:
            return call()
        finally:
            # By the clock on the wall: it is what those who wait are promised, however busy the machine is.
            taken = time.monotonic() - begin
            if taken > _TRIFLE:
                with self._lock:
                    self._mean_seconds += _GAIN * (min(taken, _LONGEST) - self._mean_seconds)

    def _refresh(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the searcher look for a newer index, now and then and in one thread; a failure keeps the old."""
        if time.monotonic() - self._refreshed < _REFRESH_SECONDS or not self._refreshing.acquire(blocking=False):
            return
        try:
            if self._searcher.refresh():
                with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                    loop.call_soon_threadsafe(self._on_change)
        except PeriplusError as error:
            _LOG.warning("The new index cannot be opened, the old one stays: %s", error)
        finally:
            self._refreshed = time.monotonic()
            self._refreshing.release()


def _late() -> Overloaded:
    return Overloaded(LATE, "Try again in a moment.")


def _stopping() -> Overloaded:
    return Overloaded(STOPPING, "Try again in a moment.")
