"""Hosts that move from one frontier to another: all that waits, pauses and counts go with them, on disk or not."""

import random
from pathlib import Path

import pytest

from periplus.frontier import Frontier
from periplus.frontier import host_queues as queues_module
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

WANTED = FrontierSettings(delay=1.0, memory_mb=1)


def due(url: str, rank: float = 0.0) -> FetchRequest:
    return FetchRequest(parse_address(url), rank=rank)


def drain(frontier: Frontier, now: float) -> list[tuple[str, float, int]]:
    """Take everything, in the order of times; give URLs, ranks and tries."""
    found = []
    while (wait := frontier.wait(now)) is not None:
        now += wait
        taken = frontier.next(now)
        assert taken is not None
        found.append((taken.address.url, taken.rank, taken.attempt))
        frontier.done(taken, Outcome.OK, now, 0.0)
    return sorted(found)


def worked(folder: Path, seed: int) -> Frontier:
    """A frontier in the middle of its work."""
    chance, frontier, now = random.Random(seed), Frontier(WANTED, folder), 100.0
    frontier.add([due(f"http://h{chance.randint(0, 9)}.test/{n}", chance.random()) for n in range(400)])
    for _ in range(60):
        now += 0.3
        if (taken := frontier.next(now)) is not None:
            outcome = chance.choice([Outcome.OK, Outcome.SERVER_ERROR, Outcome.GONE, Outcome.BUSY])
            frontier.done(taken, outcome, now, 0.1)
    return frontier


@pytest.mark.parametrize("memory", [350, 50_000])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_on_the_way(tmp_path, monkeypatch, seed, memory):
    monkeypatch.setattr(queues_module, "_ENTRY_BYTES", memory)  # with much of it, most URLs wait on disk
    whole = drain(worked(tmp_path / "a", seed), 500.0)
    first, second = worked(tmp_path / "b", seed), Frontier(WANTED, tmp_path / "c")
    names = first.hosts()[::2]
    waits = {name: first._hosts[name].next_time for name in names}
    before = first.statistics()
    second.import_hosts(first.export_hosts(names))
    assert {name: second._hosts[name].next_time for name in names} == waits
    for left, right in ((first, second), (reloaded(first, tmp_path / "b"), reloaded(second, tmp_path / "c"))):
        counts = left.statistics(), right.statistics()
        assert sum(count.waiting for count in counts) == before.waiting
        assert sum(count.hosts for count in counts) == before.hosts
        assert right.wait(0.0) is not None
    parts = drain(reloaded(first, tmp_path / "b"), 500.0) + drain(reloaded(second, tmp_path / "c"), 500.0)
    assert sorted(parts) == whole


def reloaded(frontier: Frontier, folder: Path) -> Frontier:
    return Frontier.load(frontier.dump(), WANTED, folder)


def test_a_host_that_both_know(tmp_path):
    first, second = Frontier(WANTED), Frontier(WANTED)
    first.add([due("http://a.test/1"), due("http://a.test/2")])
    second.add([due("http://a.test/2"), due("http://a.test/3")])
    for frontier, now in ((first, 50.0), (second, 10.0)):
        taken = frontier.next(now)
        assert taken is not None
        frontier.done(taken, Outcome.BUSY, now, 0.0, retry_after=30.0)
    second.import_hosts(first.export_hosts(["a.test"]))
    assert first.wait(0.0) is None
    assert second.wait(0.0) == pytest.approx(80.0)
    assert [url for url, _, _ in drain(second, 80.0)] == [f"http://a.test/{n}" for n in (1, 2, 3)]


def test_a_host_that_is_busy_stays():
    frontier = Frontier(WANTED)
    frontier.add([due("http://a.test/1"), due("http://b.test/1")])
    taken = frontier.next(10.0)
    assert taken is not None
    names = {host.name for host in frontier.export_hosts(frontier.hosts())}
    assert names == {"a.test", "b.test"} - {taken.address.host}
    frontier.done(taken, Outcome.OK, 10.0, 0.0)


def test_keys_that_others_have_counted():
    frontier = Frontier(WANTED)
    frontier.add([due("http://a.test/1")])
    keys = frontier.seen_keys()
    other = Frontier(WANTED)
    other.set_seen(keys, len(keys))
    assert other.statistics().seen == 0
    assert other.add([due("http://a.test/1"), due("http://a.test/2")]) == 1
    assert Frontier.load(other.dump(), WANTED).statistics().seen == 1
