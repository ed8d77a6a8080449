"""Several worker processes that listen on one address and share one memory-mapped index."""

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import PeriplusError
from periplus.health import part
from periplus.serve.actions import Actions
from periplus.serve.api_keys import ApiKeys
from periplus.serve.application import make_app
from periplus.serve.protocols import SearcherLike
from periplus.serve.server import HttpServer, free_address
from periplus.serve.server_metrics import Metrics
from periplus.serve.workers.heartbeats import Heartbeats, ProgressWatch
from periplus.settings import ServeSettings
from periplus.supervision import die_with_parent

__all__ = ["ServerResources", "run_processes"]

_LOG: Final = logging.getLogger("periplus.serve")
_POLL_SECONDS: Final = 0.2
_READY_POLL_SECONDS: Final = 0.02
_READY_SECONDS: Final = 300.0
_START_SECONDS: Final = 60.0
"""Time for a process to start, on the slowest machine; one that takes longer is replaced."""
_HEARTBEATS: Final = "heartbeats"
_SUPERVISOR: Final = 1_000
"""The number under which the supervisor shares its metrics; that of no process."""
_THREADS_SECONDS: Final = 10.0
"""How long to wait for threads that still load parts of the index before this process forks."""
_STOP_SECONDS: Final = 10.0
_RESTART_DELAYS: Final = (0.0, 1.0, 5.0, 30.0)
"""Seconds to wait before a process that died is restarted, by the number of its recent deaths."""


class ServerResources(NamedTuple):
    """What a process needs to serve."""

    searcher: SearcherLike
    actions: Actions
    keys: ApiKeys


