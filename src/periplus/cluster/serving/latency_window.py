"""Quantiles of the latest latencies: when a request is late, by what its peers took lately."""

from bisect import bisect_left, insort
from collections import deque
from typing import Final

__all__ = ["LatencyWindow"]

_SIZE: Final = 200
_MIN_COUNT: Final = 20
"""Latencies from which a quantile means something."""


class LatencyWindow:
    """The last two hundred latencies, in order of time and of size. Used under the lock of its owner."""

    def __init__(self, size: int = _SIZE) -> None:
        self._latest: deque[float] = deque()
        self._sorted: list[float] = []
        self._size = size

    def add(self, seconds: float) -> None:
        """Add a latency; the oldest is forgotten."""
        if len(self._latest) == self._size:
            oldest = self._latest.popleft()
            del self._sorted[self._index(oldest)]
        self._latest.append(seconds)
        insort(self._sorted, seconds)

    def _index(self, value: float) -> int:
        return bisect_left(self._sorted, value)

    def quantile(self, share: float, default: float) -> float:
        """Return the latency that a share of the requests did not exceed; the default as long as there are few."""
        if len(self._sorted) < _MIN_COUNT:
            return default
        return self._sorted[min(len(self._sorted) - 1, int(share * len(self._sorted)))]
