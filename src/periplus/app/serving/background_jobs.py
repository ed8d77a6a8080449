"""Run jobs in processes of their own, beside a server; their messages reach the observer of the parent."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from periplus.app.observer import Observer, SilentObserver

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["background_job"]

_STOP_SECONDS: Final = 10.0


class _PipeObserver(SilentObserver):
    """Sends messages to the parent process."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def message(self, text: str) -> None:
        """Send a line to the parent; ignore that it is gone."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send(text)


def _run(job: Callable[..., None], arguments: Sequence[Any], connection: "Connection") -> None:
    job(*arguments, _PipeObserver(connection))


def _forward(connection: "Connection", observer: Observer) -> None:
    """Pass the messages of a child on until it ends."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            observer.message(connection.recv())


@contextlib.contextmanager
def background_job(observer: Observer, job: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Within the block, run `job(*arguments, observer)` in a process of its own, which is terminated at the end."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(job, arguments, sender), daemon=True)
    process.start()
    sender.close()  # so that the receiver sees the end when the child ends
    threading.Thread(target=_forward, args=(receiver, observer), daemon=True).start()
    try:
        yield
    finally:
        process.terminate()
        process.join(_STOP_SECONDS)
        if process.is_alive():
            process.kill()
