"""The health of the parts of a running program: which fail, since when and why, and how often they were restarted.

A part is a thread, a child process or a job, by name. Each process has one registry of its parts; within
`share_health(folder)` it is also written to `health/PROCESS.json` of a data folder, whenever it changes, so that other
processes of the same folder (the workers of a server, `periplus doctor`) can report it with `read_health`.

    health/PROCESS.json     {"format": 1, "machine": ..., "process": ..., "started": ..., "parts": [...]}

The file of a process that has ended is ignored, and removed by the next process that shares its health.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import PeriplusError
from periplus.files import decode_json, encode_json, machine_id, process_started, sweep_torn, temporary_path

__all__ = ["Part", "PartHealth", "part", "read_health", "share_health"]

_FOLDER: Final = "health"
_FORMAT: Final = 1
_STEADY_SECONDS: Final = 30.0
"""A part that was restarted, and has run for this long since, has recovered."""
_MAX_ERROR: Final = 500


class PartHealth(msgspec.Struct, frozen=True):
    """The health of one part."""

    name: str
    restarts: int = 0
    """How often it was started again after a failure."""
    failures: int = 0
    failing_since: float = 0.0
    """When the first of its latest failures was, in seconds since 1970; 0 if it is well."""
    error: str = ""
    """The latest failure."""
    running_since: float = 0.0
    """When it was started, 0 while it waits to be started again."""
    process: int = 0

    def is_failing(self, seconds: float = 0.0) -> bool:
        """Return whether it has been failing for at least so many seconds."""
        now = time.time()
        steady = self.running_since and now - self.running_since > _STEADY_SECONDS
        return bool(self.failing_since) and not steady and now - self.failing_since >= seconds


class _HealthFile(msgspec.Struct, frozen=True):
    format: int
    machine: str
    process: int
    started: str
    parts: tuple[PartHealth, ...] = ()


class Part:
    """One part of this process, which reports its failures here."""

    def __init__(self, name: str) -> None:
        self._health = PartHealth(name, process=os.getpid())

    @property
    def health(self) -> PartHealth:
        """Its health now."""
        return self._health

    def fail(self, error: str) -> None:
        """Report a failure; `recover` ends it."""
        with _LOCK:
            before = self._health
            self._health = msgspec.structs.replace(
                before,
                failures=before.failures + 1,
                failing_since=before.failing_since if before.is_failing() else time.time(),
                error=error[:_MAX_ERROR],
                running_since=0.0,
                process=os.getpid(),
            )
        _write_all()

    def recover(self) -> None:
        """Report that what failed has succeeded."""
        if self._health.failing_since:
            with _LOCK:
                self._health = msgspec.structs.replace(self._health, failing_since=0.0)
            _write_all()

    def restart(self) -> None:
        """Report that the part was started again; it has recovered when it runs for a while."""
        with _LOCK:
            before = self._health
            self._health = msgspec.structs.replace(before, restarts=before.restarts + 1, running_since=time.time())
        _write_all()


_LOCK: Final = threading.RLock()
_PARTS: Final[dict[str, Part]] = {}
_SHARED: Final[dict[Path, int]] = {}
"""Data folders to which this process writes its health, and how many blocks do so."""


def part(name: str) -> Part:
    """Return the part of this process with a name; there is one of each."""
    with _LOCK:
        return _PARTS.setdefault(name, Part(name))


def _forget() -> None:
    """In a forked child: it has none of the threads of its parent, and a file of its own in the same folders."""
    _PARTS.clear()
    _LOCK.release()


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_forget)


def _reported_parts() -> list[PartHealth]:
    with _LOCK:
        return [part.health for part in _PARTS.values() if part.health.failures]


@contextlib.contextmanager
def share_health(folder: Path) -> Iterator[None]:
    """Within the block, write the health of this process to a data folder."""
    _remove_ended(folder / _FOLDER)
    with _LOCK:
        _SHARED[folder] = _SHARED.get(folder, 0) + 1
    _write_all()
    try:
        yield
    finally:
        with _LOCK:
            _SHARED[folder] = _SHARED.get(folder, 1) - 1
            if _SHARED[folder] <= 0:
                del _SHARED[folder]
                with contextlib.suppress(OSError):
                    _path(folder / _FOLDER, os.getpid()).unlink(missing_ok=True)
                    (folder / _FOLDER).rmdir()


def _path(folder: Path, process: int) -> Path:
    return folder / f"{process}.json"


def _write_all() -> None:
    """Write the health of this process to all folders; what cannot be written is tried again at the next change."""
    with _LOCK:
        parts = tuple(_reported_parts())
        file = _HealthFile(_FORMAT, machine_id(), os.getpid(), process_started(os.getpid()), parts)
        for folder in _SHARED:
            path = _path(folder / _FOLDER, os.getpid())
            if not parts and not path.exists():
                continue
            temporary = temporary_path(path)
            try:
                path.parent.mkdir(exist_ok=True)
                temporary.write_bytes(encode_json(file))  # not synced: it describes a process that is running
                temporary.replace(path)
            except OSError:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)


def read_health(folder: Path | None = None) -> list[PartHealth]:
    """Return the parts that have ever failed, of this process and of all that share their health in a data folder."""
    parts = _reported_parts()
    for file in _read_files(folder / _FOLDER) if folder else ():
        if file.process != os.getpid() and _is_running(file):
            parts += file.parts
    return parts


def _read_files(folder: Path) -> Iterator[_HealthFile]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith(".json"):
            with contextlib.suppress(OSError, PeriplusError):
                yield decode_json(folder / name, (folder / name).read_bytes(), _HealthFile, _FORMAT, checksum_since=1)


def _is_running(file: _HealthFile) -> bool:
    """Return whether a process runs, as far as that can be told: not if it is on another machine."""
    return file.machine != machine_id() or process_started(file.process) == file.started != ""


def _remove_ended(folder: Path) -> None:
    sweep_torn(folder)
    for file in list(_read_files(folder)):
        if not _is_running(file):
            with contextlib.suppress(OSError):
                _path(folder, file.process).unlink(missing_ok=True)
