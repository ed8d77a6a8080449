"""The table of host states: every transition is walked, and what is not in it is refused."""

import itertools
from pathlib import Path

import pytest

from periplus.frontier import Frontier
from periplus.frontier.frontier_snapshot import FrontierSnapshot, pack
from periplus.frontier.host import Entry, Host
from periplus.frontier.host_scheduler import HostScheduler
from periplus.frontier.host_states import PLACED, TRANSITIONS, HostEvent, HostState
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

WAITING = (HostState.SCHEDULED, HostState.DEFERRED)


def host_in(state: HostState, urls: int = 1) -> tuple[HostScheduler, Host]:
    """Return a host in a state, with a scheduler whose heaps agree with it."""
    host = Host("a.test", state, 0.0, queue=[Entry(0.0, number, f"http://a.test/{number}") for number in range(urls)])
    hosts = {host.name: host}
    scheduler = HostScheduler(FrontierSettings(), hosts)
    if state in WAITING:
        host.slot = (0.0, 0.0, 1, host.name)
        scheduler.load([host])
    return scheduler, host


@pytest.mark.parametrize(("state", "event"), list(itertools.product(HostState, HostEvent)))
def test_a_host_moves_as_the_table_says_or_not_at_all(state: HostState, event: HostEvent) -> None:
    scheduler, host = host_in(state)
    targets = TRANSITIONS.get((state, event))
    if targets is None:
        with pytest.raises(ValueError, match=event.name):
            scheduler.move(host, event)
        assert host.state is state
        return
    scheduler.move(host, event)
    assert host.state in targets
    assert (host.slot is not None) == (host.state in WAITING)


@pytest.mark.parametrize(("state", "event"), [pair for pair, targets in TRANSITIONS.items() if targets is PLACED])
def test_where_a_host_waits_depends_on_its_queue_and_its_budget(state: HostState, event: HostEvent) -> None:
    scheduler, host = host_in(state, urls=0)
    host.slot = None
    scheduler.move(host, event)
    assert host.state is HostState.EMPTY
    scheduler, host = host_in(state)
    host.slot, host.recent = None, 1e9
    scheduler.move(host, event)
    assert host.state is HostState.DEFERRED


def test_every_state_is_reached_and_left() -> None:
    reached = {target for (state, _), targets in TRANSITIONS.items() for target in targets if target is not state}
    left = {state for (state, _), targets in TRANSITIONS.items() if set(targets) != {state}}
    assert reached == left == set(HostState)


def test_a_frontier_walks_through_all_states() -> None:
    settings = FrontierSettings(delay=0.0, delay_factor=0.0, per_domain=1, per_address=0, max_failures=1, retries=0)
    frontier = Frontier(settings)
    request, other = (FetchRequest(parse_address(f"http://{name}.site.test/")) for name in ("a", "b"))
    hosts = frontier._hosts

    def states() -> tuple[HostState, ...]:
        return tuple(host.state for host in hosts.values())

    frontier.add([request, other])
    assert states() == (HostState.SCHEDULED, HostState.SCHEDULED)
    first = frontier.next(1.0)
    assert first == request
    assert frontier.next(1.0) is None
    assert states() == (HostState.IN_FLIGHT, HostState.BLOCKED)
    frontier.done(first, Outcome.OK, 2.0, 0.1)
    assert states() == (HostState.EMPTY, HostState.SCHEDULED)
    assert frontier.reserve("b.site.test", 3.0) == 0.0
    assert states() == (HostState.EMPTY, HostState.RESERVED)
    assert frontier.reserve("b.site.test", 3.0) > 0.0
    frontier.release("b.site.test", Outcome.TIMEOUT, 3.0, 0.1)
    assert states() == (HostState.EMPTY, HostState.SUSPENDED)
    assert frontier.statistics().waiting == 0
    assert frontier.reserve("b.site.test", 1e6) == 0.0
    assert states() == (HostState.EMPTY, HostState.SUSPENDED_RESERVED)
    frontier.release("b.site.test", Outcome.OK, 1e6, 0.1)
    assert states() == (HostState.EMPTY, HostState.SUSPENDED)
    hosts["b.site.test"].recent = 1e9
    frontier.revive()
    assert states() == (HostState.EMPTY, HostState.DEFERRED)
    assert frontier.statistics().waiting == 1


@pytest.mark.parametrize("state", list(HostState))
def test_every_state_outlives_a_restart(state: HostState, tmp_path: Path) -> None:
    _, host = host_in(state)
    host.in_flight = Entry(0.0, 9, "http://a.test/9") if state is HostState.IN_FLIGHT else None
    frontier = Frontier.load(pack(FrontierSnapshot(5.0, 9, 0, 0, [host], b"")), FrontierSettings())
    loaded = frontier._hosts["a.test"]
    assert loaded.state is (HostState.SCHEDULED if state in (HostState.BLOCKED, HostState.EMPTY) else state)
    frontier.requeue_in_flight(6.0)
    frontier.revive()
    assert loaded.state is HostState.SCHEDULED
    assert frontier.statistics().waiting == len(loaded) == (2 if state is HostState.IN_FLIGHT else 1)
    assert frontier.statistics().busy == 0
