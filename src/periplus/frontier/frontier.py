"""The frontier: per-host queues, a heap of hosts by the time they may be asked, and the set of all URLs seen."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, nlargest

import numpy as np

from periplus.frontier.politeness import FAILURES, RETRYABLE, back_off, gap
from periplus.frontier.records import Entry, FrontierStatistics, Host, Snapshot, pack, unpack
from periplus.frontier.seen import SeenSet
from periplus.records import Due, Outcome
from periplus.settings import FrontierSettings
from periplus.url import address

__all__ = ["Frontier"]


class Frontier:
    """What to fetch next. Pure state: the caller tells the time, in seconds that only grow."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._settings = settings
        self._hosts: dict[str, Host] = {}
        self._ready: list[tuple[float, float, int, str]] = []
        self._seen = SeenSet()
        self._now = 0.0
        self._order = 0
        self._waiting = 0
        self._busy = 0
        self._given_up = 0
        self._retries = 0
        self._dropped = 0
        self._replayed: dict[str, dict[str, int]] = {}

    def add(self, dues: Iterable[Due]) -> int:
        """Queue the dues whose URL was never added before; give their number."""
        batch = list(dues)
        touched: dict[str, Host] = {}
        keys: list[int] = []
        for place in self._seen.unseen([due.address.key for due in batch]):
            due = batch[place]
            host = self._host(due.address.host)
            if len(host) >= self._settings.per_host:
                self._dropped += 1
                continue
            self._push(host, Entry(-due.rank, self._count(), due.address.url, due.depth, due.attempt, due.hops))
            keys.append(due.address.key)
            touched[host.name] = host
        self._seen.update(keys)
        for host in touched.values():
            self._schedule(host)
        return len(keys)

    def seen(self, key: int) -> bool:
        """Tell whether the URL with this fingerprint was ever added."""
        return key in self._seen

    def next(self, now: float) -> Due | None:
        """Give the next URL that may be fetched now, and mark its host busy; None when there is none yet."""
        self._now = max(self._now, now)
        while self._ready and self._ready[0][0] <= now:
            place = heappop(self._ready)
            host = self._hosts[place[3]]
            if host.ready != place:
                continue
            host.ready = None
            self._ripen(host, now)
            return self._take(host)
        return None

    def wait(self, now: float) -> float | None:
        """Give the seconds until something may be fetched; None when nothing waits but what is under way."""
        while self._ready and self._hosts[self._ready[0][3]].ready != self._ready[0]:
            heappop(self._ready)
        return max(0.0, self._ready[0][0] - now) if self._ready else None

    def done(
        self,
        due: Due,
        outcome: Outcome,
        now: float,
        elapsed: float,
        retry_after: float | None = None,
        delay: float | None = None,
    ) -> None:
        """Free the host of `due`, say when it may be asked again, and queue the URL again if the failure may pass."""
        host = self._free(due, now)
        entry = host.busy
        assert entry is not None
        host.busy = None
        pause = self._account(host, outcome, now, elapsed, retry_after, delay)
        if outcome in RETRYABLE and entry.attempt < self._settings.retries:
            self._retries += 1
            self._waiting += not host.given_up
            heappush(host.later, (now + pause, entry._replace(attempt=entry.attempt + 1)))
        self._schedule(host)

    def defer(self, due: Due, now: float, elapsed: float, delay: float | None = None) -> None:
        """Give `due` back unfetched after another request to its host (for robots.txt) that took `elapsed`."""
        host = self._free(due, now)
        entry = host.busy
        assert entry is not None
        host.busy = None
        self._account(host, Outcome.OK, now, elapsed, None, delay)
        self._push(host, entry)
        self._schedule(host)

    def park(self, due: Due, now: float) -> None:
        """Give `due` back and leave its host alone for the rest of this run: it has had its share."""
        host = self._free(due, now)
        entry = host.busy
        assert entry is not None
        host.busy = None
        self._push(host, entry)
        self._give_up(host)
        self._schedule(host)

    def replay(self, due: Due, outcome: Outcome, now: float, elapsed: float, retry_after: float | None = None) -> None:
        """Take note of a fetch that ended after the snapshot was written; `forget_busy` then settles the queues."""
        host = self._host(due.address.host)
        tries = self._replayed.setdefault(host.name, {})
        again = outcome in RETRYABLE
        tries[due.address.url] = tries.get(due.address.url, 0) + (1 if again else 1 << 30)
        self._now = max(self._now, now)
        self._account(host, outcome, now, elapsed, retry_after, None)
        if not self._seen.unseen([due.address.key]):
            return
        self._seen.update([due.address.key])
        if again:
            self._push(host, Entry(-due.rank, self._count(), due.address.url, due.depth, 0, due.hops))

    def forget_busy(self) -> None:
        """After recovery: put what was under way back into its queue, less what `replay` has shown to be done."""
        for host in self._hosts.values():
            if host.busy is not None:
                self._busy -= 1
                self._push(host, host.busy)
                host.busy = None
            if host.name in self._replayed:
                self._settle(host, self._replayed[host.name])
            self._schedule(host)
        self._replayed = {}

    def revive(self) -> None:
        """Give every host that was given up one more chance, as a new run does."""
        for host in self._hosts.values():
            if host.given_up:
                host.given_up = False
                host.failures = min(host.failures, self._settings.max_failures - 1)
                self._given_up -= 1
                self._waiting += len(host)
                self._schedule(host)

    def slowest(self, count: int) -> list[tuple[str, float]]:
        """List the hosts whose last answer took longest, with its seconds."""
        slow = nlargest(count, self._hosts.values(), key=lambda host: host.elapsed)
        return [(host.name, host.elapsed) for host in slow]

    def statistics(self) -> FrontierStatistics:
        """Say how the frontier is."""
        return FrontierStatistics(
            waiting=self._waiting,
            busy=self._busy,
            hosts=len(self._hosts),
            seen=len(self._seen),
            retries=self._retries,
            given_up=self._given_up,
            dropped=self._dropped,
        )

    def dump(self) -> bytes:
        """Write everything down, politeness and what is under way included."""
        seen = self._seen.keys().astype("<u8").tobytes()
        hosts = list(self._hosts.values())
        return pack(Snapshot(self._now, self._order, self._retries, self._dropped, hosts, seen))

    @classmethod
    def load(cls, data: bytes, settings: FrontierSettings) -> "Frontier":
        """Read what `dump` wrote; raise `CorruptFile` for anything else."""
        snapshot = unpack(data)
        frontier = cls(settings)
        frontier._now, frontier._order = snapshot.now, snapshot.order
        frontier._retries, frontier._dropped = snapshot.retries, snapshot.dropped
        frontier._seen = SeenSet(np.frombuffer(snapshot.seen, "<u8"))
        frontier._hosts = {host.name: host for host in snapshot.hosts}
        for host in snapshot.hosts:
            frontier._busy += host.busy is not None
            frontier._given_up += host.given_up
            frontier._waiting += 0 if host.given_up else len(host)
            if host.ready is not None:
                frontier._ready.append(host.ready)
        heapify(frontier._ready)
        return frontier

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._now)
        return host

    def _count(self) -> int:
        self._order += 1
        return self._order

    def _push(self, host: Host, entry: Entry) -> None:
        heappush(host.queue, entry)
        self._waiting += not host.given_up

    def _ripen(self, host: Host, now: float) -> None:
        while host.later and host.later[0][0] <= now:
            heappush(host.queue, heappop(host.later)[1])

    def _take(self, host: Host) -> Due:
        entry = heappop(host.queue)
        host.busy = entry
        self._waiting -= 1
        self._busy += 1
        return Due(address(entry.url), entry.depth, -entry.falling, entry.attempt, entry.hops)

    def _free(self, due: Due, now: float) -> Host:
        self._now = max(self._now, now)
        host = self._hosts.get(due.address.host)
        if host is None or host.busy is None or host.busy.url != due.address.url:
            raise ValueError(f"{due.address.url} is not under way")
        self._busy -= 1
        return host

    def _account(
        self, host: Host, outcome: Outcome, now: float, elapsed: float, retry_after: float | None, delay: float | None
    ) -> float:
        """Set the host's next time and its failures; give the pause before the same URL may be tried again."""
        if outcome is Outcome.ROBOTS:
            return 0.0
        host.elapsed = elapsed
        host.crawl_delay = host.crawl_delay if delay is None else delay
        host.failures = host.failures + 1 if outcome in FAILURES else 0
        host.next_time = max(host.next_time, now + gap(host, self._settings))
        pause = back_off(host, self._settings, retry_after)
        if outcome in RETRYABLE and outcome is not Outcome.SERVER_ERROR:
            host.next_time = max(host.next_time, now + pause)
        if host.failures >= self._settings.max_failures:
            self._give_up(host)
        return pause

    def _give_up(self, host: Host) -> None:
        if not host.given_up:
            host.given_up = True
            self._given_up += 1
            self._waiting -= len(host)

    def _schedule(self, host: Host) -> None:
        """Give a host its place among those that may be asked, or none."""
        if host.busy is not None or host.given_up or not len(host):
            host.ready = None
            return
        soonest = host.next_time if host.queue else max(host.next_time, host.later[0][0])
        soonest = max(soonest, self._now)
        if host.ready is not None and host.ready[0] <= soonest:
            return
        best = host.queue[0] if host.queue else host.later[0][1]
        host.ready = (soonest, best.falling, self._count(), host.name)
        heappush(self._ready, host.ready)

    def _settle(self, host: Host, tries: dict[str, int]) -> None:
        """Drop from a host's queue what was done, and count the tries of the rest."""
        before = len(host)
        limit = self._settings.retries
        kept = [
            entry._replace(attempt=entry.attempt + tries.get(entry.url, 0))
            for entry in (*host.queue, *(entry for _, entry in host.later))
        ]
        host.queue = [entry for entry in kept if entry.attempt <= limit]
        heapify(host.queue)
        host.later = []
        if not host.given_up:
            self._waiting -= before - len(host)
        host.ready = None
