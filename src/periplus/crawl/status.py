"""How a crawl is doing, left in a file once a second for other processes to read."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.statistics import CrawlStatistics

__all__ = ["Status", "leave_status", "now_status", "read_status"]

_FILE: Final = "status.json"


class Status(msgspec.Struct, frozen=True):
    """One process of a crawl at one moment."""

    process: int
    state: str
    """'running', 'paused', 'stopping', 'idle' (nothing to do until others send something) or 'stopped'."""
    statistics: CrawlStatistics
    when: float = 0.0
    number: int = 0
    """Of the shard."""


def leave_status(folder: Path, status: msgspec.Struct) -> None:
    """Replace the status of a folder; a status is worth no waiting for the disk, and no error when it is full."""
    path = folder / _FILE
    temporary = path.with_name(f".{_FILE}.{os.getpid()}.new")
    with contextlib.suppress(OSError):
        temporary.write_bytes(msgspec.json.encode(status))
        os.replace(temporary, path)


def read_status(folder: Path) -> Status | None:
    """Read the status that was left last; None when there is none that can be read."""
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=Status)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def now_status(state: str, statistics: CrawlStatistics) -> Status:
    """Make the status of this process."""
    return Status(os.getpid(), state, statistics, time.time())
