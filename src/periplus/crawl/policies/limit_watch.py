"""Why a crawl has to pause: a limit of disk space or memory; and what the crawl itself can do about it."""

import contextlib
from pathlib import Path
from typing import Final

from periplus.errors import DiskFailed
from periplus.limits import ResourceMonitor, pressure, release_memory
from periplus.settings import Settings
from periplus.store import PageStore

__all__ = ["LimitWatch"]

_SECONDS: Final = 1.0
"""Between two checks."""
_TARGET: Final = 0.9
"""Share of the disk limit that old responses are removed down to."""
_RETENTION_SECONDS: Final = 60.0
"""Between two attempts to remove old responses."""


class LimitWatch:
    """Checks the limits once a second.

    It heeds what other processes of the data folder have reported, too: the supervisor of the shards, a server.
    """

    def __init__(self, folder: Path, settings: Settings, store: PageStore) -> None:
        self._folder, self._settings, self._store = folder, settings, store
        self._monitor = ResourceMonitor(folder, settings.limits, on_memory=release_memory)
        self._next = self._retained = float("-inf")
        self._fetched = 0
        self.reason = ""
        """Why the crawl has to pause, as a sentence; '' if it has not."""

    def check(self, now: float, fetched: int = 0) -> str:
        """Return why the crawl has to pause, '' if it has not. `fetched` is the size of all bodies so far."""
        if now >= self._next:
            self._next = now + _SECONDS
            self._monitor.disk.note_written(max(0, fetched - self._fetched))
            self._fetched = fetched
            self.reason = self._monitor.check() or pressure(self._folder)
            if self.reason and now - self._retained >= _RETENTION_SECONDS:
                self._retained = now
                self._remove_responses()
        return self.reason

    def _remove_responses(self) -> None:
        """Remove the oldest responses if retention is configured: as many as the disk limit asks for."""
        retention, disk = self._settings.store, self._monitor.disk
        if not (retention.keep_days or retention.keep_bytes):
            return
        stored = self._store.statistics().warc_bytes
        excess = max(0, disk.used() - int(disk.limit * _TARGET)) if disk.limit else 0
        excess //= max(1, self._settings.crawl.shards)  # the other shards remove their part
        keep_bytes = max(1, stored - excess) if excess else retention.keep_bytes
        with contextlib.suppress(DiskFailed):
            self._store.apply_retention(keep_bytes, retention.keep_days)
