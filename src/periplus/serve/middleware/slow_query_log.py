"""The log of slow queries: one line for each, with its plan, stages and work; its words only if that is set.

As in the access log, nothing of a line identifies who asked, and by default nothing says what for.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from periplus.records import ResultPage
from periplus.settings import ServeSettings

__all__ = ["SlowQueryLog"]

_LOG: Final = logging.getLogger("periplus.serve")
_PER_MINUTE: Final = 20
"""Lines written in a minute; the first of the next one says how many were left out."""
_MAX_WORDS: Final = 200
"""Characters of a query that are logged."""


class SlowQueryLog:
    """Logs answers that took long. Called from several threads."""

    def __init__(self, settings: ServeSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._threshold = settings.slow_query_ms / 1000
        self._words = settings.slow_query_words
        self._clock = clock
        self._lock = threading.Lock()
        self._minute = clock()
        self._lines = 0
        self._omitted = 0

    def add(self, page: ResultPage) -> None:
        """Log an answer if it took long."""
        if not self._threshold or page.seconds < self._threshold:
            return
        with self._lock:
            now = self._clock()
            if now - self._minute >= 60:
                self._minute, self._lines = now, 0
            self._lines += 1
            if self._lines > _PER_MINUTE:
                self._omitted += 1
                return
            omitted, self._omitted = self._omitted, 0
        _LOG.warning("%s", self._line(page, omitted))

    def _line(self, page: ResultPage, omitted: int) -> str:
        stages = ", ".join(f"{name} {1000 * seconds:.0f}" for name, seconds in page.timings)
        parts = [
            f"Slow query: {1000 * page.seconds:.0f} ms ({stages})",
            f"plan: {page.plan or 'none'}",
            f"{page.work:,} work units",
            f"{page.total:,} results from {page.query.start}" + (", partial" if page.partial else ""),
        ]
        if self._words:
            parts.append(f"query: {page.query.words[:_MAX_WORDS]!r}")
        if omitted:
            parts.append(f"{omitted:,} slow queries before were not logged")
        return "; ".join(parts)
