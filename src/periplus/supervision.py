"""Threads that do not die silently, and processes that die with their parent.

`run_supervised` calls a function again when it raises: the traceback is logged, the failure is counted and reported
(`periplus.health`), and the next call waits for a while, longer after each failure. `die_with_parent` is called by a
child process when it starts.
"""

import asyncio
import contextlib
import ctypes
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from periplus.errors import PeriplusError
from periplus.health import Part, part

__all__ = [
    "Backoff",
    "die_with_parent",
    "report_exception",
    "run_supervised",
    "start_supervised",
    "supervise_once",
    "supervise_task",
    "supervised_thread",
]

_LOG: Final = logging.getLogger("periplus.supervision")
_FIRST_SECONDS: Final = 0.1
_MAX_SECONDS: Final = 30.0
_STEADY_SECONDS: Final = 60.0
"""After running for this long, a failure counts as the first again."""
_PR_SET_PDEATHSIG: Final = 1
_WATCH_SECONDS: Final = 0.5


class Backoff:
    """How long to wait after each of several failures: twice as long each time, up to a limit."""

    def __init__(self, first: float = _FIRST_SECONDS, limit: float = _MAX_SECONDS) -> None:
        self._first, self._limit = first, limit
        self._failures = 0
        self._since = time.monotonic()

    def reset(self) -> None:
        """Forget all failures."""
        self._failures = 0

    def begin(self) -> None:
        """Note that what failed begins again: if it runs for a minute, its failures are forgotten."""
        self._since = time.monotonic()

    def next_seconds(self) -> float:
        """Count a failure; return how long to wait after it."""
        if time.monotonic() - self._since > _STEADY_SECONDS:
            self._failures = 0
        self._failures += 1
        return float(min(self._limit, self._first * 2 ** min(self._failures - 1, 30)))


def report_exception(reporter: Part, error: BaseException) -> None:
    """Log an exception and report it as the failure of a part; one that Periplus did not expect with its traceback."""
    expected = isinstance(error, PeriplusError | OSError)
    text = str(error) or type(error).__name__
    _LOG.error("%s: %s", reporter.health.name, text, exc_info=None if expected else error)
    reporter.fail(text if expected else f"{type(error).__name__}: {text}")


def run_supervised(name: str, work: Callable[[], None], stopped: threading.Event, limit: float = _MAX_SECONDS) -> None:
    """Call `work` until it returns or `stopped` is set; when it raises, report that and call it again after a while.

    limit: the longest wait, in seconds.
    """
    reporter, backoff = part(name), Backoff(limit=limit)
    while not stopped.is_set():
        backoff.begin()
        try:
            work()
            reporter.recover()
            return
        except Exception as error:
            report_exception(reporter, error)
        if not stopped.wait(backoff.next_seconds()):
            reporter.restart()


def start_supervised(
    name: str, work: Callable[[], None], stopped: threading.Event, limit: float = _MAX_SECONDS
) -> threading.Thread:
    """Start a thread that runs `run_supervised`."""
    arguments = (name, work, stopped, limit)
    thread = threading.Thread(target=run_supervised, args=arguments, name=f"periplus-{name}", daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def supervised_thread(
    name: str,
    work: Callable[[], None],
    stopped: threading.Event,
    limit: float = _MAX_SECONDS,
    patience: float | None = None,
) -> Iterator[None]:
    """Within the block, run `run_supervised` in a thread; at its end set `stopped`, and wait for it.

    patience: the longest wait for its end, in seconds; None waits as long as it takes.
    """
    thread = start_supervised(name, work, stopped, limit)
    try:
        yield
    finally:
        stopped.set()
        thread.join(patience)


def supervise_once(name: str, work: Callable[..., object]) -> Callable[..., None]:
    """Return a function that calls `work` once, and reports an exception instead of raising it."""

    @functools.wraps(work)
    def call(*arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:
            report_exception(part(name), error)
        else:
            part(name).recover()

    return call


async def supervise_task(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine of an event loop as `run_supervised` runs a function; cancelling it is not a failure."""
    reporter, backoff = part(name), Backoff()
    while True:
        backoff.begin()
        try:
            await work()
            return
        except Exception as error:
            report_exception(reporter, error)
        await asyncio.sleep(backoff.next_seconds())
        reporter.restart()


def die_with_parent(parent: int, number: int = signal.SIGKILL, grace: float = 0.0) -> None:
    """Send this process a signal when its parent ends, however that ends, and kill it `grace` seconds later.

    parent: the process id of the parent, which may have ended already. On Linux the kernel does it, at the end of the
    thread that started this process: start children from a thread that lives as long as they do.
    """
    asked_kernel = sys.platform == "linux" and _set_death_signal(number)
    if os.getppid() != parent:
        _end(number, grace)
    elif not asked_kernel or grace:
        threading.Thread(
            target=_watch_parent, args=(parent, number, grace), name="periplus-parent", daemon=True
        ).start()


def _set_death_signal(number: int) -> bool:
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0) == 0)
    return False


def _watch_parent(parent: int, number: int, grace: float) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    _end(number, grace)


def _end(number: int, grace: float) -> None:
    os.kill(os.getpid(), number)
    time.sleep(grace)
    os.kill(os.getpid(), signal.SIGKILL)
