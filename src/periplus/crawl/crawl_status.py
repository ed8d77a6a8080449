"""How a crawl is doing, left in a file once a second for other processes to read."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.errors import CorruptFile
from periplus.files import decode_json

__all__ = ["CrawlStatus", "read_status", "status_now", "write_status"]

_FILE: Final = "status.json"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""


class CrawlStatus(msgspec.Struct, frozen=True):
    """One process of a crawl at one moment."""

    process: int
    state: str
    """'running', 'paused', 'stopping' or 'stopped'; of a shard also 'idle' (nothing to do until others send something)
    and 'full' (it has had its part of all pages)."""
    statistics: CrawlStatistics
    when: float = 0.0
    shards: tuple[int, ...] = ()
    """Of a supervisor: the numbers of its shards."""
    number: int = 0
    """Of a shard, as all that follows."""
    had: int = 0
    """Pages that count against the limit, and the limit of this shard that it knows of."""
    quota: int = 0
    taken: int = 0
    """Parcels read since the process began, and how many of them are still in the inbox."""
    held: int = 0
    mark: int = 0
    """What stands for the parcels held: others may have come when these are gone, as many as they were."""
    kept: int = 0
    """Links that wait to be sent to other shards."""
    answered: int = 0
    """Requests that any server answered at all, over all runs."""
    format: int = _FORMAT

    def activity(self) -> tuple[int, str, int, int]:
        """Give what changes whenever a shard does anything."""
        return self.process, self.state, self.taken, self.mark


def write_status(folder: Path, status: CrawlStatus) -> None:
    """Replace the status of a folder; a status is worth no waiting for the disk, and no error when it is full."""
    path = folder / _FILE
    temporary = path.with_name(f".{_FILE}.{os.getpid()}.new")
    with contextlib.suppress(OSError):
        temporary.write_bytes(msgspec.json.encode(status))
        os.replace(temporary, path)


def read_status(folder: Path) -> CrawlStatus | None:
    """Read the status that was left last; None when there is none that can be read."""
    try:
        return decode_json(folder / _FILE, (folder / _FILE).read_bytes(), CrawlStatus, _FORMAT)
    except (OSError, CorruptFile):
        return None


def status_now(state: str, statistics: CrawlStatistics) -> CrawlStatus:
    """Make the status of this process."""
    return CrawlStatus(os.getpid(), state, statistics, time.time())
