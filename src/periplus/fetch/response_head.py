"""The status line and the headers of a response while they arrive, within bounds."""

from collections.abc import Callable
from typing import Final

from periplus.fetch.bandwidth import TokenBucket
from periplus.fetch.header_lines import parse_header, parse_status

__all__ = ["ABORT", "ResponseHead"]

ABORT: Final = -1
"""What a callback returns to end a transfer."""
_MAX_HEADERS: Final = 200
_MAX_HEADER_BYTES: Final = 65_536


class ResponseHead:
    """Collects header lines, and reads them when they are complete: a callback for each line does next to nothing."""

    def __init__(
        self, completed: Callable[[], int | None], interrupted: Callable[[], int], bucket: TokenBucket | None = None
    ) -> None:
        """Open an empty head.

        completed: called at the end of the headers, and returns what libcurl is told; interrupted: called for Ctrl-C,
        which cannot pass through libcurl.
        """
        self._completed, self._interrupted, self._bucket = completed, interrupted, bucket
        self.clear()

    def clear(self, is_web: bool = True) -> None:
        """Begin the head of another response; without `is_web`, lines are counted and otherwise ignored."""
        self._is_web = is_web
        self._lines: list[bytes] = []
        self.size = 0
        """Bytes of all lines, those of trailers too."""
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.values: dict[str, str] = {}
        """The first value of each name."""
        self.is_complete = False
        self.is_too_long = False

    def add(self, line: bytes) -> int | None:
        """Add a line, as a callback of libcurl."""
        try:
            self.size += len(line)
            if self._bucket is not None:
                self._bucket.deduct(len(line))
            if self.size > _MAX_HEADER_BYTES:
                self.is_too_long = True
                return ABORT
            if line.strip():
                self._lines.append(line)
                return None
            return self._end()
        except KeyboardInterrupt:
            return self._interrupted()

    def _end(self) -> int | None:
        """Read the lines of a head that has ended: the last one, unless it was of an interim response."""
        self.read()
        if self.is_complete or not self._is_web:
            return None  # trailers are ignored, and so are replies of an ftp server
        self.is_too_long |= len(self.headers) >= _MAX_HEADERS
        if self.is_too_long:
            return ABORT
        self.is_complete = self.status >= 200
        return self._completed() if self.is_complete else None

    def read(self) -> None:
        """Read the lines that were collected."""
        if self.is_complete or not self._is_web:
            return
        lines, self._lines = self._lines, []
        for line in lines:
            if len(self.headers) >= _MAX_HEADERS:
                self.is_too_long = True
                return
            if line.startswith(b"HTTP/"):
                self.headers.clear()
                self.values.clear()
                self.status = parse_status(line)
            elif (header := parse_header(line)) is not None:
                self.headers.append(header)
                self.values.setdefault(*header)
