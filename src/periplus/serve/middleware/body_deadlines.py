"""Deadlines of request bodies: a total time, a least rate, and a limit of how many are read at once."""

import asyncio
from collections import OrderedDict
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from periplus.settings import ServeSettings

__all__ = ["BodyDeadlines"]

_MIN_RATE: Final = 1_000.0
"""Bytes a second that a client sends at least, once the grace is over."""
_GRACE_SHARE: Final = 0.25
"""Share of the total time in which the rate does not count."""
_PATIENCE_SECONDS: Final = 0.5
"""Time that every body has, however many are read."""
_TOO_SLOW: Final = HTTPException(408, "The body came too slowly.", {"connection": "close"})


class BodyDeadlines:
    """Reads request bodies within limits. Used from one event loop.

    When too many are read at once, the one that has been read for longest is given up, for a client that sends its body
    as fast as it can is done long before. So slow bodies, however many, keep no other out.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self._seconds = settings.body_seconds
        self._capacity = settings.max_waiting
        self._reading: OrderedDict[_BodyReceiver, None] = OrderedDict()
        self.timeouts = 0
        """Number of bodies that were given up."""

    def receiver(self, receive: Receive, *, streamed: bool = False) -> Receive:
        """Return the ASGI `receive` of one request within limits; it raises `HTTPException` when the time is over.

        streamed: the body may take longer, as long as it keeps coming at the least rate.
        """
        return _BodyReceiver(receive, self, streamed)

    @property
    def seconds(self) -> float:
        """Total time for a body."""
        return self._seconds

    def add(self, receiver: "_BodyReceiver") -> None:
        """Register a body that is waited for; give up the oldest ones if there are too many."""
        self._reading[receiver] = None
        patience = asyncio.get_running_loop().time() - _PATIENCE_SECONDS
        while len(self._reading) > self._capacity and next(iter(self._reading)).started < patience:
            self._reading.popitem(last=False)[0].expire()

    def remove(self, receiver: "_BodyReceiver") -> None:
        """Unregister a body that is complete or given up."""
        self._reading.pop(receiver, None)


class _BodyReceiver:
    """The `receive` of one request."""

    def __init__(self, receive: Receive, deadlines: BodyDeadlines, streamed: bool) -> None:
        self._receive = receive
        self._streamed = streamed
        self._deadlines = deadlines
        self.started = 0.0
        self._bytes = 0
        self._complete = False
        self._timeout: asyncio.Timeout | None = None

    async def __call__(self) -> Message:
        """Return the next part of the body."""
        if self._complete:
            return await self._receive()
        self.started = self.started or asyncio.get_running_loop().time()
        total = self._deadlines.seconds
        allowed = _GRACE_SHARE * total + self._bytes / _MIN_RATE
        end = self.started + (allowed if self._streamed else min(total, allowed))
        try:
            async with asyncio.timeout_at(end) as self._timeout:
                self._deadlines.add(self)
                message = await self._receive()
        except TimeoutError:
            self._complete = True
            self._deadlines.timeouts += 1
            self._deadlines.remove(self)
            raise HTTPException(_TOO_SLOW.status_code, _TOO_SLOW.detail, _TOO_SLOW.headers) from None
        except BaseException:
            self._deadlines.remove(self)
            raise
        self._bytes += len(message.get("body", b""))
        self._complete = message["type"] != "http.request" or not message.get("more_body")
        if self._complete:
            self._deadlines.remove(self)
        return message

    def expire(self) -> None:
        """Stop waiting now."""
        if self._timeout is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time())
