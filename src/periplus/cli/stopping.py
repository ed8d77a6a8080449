"""Ctrl-C: the first asks nicely, the second stops at once."""

import contextlib
import signal
import types
from collections.abc import Callable, Iterator

from periplus.cli.console import note

__all__ = ["asked_to_stop"]


@contextlib.contextmanager
def asked_to_stop(stop: Callable[[], None], doing: str = "") -> Iterator[list[int]]:
    """While inside, the first SIGINT or SIGTERM calls `stop`; a second interrupts. Gives the signals seen so far.

    A signal that is ignored on entering stays ignored: then somebody else has it in hand.
    """
    seen: list[int] = []

    def handle(number: int, frame: types.FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt
        if doing:
            note(f"Stopping: {doing}. Once more stops at once.")
        stop()

    heeded = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
