"""Supervisor of a crawl in several processes: starts the shards, restarts those that die, detects the end.

It does not crawl itself. All of its state is in files, so that it can be killed like any shard: shards whose
supervisor is gone shut down cleanly, and a new supervisor continues from the same state.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from periplus.crawl.control import clear_command, pending_command
from periplus.crawl.crawl_metrics import as_metrics
from periplus.crawl.crawl_statistics import CrawlStatistics, sum_statistics
from periplus.crawl.crawl_status import CrawlStatus, read_status, write_status
from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.crawl.outlinks import parse_seed
from periplus.crawl.policies.contact import require_contact
from periplus.crawl.sharding.mailbox import mailbox_mark
from periplus.crawl.sharding.quotas import Quotas
from periplus.crawl.sharding.resharding import reshard
from periplus.crawl.sharding.shard_process import ShardProcess
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import BadInput, DiskFailed, FolderInUse, NoNetwork
from periplus.files import lock_folder, lock_holder, open_data_folder, write_atomically
from periplus.limits import ResourceMonitor
from periplus.records import Address, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["Supervisor", "divide_settings"]

_POLL_INTERVAL: Final = 0.05
_PROGRESS_INTERVAL: Final = 0.2
_STATUS_INTERVAL: Final = 0.5
_ORPHAN_TIMEOUT: Final = 30.0
"""Seconds to wait for the shards of a killed supervisor to end."""
_UNREACHABLE: Final = {Outcome.DNS.value, Outcome.CONNECT.value, Outcome.TIMEOUT.value}

Progress = Callable[[CrawlStatistics, list[CrawlStatus]], None]


class Supervisor:
    """One crawl of one data folder in several processes."""

    def __init__(self, folder: Path, settings: Settings, seeds: Iterable[str] = (), shards: int = 0) -> None:
        self._folder = folder
        self._settings = settings
        addresses = [parse_seed(text) for text in seeds]
        self._stops = 0
        self._earlier_pages = 0
        """Pages recrawled in this run before shards were added or removed; they count towards the limit."""
        self._processes: dict[int, ShardProcess] = {}
        self._initial: dict[int, CrawlStatistics] = {}
        self._locks = contextlib.ExitStack()
        open_data_folder(folder, create=True)
        self._claim()
        try:
            self._prepare_shards(shards, addresses)
        except BaseException:
            self._locks.close()
            raise
        clear_command(folder)
        _warm_up(settings)
        self._began = time.monotonic()
        self._status_written = self._limits_checked = 0.0
        self._monitor = ResourceMonitor(folder, settings.limits)
        self._reason = ""

    def _claim(self) -> None:
        """Lock the crawl of this folder; wait for shards whose supervisor was killed."""
        deadline = time.monotonic() + _ORPHAN_TIMEOUT
        while True:
            try:
                lock = lock_folder(self._folder / "crawl", "supervisor", "crawl", shared_with_children=True)
                self._locks.enter_context(lock)
                return
            except FolderInUse:
                if time.monotonic() > deadline or _is_owner_alive(self._folder / "crawl"):
                    raise
                time.sleep(_POLL_INTERVAL)

    def _prepare_shards(self, count: int, seeds: list[Address]) -> None:
        require_contact(seeds, self._settings.fetch)
        self._topology = reshard(self._folder, self._settings, count, seeds)
        if not self._topology.seeds:
            raise BadInput(f"There is no crawl in {self._folder} to continue.", "Give at least one URL to begin at.")
        self._quotas = Quotas(self._folder, max(0, self._settings.crawl.pages - self._earlier_pages))
        shards, seeds_of_all = self._topology.shards, self._topology.seeds
        shard_settings = divide_settings(self._settings, len(shards))
        self._processes = {
            number: ShardProcess(self._folder, shard_settings, seeds_of_all, number, shards) for number in shards
        }

    def stop(self) -> None:
        """Request the end of the crawl; a second call does not wait for requests in flight."""
        self._stops += 1
        if self._stops > 1:
            for process in self._processes.values():
                process.send(signal.SIGTERM)

    def run(self, on_progress: Progress | None = None) -> CrawlStatistics:
        """Crawl until nothing is left, a limit is reached, or `stop` is called; return the statistics."""
        try:
            shown = 0.0
            while not self._is_over():
                self._supervise()
                if on_progress is not None and time.monotonic() - shown >= _PROGRESS_INTERVAL:
                    shown = time.monotonic()
                    on_progress(self.statistics(), self.shards())
                time.sleep(_POLL_INTERVAL)
            self._end_all()
            self._write_status("stopping", now=True)
            self._check_network()
            return self.statistics()
        finally:
            self._end_all(self._stops > 1)
            self._write_status("stopped", now=True)
            self._locks.close()

    def _supervise(self) -> None:
        for number, process in self._processes.items():
            if process.keep_alive() and self._settings.crawl.recrawl and process.last is not None:
                self._quotas.note_restart(number, process.last.pages)
        statuses = self._running_statuses()
        if len(statuses) == len(self._processes):
            self._quotas.distribute(statuses)
        self._run_command()
        if time.monotonic() - self._limits_checked >= _STATUS_INTERVAL:
            self._limits_checked = time.monotonic()
            self._reason = self._monitor.check()
        self._write_status(self._state())

    def _running_statuses(self) -> dict[int, CrawlStatus]:
        """Return the statuses of the running shards."""
        statuses = {}
        for number, process in self._processes.items():
            status = process.status()
            if status is not None:
                statuses[number] = status
                self._initial.setdefault(number, status.statistics)
        return statuses

    def _is_over(self) -> bool:
        timed_out = (
            self._settings.crawl.minutes > 0 and time.monotonic() - self._began > self._settings.crawl.minutes * 60
        )
        return self._stops > 0 or timed_out or self._is_done()

    def _is_done(self) -> bool:
        """Return whether all shards are idle and no message is in flight.

        A message in flight is a file, and a shard reports that it has read one before deleting it. If all shards are
        idle, every file was read, and all statuses are then still the same, nothing has moved in between.
        """
        before = self._running_statuses()
        if len(before) < len(self._processes):
            return False
        states = {status.state for status in before.values()}
        if not states <= {"idle"} and not (states <= {"idle", "full"} and self._quotas.is_exhausted(before)):
            return False
        for number, status in before.items():
            if mailbox_mark(mailbox_dir(self._folder, number) / "inbox") != status.mark:
                return False
        after = self._running_statuses()
        return [status.activity() for status in before.values()] == [status.activity() for status in after.values()]

    def _state(self) -> str:
        if self._stops:
            return "stopping"
        return "paused" if pending_command(self._folder) == "pause" or self._reason else "running"

    def _run_command(self) -> None:
        command = pending_command(self._folder)
        if command == "stop":
            self.stop()
        elif command.startswith("shards "):
            self._end_all()
            self._earlier_pages += sum(status.pages for status in self.shards()) if self._settings.crawl.recrawl else 0
            self._prepare_shards(int(command.split()[1]), [])
        if command and command != "pause":
            clear_command(self._folder)

    def _end_all(self, at_once: bool = False) -> None:
        """Stop all shards, cleanly unless `at_once`, and wait for them."""
        for process in self._processes.values():
            process.send(signal.SIGKILL if at_once else signal.SIGTERM)
        for process in self._processes.values():
            process.wait()

    def shards(self) -> list[CrawlStatus]:
        """Return the last status of each shard."""
        statuses = (read_status(mailbox_dir(self._folder, number)) for number in self._topology.shards)
        return [status for status in statuses if status is not None]

    def statistics(self) -> CrawlStatistics:
        """Return the statistics of the whole crawl."""
        figures = sum_statistics([status.statistics for status in self.shards()])
        return msgspec.structs.replace(figures, seconds=time.monotonic() - self._began)

    def before(self) -> CrawlStatistics:
        """Return the statistics at the beginning of this run."""
        return sum_statistics(list(self._initial.values()))

    def _write_status(self, state: str, now: bool = False) -> None:
        """Write the status and the metrics, at intervals unless `now`."""
        if not now and time.monotonic() - self._status_written < _STATUS_INTERVAL:
            return
        self._status_written = time.monotonic()
        shards = self._topology.shards
        write_status(
            self._folder / "crawl", CrawlStatus(os.getpid(), state, self.statistics(), time.time(), shards=shards)
        )
        figures = {status.number: status.statistics for status in self.shards()}
        with contextlib.suppress(DiskFailed):
            write_atomically(self._folder / "crawl" / "metrics.prom", as_metrics(figures).encode())

    def _check_network(self) -> None:
        """Raise `NoNetwork` if no host ever responded to any shard."""
        shards, errors = self.shards(), set(self.statistics().errors)
        if not self._stops and errors and errors <= _UNREACHABLE and not any(status.answered for status in shards):
            raise NoNetwork("No host could be reached.", "Check the network and the seeds, then retry.")


def divide_settings(settings: Settings, shards: int) -> Settings:
    """Return the settings of each of `shards` shards, such that together they respect the limits of the crawl."""
    frontier, fetch, store = settings.frontier, settings.fetch, settings.store
    replace = msgspec.structs.replace
    return replace(
        settings,
        crawl=replace(settings.crawl, minutes=0.0, bytes=-(-settings.crawl.bytes // shards)),
        fetch=replace(fetch, connections=-(-fetch.connections // shards)),
        frontier=replace(
            frontier,
            memory_mb=max(1, frontier.memory_mb // shards),
            # Any shard may own hosts behind the same address.
            per_address=max(1, frontier.per_address // shards) if frontier.per_address else 0,
        ),
        store=replace(store, keep_bytes=store.keep_bytes // shards),
        limits=replace(settings.limits, bandwidth_mbit=settings.limits.bandwidth_mbit / shards),
    )


def _warm_up(settings: Settings) -> None:
    """Parse a page, so that the parser is loaded once, and not by every forked process."""
    page = FetchRequest(parse_address("http://warm.invalid/"))
    body = b"<!doctype html><title>Warm</title><p>Some words, and <a href=/>a link</a>."
    result = FetchResult(page, Outcome.OK, 0.0, 200, (("content-type", "text/html"),), body)
    make_page_record(result, settings.parse, DuplicateTable())


def _is_owner_alive(folder: Path) -> bool:
    """Return whether the process that took the lock of the crawl is alive, and not only its shards."""
    holder = lock_holder(folder, "supervisor").pid
    if not holder:
        return False
    try:
        os.kill(holder, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
