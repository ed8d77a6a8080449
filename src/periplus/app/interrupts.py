"""Ctrl-C: the first stops in good order, the second at once."""

import contextlib
import signal
import types
from collections.abc import Callable, Iterator

from periplus.app.observer import SILENT, Observer

__all__ = ["stop_on_signal"]


@contextlib.contextmanager
def stop_on_signal(stop: Callable[[], None], observer: Observer = SILENT, activity: str = "") -> Iterator[list[int]]:
    """Within the block, call `stop` at the first SIGINT or SIGTERM and raise KeyboardInterrupt at the second.

    Yields the list of signals received so far. `activity` is what is being finished, for the observer. A signal that
    is ignored on entry stays ignored: another process handles it. Only the main thread may enter the block.
    """
    received: list[int] = []

    def handle(number: int, frame: types.FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            raise KeyboardInterrupt
        if activity:
            observer.message(f"Stopping: {activity}. Interrupt again to stop at once.")
        stop()

    heeded = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
