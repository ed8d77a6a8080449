"""A few threads that do work for an event loop, and that a stopping process need not wait for."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Workers"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Workers:
    """Threads that take jobs in order. The standard pool is joined at exit, so one stuck search would hold Ctrl-C."""

    def __init__(self, count: int) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._count = count
        for number in range(count):
            threading.Thread(target=self._work, name=f"periplus-search-{number}", daemon=True).start()

    def submit(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Have a thread run `call`; a job that is cancelled before its turn is not run at all."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((call, future, loop))
        return future

    def close(self) -> None:
        """Let the threads end after the jobs they have."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            call, future, loop = job
            if future.done():
                continue
            try:
                result, error = call(), None
            except BaseException as caught:
                result, error = None, caught
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                loop.call_soon_threadsafe(_deliver, future, result, error)
            del job, call, future, result, error  # an idle thread keeps nothing alive


def _deliver(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
