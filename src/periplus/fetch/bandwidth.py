"""A token bucket over all transfers of a fetcher: how much may be received now, and when the next byte may be."""

import time
from collections.abc import Callable
from typing import Final

__all__ = ["TokenBucket", "concurrent_transfers", "receive_buffer"]

_BURST_SECONDS: Final = 0.25
"""What was not used may be received later, up to so many seconds' worth."""
_MIN_BURST: Final = 16_384
_MIN_RATE: Final = 32_768
"""Bytes per second that each transfer should get: of more transfers than that, all would be slow."""
_MIN_BUFFER: Final = 8_192
_MAX_BUFFER: Final = 262_144


class TokenBucket:
    """Allows `rate` bytes per second. What was received is deducted afterwards, so that it can be in debt."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._burst = max(_MIN_BURST, rate * _BURST_SECONDS)
        self._tokens = 0.0
        self._filled = clock()
        self.received = 0
        """Bytes that were deducted in all."""

    def deduct(self, size: int) -> None:
        """Note that `size` bytes were received."""
        self.received += size
        self._tokens -= size

    def wait(self) -> float:
        """Return in how many seconds more may be received; 0 if it may be now."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self.rate)
        self._filled = now
        return max(0.0, -self._tokens / self.rate)


def concurrent_transfers(rate: float, connections: int) -> int:
    """Return how many transfers should share a bandwidth, at most `connections`."""
    return max(1, min(connections, int(rate / _MIN_RATE)))


def receive_buffer(rate: float, transfers: int) -> int:
    """Return the size of a socket's buffer: what a peer can send before any of it is read here."""
    return int(max(_MIN_BUFFER, min(_MAX_BUFFER, rate / transfers)))
