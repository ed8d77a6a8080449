"""Threads that run calls for an event loop, that are replaced when they are stuck, and do not keep a process alive."""

import asyncio
import contextlib
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["WorkerThreads", "deliver_result"]

T = TypeVar("T")
_Job = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]

_LOG: Final = logging.getLogger("periplus.serve")
_MAX_REPLACED: Final = 4
"""Stuck threads for each thread of the pool that are replaced; then the pool is stuck itself."""
_MAX_QUEUED: Final = 1_024
"""Jobs in the queue, most of them cancelled, beyond which cancelled ones are removed."""


class _Worker:
    """One thread: when it began its job, and whether another has taken its place."""

    __slots__ = ("abandoned", "started")

    def __init__(self) -> None:
        self.started = 0.0
        """When its job began (monotonic); 0 while it is idle."""
        self.abandoned = False


class WorkerThreads:
    """Daemon threads that run jobs in order.

    The pool of the standard library is joined at exit, so one search that hangs would block Ctrl-C.
    """

    def __init__(self, count: int, name: str = "search", nice: int = 0) -> None:
        """Start the threads; nice: how much lower their priority is, where threads have one of their own (Linux)."""
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._count = count
        self._name = name
        self._nice = nice
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._abandoned: set[_Worker] = set()
        self.replaced = 0
        """Number of threads that were stuck, and replaced."""
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        worker = _Worker()
        self._workers.add(worker)
        threading.Thread(target=self._work, args=(worker,), name=f"periplus-{self._name}", daemon=True).start()

    def submit(self, call: Callable[[], T]) -> "asyncio.Future[T]":
        """Run `call` in a thread; a job that is cancelled before it starts is not run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._jobs.qsize() > _MAX_QUEUED:
            self._remove_cancelled()
        self._jobs.put((call, future, loop))
        return future

    def _remove_cancelled(self) -> None:
        """Remove jobs that nobody waits for, so that the queue of stuck threads does not grow without end."""
        waiting: list[_Job | None] = []
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.append(self._jobs.get_nowait())
        for job in waiting:
            if job is None or not job[1].done():
                self._jobs.put(job)

    def replace_stuck(self, seconds: float) -> None:
        """Start a thread for each one whose job runs for longer than this; the stuck one ends when its job does.

        At most four for each thread of the pool are given up at a time: whatever they wait for, more would too.
        """
        limit = time.monotonic() - seconds
        with self._lock:
            stuck = [worker for worker in self._workers if 0 < worker.started < limit]
            for worker in stuck:
                if len(self._abandoned) >= _MAX_REPLACED * self._count:
                    return
                worker.abandoned = True
                self._workers.discard(worker)
                self._abandoned.add(worker)
                self.replaced += 1
                _LOG.error("A %s thread is stuck for more than %.1f s and was replaced.", self._name, seconds)
                self._start()

    def is_stuck(self, seconds: float) -> bool:
        """Return whether every thread runs a job for longer than this."""
        limit = time.monotonic() - seconds
        with self._lock:
            return all(0 < worker.started < limit for worker in self._workers)

    def count_running(self, seconds: float) -> int:
        """Return the number of threads whose job runs for longer than this, those that were replaced included."""
        limit = time.monotonic() - seconds
        with self._lock:
            return sum(0 < worker.started < limit for worker in (*self._workers, *self._abandoned))

    def close(self) -> None:
        """End the threads after the jobs in the queue."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self, worker: _Worker) -> None:
        if self._nice and sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        while not worker.abandoned and (job := self._jobs.get()) is not None:
            call, future, loop = job
            if future.done():
                continue
            worker.started = time.monotonic()
            try:
                result, error = call(), None
            except BaseException as caught:
                result, error = None, caught
            worker.started = 0.0
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for the result
                loop.call_soon_threadsafe(deliver_result, future, result, error)
            del job, call, future, result, error  # an idle thread keeps no objects alive
        with self._lock:
            self._abandoned.discard(worker)


def deliver_result(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    """End a future, in its event loop, unless nobody waits for it any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
