"""The status and the control of a running crawl, from another process.

Commands are written to the file `crawl/control`, the crawl writes its status to `crawl/status.json`. Whether a crawl is
running follows from a lock that ends with its process, so that files left by a killed crawl do no harm.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.checksums import add_text_checksum, split_text_checksum
from periplus.crawl.crawl_status import CrawlStatus, read_status
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import BadInput, FolderInUse
from periplus.files import lock_folder, write_atomically
from periplus.settings import Settings

__all__ = ["CrawlControl", "clear_command", "is_running", "pending_command", "send_command"]

_FILE: Final = "control"
_MAX_SHARDS: Final = 64
_COMMANDS: Final = re.compile(r"pause|resume|stop|shards (?:[1-9]|[1-5][0-9]|6[0-4])")


class CrawlControl:
    """Status and control of the crawl of a data folder."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self._folder = folder
        self._settings = settings

    def status(self) -> dict[str, Any]:
        """Return 'running', 'state', the fields of `CrawlStatistics`, and those of each of the 'shards'.

        The figures are the last ones if no crawl is running, and absent if there never was one.
        """
        status = read_status(self._folder / "crawl")
        running = status is not None and is_running(self._folder)
        if status is None:
            return {"running": running, "state": "none"}
        figures: dict[str, Any] = msgspec.to_builtins(status.statistics)
        mailboxes = [mailbox_dir(self._folder, number) for number in status.shards]
        shards = [_shard_figures(shard) for shard in map(read_status, mailboxes) if shard]
        shard_part = {"shards": shards} if shards else {}
        state = status.state if running else "stopped"
        return {"running": running, "state": state, "when": status.when, **figures, **shard_part}

    def start(self, seeds: Sequence[str] = ()) -> None:
        """Start or continue the crawl in a process that outlives this one.

        Raise `BadInput` if a crawl is running already, or with its error message if it does not start.
        """
        from periplus.crawl.detached import start_detached

        if self._settings is None:
            raise BadInput("A crawl cannot be started without settings.")
        if is_running(self._folder):
            raise BadInput(f"A crawl is already running in {self._folder}.")
        start_detached(self._folder, self._settings, seeds)

    def pause(self) -> None:
        """Pause the crawl: no more requests are started. Raise `BadInput` if no crawl is running."""
        send_command(self._folder, "pause")

    def resume(self) -> None:
        """Resume a paused crawl. Raise `BadInput` if no crawl is running."""
        send_command(self._folder, "resume")

    def stop(self) -> None:
        """Stop the crawl in an orderly way. Raise `BadInput` if no crawl is running."""
        send_command(self._folder, "stop")

    def resize(self, shards: int) -> None:
        """Change the number of shards of a crawl. Raise `BadInput` if no crawl with shards is running."""
        if not 1 <= shards <= _MAX_SHARDS:
            raise BadInput(f"A crawl cannot have {shards} shards.", f"It can have 1 to {_MAX_SHARDS}.")
        if "shards" not in self.status():
            raise BadInput(
                f"No crawl with shards is running in {self._folder}.", "Stop the crawl and start it with --shards."
            )
        send_command(self._folder, f"shards {shards}")


def is_running(folder: Path) -> bool:
    """Return whether a crawl is running in a data folder."""
    if not (folder / "crawl").is_dir():
        return False
    status = read_status(folder / "crawl")
    if status is not None and not _is_alive(status.process):
        # Testing the lock takes it for a moment, which would disturb a crawl that is being started.
        return False
    try:
        with lock_folder(folder / "crawl", "supervisor"):
            return False
    except FolderInUse:
        return True


def _shard_figures(status: CrawlStatus) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.to_builtins(status.statistics)
    own = {"number": status.number, "process": status.process, "state": status.state, "kept": status.unsent}
    return {**own, **figures}


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def send_command(folder: Path, command: str) -> None:
    """Send a command to the crawl in a data folder. Raise `BadInput` if none is running."""
    if not _COMMANDS.fullmatch(command):
        raise BadInput(f"'{command}' is not a command of a crawl.", "Commands are pause, resume and stop.")
    if not is_running(folder):
        raise BadInput(f"No crawl is running in {folder}.")
    write_atomically(folder / "crawl" / _FILE, add_text_checksum(command.encode()))


def pending_command(folder: Path) -> str:
    """Return the command that was sent to the crawl of this folder, or ''."""
    try:
        text, is_right = split_text_checksum((folder / "crawl" / _FILE).read_bytes())
        command = text.decode("ascii").strip() if is_right is not False else ""
    except (OSError, UnicodeDecodeError):
        return ""
    return command if _COMMANDS.fullmatch(command) else ""


def clear_command(folder: Path) -> None:
    """Delete the pending command."""
    with contextlib.suppress(OSError):
        (folder / "crawl" / _FILE).unlink()
