"""The crawl loop: take requests from the frontier, consult robots.txt, fetch, parse, store the record, follow links.

The loop is the same for a whole crawl and for one shard of many: what differs is behind `Shard`.
"""

import contextlib
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.documents.document_parser import DocumentParser
from periplus.crawl.fetch_processing import FetchProcessor
from periplus.crawl.hosts.blocked_hosts import BlockedHosts
from periplus.crawl.inspection.crawl_log import CrawlLog
from periplus.crawl.outlinks import parse_seed
from periplus.crawl.policies.contact import name_robot, require_contact
from periplus.crawl.policies.host_table import open_fetcher
from periplus.crawl.policies.limit_watch import LimitWatch
from periplus.crawl.rendering.host_renderer import HostRenderer
from periplus.crawl.sharding.mailbox import ShardMessage
from periplus.crawl.sharding.shard import Shard, SingleShard
from periplus.crawl.sharding.topology import shard_dir
from periplus.errors import BadInput, BadUrl, DiskFailed
from periplus.files import lock_folder, open_data_folder
from periplus.parse import is_supported
from periplus.records import Address
from periplus.settings import Settings
from periplus.store import PageStore, shard_folder

__all__ = ["Crawler"]

_MAX_WAIT: Final = 0.2  # longest wait of one step, so that stopping and progress are prompt
_RENDER_WAIT: Final = 0.02  # longest wait while a page is rendered, which asks for one thing after the other
_GRACE: Final = 5.0  # seconds that requests in flight get after `stop`
_CHECKED_SEEDS: Final = 10_000
_MAX_STARTS: Final = 500  # requests that one step takes from the frontier at most
_REPORT_SECONDS: Final = 1.0  # between readings of the visit report log, and writings of an unchanged status
_CONTROL_SECONDS: Final = 0.05  # between two polls for commands of the operator
_MAIL_SECONDS: Final = 0.01  # between two looks into the mailbox
_CONGESTION_PAUSE: Final = 0.05
_REVIVE_SECONDS: Final = 3_600.0  # after which suspended hosts are tried again in the same run
_GARBAGE: Final = (20_000, 20, 20)
"""Objects after which the garbage collector runs, and how many of its runs look at older objects, too."""
_CHECKPOINT_SHARE: Final = 20  # snapshots take at most one part in this many of the time


