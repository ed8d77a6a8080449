"""Do scheduled jobs while a server runs: start recrawls, and build the index in a process of its own."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from periplus.app.administration.change_log import ChangeLog
from periplus.app.administration.job_schedule import JobSchedule, ScheduledJob
from periplus.errors import FolderInUse, PeriplusError, ProcessFailed
from periplus.files import lock_folder
from periplus.settings import Settings
from periplus.supervision import die_with_parent, supervised_thread

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["JobScheduler", "background_scheduler"]

_POLL_SECONDS: Final = 1.0
_LOCK_SECONDS: Final = 600.0
"""How long a build waits for another process that writes to the index."""
_WHO: Final = "schedule"


class JobScheduler:
    """Does the jobs of a data folder that are due. One process of a folder does so at a time."""

    def __init__(self, folder: Path, settings: Settings, stopped: threading.Event | None = None) -> None:
        self._folder, self._settings = folder, settings
        self._stopped = stopped or threading.Event()
        self._schedule, self._changes = JobSchedule(folder), ChangeLog(folder)
        self._jobs: Mapping[str, Callable[[ScheduledJob], str]] = {"recrawl": self._recrawl, "build": self._build}

    def run(self) -> None:
        """Do what is due until stopped, unless another process of the folder does."""
        while not self._stopped.wait(_POLL_SECONDS):
            with contextlib.suppress(FolderInUse), lock_folder(self._folder, "scheduler"):
                while not self._stopped.wait(_POLL_SECONDS):
                    self.step(time.time())

    def step(self, now: float) -> int:
        """Do the jobs that are due; return how many that were."""
        due = [job for job in self._schedule.jobs() if job.is_due(now)]
        for job in due:
            self._schedule.begin(job.job)
            try:
                result, failed = self._jobs[job.job](job), False
            except PeriplusError as error:
                result, failed = str(error), True
            self._schedule.end(job.job, result, failed)
            self._changes.add(_WHO, job.job, result)
        return len(due)

    def _recrawl(self, job: ScheduledJob) -> str:
        """Start a crawl that revisits pages, in a process that outlives this one."""
        from periplus.crawl import CrawlControl

        crawl = msgspec.structs.replace(self._settings.crawl, recrawl=True, minutes=job.minutes)
        CrawlControl(self._folder, msgspec.structs.replace(self._settings, crawl=crawl)).start()
        return "The recrawl was started."

    def _build(self, _: ScheduledJob) -> str:
        """Build graph and index in a child process, which ends with this one."""
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_build, args=(os.getpid(), self._folder, self._settings, sender), daemon=True)
        process.start()
        sender.close()
        with receiver:
            while not receiver.poll(_POLL_SECONDS):
                if self._stopped.is_set():
                    process.terminate()
                    raise ProcessFailed("The build was ended with the server.")
            try:
                succeeded, text = receiver.recv()
            except EOFError:
                raise ProcessFailed("The build ended without a result.", "See the log of the server.") from None
        process.join()
        if not succeeded:
            raise ProcessFailed(text)
        return str(text)


def _build(parent: int, folder: Path, settings: Settings, connection: "Connection") -> None:
    from periplus.app.jobs.index_building import build_graph_and_index
    from periplus.app.priority import lower_priority

    die_with_parent(parent)
    lower_priority()
    try:
        statistics = build_graph_and_index(folder, settings, wait=_LOCK_SECONDS)
    except PeriplusError as error:
        connection.send((False, str(error)))
    else:
        connection.send((True, f"The index has {statistics.documents:,} pages."))


@contextlib.contextmanager
def background_scheduler(folder: Path, settings: Settings) -> Iterator[None]:
    """Within the block, do the scheduled jobs of a data folder."""
    stopped = threading.Event()
    work = JobScheduler(folder, settings, stopped).run
    with supervised_thread("scheduler", work, stopped, patience=5 * _POLL_SECONDS):
        yield
