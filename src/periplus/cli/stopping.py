"""Ctrl-C: the first asks nicely, the second stops at once."""

import contextlib
import signal
import types
from collections.abc import Callable, Iterator

from periplus.cli.console import note

__all__ = ["asked_to_stop"]


@contextlib.contextmanager
def asked_to_stop(stop: Callable[[], None], doing: str) -> Iterator[list[int]]:
    """While inside, the first SIGINT or SIGTERM calls `stop`; a second interrupts. Gives the signals seen so far."""
    seen: list[int] = []

    def handle(number: int, frame: types.FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt
        note(f"Stopping: {doing}. Once more stops at once.")
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
