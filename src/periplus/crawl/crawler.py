"""The crawl loop: take what is due, ask robots.txt first, fetch, read, write the visit down, follow its links."""

import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from periplus.crawl.control import clear_command, pending_command
from periplus.crawl.crawl_metrics import as_metrics
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.crawl_statistics import CrawlStatistics, Meter
from periplus.crawl.crawl_status import status_now, write_status
from periplus.crawl.fetch_records import page_visit, plain_visit
from periplus.crawl.robots_cache import ruled_path
from periplus.crawl.sharding.shard_router import Alone
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadInput, BadUrl, DiskFailed, NoNetwork
from periplus.fetch import Fetcher
from periplus.files import lock_folder, open_data_folder, write_atomically
from periplus.parse import is_supported
from periplus.records import Address, FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.store import PageStore, shard_folder
from periplus.url import parse_address

__all__ = ["Crawler"]

_PATIENCE: Final = 0.2
"""Longest that one step waits, so that stopping and progress are prompt."""
_GRACE: Final = 5.0
"""Seconds that requests under way get after `stop`."""
_REFUSALS: Final = 500
"""Most URLs that one step takes from the frontier."""
_REPORT: Final = 1.0
"""Seconds between two looks at what another process asks for."""
_REVIVE: Final = 3_600.0
"""Seconds after which hosts that could not be reached are tried again in the same run."""
_CHECKPOINT_SHARE: Final = 20
"""Snapshots take at most one part in this many of the time."""


