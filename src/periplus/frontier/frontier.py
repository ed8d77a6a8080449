"""The frontier: per-host queues, the scheduler of hosts, and the set of all URLs seen."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from heapq import heapify
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.frontier.best_first import raise_ranks
from periplus.frontier.budgets import count_request, decayed_requests
from periplus.frontier.frontier_snapshot import FrontierSnapshot, pack, unpack
from periplus.frontier.frontier_statistics import FrontierStatistics, SlowestHosts
from periplus.frontier.host import Entry, Host, origin_of
from periplus.frontier.host_groups import HostGroups
from periplus.frontier.host_queues import HostQueues
from periplus.frontier.host_scheduler import HostScheduler, SchedulerChoices
from periplus.frontier.host_states import HostEvent, HostState
from periplus.frontier.politeness import FAILURES, RETRYABLE, HostDelays, backoff_seconds
from periplus.frontier.retries import AttemptLog, attempt_mark, next_attempt
from periplus.frontier.seen_set import SeenSet, seen_folder
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

__all__ = ["Frontier"]

Wanted = Callable[[str], bool]


class Frontier(SchedulerChoices):
    """What to fetch next. Pure state: time is an argument, in seconds that only grow."""

    def __init__(self, settings: FrontierSettings, spill: Path | None = None) -> None:
        self._settings, self._max_failures = settings, settings.max_failures
        self._hosts: dict[str, Host] = {}
        self._scheduler = HostScheduler(settings, self._hosts)
        self._groups = HostGroups(settings)
        self._queues = HostQueues(settings.memory_mb, spill)
        self._seen = SeenSet(folder=seen_folder(spill))
        self._foreign = 0
        self._busy = 0
        self._retries, self._dropped = 0, 0
        self._attempts = AttemptLog()
        self.delays = HostDelays(settings)
        self.slowest = SlowestHosts(self._hosts)

    def add(self, requests: Iterable[FetchRequest]) -> int:
        """Queue the requests whose URL was never added before; return their number."""
        batch, queues, on_disk = list(requests), self._queues, self._queues.on_disk
        touched: dict[str, Host] = {}
        keys: list[int] = []
        for number in self._seen.unseen([request.address.key for request in batch]):
            request = batch[number]
            host = self._host(request.address.host)
            if not on_disk and len(host) >= self._settings.per_host:
                self._dropped += 1
                continue
            queues.push(host, self._entry(request, request.attempt))
            keys.append(request.address.key)
            touched[host.name] = host
        self._seen.update(keys)
        for host in touched.values():
            queues.limit(host, self._settings.per_host)
            self._scheduler.move(host, HostEvent.UPDATE)
        queues.fit(self._hosts.values())
        return len(keys)

    def add_revisits(self, requests: Iterable[FetchRequest]) -> None:
        """Queue URLs that may have been fetched before; those that wait already stay as they are."""
        by_host: dict[str, list[FetchRequest]] = {}
        for request in requests:
            by_host.setdefault(request.address.host, []).append(request)
        for name, batch in by_host.items():
            host = self._host(name)
            waiting = self._queues.find_waiting(host, {request.address.url for request in batch})
            fresh = {request.address.url: request for request in batch if request.address.url not in waiting}
            for request in fresh.values():
                self._queues.push(host, self._entry(request))
            keys = [request.address.key for request in batch]
            self._seen.update([keys[number] for number in self._seen.unseen(keys)])
            self._scheduler.move(host, HostEvent.UPDATE)

    def seen_each(self, keys: Sequence[int]) -> list[bool]:
        """Return for each fingerprint of a URL whether that was ever added."""
        return self._seen.contains_each(keys)

    def reprioritize(self, ranks: Mapping[str, Mapping[int, float]]) -> None:
        """Raise URLs that wait, by host and key, to better crawl ranks."""
        for name, wanted in ranks.items():
            host = self._hosts.get(name)
            if host is not None and raise_ranks(host, wanted):
                self._scheduler.move(host, HostEvent.UPDATE)

    def next(self, now: float) -> FetchRequest | None:
        """Return the next request that may be made now, and mark its host as in flight; None if there is none yet."""
        scheduler = self._scheduler
        if now > scheduler.now:
            scheduler.now = now
        while (host := scheduler.pop(now)) is not None:
            if self._groups.enter(host):
                scheduler.move(host, HostEvent.START)
                falling, _, url, depth, attempt, hops = host.in_flight = self._queues.pop(host, now)
                self._busy += 1
                return FetchRequest(parse_address(url), depth, -falling, attempt, hops)
            scheduler.move(host, HostEvent.BLOCK)
        return None

    def wait(self, now: float) -> float | None:
        """Return the seconds until something may be fetched; None if nothing waits but what is in flight."""
        return self._scheduler.wait(now)

    def done(
        self,
        request: FetchRequest,
        outcome: Outcome,
        now: float,
        elapsed: float,
        retry_after: float | None = None,
        delay: float | None = None,
        ip: str = "",
    ) -> None:
        """End a request, set when its host may be contacted again, and queue the URL again if the failure may pass.

        A host that cannot be reached, whatever is requested, is suspended for this run, and keeps its URLs.
        """
        host, entry = self._end(request, now)
        host.ip, pause = ip or host.ip, self._account(host, outcome, now, elapsed, retry_after, delay)
        if outcome not in RETRYABLE:  # nearly all: the request has ended for good
            self._settle(host, HostEvent.SUSPEND if host.failures >= self._max_failures else HostEvent.FINISH)
            return
        if outcome is Outcome.CONNECT and self._queues.pause_origin(host, origin_of(entry.url), now + pause):
            host.next_time = now + self.delays.seconds(host)  # another port of the host may answer
        retry = next_attempt(entry, attempt_mark(host, outcome, self._settings), self._settings.retries)
        hopeless = host.failures >= self._max_failures
        if retry is not None:
            self._retries += retry.attempt > 0
            self._queues.push_later(host, retry, now + pause)
            hopeless = hopeless or (retry.attempt == 0 and not host.is_hopeful())
        self._settle(host, HostEvent.SUSPEND if hopeless else HostEvent.FINISH)

    def requeue(self, request: FetchRequest, now: float, elapsed: float, delay: float | None = None) -> None:
        """Return a request unfetched after another one to its host (for robots.txt) that took `elapsed`."""
        host, entry = self._end(request, now)
        self._account(host, Outcome.OK, now, elapsed, None, delay)
        self._queues.push(host, entry)
        self._settle(host, HostEvent.FINISH)

    def suspend(self, request: FetchRequest, now: float) -> None:
        """Return a request unfetched and suspend its host for the rest of this run."""
        host, entry = self._end(request, now)
        self._queues.push(host, entry)
        self._settle(host, HostEvent.SUSPEND)

    def hold(self, request: FetchRequest, now: float) -> None:
        """Hold back a request unfetched: it does not wait any longer, until `release`."""
        host, entry = self._end(request, now)
        self._queues.hold(host, entry)
        self._settle(host, HostEvent.FINISH)

    def release_held(self, name: str, wanted: Wanted, most: int, urls: Set[str] | None = None) -> list[str]:
        """Queue up to `most` of the URLs that are held back of a host and wanted, and one of `urls`; return them."""
        released = self._queues.release(self._hosts[name], wanted, most, urls) if name in self._queues.held else []
        if released:
            self._scheduler.move(self._hosts[name], HostEvent.UPDATE)
        return released

    def postpone(self, request: FetchRequest, now: float, seconds: float) -> None:
        """Return a request unfetched, and leave its host alone for so long."""
        host, entry = self._end(request, now)
        host.next_time = max(host.next_time, now + seconds)
        self._queues.push(host, entry)
        self._settle(host, HostEvent.FINISH)

    def reserve(self, name: str, now: float) -> float:
        """Request one turn at a host out of order; return 0.0 if it is granted, otherwise the seconds to wait.

        `release` ends what was granted.
        """
        host = self._host(name)
        if host.state in (HostState.IN_FLIGHT, HostState.RESERVED, HostState.SUSPENDED_RESERVED):
            return max(self._settings.delay, host.elapsed, 0.05)
        if host.next_time > now:
            return host.next_time - now
        self._scheduler.move(host, HostEvent.RESERVE)
        return 0.0

    def release(self, name: str, outcome: Outcome, now: float, elapsed: float) -> None:
        """End a turn that `reserve` granted: the host is left alone for as long as after any other request."""
        host = self._hosts[name]
        self._account(host, outcome, now, elapsed, None, None)
        failed = host.state is HostState.RESERVED and host.failures >= self._max_failures
        self._settle(host, HostEvent.SUSPEND if failed else HostEvent.RELEASE)

    def replay(
        self, request: FetchRequest, outcome: Outcome, now: float, elapsed: float, retry_after: float | None = None
    ) -> None:
        """Record a fetch that ended after the snapshot was written; `requeue_in_flight` then updates the queues."""
        host = self._host(request.address.host)
        self._scheduler.now = max(self._scheduler.now, now)
        self._account(host, outcome, now, elapsed, retry_after, None)
        self._attempts.record(host, request.address.url, outcome, self._settings)
        if not self._seen.unseen([request.address.key]):
            return
        self._seen.update([request.address.key])
        if outcome in RETRYABLE:
            self._queues.push(host, self._entry(request))

    def requeue_in_flight(self, now: float = 0.0) -> list[str]:
        """After recovery: return what was in flight to its queue, less what `replay` has shown to be done.

        Return the URLs that are held back in the snapshot, and were requested since.
        """
        fetched: list[str] = []
        # A request may have gone out at the last moment and left no trace: every host has its full pause from `now`.
        self._groups.clear()
        for host in self._hosts.values():
            host.groups, host.slot = [], None
            host.next_time = max(host.next_time, now + self.delays.seconds(host) if now else 0.0)
            if host.in_flight is not None:
                self._busy -= 1
                self._queues.push(host, host.in_flight)
                host.in_flight = None
            if host.name in self._attempts:
                tried = self._attempts.tried(host.name)
                fetched += self._queues.release(host, tried.__contains__, len(tried), tried)
                self._queues.replace(host, partial(self._attempts.remaining, host.name, self._settings.retries))
            failed = host.failures >= self._max_failures and not host.is_suspended()
            self._settle(host, HostEvent.SUSPEND if failed else HostEvent.RECOVER)
        self._attempts = AttemptLog()
        return fetched

    def held_urls(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Yield hosts with the URLs that are held back of them."""
        return ((name, self._queues.held_urls(self._hosts[name])) for name in list(self._queues.held))

    def revive(self) -> None:
        """Make every suspended host ready once more, as a new run does."""
        for host in self._hosts.values():
            if host.is_suspended():
                host.failures = min(host.failures, self._max_failures - 1)
                self._queues.include(host)
                self._scheduler.move(host, HostEvent.REVIVE)

    def statistics(self) -> FrontierStatistics:
        """Return the figures of the frontier."""
        return FrontierStatistics(
            waiting=self._queues.waiting,
            busy=self._busy,
            hosts=len(self._hosts),
            seen=len(self._seen) - self._foreign,
            retries=self._retries,
            given_up=self._queues.suspended,
            dropped=self._dropped,
            deferred=self._scheduler.deferred(),
            spilled=self._queues.on_disk_urls,
            held=sum(self._queues.held.values()),
            behind=self._queues.behind,
        )

    def dump(self) -> bytes:
        """Return everything as bytes, politeness and requests in flight included."""
        self._queues.sync()
        seen, files = self._seen.dump()
        scheduler, hosts = self._scheduler, list(self._hosts.values())
        counters = (scheduler.now, scheduler.order, self._retries, self._dropped)
        return pack(FrontierSnapshot(*counters, hosts, seen, scheduler.requests, self._foreign, files))

    @classmethod
    def load(cls, data: bytes, settings: FrontierSettings, spill: Path | None = None) -> "Frontier":
        """Read what `dump` wrote; raise `CorruptFile` for anything else."""
        snapshot = unpack(data)
        frontier, hosts = cls(settings, spill), snapshot.hosts
        frontier._queues.load(hosts)
        frontier._retries, frontier._dropped, frontier._foreign = snapshot.retries, snapshot.dropped, snapshot.foreign
        frontier._seen = SeenSet.load(np.frombuffer(snapshot.seen, "<u8"), seen_folder(spill), snapshot.seen_files)
        frontier._hosts.update((host.name, host) for host in hosts)
        frontier.slowest.scan()
        for host in hosts:
            frontier._busy += host.in_flight is not None
            frontier._groups.restore(host)
        scheduler = frontier._scheduler
        scheduler.now, scheduler.order, scheduler.requests = snapshot.now, snapshot.order, snapshot.requests
        scheduler.load(hosts)
        return frontier

    def host(self, name: str) -> Host | None:
        """Return what is known of a host, which must not be changed; None if it is unknown."""
        return self._hosts.get(name)

    def next_host(self) -> Host | None:
        """Return the host whose turn is next, now or later; None if no host waits."""
        return self._scheduler.next_host()

    def hosts(self) -> list[str]:
        """Return the names of all hosts."""
        return list(self._hosts)

    def export_hosts(self, names: Iterable[str]) -> list[Host]:
        """Remove hosts and return them, with all that waits there; those with a request in flight stay."""
        chosen = [self._hosts[name] for name in names if self._hosts[name].state is not HostState.IN_FLIGHT]
        for host in chosen:
            del self._hosts[host.name]
            host.queue, host.later = self._queues.remove(host), []
            heapify(host.queue)
            host.recent, host.counted = decayed_requests(host, self._scheduler.requests), 0
            self._scheduler.move(host, HostEvent.EXPORT)
        self._scheduler.forget_missing()
        return chosen

    def import_hosts(self, hosts: Iterable[Host]) -> None:
        """Add hosts that another frontier exported; what is known here of one of them holds as well."""
        for host in hosts:
            for own in self.export_hosts([host.name] if host.name in self._hosts else []):
                host.absorb(own)
            host.counted = self._scheduler.requests
            self._scheduler.order = max([self._scheduler.order, *(entry.order for entry in host.queue)])
            self._hosts[host.name] = host
            self.slowest.update(host)
            self._queues.add(host)
            self._queues.limit(host, self._settings.per_host)
            self._scheduler.move(host, HostEvent.UPDATE)
        self._queues.fit(self._hosts.values())

    def seen_keys(self) -> npt.NDArray[np.uint64]:
        """Return the keys of all URLs ever added, sorted."""
        return self._seen.keys()

    def set_seen(self, keys: npt.NDArray[np.uint64], foreign: int) -> None:
        """Replace the keys of all URLs ever added; `foreign` of them are counted elsewhere."""
        self._seen, self._foreign = self._seen.replace(keys), foreign

    def add_seen(self, keys: npt.NDArray[np.uint64]) -> None:
        """Add keys of URLs that another frontier has seen and counts."""
        before = self._seen.keys()
        merged = np.union1d(before, keys.astype(np.uint64, copy=False))
        self._foreign += len(merged) - len(before)
        self._seen = self._seen.replace(merged)

    def limit_addresses(self, per_address: int) -> None:
        """Change how many hosts behind one address are contacted at once."""
        self._groups.limit_addresses(per_address)

    def close(self) -> None:
        """Close the spill file, if there is one."""
        self._queues.close()

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, HostState.EMPTY, self._scheduler.now)
        return host

    def _entry(self, request: FetchRequest, attempt: int = 0) -> Entry:
        order = self._scheduler.order = self._scheduler.order + 1
        return Entry(-request.rank, order, request.address.url, request.depth, attempt, request.hops)

    def _end(self, request: FetchRequest, now: float) -> tuple[Host, Entry]:
        """End the request in flight at a host; return the host, which the caller settles, and the entry."""
        scheduler, address = self._scheduler, request.address
        if now > scheduler.now:
            scheduler.now = now
        host = self._hosts.get(address.host)
        entry = host.in_flight if host is not None else None
        if host is None or entry is None or entry.url != address.url:
            raise ValueError(f"{address.url} is not in flight")
        self._busy -= 1
        host.in_flight = None
        for name in self._groups.leave(host):
            self._scheduler.move(self._hosts[name], HostEvent.UPDATE)
        return host, entry

    def _settle(self, host: Host, event: HostEvent) -> None:
        """Move a host on after a request; the URLs of one that is suspended no longer count as waiting."""
        if event is HostEvent.SUSPEND:
            self._queues.exclude(host)
        self._scheduler.move(host, event)

    def _account(
        self, host: Host, outcome: Outcome, now: float, elapsed: float, retry_after: float | None, delay: float | None
    ) -> float:
        """Set the host's next time and its failures; return the pause before the same URL may be tried again."""
        if outcome is Outcome.ROBOTS:
            return 0.0
        number = self._scheduler.requests = self._scheduler.requests + 1
        count_request(host, number)
        host.elapsed = elapsed
        self.slowest.update(host)
        host.crawl_delay = host.crawl_delay if delay is None else delay
        host.failures = host.failures + 1 if outcome in FAILURES else 0
        next_time = now + self.delays.seconds(host)
        if next_time > host.next_time:
            host.next_time = next_time
        if outcome not in RETRYABLE:
            return 0.0
        pause = backoff_seconds(host, self._settings, retry_after)
        if outcome is not Outcome.SERVER_ERROR:
            host.next_time = max(host.next_time, now + pause)
        return pause
