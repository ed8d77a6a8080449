"""The access log: one JSON line for each request, without the client or the query."""

import contextlib
import time
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["AccessLog"]

_FLUSH_SECONDS: Final = 1.0
_FLUSH_BYTES: Final = 65_536


class AccessLog:
    """Appends lines to a file, a second's worth at a time. Lines are lost if the disk fails; responses are not."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._lines = bytearray()
        self._written = time.monotonic()

    def add(self, route: str, method: str, status: int, seconds: float, size: int, cached: bool) -> None:
        """Add a line for one response."""
        if self._path is None:
            return
        self._lines += msgspec.json.encode(
            {
                "time": round(time.time(), 3),
                "route": route,
                "method": method,
                "status": status,
                "ms": round(seconds * 1000, 2),
                "bytes": size,
                "cached": cached,
            }
        )
        self._lines += b"\n"
        if len(self._lines) > _FLUSH_BYTES or time.monotonic() - self._written > _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write whole lines with one system call, so that several processes can share a file."""
        if self._path is None or not self._lines:
            return
        with contextlib.suppress(OSError), self._path.open("ab", buffering=0) as file:
            file.write(self._lines)
        self._lines.clear()
        self._written = time.monotonic()