class Crawler:
    """One crawl of one data folder. Opening it recovers; `run` or `step` goes on; `close` lets go."""

    def __init__(
        self, folder: Path, settings: Settings, seeds: Iterable[str] = (), neighbours: Alone | None = None
    ) -> None:
        self._settings = settings
        self._neighbours = neighbours or Alone()
        self._most = settings.crawl.pages
        """Pages at which this process stops."""
        given = [_seed(text) for text in seeds]
        self._fetcher = Fetcher(settings.fetch, accepts=is_supported)
        self._held = contextlib.ExitStack()
        self._held.callback(self._fetcher.close)
        self._closed = False
        self._whole = True
        """Whether memory reflects exactly the visits in the store; within a turn it does not."""
        self._folder = folder
        self._paused = False
        self._reported = 0.0
        self._stops = 0
        self._stopped_at = 0.0
        self._asking: dict[int, FetchRequest] = {}
        self._asked = 0
        """Pages asked for in this run."""
        self._meter = Meter()
        self._wall, self._tick = time.time(), time.monotonic()
        try:
            self._open(folder, given)
        except BaseException:
            self._held.close()
            raise
        self._began = self._committed = self._now()
        self._checkpointed, self._checkpoint_took = self._began, 0.0
        self._revived = self._began
        self._tell("running")

    def _open(self, folder: Path, seeds: list[Address]) -> None:
        open_data_folder(folder, create=True)
        number = self._neighbours.number
        self._claim(folder)
        self._held.enter_context(lock_folder(shard_dir(folder, number), "crawl"))
        self._store = PageStore.open(shard_folder(folder / "store", number), self._settings.store, write=True)
        self._held.callback(self._store.close)
        path = shard_dir(folder, number) / "frontier.bin"
        self._memory = CrawlState.recover(path, self._settings, self._store, seeds, self._now(), self._neighbours)
        self._held.callback(self._memory.frontier.close)
        if not self._memory.harvester.seeds:
            raise BadInput(f"There is no crawl in {folder} to go on with.", "Give at least one URL to begin at.")
        self._memory.save(self._store.commit(), self._now())

    def _claim(self, folder: Path) -> None:
        """Take the whole crawl of this folder."""
        self._held.enter_context(lock_folder(folder / "crawl", "supervisor"))
        shards = len(read_topology(folder).shards)
        if shards > 1:
            raise BadInput(
                f"The crawl in {folder} has {shards} shards.",
                "Use `Supervisor`, which goes on with all of them, or --shards 0.",
            )
        clear_command(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> float:
        """Tell the time since 1970, untouched by changes of the system's clock while we run."""
        return self._wall + time.monotonic() - self._tick

    def run(self, on_progress: Callable[[CrawlStatistics], None] | None = None) -> CrawlStatistics:
        """Crawl to the end: nothing left, a limit, or `stop`. Closes the crawler, however it ends."""
        try:
            shown = 0.0
            while self.step():
                if on_progress is not None and time.monotonic() - shown >= _PATIENCE:
                    shown = time.monotonic()
                    on_progress(self.statistics())
            self.checkpoint()
            if on_progress is not None:
                on_progress(self.statistics())
            self._complain()
            return self.statistics()
        except (DiskFailed, KeyboardInterrupt):
            # What was flushed is safe and can be replayed; the first fault is the one to report.
            with contextlib.suppress(DiskFailed):
                self._let_go()
            raise
        finally:
            self.close()

    def step(self) -> bool:
        """Do one turn: start what is due, take what has come, keep it. False when there is no more to do."""
        now = self._now()
        self._whole = False
        self._start(now)
        found: list[FetchRequest] = []
        for fetched in self._fetcher.poll(self._patience(now)):
            found += self._receive(fetched)
        self._memory.add(found)
        self._whole = True
        self._keep()
        return not self._over()

    def stop(self) -> None:
        """Ask for the end: the first time requests under way are waited for a few seconds, the second time not."""
        self._stops += 1
        self._stopped_at = self._stopped_at or time.monotonic()

    def close(self) -> None:
        """Write the snapshot and let go of folder and network. A crawler can be closed twice."""
        try:
            if self._whole:
                self.checkpoint()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if not self._closed:
            self._tell("stopped")
            self._closed = True
            self._held.close()

    def _tell(self, state: str) -> None:
        self._shown = self.statistics()
        write_status(self._folder / "crawl", status_now(state, self._shown))

    def checkpoint(self) -> None:
        """Make all visits durable and write the snapshot that reflects them."""
        if self._closed:
            return
        began = time.monotonic()
        self._memory.save(self._store.commit(), self._now())
        self._committed = self._checkpointed = self._now()
        self._checkpoint_took = time.monotonic() - began

    def statistics(self) -> CrawlStatistics:
        """Say how the crawl is doing."""
        now = self._now()
        frontier, totals = self._memory.frontier.statistics(), self._memory.totals
        return CrawlStatistics(
            pages=totals.pages,
            fetched=totals.fetched,
            rate=self._meter.rate(now, self._began),
            errors={name: count for name, count in totals.outcomes.items() if name != Outcome.OK},
            bytes=totals.bytes,
            waiting=frontier.waiting,
            busy=0 if self._closed else self._fetcher.busy(),
            hosts=frontier.hosts,
            seen=frontier.seen,
            seconds=now - self._began,
            copies=totals.copies,
            given_up=frontier.given_up,
            recent=tuple(self._meter.recent),
            slowest=tuple(self._memory.frontier.slowest(3)),
            notes=tuple(self._memory.notes),
        )

    def _start(self, now: float) -> None:
        """Start requests while there is room; URLs that robots.txt refuses end here."""
        frontier, limits = self._memory.frontier, self._settings
        for _ in range(_REFUSALS):
            busy = self._fetcher.busy()
            if self._paused or busy >= limits.fetch.connections or self._enough(busy):
                return
            due = frontier.next(now)
            if due is None:
                return
            self._start_one(due, now)

    def _start_one(self, due: FetchRequest, now: float) -> None:
        if self._memory.had_its_share(due.address.host):
            self._memory.frontier.suspend(due, now)
            return
        rules = self._memory.robots.rules(due.address.origin, now)
        if rules is None:
            self._ask_robots(due, now)
        elif not rules.allows(ruled_path(due.address)):
            self._end(due, plain_visit(due, Outcome.ROBOTS, when=now), None)
        else:
            known = self._memory.history.pages.get(due.address.key)
            headers = known.headers if known is not None else ()
            self._fetcher.start(due, headers, any_type=due.address.key in self._memory.harvester.lists)

    def _ask_robots(self, due: FetchRequest, now: float) -> None:
        """Ask for robots.txt; where it has moved to another host, that host's pauses hold too."""
        target = self._memory.robots.target(due.address)
        if target.host != due.address.host:
            wait = self._memory.frontier.reserve(target.host, now)
            if wait > 0:
                self._memory.frontier.postpone(due, now, wait)
                return
        asking = FetchRequest(target)
        self._asking[id(asking)] = due
        self._fetcher.start(asking, any_type=True)

    def _enough(self, busy: int) -> bool:
        limits, totals = self._settings.crawl, self._memory.totals
        late = limits.minutes > 0 and self._now() - self._began > limits.minutes * 60
        had = self._asked if limits.recrawl else totals.pages
        return self._stops > 0 or late or had + busy >= self._most

    def _patience(self, now: float) -> float:
        """Say how long to wait for the network; when nothing is under way, wait for the next due here."""
        wait = self._memory.frontier.wait(now)
        patience = (
            _PATIENCE if wait is None or self._paused or self._enough(self._fetcher.busy()) else min(_PATIENCE, wait)
        )
        if self._fetcher.busy():
            return patience if self._fetcher.busy() < self._settings.fetch.connections else _PATIENCE
        if not self._over():
            time.sleep(patience)
        return 0.0

    def _receive(self, fetched: FetchResult) -> list[FetchRequest]:
        """Take what one request brought; give the dues that it leads to."""
        waiting = self._asking.pop(id(fetched.request), None)
        self._memory.totals.answered += fetched.status > 0
        if waiting is not None:
            return self._learn_robots(waiting, fetched)
        self._asked += 1
        memory = self._memory
        as_list = fetched.request.address.key in memory.harvester.lists
        # Of a list that is too long the beginning is read.
        if fetched.outcome is not Outcome.OK and not (as_list and fetched.outcome is Outcome.TOO_LARGE):
            keep = fetched if fetched.outcome is Outcome.NOT_MODIFIED else None
            return self._end(fetched.request, plain_visit(fetched.request, fetched.outcome, fetched), keep, fetched.ip)
        visit = page_visit(fetched, self._settings.parse, memory.originals, as_list, self._settings.crawl.forms > 0)
        visit = memory.harvester.traps.judge(visit, fetched.request.address.host)
        keep = fetched if visit.page is not None and not as_list else None
        return self._end(fetched.request, visit, keep, fetched.ip)

    def _learn_robots(self, due: FetchRequest, fetched: FetchResult) -> list[FetchRequest]:
        """Take robots.txt; the page that asked for it waits another turn, or fails as its robots.txt did."""
        now, memory = self._now(), self._memory
        pending_command = fetched.request.address.host
        if pending_command != due.address.host and self._neighbours.mine(pending_command):
            memory.frontier.release(pending_command, fetched.outcome, now, fetched.elapsed)
        outcome = memory.robots.learn(due.address.origin, fetched, now)
        if outcome not in (Outcome.OK, Outcome.REDIRECT):
            return self._end(due, plain_visit(due, outcome, fetched), None)
        rules = memory.robots.rules(due.address.origin, now)
        memory.frontier.requeue(due, now, fetched.elapsed, rules.delay if rules else None)
        if rules is None or not self._settings.crawl.sitemaps:
            return []
        return memory.harvester.listed(rules.sitemaps, due.address.url)

    def _end(
        self, due: FetchRequest, visit: FetchRecord, fetched: FetchResult | None, ip: str = ""
    ) -> list[FetchRequest]:
        """Write a visit down first, and only then let frontier and harvest know of it."""
        memory, now = self._memory, self._now()
        if due.address.key in memory.history.pages:
            visit = msgspec.structs.replace(visit, revisit=True)
        visit = self._store.append(visit, fetched)
        memory.frontier.done(due, visit.outcome, now, visit.elapsed, visit.retry_after or None, ip=ip)
        if memory.count(visit, due.address.host):
            self._meter.count(visit.url, now)
        return memory.harvester.harvest(visit)

    def _keep(self) -> None:
        """Hand visits to the operating system every turn, to the disk and the snapshot now and then."""
        self._store.flush()
        now, limits = self._now(), self._settings.crawl
        if now - self._reported >= _REPORT:
            self._reported = now
            self._listen()
        if now - self._revived >= _REVIVE:
            self._revived = now
            self._memory.frontier.revive()
        pause = max(limits.checkpoint_seconds, self._checkpoint_took * _CHECKPOINT_SHARE)
        if now - self._checkpointed >= pause:
            self.checkpoint()
        elif now - self._committed >= limits.commit_seconds:
            self._committed = now
            self._store.commit()

    def _listen(self) -> None:
        """Hear what another process has to say, and tell it how we are."""
        self._memory.hear(self._store)
        word = pending_command(self._folder)
        self._paused = word == "pause"
        if word == "stop":
            self.stop()
        if word in ("stop", "resume"):
            clear_command(self._folder)
        self._tell("stopping" if self._stops else "paused" if self._paused else "running")
        with contextlib.suppress(DiskFailed):
            write_atomically(self._folder / "crawl" / "metrics.prom", as_metrics(self._shown).encode())

    def _over(self) -> bool:
        busy = self._fetcher.busy()
        if self._stops and (self._stops > 1 or time.monotonic() - self._stopped_at > _GRACE):
            return True
        if busy or self._enough(0):
            return not busy
        # What others reported is heard to the end before there is nothing left to do.
        return self._memory.frontier.wait(self._now()) is None and not self._memory.hear(self._store)

    def _complain(self) -> None:
        """Raise `NoNetwork` when nobody ever answered, and there is nothing left to try."""
        totals = self._memory.totals
        if self._stops or totals.answered or not totals.outcomes:
            return
        unreachable = {Outcome.DNS.value, Outcome.CONNECT.value, Outcome.TIMEOUT.value}
        if set(totals.outcomes) <= unreachable and self._memory.frontier.wait(self._now()) is None:
            hosts = ", ".join(sorted({seed.host for seed in self._memory.harvester.seeds})[:3])
            raise NoNetwork(
                f"Not one host could be reached (tried {hosts}).", "Check the network and the seeds, then try again."
            )


def _seed(text: str) -> Address:
    try:
        return parse_address(text)
    except BadUrl as error:
        raise BadUrl(f"The seed '{text}' is no URL that can be crawled: {error}") from None
