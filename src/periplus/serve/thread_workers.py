"""Threads that run calls for an event loop, and that do not keep a stopping process alive."""

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["WorkerThreads"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class WorkerThreads:
    """Daemon threads that run jobs in order.

    The pool of the standard library is joined at exit, so one search that hangs would block Ctrl-C.
    """

    def __init__(self, count: int, name: str = "search", nice: int = 0) -> None:
        """Start the threads; nice: how much lower their priority is, where threads have one of their own (Linux)."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._count = count
        self._nice = nice
        for number in range(count):
            threading.Thread(target=self._work, name=f"periplus-{name}-{number}", daemon=True).start()

    def submit(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Run `call` in a thread; a job that is cancelled before it starts is not run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((call, future, loop))
        return future

    def close(self) -> None:
        """End the threads after the jobs in the queue."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        if self._nice and sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        while (job := self._jobs.get()) is not None:
            call, future, loop = job
            if future.done():
                continue
            try:
                result, error = call(), None
            except BaseException as caught:
                result, error = None, caught
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for the result
                loop.call_soon_threadsafe(_deliver, future, result, error)
            del job, call, future, result, error  # an idle thread keeps no objects alive


def _deliver(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
