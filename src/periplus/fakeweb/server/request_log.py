"""The log of requests, for tests of politeness and of repeated fetches."""

import threading
import time
from collections import Counter
from typing import NamedTuple

__all__ = ["LoggedRequest", "RequestCounts", "RequestLog"]


class LoggedRequest(NamedTuple):
    """One request and the status of its response."""

    time: float
    """Monotonic time at which the server received it, in seconds."""
    host: str
    path: str
    status: int

    @property
    def url(self) -> str:
        """The requested URL."""
        return f"http://{self.host}{self.path}"


class RequestCounts(NamedTuple):
    """The requests so far."""

    counts: dict[str, int]
    """Requests per URL."""
    log: tuple[LoggedRequest, ...]
    """Every request in order if the log is on, else empty."""

    @property
    def total(self) -> int:
        """Total number of requests."""
        return sum(self.counts.values())


class RequestLog:
    """Counts requests, and with `keep` records each of them."""

    def __init__(self, *, keep: bool = False) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._log: list[LoggedRequest] = []
        self._keep = keep
        self._lock = threading.Lock()

    def record(self, host: str, path: str, status: int) -> None:
        """Count a request."""
        with self._lock:
            self._counts[host, path] += 1
            if self._keep:
                self._log.append(LoggedRequest(time.monotonic(), host, path, status))

    def read(self) -> RequestCounts:
        """Return the requests so far."""
        with self._lock:
            counts = {f"http://{host}{path}": count for (host, path), count in self._counts.items()}
            return RequestCounts(counts, tuple(self._log))
