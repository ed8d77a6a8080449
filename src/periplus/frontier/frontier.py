"""The frontier: per-host queues, a heap of hosts by the time they may be asked, and the set of all URLs seen."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from heapq import heapify, heappush, nlargest
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.frontier.best_first import BestFirst, Ripe, lift_queue, pop_time, prune
from periplus.frontier.budgets import count_request, faded, is_deferred, unknown_to_all
from periplus.frontier.host_groups import Groups
from periplus.frontier.host_queues import Queues
from periplus.frontier.host_state import Entry, FrontierStatistics, Host, Place, Snapshot, pack, unpack
from periplus.frontier.politeness import FAILURES, RETRYABLE, back_off, gap
from periplus.frontier.retries import Tries, mark_of, tried
from periplus.frontier.seen_set import SeenSet
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

__all__ = ["Frontier"]

_TURN_OF_DEFERRED: Final = 20


class Frontier:
    """What to fetch next. Pure state: the caller tells the time, in seconds that only grow."""

    def __init__(self, settings: FrontierSettings, spill: Path | None = None) -> None:
        self._settings = settings
        self.reputation: Callable[[str], float] = unknown_to_all
        """How many links from elsewhere lead to a host; its budget grows with it."""
        self.best_first: BestFirst | None = None
        """How to choose among hosts by what waits there; None asks them in turn."""
        self._ripe, self._ripe_behind = Ripe(), Ripe()
        self._hosts: dict[str, Host] = {}
        self._ready: list[Place] = []
        self._deferred: list[Place] = []
        self._groups = Groups(settings)
        self._queues = Queues(settings.memory_mb, spill)
        self._requests = 0
        self._seen = SeenSet()
        self._foreign = 0
        self._now = 0.0
        self._order = 0
        self._busy = 0
        self._retries = 0
        self._dropped = 0
        self._tries = Tries()

    def add(self, dues: Iterable[FetchRequest]) -> int:
        """Queue the dues whose URL was never added before; give their number."""
        batch = list(dues)
        touched: dict[str, Host] = {}
        keys: list[int] = []
        for place in self._seen.unseen([due.address.key for due in batch]):
            due = batch[place]
            host = self._host(due.address.host)
            if not self._queues.on_disk and len(host) >= self._settings.per_host:
                self._dropped += 1
                continue
            self._queues.push(host, Entry(-due.rank, self._count(), due.address.url, due.depth, due.attempt, due.hops))
            keys.append(due.address.key)
            touched[host.name] = host
        self._seen.update(keys)
        for host in touched.values():
            self._queues.limit(host, self._settings.per_host)
            self._schedule(host)
        self._queues.fit(self._hosts.values())
        return len(keys)

    def add_revisits(self, dues: Iterable[FetchRequest]) -> None:
        """Queue URLs for another look, also when they were fetched before; those that wait already stay as they are."""
        of_host: dict[str, list[FetchRequest]] = {}
        for due in dues:
            of_host.setdefault(due.address.host, []).append(due)
        for name, batch in of_host.items():
            host = self._host(name)
            waiting = {entry.url for entry in host.queue}
            for due in batch:
                if due.address.url not in waiting:
                    self._queues.push(host, Entry(-due.rank, self._count(), due.address.url, due.depth, 0, due.hops))
            self._seen.update([batch[at].address.key for at in self._seen.unseen([d.address.key for d in batch])])
            self._schedule(host)

    def seen(self, key: int) -> bool:
        """Tell whether the URL with this fingerprint was ever added."""
        return key in self._seen

    def reprioritize(self, ranks: Mapping[str, Mapping[int, float]]) -> None:
        """Raise URLs that wait already, by host and key, to a better crawl rank."""
        for name, wanted in ranks.items():
            host = self._hosts.get(name)
            if host is not None and lift_queue(host, wanted):
                self._schedule(host)

    def next(self, now: float) -> FetchRequest | None:
        """Give the next URL that may be fetched now, and mark its host busy; None when there is none yet."""
        self._now = max(self._now, now)
        # Those who wait behind others have every so many turns to themselves, and never starve.
        behind = self._requests % _TURN_OF_DEFERRED == _TURN_OF_DEFERRED - 1
        for heap in (self._deferred, self._ready) if behind else (self._ready, self._deferred):
            if heap is self._deferred and not behind and self._expects(now):
                return None
            while (host := self._pop_ready(heap, now)) is not None:
                host.ready = None
                if self._groups.enter(host):
                    return self._take(host, now)
        return None

    def _pop_ready(self, heap: list[Place], now: float) -> Host | None:
        """Take the host whose turn it is out of a heap: the longest ready, or the one with the best URL."""
        if self.best_first is None:
            return pop_time(heap, now, self._hosts)
        return (self._ripe if heap is self._ready else self._ripe_behind).pop(heap, now, self._hosts)

    def _expects(self, now: float) -> bool:
        """Tell whether a promising host is to be waited for."""
        prune(self._ready, self._hosts)
        soon = self.best_first is not None and bool(self._ready)
        return soon and self._ready[0][0] <= now + (self.best_first.patience if self.best_first else 0.0)

    def wait(self, now: float) -> float | None:
        """Give the seconds until something may be fetched; None when nothing waits but what is under way."""
        soonest: float | None = None
        if self._ripe.holds(self._hosts) or (not self._expects(now) and self._ripe_behind.holds(self._hosts)):
            return 0.0
        for heap in (self._ready,) if self._expects(now) else (self._ready, self._deferred):
            prune(heap, self._hosts)
            if heap and (soonest is None or heap[0][0] < soonest):
                soonest = heap[0][0]
        return None if soonest is None else max(0.0, soonest - now)

    def done(
        self,
        due: FetchRequest,
        outcome: Outcome,
        now: float,
        elapsed: float,
        retry_after: float | None = None,
        delay: float | None = None,
        ip: str = "",
    ) -> None:
        """Free the host of `due`, say when it may be asked again, and queue the URL again if the failure may pass.

        A host that cannot be reached, whatever it is asked for, is given up for this run, and keeps its URLs.
        """
        host, entry = self._return(due, now)
        host.ip = ip or host.ip
        pause = self._account(host, outcome, now, elapsed, retry_after, delay)
        again = tried(entry, mark_of(host, outcome, self._settings), self._settings.retries)
        if again is not None:
            self._retries += again.attempt > 0
            self._queues.push_later(host, again, now + pause)
            if again.attempt == 0 and not host.is_hopeful():
                self._queues.give_up(host)
        self._schedule(host)

    def requeue(self, due: FetchRequest, now: float, elapsed: float, delay: float | None = None) -> None:
        """Give `due` back unfetched after another request to its host (for robots.txt) that took `elapsed`."""
        host, entry = self._return(due, now)
        self._account(host, Outcome.OK, now, elapsed, None, delay)
        self._queues.push(host, entry)
        self._schedule(host)

    def suspend(self, due: FetchRequest, now: float) -> None:
        """Give `due` back and leave its host alone for the rest of this run: it has had its share."""
        host, entry = self._return(due, now)
        self._queues.push(host, entry)
        self._queues.give_up(host)
        self._schedule(host)

    def postpone(self, due: FetchRequest, now: float, seconds: float) -> None:
        """Give `due` back unfetched, and leave its host alone for so long."""
        host, entry = self._return(due, now)
        host.next_time = max(host.next_time, now + seconds)
        self._queues.push(host, entry)
        self._schedule(host)

    def reserve(self, name: str, now: float) -> float:
        """Ask for one turn at a host that is not in its own turn; 0.0 when it is granted, else seconds to wait.

        `release` ends what was granted.
        """
        host = self._host(name)
        if host.busy is not None or host.held:
            return max(self._settings.delay, host.elapsed, 0.05)
        if host.next_time > now:
            return host.next_time - now
        host.held = True
        self._schedule(host)
        return 0.0

    def release(self, name: str, outcome: Outcome, now: float, elapsed: float) -> None:
        """End a turn that `hold` granted: the host is left alone for as long as after any other request."""
        host = self._hosts[name]
        host.held = False
        self._account(host, outcome, now, elapsed, None, None)
        self._schedule(host)

    def replay(
        self, due: FetchRequest, outcome: Outcome, now: float, elapsed: float, retry_after: float | None = None
    ) -> None:
        """Take note of a fetch that ended after the snapshot was written; `forget_busy` then settles the queues."""
        host = self._host(due.address.host)
        self._now = max(self._now, now)
        self._account(host, outcome, now, elapsed, retry_after, None)
        self._tries.note(host, due.address.url, outcome, self._settings)
        if not self._seen.unseen([due.address.key]):
            return
        self._seen.update([due.address.key])
        if outcome in RETRYABLE:
            self._queues.push(host, Entry(-due.rank, self._count(), due.address.url, due.depth, 0, due.hops))

    def requeue_in_flight(self, now: float = 0.0) -> None:
        """After recovery: put what was under way back into its queue, less what `replay` has shown to be done."""
        # A request may have gone out at the last moment and left no trace: every host has its full pause from `now`.
        self._groups.clear()
        for host in self._hosts.values():
            host.held, host.groups = False, []
            host.next_time = max(host.next_time, now + gap(host, self._settings) if now else 0.0)
            host.ready = None
            if host.busy is not None:
                self._busy -= 1
                self._queues.push(host, host.busy)
                host.busy = None
            if host.name in self._tries:
                self._queues.replace(host, partial(self._tries.left, host.name, self._settings.retries))
            self._schedule(host)
        self._tries = Tries()

    def revive(self) -> None:
        """Give every host that was given up one more chance, as a new run does."""
        for host in self._hosts.values():
            if host.given_up:
                host.failures = min(host.failures, self._settings.max_failures - 1)
                self._queues.revive(host)
                self._schedule(host)

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """List the hosts whose last answer took longest, with its seconds."""
        return nlargest(count, ((host.name, host.elapsed) for host in self._hosts.values()), key=lambda pair: pair[1])

    def statistics(self) -> FrontierStatistics:
        """Say how the frontier is."""
        return FrontierStatistics(
            waiting=self._queues.waiting,
            busy=self._busy,
            hosts=len(self._hosts),
            seen=len(self._seen) - self._foreign,
            retries=self._retries,
            given_up=self._queues.given_up,
            dropped=self._dropped,
            deferred=len(self._deferred),
            spilled=self._queues.there,
        )

    def dump(self) -> bytes:
        """Write everything down, politeness and what is under way included."""
        self._queues.sync()
        seen = self._seen.keys().astype("<u8").tobytes()
        counters = (self._now, self._order, self._retries, self._dropped)
        return pack(Snapshot(*counters, list(self._hosts.values()), seen, self._requests, self._foreign))

    @classmethod
    def load(cls, data: bytes, settings: FrontierSettings, spill: Path | None = None) -> "Frontier":
        """Read what `dump` wrote; raise `CorruptFile` for anything else."""
        snapshot = unpack(data)
        frontier = cls(settings, spill)
        frontier._queues.count(snapshot.hosts)
        frontier._now, frontier._order = snapshot.now, snapshot.order
        frontier._retries, frontier._dropped = snapshot.retries, snapshot.dropped
        frontier._requests, frontier._foreign = snapshot.requests, snapshot.foreign
        frontier._seen = SeenSet(np.frombuffer(snapshot.seen, "<u8"))
        frontier._hosts = {host.name: host for host in snapshot.hosts}
        for host in snapshot.hosts:
            frontier._busy += host.busy is not None
            frontier._groups.restore(host)
            if host.ready is not None:
                (frontier._deferred if host.deferred else frontier._ready).append(host.ready)
            else:
                frontier._schedule(host)
        heapify(frontier._ready)
        heapify(frontier._deferred)
        return frontier

    def hosts(self) -> list[str]:
        """Name all hosts that are known."""
        return list(self._hosts)

    def export_hosts(self, names: Iterable[str]) -> list[Host]:
        """Let go of hosts, none of them busy: give all that waits there, and when they may be asked again."""
        gone = [self._hosts.pop(name) for name in names if self._hosts[name].busy is None]
        for host in gone:
            host.queue = self._queues.discount(host)
            heapify(host.queue)
            host.later, host.ready, host.held = [], None, False
            host.recent, host.counted = faded(host, self._requests), 0
        self._ready = [place for place in self._ready if place[3] in self._hosts]
        self._deferred = [place for place in self._deferred if place[3] in self._hosts]
        heapify(self._ready)
        heapify(self._deferred)
        return gone

    def import_hosts(self, hosts: Iterable[Host]) -> None:
        """Take hosts over from another frontier; what is known here already of one of them holds as well."""
        for host in hosts:
            for known in self.export_hosts([host.name] if host.name in self._hosts else []):
                host.queue = sorted({entry.url: entry for entry in (*known.queue, *host.queue)}.values())
                host.next_time = max(host.next_time, known.next_time)
                host.crawl_delay = max(host.crawl_delay, known.crawl_delay)
            host.counted = self._requests
            self._order = max([self._order, *(entry.order for entry in host.queue)])
            self._hosts[host.name] = host
            self._queues.take_over(host)
            self._queues.limit(host, self._settings.per_host)
            self._schedule(host)
        self._queues.fit(self._hosts.values())

    def seen_keys(self) -> npt.NDArray[np.uint64]:
        """Give the keys of all URLs ever added, sorted."""
        return self._seen.keys()

    def set_seen(self, keys: npt.NDArray[np.uint64], foreign: int) -> None:
        """Take `keys` for all that was ever added, `foreign` of them counted elsewhere."""
        self._seen, self._foreign = SeenSet(keys), foreign

    def close(self) -> None:
        """Let go of the spill file, where there is one."""
        self._queues.close()

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._now)
        return host

    def _count(self) -> int:
        self._order += 1
        return self._order

    def _take(self, host: Host, now: float) -> FetchRequest:
        entry = self._queues.pop(host, now)
        host.busy = entry
        self._busy += 1
        return FetchRequest(parse_address(entry.url), entry.depth, -entry.falling, entry.attempt, entry.hops)

    def _free(self, due: FetchRequest, now: float) -> Host:
        self._now = max(self._now, now)
        host = self._hosts.get(due.address.host)
        if host is None or host.busy is None or host.busy.url != due.address.url:
            raise ValueError(f"{due.address.url} is not under way")
        self._busy -= 1
        for name in self._groups.leave(host):
            self._schedule(self._hosts[name])
        return host

    def _return(self, due: FetchRequest, now: float) -> tuple[Host, Entry]:
        """Free the host of `due`; return both."""
        host = self._free(due, now)
        entry, host.busy = host.busy, None
        assert entry is not None
        return host, entry

    def _account(
        self, host: Host, outcome: Outcome, now: float, elapsed: float, retry_after: float | None, delay: float | None
    ) -> float:
        """Set the host's next time and its failures; give the pause before the same URL may be tried again."""
        if outcome is Outcome.ROBOTS:
            return 0.0
        self._requests += 1
        count_request(host, self._requests)
        host.elapsed = elapsed
        host.crawl_delay = host.crawl_delay if delay is None else delay
        host.failures = host.failures + 1 if outcome in FAILURES else 0
        host.next_time = max(host.next_time, now + gap(host, self._settings))
        pause = back_off(host, self._settings, retry_after)
        if outcome in RETRYABLE and outcome is not Outcome.SERVER_ERROR:
            host.next_time = max(host.next_time, now + pause)
        if host.failures >= self._settings.max_failures:
            self._queues.give_up(host)
        return pause

    def _schedule(self, host: Host) -> None:
        """Give a host its place among those that may be asked, or none."""
        if not host.can_wait():
            host.ready = None
            return
        soonest = max(host.soonest(), self._now)
        better = self.best_first is not None and host.ready is not None and host.best() < host.ready[1]
        if host.ready is not None and host.ready[0] <= soonest and not better:
            return
        host.ready = (soonest, host.best(), self._count(), host.name)
        host.deferred = is_deferred(host, self._requests, self.reputation(host.name), self._settings)
        if self.best_first is not None:
            host.deferred = host.deferred or self.best_first.is_behind(host)
        heappush(self._deferred if host.deferred else self._ready, host.ready)