@contextlib.contextmanager
def _collecting_less_often() -> Iterator[None]:
    """Collect garbage less often: what a page leaves has no cycles, and looking for some takes a twentieth of it."""
    before = gc.get_threshold()
    gc.set_threshold(*_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Crawler:
    """One crawl of a data folder, or one shard of it. Opening recovers; `run` or `step` crawls; `close` releases."""

    def __init__(self, folder: Path, settings: Settings, seeds: Iterable[str] = (), shard: Shard | None = None) -> None:
        self._folder = folder
        self._settings = settings = name_robot(settings)
        self._shard: Shard = shard or SingleShard(folder)
        remaining = iter(seeds)  # A bad seed is named before anything is written, unless there are very many.
        addresses = chain([parse_seed(text) for text in islice(remaining, _CHECKED_SEEDS)], map(parse_seed, remaining))
        self._fetcher = open_fetcher(settings, is_supported)
        self._resources = contextlib.ExitStack()
        self._resources.callback(self._fetcher.close)
        self._closed = self._paused = False
        self._consistent = True
        """Whether the state reflects exactly the records in the store; within a step it does not."""
        self._is_saved = False
        """Whether the snapshot of the end of a run was written: then `close` writes no other."""
        self._stops, self._stopped_at = 0, 0.0
        self._wall, self._tick = time.time(), time.monotonic()
        try:
            self._open(addresses)
        except BaseException:
            self._resources.close()
            raise
        self._sent_seeds = self._state.first_seeds
        self._mail_empty = not self._shard.supervised
        self._mail_read = self._polled = self._reported = self._checkpoint_took = 0.0
        self._status, self._status_written = "", 0.0
        self._began = self._committed = self._checkpointed = self._revived = self._now()
        self._write_status("running")

    def _open(self, seeds: Iterable[Address]) -> None:
        folder, number = self._folder, self._shard.number
        open_data_folder(folder, create=True)
        self._shard.claim(folder, self._resources)
        self._resources.enter_context(lock_folder(shard_dir(folder, number), "crawl"))
        self._store = PageStore.open(shard_folder(folder / "store", number), self._settings.store, write=True)
        self._resources.callback(self._store.close)
        self._limits = LimitWatch(folder, self._settings, self._store)
        path = shard_dir(folder, number) / "frontier.bin"
        self._state = CrawlState.recover(path, self._settings, self._store, seeds, self._now(), self._shard)
        self._resources.callback(self._state.frontier.close)
        self._state.host_limits.blocked = BlockedHosts(folder)
        self._documents = DocumentParser(shard_dir(folder, number), self._settings)
        self._resources.callback(self._documents.close)
        self._fetcher.watch(self._documents.fileno())
        self._renderer = HostRenderer(self._settings, self._state, self._fetcher, self._shard)
        self._resources.callback(self._renderer.close)
        self._requests = FetchProcessor(
            self._settings,
            self._state,
            self._store,
            self._fetcher,
            self._documents,
            self._renderer,
            self._shard,
            CrawlLog(shard_dir(folder, number), self._settings.crawl.log_mb),
            self._now,
        )
        if not self._state.outlinks.seeds:
            raise BadInput(f"There is no crawl in {folder} to continue.", "Give at least one URL to begin at.")
        require_contact(self._state.outlinks.seeds, self._settings.fetch)
        self._state.save(self._store.commit(), self._now())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> float:
        """Return the time since 1970, unaffected by changes of the system clock during the run."""
        return self._wall + time.monotonic() - self._tick

    def run(self, on_progress: Callable[[CrawlStatistics], None] | None = None) -> CrawlStatistics:
        """Crawl to the end: nothing left, a limit, or `stop`. Closes the crawler, however it ends."""
        try:
            shown = 0.0
            with _collecting_less_often():
                while self.step():
                    if on_progress is not None and time.monotonic() - shown >= _MAX_WAIT:
                        shown = time.monotonic()
                        on_progress(self.statistics())
            self.checkpoint()
            self._is_saved = True
            if on_progress is not None:
                on_progress(self.statistics())
            if not self._shard.supervised and not self._stops:  # a supervisor checks all shards
                self._state.check_network(self._now())
            return self.statistics()
        except (DiskFailed, KeyboardInterrupt):
            # What was flushed is safe and can be replayed; the first fault is the one to report.
            with contextlib.suppress(DiskFailed):
                self._release()
            raise
        finally:
            self.close()

    def step(self) -> bool:
        """Start requests that are due, store results that have arrived. Return whether there is more to do."""
        now = self._now()
        self._consistent = False
        self._read_mail(now)
        self._requests.robots.start_queued(now, self._paused or self._stops > 0)
        self._requests.robots.expire(now)
        self._start(now)
        requests = self._requests.receive_all(self._fetcher.poll(self._wait(now)))
        for document in self._documents.poll():
            requests += self._requests.finish_page(document.result, document.as_list, document.parsed)
        for result in self._renderer.poll(self._now()):
            requests += self._requests.finish_page(result, False, None)
        self._state.add(requests)
        self._consistent = True
        self._persist()
        self._send_mail()
        self._poll_control()
        self._write_status(self._status_now(), only_changes=True)
        return not self._is_over()

    def stop(self) -> None:
        """Ask for the end: the first time requests in flight get a few seconds, the second time none."""
        self._stops += 1
        self._stopped_at = self._stopped_at or time.monotonic()

    def close(self) -> None:
        """Write the snapshot and release folder and network. A crawler can be closed twice."""
        try:
            if self._consistent and not self._is_saved:
                self.checkpoint()
        finally:
            self._release()

    def _release(self) -> None:
        if not self._closed:
            self._write_status("stopped")
            self._closed = True
            self._resources.close()

    def checkpoint(self) -> None:
        """Make all records durable and write the snapshot that reflects them."""
        if self._closed:
            return
        began = time.monotonic()
        self._documents.sync()
        self._state.save(self._store.commit(), self._now())
        self._committed = self._checkpointed = self._now()
        self._checkpoint_took = time.monotonic() - began
        if self._shard.supervised:
            # The supervisor counts messages: it must know of those that were received before they are deleted.
            self._write_status(self._status_now())
        self._shard.acknowledge()

    def statistics(self) -> CrawlStatistics:
        """Return the figures of the crawl."""
        statistics = self._state.statistics(
            self._requests.meter, 0 if self._closed else self._busy(), self._began, self._now()
        )
        notes = statistics.notes + self._state.outlinks.hooks.notes() + self._renderer.notes()
        under_way = () if self._closed else self._fetcher.under_way()
        return msgspec.structs.replace(statistics, notes=notes, paused=self._limits.reason, under_way=under_way)

    def _read_mail(self, now: float) -> None:
        """Accept links, seeds and robots.txt files that other shards have sent."""
        if now - self._mail_read < _MAIL_SECONDS:
            return
        self._mail_read = now
        messages = self._shard.receive()
        self._mail_empty = not messages
        for message in messages:
            self._accept(message, now)

    def _accept(self, message: ShardMessage, now: float) -> None:
        self._state.accept_message(message)
        # Seeds that another shard has sent are known to all.
        self._sent_seeds = len(self._state.outlinks.seeds)
        for robots_request in message.robots_requests:
            with contextlib.suppress(BadUrl):
                self._requests.robots.enqueue(message.sender, robots_request, now)
        for response in message.robots_responses:
            with contextlib.suppress(BadUrl):
                answer = self._requests.robots.accept(response, now)
                self._state.add(self._requests.learn_robots(*answer) if answer is not None else [])

    def _send_mail(self) -> None:
        seeds = self._state.outlinks.seeds
        self._shard.send_seeds(seeds[self._sent_seeds :])
        self._sent_seeds = len(seeds)
        self._shard.send(at_once=self._busy() == 0)

    def _busy(self) -> int:
        return self._fetcher.busy() + self._documents.busy() + self._renderer.busy()

    def _start(self, now: float) -> None:
        """Start requests while connections are free; URLs that robots.txt disallows end here."""
        if self._shard.is_congested():
            if not self._fetcher.busy():
                time.sleep(_CONGESTION_PAUSE)
            return
        if self._paused or self._documents.is_full() or self._renderer.is_full():
            return
        fetcher, state, start = self._fetcher, self._state, self._requests.start
        # Nothing that is started here adds to the pages, the documents or the bytes; it takes connections.
        free = self._quota() - self._pages() - self._documents.busy() - self._renderer.busy()
        for _ in range(0 if self._is_limit_reached(0) else _MAX_STARTS):
            if fetcher.is_full() or fetcher.busy() >= free or self._stops or self._is_late():
                return
            request = state.frontier.next(now)
            if request is None:
                return
            if not state.hold_back(request, now):
                start(request, now)

    def _pages(self) -> int:
        """Return the number of pages that count against the limit."""
        return self._requests.fetched if self._settings.crawl.recrawl else self._state.totals.pages

    def _quota(self) -> int:
        return self._shard.page_quota(self._settings.crawl.pages)

    def _is_limit_reached(self, busy: int) -> bool:
        is_full = 0 < self._settings.crawl.bytes <= self._state.totals.bytes
        return self._stops > 0 or is_full or self._is_late() or self._pages() + busy >= self._quota()

    def _is_late(self, grace: float = 0.0) -> bool:
        minutes = self._settings.crawl.minutes
        return minutes > 0 and self._now() - self._began > minutes * 60 + grace

    def _wait(self, now: float) -> float:
        """Return how long to wait for the network; if nothing is in flight, wait for the next request here."""
        wait = self._state.frontier.wait(now)
        if wait is None or self._paused or self._documents.is_full() or self._is_limit_reached(self._busy()):
            wait = _MAX_WAIT
        wait = min(_MAX_WAIT, max(wait, self._fetcher.bandwidth_wait()))
        if self._renderer.busy():
            wait = min(wait, _RENDER_WAIT)
        if self._fetcher.busy():
            return _MAX_WAIT if self._fetcher.is_full() else wait
        if self._documents.busy():
            self._documents.wait(wait)
        elif not self._is_over():
            time.sleep(wait)
        return 0.0

    def _persist(self) -> None:
        """Hand records to the operating system every step, to the disk and the snapshot at intervals."""
        self._requests.flush()
        now, limits = self._now(), self._settings.crawl
        if now - self._reported >= _REPORT_SECONDS:
            self._reported = now
            self._state.read_reports(self._store)
        # What was unblocked is fetched in this run, too.
        if self._state.host_limits.read_blocked() or now - self._revived >= _REVIVE_SECONDS:
            self._revived = now
            self._state.frontier.revive()
        pause = max(limits.checkpoint_seconds, self._checkpoint_took * _CHECKPOINT_SHARE)
        if now - self._checkpointed >= pause:
            self.checkpoint()
        elif now - self._committed >= limits.commit_seconds:
            self._committed = now
            self._documents.sync()
            self._store.commit()

    def _poll_control(self) -> None:
        now = self._now()
        if now - self._polled >= _CONTROL_SECONDS:
            self._polled = now
            control = self._shard.poll_control()
            self._paused = control.paused or bool(self._limits.check(now, self._state.totals.bytes))
            if control.stopped:
                self.stop()

    def _write_status(self, status: str, only_changes: bool = False) -> None:
        """Write the status; `only_changes`, if it has changed or was written a while ago."""
        now = time.monotonic()
        if only_changes and status == self._status and now - self._status_written < _REPORT_SECONDS:
            return
        self._status, self._status_written = status, now
        self._shard.write_status(status, self.statistics(), self._pages(), self._state.totals.answered)

    def _status_now(self) -> str:
        """Return 'running', 'paused' or 'stopping'; of a supervised shard also 'idle' or 'full'."""
        if self._stops or self._paused:
            return "stopping" if self._stops else "paused"
        busy = not self._mail_empty or self._busy() or self._requests.robots.is_waiting() or self._shard.unsent()
        if busy or not self._shard.supervised:
            return "running"
        if self._state.frontier.wait(self._now()) is not None:
            return "full" if self._is_limit_reached(0) else "running"
        # All reported visits are read before there is nothing left to do.
        return "running" if self._state.read_reports(self._store) else "idle"

    def _is_over(self) -> bool:
        if self._stops and (self._stops > 1 or time.monotonic() - self._stopped_at > _GRACE):
            return True
        if self._shard.supervised and not self._stops:
            return False
        if self._busy() or self._is_limit_reached(0):
            # Documents that take long when the time is over are not waited for.
            waits = self._documents.busy() or self._renderer.busy()
            return not self._fetcher.busy() and (not waits or self._is_late(_GRACE))
        # All reported visits are read before there is nothing left to do.
        return self._state.frontier.wait(self._now()) is None and not self._state.read_reports(self._store)
