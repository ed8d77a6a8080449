"""The status of a crawl, written to a file once a second for other processes."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.errors import CorruptFile
from periplus.files import decode_json, encode_json, temporary_path

__all__ = ["CrawlStatus", "read_status", "status_now", "write_status"]

_FILE: Final = "status.json"
_FORMAT: Final = 4
"""Format number of the file, raised with every change of its content. Files without one have format 0.
Since 2, the file has a checksum; since 3, the number of URLs held back; since 4, what limits cut."""


class CrawlStatus(msgspec.Struct, frozen=True):
    """The status of one process of a crawl."""

    process: int
    state: str
    """'running', 'paused', 'stopping' or 'stopped'; of a shard also 'idle' (nothing to do until others send links)
    and 'full' (its quota of pages is used up)."""
    statistics: CrawlStatistics
    when: float = 0.0
    shards: tuple[int, ...] = ()
    """Of a supervisor: the numbers of its shards."""
    number: int = 0
    """Number of the shard; the following fields are of shards only."""
    pages: int = msgspec.field(default=0, name="had")
    """Pages that count against the quota, and the last quota that the shard has received."""
    quota: int = 0
    received: int = msgspec.field(default=0, name="taken")
    """Messages read since the process started, and how many of them are still in the mailbox."""
    unacknowledged: int = msgspec.field(default=0, name="held")
    mark: int = 0
    """A fingerprint of the messages in the mailbox, which differs even if as many others replace them."""
    unsent: int = msgspec.field(default=0, name="kept")
    """Links queued for other shards."""
    answered: int = 0
    """Requests that were answered by a server, over all runs."""
    format: int = _FORMAT

    def activity(self) -> tuple[int, str, int, int]:
        """Return values of which at least one changes with any activity of the shard."""
        return self.process, self.state, self.received, self.mark


def write_status(folder: Path, status: CrawlStatus) -> None:
    """Replace the status of a folder, without waiting for the disk; errors are ignored."""
    path = folder / _FILE
    temporary = temporary_path(path)
    try:
        temporary.write_bytes(encode_json(status))
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def read_status(folder: Path) -> CrawlStatus | None:
    """Read the last status; None if there is none or it is damaged."""
    try:
        return decode_json(folder / _FILE, (folder / _FILE).read_bytes(), CrawlStatus, _FORMAT, checksum_since=2)
    except (OSError, CorruptFile):
        return None


def status_now(state: str, statistics: CrawlStatistics) -> CrawlStatus:
    """Return the status of this process."""
    return CrawlStatus(os.getpid(), state, statistics, time.time())
