"""A crawl in several processes: starts a shard for each, restarts those that die, tells when all of them are done.

It takes no part in the crawl. Whatever it knows is in files, so that it can be killed as well as any shard: shards
whose supervisor is gone stop in good order, and a new one goes on where the last one was.
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
from periplus.crawl.sharding.mailbox import mailbox_mark
from periplus.crawl.sharding.quotas import Quotas
from periplus.crawl.sharding.resharding import reshard
from periplus.crawl.sharding.shard_process import ShardProcess
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.errors import BadInput, DiskFailed, FolderInUse, NoNetwork
from periplus.files import lock_folder, open_data_folder, write_atomically
from periplus.records import Address, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.url import parse_address

__all__ = ["Supervisor", "share_of"]

_TURN: Final = 0.05
_SHOW: Final = 0.2
_SAY: Final = 0.5
_ORPHANS: Final = 30.0
"""Seconds that the shards of a supervisor that was killed have to end."""
_UNREACHABLE: Final = {Outcome.DNS.value, Outcome.CONNECT.value, Outcome.TIMEOUT.value}

Progress = Callable[[CrawlStatistics, list[CrawlStatus]], None]


class Supervisor:
    """One crawl of one data folder in several processes. `run` goes on to the end."""

    def __init__(self, folder: Path, settings: Settings, seeds: Iterable[str] = (), shards: int = 0) -> None:
        self._folder = folder
        self._settings = settings
        given = [parse_seed(text) for text in seeds]
        self._stops = 0
        self._looks = 0
        """Pages looked at in this run before shards were added or removed, where it is looks that are limited."""
        self._processes: dict[int, ShardProcess] = {}
        self._first: dict[int, CrawlStatistics] = {}
        self._held = contextlib.ExitStack()
        open_data_folder(folder, create=True)
        self._claim()
        try:
            self._arrange(shards, given)
        except BaseException:
            self._held.close()
            raise
        clear_command(folder)
        _warm(settings)
        self._began = time.monotonic()
        self._said = 0.0

    def _claim(self) -> None:
        """Take the whole crawl of this folder; wait for shards whose supervisor was killed."""
        deadline = time.monotonic() + _ORPHANS
        while True:
            try:
                self._held.enter_context(lock_folder(self._folder / "crawl", "supervisor"))
                return
            except FolderInUse:
                if time.monotonic() > deadline or _owner_lives(self._folder / "crawl" / ".supervisor.lock"):
                    raise
                time.sleep(_TURN)

    def _arrange(self, count: int, seeds: list[Address]) -> None:
        self._topology = reshard(self._folder, self._settings, count, seeds)
        if not self._topology.seeds:
            raise BadInput(f"There is no crawl in {self._folder} to continue.", "Give at least one URL to begin at.")
        self._quotas = Quotas(self._folder, max(0, self._settings.crawl.pages - self._looks))
        shards, seeds_of_all = self._topology.shards, self._topology.seeds
        part = share_of(self._settings, len(shards))
        self._processes = {number: ShardProcess(self._folder, part, seeds_of_all, number, shards) for number in shards}

    def stop(self) -> None:
        """Ask for the end: the first time requests under way are waited for, the second time not."""
        self._stops += 1
        if self._stops > 1:
            for process in self._processes.values():
                process.send(signal.SIGTERM)

    def run(self, on_progress: Progress | None = None) -> CrawlStatistics:
        """Crawl to the end: nothing left, a limit, or `stop`."""
        try:
            shown = 0.0
            while not self._is_over():
                self._turn()
                if on_progress is not None and time.monotonic() - shown >= _SHOW:
                    shown = time.monotonic()
                    on_progress(self.statistics(), self.shards())
                time.sleep(_TURN)
            self._end_all()
            self._say("stopping", now=True)
            self._complain()
            return self.statistics()
        finally:
            self._end_all(self._stops > 1)
            self._say("stopped", now=True)
            self._held.close()

    def _turn(self) -> None:
        for number, process in self._processes.items():
            if process.keep_alive() and self._settings.crawl.recrawl and process.last is not None:
                self._quotas.restart(number, process.last.pages)
        known = self._known()
        if len(known) == len(self._processes):
            self._quotas.share_out(known)
        self._listen()
        self._say(self._state())

    def _known(self) -> dict[int, CrawlStatus]:
        """Give what the shards that run say of themselves."""
        found = {number: process.status() for number, process in self._processes.items()}
        known = {number: status for number, status in found.items() if status is not None}
        for number, status in known.items():
            self._first.setdefault(number, status.statistics)
        return known

    def _is_over(self) -> bool:
        late = self._settings.crawl.minutes > 0 and time.monotonic() - self._began > self._settings.crawl.minutes * 60
        return self._stops > 0 or late or self._is_done()

    def _is_done(self) -> bool:
        """Tell whether nobody has anything to do, and nothing is on its way that would change that.

        A parcel on its way is a file. Whoever takes one says so before it is gone: when all are idle, then no file is
        there but those that were taken, and then all say the same as before, nothing has moved in between.
        """
        before = self._known()
        if len(before) < len(self._processes):
            return False
        states = {status.state for status in before.values()}
        if not states <= {"idle"} and not (states <= {"idle", "full"} and self._quotas.reached(before)):
            return False
        for number, status in before.items():
            if mailbox_mark(mailbox_dir(self._folder, number) / "inbox") != status.mark:
                return False
        after = self._known()
        return [status.activity() for status in before.values()] == [status.activity() for status in after.values()]

    def _state(self) -> str:
        if self._stops:
            return "stopping"
        return "paused" if pending_command(self._folder) == "pause" else "running"

    def _listen(self) -> None:
        word = pending_command(self._folder)
        if word == "stop":
            self.stop()
        elif word.startswith("shards "):
            self._end_all()
            self._looks += sum(status.pages for status in self.shards()) if self._settings.crawl.recrawl else 0
            self._arrange(int(word.split()[1]), [])
        if word and word != "pause":
            clear_command(self._folder)

    def _end_all(self, at_once: bool = False) -> None:
        """Let all shards end in good order, and wait for them."""
        for process in self._processes.values():
            process.send(signal.SIGKILL if at_once else signal.SIGTERM)
        for process in self._processes.values():
            process.wait()

    def shards(self) -> list[CrawlStatus]:
        """Say how each shard is."""
        found = (read_status(mailbox_dir(self._folder, number)) for number in self._topology.shards)
        return [status for status in found if status is not None]

    def statistics(self) -> CrawlStatistics:
        """Say how the crawl is doing as a whole."""
        figures = sum_statistics([status.statistics for status in self.shards()])
        return msgspec.structs.replace(figures, seconds=time.monotonic() - self._began)

    def before(self) -> CrawlStatistics:
        """Say how it was doing when this run began."""
        return sum_statistics(list(self._first.values()))

    def _say(self, state: str, now: bool = False) -> None:
        """Say how we are, and write the figures for a collector."""
        if not now and time.monotonic() - self._said < _SAY:
            return
        self._said = time.monotonic()
        shards = self._topology.shards
        write_status(
            self._folder / "crawl", CrawlStatus(os.getpid(), state, self.statistics(), time.time(), shards=shards)
        )
        figures = {status.number: status.statistics for status in self.shards()}
        with contextlib.suppress(DiskFailed):
            write_atomically(self._folder / "crawl" / "metrics.prom", as_metrics(figures).encode())

    def _complain(self) -> None:
        """Raise `NoNetwork` when nobody ever answered any shard."""
        shards, errors = self.shards(), set(self.statistics().errors)
        if not self._stops and errors and errors <= _UNREACHABLE and not any(status.answered for status in shards):
            raise NoNetwork("No host could be reached.", "Check the network and the seeds, then retry.")


def share_of(settings: Settings, shards: int) -> Settings:
    """Give the settings of each of so many shards, such that all together keep what was set for the whole."""
    frontier, fetch, store = settings.frontier, settings.fetch, settings.store
    replace = msgspec.structs.replace
    return replace(
        settings,
        crawl=replace(settings.crawl, minutes=0.0),
        fetch=replace(fetch, connections=-(-fetch.connections // shards)),
        frontier=replace(
            frontier,
            memory_mb=max(1, frontier.memory_mb // shards),
            # Hosts behind one address may be with any of them.
            per_address=max(1, frontier.per_address // shards) if frontier.per_address else 0,
        ),
        store=replace(store, keep_bytes=store.keep_bytes // shards),
    )


def _warm(settings: Settings) -> None:
    """Read a page, so that what reading needs is loaded once, and not by every process that is forked from this one."""
    page = FetchRequest(parse_address("http://warm.invalid/"))
    body = b"<!doctype html><title>Warm</title><p>Some words, and <a href=/>a link</a>."
    fetched = FetchResult(page, Outcome.OK, 0.0, 200, (("content-type", "text/html"),), body)
    make_page_record(fetched, settings.parse, DuplicateTable())


def _owner_lives(path: Path) -> bool:
    """Tell whether the process that wrote a lock is still there."""
    try:
        os.kill(int(path.read_text()), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True
