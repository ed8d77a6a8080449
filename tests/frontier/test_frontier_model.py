"""The frontier against a naive model, under a fake clock: polite, nothing lost, nothing twice."""

import math
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.frontier import Frontier
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

RETRYABLE = {Outcome.BUSY, Outcome.SERVER_ERROR, Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS}
UNREACHABLE = {Outcome.CONNECT, Outcome.DNS}
FAILURES = RETRYABLE | {Outcome.TLS, Outcome.BAD_RESPONSE, Outcome.FORBIDDEN_ADDRESS}


@dataclass
class NaiveHost:
    next_time: float = -math.inf
    waiting: dict[str, tuple[float, float, int]] = field(default_factory=dict)
    """url -> (not before, rank, attempt)"""
    busy: str = ""
    failures: int = 0
    crawl_delay: float = 0.0
    given_up: bool = False

    def soonest(self) -> float:
        if self.busy or self.given_up or not self.waiting:
            return math.inf
        return max(self.next_time, min(time for time, _, _ in self.waiting.values()))


class Naive:
    """Does by looking through everything what the frontier does by heaps."""

    def __init__(self, wanted: FrontierSettings) -> None:
        self.wanted = wanted
        self.hosts: dict[str, NaiveHost] = {}
        self.seen: set[str] = set()
        self.finished: list[str] = []

    def add(self, dues: list[FetchRequest]) -> int:
        before = len(self.seen)
        for due in dues:
            host = self.hosts.setdefault(due.address.host, NaiveHost())
            if due.address.url not in self.seen and len(host.waiting) < self.wanted.per_host:
                self.seen.add(due.address.url)
                host.waiting[due.address.url] = (-math.inf, due.rank, 0)
        return len(self.seen) - before

    def soonest(self) -> float:
        return min((host.soonest() for host in self.hosts.values()), default=math.inf)

    def check_taken(self, due: FetchRequest, now: float) -> None:
        host = self.hosts[due.address.host]
        assert host.soonest() <= now
        ripe = {url: rank for url, (time, rank, _) in host.waiting.items() if time <= now}
        assert due.rank == max(ripe.values())
        assert host.waiting[due.address.url][1:] == (due.rank, due.attempt)
        del host.waiting[due.address.url]
        host.busy = due.address.url

    def done(
        self, due: FetchRequest, outcome: Outcome, now: float, elapsed: float, after: float | None, delay: float
    ) -> None:
        host = self.hosts[due.address.host]
        host.busy = ""
        if outcome is Outcome.ROBOTS:
            self.finished.append(due.address.url)
            return
        host.crawl_delay = delay
        host.failures = host.failures + 1 if outcome in FAILURES else 0
        usual = min(self.wanted.max_delay, max(self.wanted.delay, self.wanted.delay_factor * elapsed))
        space = max(usual, delay)
        pause = min(after, 3600) if after else min(600.0, self.wanted.back_off * 2 ** max(0, host.failures - 1))
        host.next_time = max(host.next_time, now + space)
        if outcome in RETRYABLE - {Outcome.SERVER_ERROR}:
            host.next_time = max(host.next_time, now + pause)
        if outcome in RETRYABLE and due.attempt < self.wanted.retries:
            host.waiting[due.address.url] = (now + pause, due.rank, due.attempt + 1)
        elif outcome in UNREACHABLE and host.failures > self.wanted.retries:
            behind = due.rank if due.rank < -5_000 else due.rank - 10_000
            host.waiting[due.address.url] = (now + pause, behind, 0)
            host.given_up |= all(rank < -5_000 for _, rank, _ in host.waiting.values())
        else:
            self.finished.append(due.address.url)
        host.given_up |= host.failures >= self.wanted.max_failures


class Run:
    """A frontier and its naive twin, doing the same."""

    def __init__(self, wanted: FrontierSettings) -> None:
        self.wanted = wanted
        self.frontier = Frontier(wanted)
        self.naive = Naive(wanted)
        self.now = 1000.0
        self.under_way: list[FetchRequest] = []

    def act(self, action: tuple) -> None:
        getattr(self, action[0])(*action[1:])
        found = self.frontier.statistics()
        hosts = self.naive.hosts.values()
        assert found.waiting == sum(len(host.waiting) for host in hosts if not host.given_up)
        assert found.busy == len(self.under_way)
        assert found.given_up == sum(host.given_up for host in hosts)
        assert found.seen == len(self.naive.seen)

    def add(self, places: list[tuple[int, int, int]]) -> None:
        dues = [
            FetchRequest(parse_address(f"http://h{host}.test/{page}"), rank=float(rank)) for host, page, rank in places
        ]
        assert self.frontier.add(dues) == self.naive.add(dues)
        seen = self.frontier.seen_each([due.address.key for due in dues])
        assert seen == [due.address.url in self.naive.seen for due in dues]

    def tick(self, seconds: float) -> None:
        self.now += seconds

    def take(self) -> None:
        soonest, wait = self.naive.soonest(), self.frontier.wait(self.now)
        assert (wait is None) == (soonest == math.inf)
        if wait is not None:
            assert math.isclose(wait, max(0.0, soonest - self.now), abs_tol=1e-6)
        due = self.frontier.next(self.now)
        assert (due is not None) == (soonest <= self.now)
        if due is not None:
            self.naive.check_taken(due, self.now)
            self.under_way.append(due)

    def end(self, which: int, outcome: Outcome, elapsed: float, after: float | None, delay: float) -> None:
        if self.under_way:
            due = self.under_way.pop(which % len(self.under_way))
            self.frontier.done(due, outcome, self.now, elapsed, after, delay)
            self.naive.done(due, outcome, self.now, elapsed, after, delay)

    def reload(self) -> None:
        data = self.frontier.dump()
        self.frontier = Frontier.load(data, self.wanted)
        assert self.frontier.dump() == data

    def drain(self) -> None:
        """Everything that was ever added comes to an end, once."""
        while self.under_way:
            self.act(("end", 0, Outcome.OK, 0.1, None, 0.0))
        while (wait := self.frontier.wait(self.now)) is not None:
            self.now += wait
            self.act(("take",))
            self.act(("end", 0, Outcome.OK, 0.1, None, 0.0))
        parked = [url for host in self.naive.hosts.values() if host.given_up for url in host.waiting]
        assert sorted(self.naive.finished + parked) == sorted(self.naive.seen)


times = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 70.0])
actions = st.one_of(
    st.tuples(st.just("add"), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 3)), max_size=6)),
    st.tuples(st.just("tick"), times),
    st.tuples(st.just("take")),
    st.tuples(st.just("take")),
    st.tuples(
        st.just("end"),
        st.integers(0, 5),
        st.sampled_from([Outcome.OK, *Outcome]),
        times,
        st.sampled_from([None, None, 5.0, 1e9]),
        times,
    ),
    st.tuples(st.just("reload")),
)
limits = st.builds(
    FrontierSettings,
    delay=st.sampled_from([0.0, 1.0]),
    max_delay=st.sampled_from([2.0, 60.0]),
    per_host=st.sampled_from([4, 100]),
    max_failures=st.integers(1, 4),
    retries=st.integers(0, 2),
    back_off=st.sampled_from([0.0, 2.0]),
)


@settings(max_examples=150, deadline=None)
@given(limits, st.lists(actions, max_size=60))
def test_the_frontier_does_as_the_naive_one(wanted, todo):
    run = Run(wanted)
    for action in todo:
        run.act(action)
    run.drain()


def play(frontier: Frontier, todo: list[tuple], now: float, under_way: list[FetchRequest]) -> list[object]:
    """Do `todo` and write down all that can be seen from outside."""
    seen: list[object] = []
    for action in todo:
        if action[0] == "add":
            dues = [FetchRequest(parse_address(f"http://h{h}.test/{p}"), rank=float(r)) for h, p, r in action[1]]
            seen.append(frontier.add(dues))
        elif action[0] == "tick":
            now += action[1]
        elif action[0] == "take":
            due = frontier.next(now)
            seen.append(due)
            under_way += [due] if due else []
        elif action[0] == "end" and under_way:
            due = under_way.pop(action[1] % len(under_way))
            frontier.done(due, action[2], now, *action[3:])
        seen.append((frontier.wait(now), frontier.statistics()))
    return seen


@settings(max_examples=60, deadline=None)
@given(limits, st.lists(actions, max_size=40), st.lists(actions, max_size=30))
def test_a_reloaded_frontier_has_the_same_future(wanted, before, after):
    frontier = Frontier(wanted)
    under_way: list[FetchRequest] = []
    play(frontier, before, 1000.0, under_way)
    twin = Frontier.load(frontier.dump(), wanted)
    later = 1000.0 + sum(action[1] for action in before if action[0] == "tick")
    assert play(twin, after, later, list(under_way)) == play(frontier, after, later, list(under_way))


@settings(max_examples=60, deadline=None)
@given(limits, st.lists(actions, max_size=40), st.data())
def test_replaying_the_log_gives_back_the_queues(wanted, todo, data):
    """A snapshot at any moment, and the endings after it, lead to the same URLs waiting and the same tries."""
    live = Frontier(wanted)
    now, under_way = 1000.0, []
    cut = data.draw(st.integers(0, len(todo)))
    snapshot, log = live.dump(), []
    for number, action in enumerate(todo):
        if number == cut:
            snapshot, log = live.dump(), []
        if action[0] == "add":
            dues = [FetchRequest(parse_address(f"http://h{h}.test/{p}"), rank=float(r)) for h, p, r in action[1]]
            live.add(dues)
            log.append(("add", dues))
        elif action[0] == "end" and under_way:
            due = under_way.pop(action[1] % len(under_way))
            live.done(due, action[2], now, action[3], action[4], 0.0)
            log.append(("end", due, action[2], now, action[3], action[4]))
        else:
            now += action[1] if action[0] == "tick" else 0.0
            due = live.next(now) if action[0] == "take" else None
            under_way += [due] if due else []
    restored = Frontier.load(snapshot, wanted)
    for what, *rest in log:
        restored.add(rest[0]) if what == "add" else restored.replay(*rest)
    restored.requeue_in_flight()
    live.requeue_in_flight()
    if wanted.per_host == 100:
        assert left(restored, now) == left(live, now)


def left(frontier: Frontier, now: float) -> list[tuple[str, int, float]]:
    frontier.revive()
    found = []
    while (wait := frontier.wait(now)) is not None:
        now += wait
        due = frontier.next(now)
        assert due is not None
        found.append((due.address.url, due.attempt, due.rank))
        frontier.done(due, Outcome.OK, now, 0.0)
    return sorted(found)
