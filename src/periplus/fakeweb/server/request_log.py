"""Who asked for what, and when: what tests of politeness and of double fetches look at."""

import threading
import time
from collections import Counter
from typing import NamedTuple

__all__ = ["LoggedRequest", "RequestCounts", "RequestLog"]


class LoggedRequest(NamedTuple):
    """One request that was answered."""

    time: float
    """Seconds of the monotonic clock, at which the server saw it."""
    host: str
    path: str
    status: int

    @property
    def url(self) -> str:
        """The address that was asked for."""
        return f"http://{self.host}{self.path}"


class RequestCounts(NamedTuple):
    """What has been asked for so far."""

    counts: dict[str, int]
    """Requests per URL."""
    log: tuple[LoggedRequest, ...]
    """Every request in order, when the log is on; else empty."""

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.counts.values())


class RequestLog:
    """Counts requests, and with `keep` remembers each of them."""

    def __init__(self, *, keep: bool = False) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._log: list[LoggedRequest] = []
        self._keep = keep
        self._lock = threading.Lock()

    def note(self, host: str, path: str, status: int) -> None:
        """Count a request."""
        with self._lock:
            self._counts[host, path] += 1
            if self._keep:
                self._log.append(LoggedRequest(time.monotonic(), host, path, status))

    def read(self) -> RequestCounts:
        """Give what has been noted so far."""
        with self._lock:
            counts = {f"http://{host}{path}": count for (host, path), count in self._counts.items()}
            return RequestCounts(counts, tuple(self._log))
