"""The rate limit: a token bucket for each client, in bounded memory."""

import time
from collections import OrderedDict
from typing import Final

__all__ = ["RateLimit"]

_MAX_CLIENTS: Final = 50_000
"""Clients with a bucket; the least recently seen is dropped first."""
_BURST_SECONDS: Final = 4.0
"""Seconds of requests that may arrive at once."""


class RateLimit:
    """Admits `rate` requests a second from each client, and bursts of a few seconds' worth."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._capacity = max(1.0, rate * _BURST_SECONDS)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, cost: float = 1.0) -> float:
        """Return 0 and consume a token, or return the seconds until there is one."""
        if not self._rate:
            return 0.0
        now = time.monotonic()
        tokens, then = self._buckets.pop(client, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - then) * self._rate)
        lacking = cost - tokens
        self._buckets[client] = (tokens - cost if lacking <= 0 else tokens, now)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return max(0.0, lacking / self._rate)
