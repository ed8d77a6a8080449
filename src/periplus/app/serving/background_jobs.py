"""Run jobs in processes of their own, beside a server: restarted when they fail, ended with their parent.

Messages of a job reach the observer of the parent. A job that returns is done; one that raises, or is killed, is
started again after a while, longer after each failure, and reported as the health of its part.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from periplus.app.observer import Observer, SilentObserver
from periplus.errors import PeriplusError
from periplus.health import part
from periplus.supervision import Backoff, die_with_parent, run_supervised

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

__all__ = ["background_job"]

_LOG: Final = logging.getLogger("periplus.supervision")
_STOP_SECONDS: Final = 10.0


class _JobFailure(str):
    """What a job that failed sends last."""


class _PipeObserver(SilentObserver):
    """Sends messages to the parent process."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def message(self, text: str) -> None:
        """Send a line to the parent; ignore that it is gone."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send(text)


def _run(parent: int, job: Callable[..., None], arguments: Sequence[Any], connection: "Connection") -> None:
    die_with_parent(parent)
    try:
        job(*arguments, _PipeObserver(connection))
    except Exception as error:
        is_expected = isinstance(error, PeriplusError)
        with contextlib.suppress(OSError):
            connection.send(_JobFailure(str(error) if is_expected else f"{type(error).__name__}: {error}"))
        if is_expected:  # the parent reports it: a traceback would tell nothing more
            raise SystemExit(1) from None
        raise


class _JobSupervisor:
    """Runs one job in a child process, from a thread that lives as long as the child does."""

    def __init__(self, name: str, observer: Observer, job: Callable[..., None], arguments: Sequence[Any]) -> None:
        self._name, self._observer = name, observer
        self._job, self._arguments = job, arguments
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._error = ""
        # What fails here, such as starting a process for lack of memory, is tried again like the job itself.
        arguments_of_thread = (name, self._supervise, self._stopped)
        self._thread = threading.Thread(target=run_supervised, args=arguments_of_thread, name=f"periplus-{name}")

    def start(self) -> None:
        """Start the thread, which starts the process."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the process to end; kill it if it does not."""
        with self._lock:
            self._stopped.set()
            if self._process is not None:
                self._process.terminate()
        self._thread.join(_STOP_SECONDS)
        if self._process is not None and self._thread.is_alive():
            self._process.kill()
        self._thread.join()

    def _supervise(self) -> None:
        reporter, backoff = part(self._name), Backoff()
        while True:
            backoff.begin()
            code = self._run_process()
            if self._stopped.is_set() or not code:
                return
            reason = self._error or (f"killed by signal {-code}" if code < 0 else f"ended with status {code}")
            _LOG.error("%s: %s; it is started again", self._name, reason)
            reporter.fail(reason)
            if self._stopped.wait(backoff.next_seconds()):
                return
            reporter.restart()

    def _run_process(self) -> int:
        """Run the job in a new process, pass its messages on, and return its exit code."""
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        arguments = (os.getpid(), self._job, self._arguments, sender)
        process = context.Process(target=_run, args=arguments, name=f"periplus-{self._name}")
        with receiver:
            with sender, self._lock:  # closed here, so that the receiver sees the end when the child ends
                if self._stopped.is_set():
                    return 0
                process.start()
                self._process = process
            self._error = ""
            self._forward(receiver, process)
        process.join()
        return process.exitcode or 0

    def _forward(self, connection: "Connection", process: "BaseProcess") -> None:
        """Pass messages on until the process ends; processes that it has started may hold the pipe longer."""
        from multiprocessing.connection import wait

        with contextlib.suppress(EOFError, OSError):
            while connection in wait([connection, process.sentinel]):
                message = connection.recv()
                if isinstance(message, _JobFailure):
                    self._error = str(message)
                else:
                    self._observer.message(message)


@contextlib.contextmanager
def background_job(observer: Observer, name: str, job: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Within the block, run `job(*arguments, observer)` in a process of its own, which is ended with the block."""
    supervisor = _JobSupervisor(name, observer, job, arguments)
    supervisor.start()
    try:
        yield
    finally:
        supervisor.stop()
