"""When jobs are done by themselves: recrawls and builds of the index.

schedule.json       {"format": 1, "jobs": [...], "checksum": xxh3}
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from periplus.errors import BadInput, CorruptFile
from periplus.files import decode_json, encode_json, read_file, write_atomically
from periplus.typed_decoding import convert_to
from periplus.writer_queue import queue_for_lock

__all__ = ["JOBS", "JobSchedule", "ScheduledJob"]

JOBS: Final = ("recrawl", "build")
_FILE: Final = "schedule.json"
_FORMAT: Final = 1
_REMEDY: Final = "Remove it and set the schedule again."
_LOCK_SECONDS: Final = 10.0
_MAX_RESULT: Final = 500


class ScheduledJob(msgspec.Struct, frozen=True):
    """A job, how often it is done, and how it went the last time."""

    job: str
    """'recrawl' or 'build'."""
    every_hours: Annotated[float, Meta(ge=0, le=8_760)] = 0.0
    """Hours from one start to the next; 0 is never."""
    minutes: Annotated[float, Meta(ge=0, le=10_080)] = 0.0
    """The longest that a recrawl may take; 0 is no limit."""
    requested: bool = False
    """Whether it is to be done at once."""
    set_at: float = 0.0
    """When the schedule was set, from which the first interval counts."""
    started: float = 0.0
    """When it was started the last time; 0 if it never was."""
    ended: float = 0.0
    result: str = ""
    """What came of it."""
    failed: bool = False

    def next_time(self) -> float:
        """Return when it is due; 0 if never."""
        if self.requested:
            return self.set_at or 1.0
        return max(self.started, self.set_at) + 3_600 * self.every_hours if self.every_hours else 0.0

    def is_due(self, now: float) -> bool:
        """Return whether it is to be started now."""
        return 0 < self.next_time() <= now


class _ScheduleFile(msgspec.Struct, frozen=True):
    format: int
    jobs: tuple[ScheduledJob, ...] = ()


class JobSchedule:
    """The schedule of a data folder. Any process may change it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _FILE

    def jobs(self) -> list[ScheduledJob]:
        """Return all jobs, also those that are never done; raise `CorruptFile` if the file is damaged."""
        try:
            record = decode_json(self._path, read_file(self._path), _ScheduleFile, _FORMAT, _REMEDY, checksum_since=1)
        except FileNotFoundError:
            record = _ScheduleFile(_FORMAT)
        known = {job.job: job for job in record.jobs}
        return [known.get(name, ScheduledJob(name)) for name in JOBS]

    def set(self, name: str, every_hours: float, minutes: float = 0.0) -> ScheduledJob:
        """Set how often a job is done; raise `BadInput` for another job, or a number out of bounds."""
        changed = ScheduledJob(name, every_hours, minutes, set_at=time.time())
        try:
            convert_to(msgspec.to_builtins(changed), ScheduledJob)
        except msgspec.ValidationError as error:
            raise BadInput(f"The schedule is invalid: {error}.", "An interval has at most 8,760 hours.") from None
        return self._replace(name, every_hours=every_hours, minutes=minutes, set_at=changed.set_at)

    def request(self, name: str) -> ScheduledJob:
        """Have a job done at once, by the server that runs; raise `BadInput` for another job."""
        return self._replace(name, requested=True)

    def begin(self, name: str) -> ScheduledJob:
        """Note that a job was started."""
        return self._replace(name, requested=False, started=time.time(), ended=0.0, result="", failed=False)

    def end(self, name: str, result: str, failed: bool = False) -> ScheduledJob:
        """Note what came of a job."""
        return self._replace(name, ended=time.time(), result=result[:_MAX_RESULT], failed=failed)

    def _replace(self, name: str, **fields: float | str | bool) -> ScheduledJob:
        if name not in JOBS:
            raise BadInput(f"There is no job '{name}'.", f"Jobs are {' and '.join(JOBS)}.")
        with self._changing() as jobs:
            changed = msgspec.structs.replace(jobs[name], **fields)
            jobs[name] = changed
        return changed

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, ScheduledJob]]:
        with queue_for_lock(self._folder, "schedule", _LOCK_SECONDS):
            try:
                jobs = {job.job: job for job in self.jobs()}
            except CorruptFile:
                jobs = {name: ScheduledJob(name) for name in JOBS}
            yield jobs
            write_atomically(self._path, encode_json(_ScheduleFile(_FORMAT, tuple(jobs.values()))))