def run_processes(
    opener: Callable[..., ServerResources],
    opener_arguments: tuple[Any, ...],
    settings: ServeSettings,
    on_ready: Callable[[str], None],
    resources: ServerResources | None = None,
) -> None:
    """Serve with `settings.workers` processes until Ctrl-C or SIGTERM; one that dies or makes no progress is replaced.

    opener: an importable function, called with `opener_arguments` in each process; resources: what it returned in this
    process, which forked workers then share.
    """
    count = settings.workers or os.cpu_count() or 1
    address, port = free_address(settings.host, settings.port)
    threads = settings.threads or max(1, (os.cpu_count() or 1) // count)
    settings = msgspec.structs.replace(settings, port=port, threads=threads)
    with tempfile.TemporaryDirectory(prefix="periplus-") as metrics_folder:
        arguments = (settings, address, metrics_folder, count)
        pool = _ProcessPool(count, arguments, partial(opener, *opener_arguments), resources)
        with _stop_on_signals(pool):
            pool.start()
            if pool.wait_until_ready():
                on_ready(f"http://{f'[{address}]' if ':' in address else address}:{port}/")
            pool.supervise()
        pool.close()
        if pool.failure:
            raise PeriplusError(pool.failure)


class _ProcessPool:
    """The worker processes, by number."""

    def __init__(
        self,
        count: int,
        arguments: tuple[ServeSettings, str, str, int],
        opener: Callable[[], ServerResources],
        resources: ServerResources | None,
    ) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._arguments = arguments
        self._opener = opener
        self._resources = resources if sys.platform == "linux" else None
        settings, _, folder, _ = arguments
        self._heartbeats = Heartbeats(Path(folder) / _HEARTBEATS, count, create=True)
        limit = settings.watchdog_seconds or float("inf")
        self._watch_limits = (max(_START_SECONDS, limit), limit, limit)
        self._watches = [ProgressWatch(*self._watch_limits, time.monotonic()) for _ in range(count)]
        self._metrics = Metrics(Path(folder), _SUPERVISOR)
        self._health = part("server processes")
        self._processes: list[BaseProcess | None] = [None] * count
        self._deaths: list[list[float]] = [[] for _ in range(count)]
        self.stopping = threading.Event()
        self.failure = ""

    def start(self) -> None:
        """Start all processes: as forks of this one if it has everything open, else as new interpreters.

        A fork inherits the locks of threads without the threads themselves: if one of them was loading a kernel, every
        search of the child would wait for the compiler lock for ever. So this process forks only without other Python
        threads, and replacements, which come when it has some, are always new interpreters. Of threads that Python
        does not know there are those of OpenBLAS, which prepares for forks itself; and the locks of the compiler are
        never inherited (`periplus.accel.fork_locks`).
        """
        forked = self._resources is not None and wait_for_other_threads(_THREADS_SECONDS)
        context = multiprocessing.get_context("fork") if forked else self._context
        for number in range(len(self._processes)):
            self._start(number, context, self._resources if forked else None)
        self._resources = None

    def _start(self, number: int, context: Any, resources: ServerResources | None) -> None:
        self._heartbeats.reset(number)
        self._watches[number] = ProgressWatch(*self._watch_limits, time.monotonic())
        arguments = (number, os.getpid(), self._opener, resources, *self._arguments)
        process = context.Process(target=_work, args=arguments, name=f"periplus-serve-{number}")
        process.start()
        self._processes[number] = process

    def wait_until_ready(self) -> bool:
        """Wait until all processes answer requests; return whether they do."""
        deadline = time.monotonic() + _READY_SECONDS
        while not self.stopping.wait(_READY_POLL_SECONDS) and time.monotonic() < deadline:
            if all(self._heartbeats.read(number).ready for number in range(len(self._processes))):
                return True
            if any(process and process.exitcode for process in self._processes):
                self.failure = "A worker process ended while it was starting. See the messages above."
                self.stopping.set()
            self._replace_stuck()
        return False

    def supervise(self) -> None:
        """Replace processes that die or are stuck, until `stopping` is set."""
        while not self.stopping.wait(_POLL_SECONDS):
            self._replace_stuck()
            for number, process in enumerate(self._processes):
                if process is not None and not process.is_alive() and self._may_restart(number):
                    _LOG.error("Server process %d ended (%s) and is replaced.", number, process.exitcode)
                    self._count("worker_restarts", f"process {number} ended with {process.exitcode}")
                    self._restart(number)

    def _replace_stuck(self) -> None:
        """Kill processes that make no progress, and start others in their place."""
        now = time.monotonic()
        for number, process in enumerate(self._processes):
            stuck = self._watches[number].check(self._heartbeats.read(number), now)
            if not stuck or process is None or not process.is_alive():
                continue
            _LOG.error("Server process %d is stuck (%s) and is replaced.", number, stuck)
            self._count("stuck_workers", f"process {number} was stuck: {stuck}")
            process.kill()
            process.join(_STOP_SECONDS)
            self._deaths[number].append(now)
            self._restart(number)

    def _restart(self, number: int) -> None:
        """Start a process in place of one that has ended; if that fails, it is tried again."""
        try:
            self._start(number, self._context, None)
        except OSError as error:  # no memory, processes or descriptors left
            _LOG.error("Server process %d cannot be started: %s", number, error)
            self._health.fail(f"process {number} cannot be started: {error}")

    def _count(self, name: str, failure: str) -> None:
        """Count a replacement, for the metrics of all processes."""
        self._health.fail(failure)
        self._health.restart()
        self._metrics.values[name] = self._metrics.values.get(name, 0) + 1
        self._metrics.share(now=True)

    def _may_restart(self, number: int) -> bool:
        """Return whether a dead process may be restarted now; the delay grows if it keeps dying."""
        now, deaths = time.monotonic(), self._deaths[number]
        while deaths and now - deaths[0] > 2 * _RESTART_DELAYS[-1]:
            deaths.pop(0)
        if deaths and now - deaths[-1] < _RESTART_DELAYS[min(len(deaths), len(_RESTART_DELAYS) - 1)]:
            return False
        deaths.append(now)
        return True

    def close(self) -> None:
        """Ask all processes to finish and exit; kill those that do not."""
        processes = [process for process in self._processes if process is not None]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in processes:
            process.join(max(0.1, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


def wait_for_other_threads(seconds: float) -> bool:
    """Wait until this thread is the only one of the process; return whether it is."""
    deadline = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
    return threading.active_count() == 1


@contextlib.contextmanager
def _stop_on_signals(pool: _ProcessPool) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {number: signal.signal(number, lambda *_: pool.stopping.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _work(
    number: int,
    parent: int,
    opener: Callable[[], ServerResources],
    resources: ServerResources | None,
    settings: ServeSettings,
    address: str,
    metrics_folder: str,
    count: int,
) -> None:
    """Serve in a child process. Ctrl-C is handled by the parent, which ends this process cleanly."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent, signal.SIGTERM, _STOP_SECONDS)
    resources = resources or opener()
    heartbeats = Heartbeats(Path(metrics_folder) / _HEARTBEATS, count)
    app = make_app(
        resources.searcher,
        settings,
        resources.actions,
        resources.keys,
        (Path(metrics_folder), number),
        count,
        lambda searches: heartbeats.beat(number, searches),
    )
    server = HttpServer(app, settings, address, settings.port)
    server.run(lambda _: heartbeats.set_ready(number), numbers=(signal.SIGTERM,))
