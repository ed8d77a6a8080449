"""Ask a running crawl how it is, and tell it to pause, to go on or to stop, from another process.

A word in the file `crawl/control` is what it is told, `crawl/status.json` is what it says of itself. Whether one runs
is known by the lock that dies with its process: files that a killed crawl left behind deceive nobody.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.crawl.crawl_status import CrawlStatus, read_status
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import BadInput, FolderInUse
from periplus.files import lock_folder, write_atomically
from periplus.settings import Settings

__all__ = ["CrawlControl", "clear_command", "is_running", "pending_command", "send_command"]

_FILE: Final = "control"
_MOST_SHARDS: Final = 64
_WORDS: Final = re.compile(r"pause|resume|stop|shards (?:[1-9]|[1-5][0-9]|6[0-4])")


class CrawlControl:
    """The door to the crawl of a data folder, for other processes."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self._folder = folder
        self._settings = settings

    def status(self) -> dict[str, Any]:
        """Say how the crawl is: 'running', 'state', the figures of `CrawlStatistics`, and those of each of 'shards'.

        Figures are the last known ones when no crawl runs, and absent when there never was one.
        """
        found = read_status(self._folder / "crawl")
        running = found is not None and is_running(self._folder)
        if found is None:
            return {"running": running, "state": "none"}
        figures: dict[str, Any] = msgspec.to_builtins(found.statistics)
        shards = [_of_shard(status) for status in map(read_status, _desks(self._folder, found.shards)) if status]
        beside = {"shards": shards} if shards else {}
        state = found.state if running else "stopped"
        return {"running": running, "state": state, "when": found.when, **figures, **beside}

    def start(self, seeds: Sequence[str] = ()) -> None:
        """Begin the crawl, or go on with it, in a process that outlives this one.

        Raise `BadInput` when one runs already, and with its own words when it does not start.
        """
        from periplus.crawl.detached import start_detached

        if self._settings is None:
            raise BadInput("Nobody said with which settings to crawl.")
        if is_running(self._folder):
            raise BadInput(f"A crawl is running in {self._folder} already.")
        start_detached(self._folder, self._settings, seeds)

    def pause(self) -> None:
        """Let no more requests begin; raise `BadInput` when no crawl runs."""
        send_command(self._folder, "pause")

    def resume(self) -> None:
        """Let a paused crawl go on; raise `BadInput` when no crawl runs."""
        send_command(self._folder, "resume")

    def stop(self) -> None:
        """Let the crawl end in good order; raise `BadInput` when no crawl runs."""
        send_command(self._folder, "stop")

    def resize(self, shards: int) -> None:
        """Let a crawl in shards go on with another number of them; raise `BadInput` when none runs."""
        if not 1 <= shards <= _MOST_SHARDS:
            raise BadInput(f"A crawl cannot have {shards} shards.", f"It can have 1 to {_MOST_SHARDS}.")
        if "shards" not in self.status():
            raise BadInput(
                f"No crawl in shards is running in {self._folder}.", "Stop it, and begin it again with --shards."
            )
        send_command(self._folder, f"shards {shards}")


def is_running(folder: Path) -> bool:
    """Tell whether a crawl holds this data folder."""
    if not (folder / "crawl").is_dir():
        return False
    known = read_status(folder / "crawl")
    if known is not None and not _lives(known.process):
        # To try a lock is to hold it for a moment, which a crawl that begins just then should not notice.
        return False
    try:
        with lock_folder(folder / "crawl", "supervisor"):
            return False
    except FolderInUse:
        return True


def _desks(folder: Path, shards: tuple[int, ...]) -> list[Path]:
    return [mailbox_dir(folder, number) for number in shards]


def _of_shard(status: CrawlStatus) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.to_builtins(status.statistics)
    own = {"number": status.number, "process": status.process, "state": status.state, "kept": status.kept}
    return {**own, **figures}


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def send_command(folder: Path, word: str) -> None:
    """Leave a word for the crawl that runs in a data folder; raise `BadInput` when none does."""
    if not _WORDS.fullmatch(word):
        raise BadInput(f"A crawl cannot be told to '{word}'.", "It can pause, resume and stop.")
    if not is_running(folder):
        raise BadInput(f"No crawl is running in {folder}.")
    write_atomically(folder / "crawl" / _FILE, word.encode())


def pending_command(folder: Path) -> str:
    """Give the word that was left for the crawl of this folder, or ''."""
    try:
        word = (folder / "crawl" / _FILE).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return word if _WORDS.fullmatch(word) else ""


def clear_command(folder: Path) -> None:
    """Forget what was left."""
    with contextlib.suppress(OSError):
        (folder / "crawl" / _FILE).unlink()
