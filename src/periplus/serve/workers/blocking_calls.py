"""Calls that may block, such as those that write files: in threads of their own, bounded in number and in time."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from periplus.errors import Overloaded
from periplus.serve.workers.thread_workers import deliver_result

__all__ = ["call_in_thread"]

T = TypeVar("T")

_MAX_CALLS: Final = 64
"""Calls at a time; further ones are refused."""
_SECONDS: Final = 60.0
"""Time after which a call is given up. Its thread goes on, and counts until it ends."""
_SLOTS: Final = threading.BoundedSemaphore(_MAX_CALLS)


async def call_in_thread(call: Callable[..., T], *arguments: Any, seconds: float = _SECONDS) -> T:
    """Return `call(*arguments)`, run in a daemon thread; raise `Overloaded` if it takes too long, or too many do.

    Unlike `asyncio.to_thread`, a call that hangs neither keeps others from being run nor the process from ending.
    """
    if not _SLOTS.acquire(blocking=False):
        raise Overloaded("Too many requests at once.", "Try again in a moment.")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            result, error = call(*arguments), None
        except BaseException as caught:
            result, error = None, caught
        finally:
            _SLOTS.release()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for the result
            loop.call_soon_threadsafe(deliver_result, future, result, error)

    try:
        threading.Thread(target=work, name="periplus-call", daemon=True).start()
    except BaseException:
        _SLOTS.release()
        raise
    try:
        async with asyncio.timeout(seconds if seconds < float("inf") else None):
            return await future
    except TimeoutError:
        if future.done() and not future.cancelled():  # the call itself raised it
            raise
        raise Overloaded("The server is too busy.", "Try again in a moment.") from None
