"""Ctrl-C, SIGTERM and a terminal that closes: the first stops in good order, the second at once."""

import contextlib
import signal
import threading
import types
from collections.abc import Callable, Iterator
from typing import Final

from periplus.app.observer import SILENT, Observer

__all__ = ["stop_on_signal", "wait_for_signal"]

_POLL_SECONDS: Final = 0.5


@contextlib.contextmanager
def stop_on_signal(stop: Callable[[], None], observer: Observer = SILENT, activity: str = "") -> Iterator[list[int]]:
    """Within the block, call `stop` at the first SIGINT, SIGTERM or SIGHUP and raise KeyboardInterrupt at the second.

    Yields the list of signals received so far. `activity` is what is being finished, for the observer. A signal that
    is ignored on entry stays ignored: another process handles it. Only the main thread may enter the block.
    """
    received: list[int] = []

    def handle(number: int, frame: types.FrameType | None) -> None:
        if number == signal.SIGHUP and received:
            return  # the shell and the kernel may both report that a terminal was closed
        received.append(number)
        if len(received) > 1:
            raise KeyboardInterrupt
        if activity:
            with contextlib.suppress(OSError):  # the terminal may be gone
                observer.message(f"Stopping: {activity}. Interrupt again to stop at once.")
        stop()

    heeded = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def wait_for_signal() -> None:
    """Return at the first SIGINT, SIGTERM or SIGHUP. Only the main thread may call this."""
    stopped = threading.Event()
    with stop_on_signal(stopped.set):
        while not stopped.wait(_POLL_SECONDS):  # a wait without a limit would not be interrupted
            pass
