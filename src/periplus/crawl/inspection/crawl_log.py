"""The crawl log: a line of text for every request, which one can grep, as Heritrix writes it.

    2026-11-17T00:28:14.123Z   200     5120 http://a.example/b L http://a.example/ text/html ok 12ms 192.0.2.1

Time, status (0 without a response), bytes of the body, URL, path from the seed (a letter for each step: L link, R
redirect; '-' for a seed), the page with the link ('-' if it was found too long ago), content type, outcome, duration,
address. Fields have no blanks. The file is replaced when it is full, and one older file is kept.
"""

import contextlib
import datetime
import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from periplus.records import FetchRecord, FetchRequest, FetchResult

__all__ = ["CrawlLog"]

_MAX_VIA: Final = 100_000
"""URLs of which the page with the link is known, about 15 MB."""
_MAX_PATH: Final = 64
_MAX_LINES: Final = 5_000
"""Lines in memory, if the disk is full; older ones are dropped."""


class CrawlLog:
    """Appends lines to `crawl.log`. Costs a few microseconds a request; a disk that fails loses lines, and no page."""

    def __init__(self, folder: Path, max_mb: int) -> None:
        """Open the log in a folder, up to `max_mb` megabytes with its older part; 0 writes none."""
        self.path = folder / "crawl.log"
        self._max_bytes = max_mb * 500_000
        self._lines: list[str] = []
        self._via: dict[int, str] = {}

    def note_links(self, requests: list[FetchRequest], url: str) -> list[FetchRequest]:
        """Remember the page that requests were found on; return them."""
        if self._max_bytes:
            if len(self._via) > _MAX_VIA:
                self._via = dict(list(self._via.items())[_MAX_VIA // 2 :])
            for request in requests:
                self._via.setdefault(request.address.key, url)
        return requests

    def add(self, request: FetchRequest, record: FetchRecord, ip: str = "") -> None:
        """Add the line of one request."""
        if self._max_bytes:
            kind = record.page.kind if record.page is not None else "-"
            via = self._via.pop(record.key, "-")
            copy = ",duplicate" if record.duplicate_of else ""
            path = "L" * min(request.depth, _MAX_PATH) + "R" * request.hops or "-"
            line = f"{record.status:>5} {record.bytes:>8} {record.url} {path} {via} {kind} {record.outcome}{copy}"
            self._append(record.when, line, record.elapsed, ip)

    def add_robots(self, result: FetchResult) -> None:
        """Add the line of a robots.txt, which is no page of the store."""
        if self._max_bytes:
            line = f"{result.status:>5} {len(result.body):>8} {result.request.address.url} P - - {result.outcome.value}"
            self._append(result.when, line, result.elapsed, result.ip)

    def _append(self, when: float, line: str, elapsed: float, ip: str) -> None:
        # As datetime writes it: rounded to microseconds, and cut to milliseconds.
        second, microseconds = divmod(round(max(0.0, when) * 1e6), 1_000_000)
        self._lines.append(
            f"{_second(second)}.{microseconds // 1_000:03d}Z {line} {elapsed * 1_000:.0f}ms {ip or '-'}\n"
        )

    def flush(self) -> None:
        """Write the lines; rotate the file first if it is full."""
        if not self._lines:
            return
        data = "".join(self._lines).encode("utf-8", "replace")
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                if os.fstat(descriptor).st_size + len(data) > self._max_bytes:
                    os.replace(self.path, self.path.with_name("crawl.log.1"))
                    os.close(descriptor)
                    descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                os.write(descriptor, data)
            finally:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
            self._lines.clear()
        except OSError:
            del self._lines[:-_MAX_LINES]


@lru_cache(64)
def _second(second: int) -> str:
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat()[:19]
