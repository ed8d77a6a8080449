"""The frontier's promises, one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import CorruptFile, NewerFormat
from periplus.frontier import Frontier, SeenSet
from periplus.frontier import seen_set as seen_module
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address


def due(url: str, rank: float = 0.0) -> FetchRequest:
    return FetchRequest(parse_address(url), rank=rank)


def order_of(frontier: Frontier, now: float, count: int) -> list[str]:
    """Take and end `count` URLs, each fetch taking no time."""
    found = []
    for _ in range(count):
        now += frontier.wait(now) or 0.0
        taken = frontier.next(now)
        assert taken is not None
        found.append(taken.address.url)
        frontier.done(taken, Outcome.OK, now, 0.0)
    return found


def test_the_highest_rank_goes_first_and_hosts_take_turns():
    frontier = Frontier(FrontierSettings(delay=1.0))
    frontier.add([due("http://big.test/low", 1), due("http://big.test/high", 5), due("http://big.test/mid", 3)])
    frontier.add([due("http://small.test/only", 0)])
    found = order_of(frontier, 100.0, 4)
    assert found == ["http://big.test/high", "http://small.test/only", "http://big.test/mid", "http://big.test/low"]


def test_new_hosts_do_not_starve_old_ones():
    frontier = Frontier(FrontierSettings(delay=0.0))
    frontier.add([due("http://old.test/1"), due("http://old.test/2")])
    now = 100.0
    first = frontier.next(now)
    assert first is not None
    frontier.done(first, Outcome.OK, now, 0.0)
    for number in range(50):
        frontier.add([due(f"http://n{number}.test/")])
        now += 0.01
        taken = frontier.next(now)
        assert taken is not None
        frontier.done(taken, Outcome.OK, now, 0.0)
        if taken.address.host == "old.test":
            return
    pytest.fail("old.test never had its second turn")


def test_the_slow_and_the_demanding_are_left_alone_longer():
    frontier = Frontier(FrontierSettings(delay=1.0, delay_factor=4.0, max_delay=60.0))
    frontier.add([due(f"http://a.test/{n}") for n in range(9)])
    now = 0.0
    for elapsed, delay, expected in [
        (0.1, None, 1.0),
        (2.0, None, 8.0),
        (100, None, 60.0),
        (0.1, 20.0, 20.0),
        (0.1, 600.0, 600.0),
    ]:
        now += 1000.0
        taken = frontier.next(now)
        assert taken is not None
        frontier.done(taken, Outcome.OK, now, elapsed, delay=delay)
        assert frontier.wait(now) == pytest.approx(expected)


def test_deferring_keeps_the_url_and_waits():
    frontier = Frontier(FrontierSettings(delay=1.0))
    frontier.add([due("http://a.test/x")])
    taken = frontier.next(10.0)
    assert taken is not None
    frontier.requeue(taken, 10.0, 0.1, delay=5.0)
    assert frontier.next(14.9) is None
    assert frontier.next(15.0) == taken


def test_a_host_is_given_up_and_gets_another_chance():
    frontier = Frontier(FrontierSettings(delay=0.0, max_failures=2, retries=0, back_off=0.0))
    frontier.add([due(f"http://a.test/{n}") for n in range(4)])
    for _ in range(2):
        taken = frontier.next(10.0)
        assert taken is not None
        frontier.done(taken, Outcome.TIMEOUT, 10.0, 0.0)
    assert frontier.wait(10.0) is None
    assert (frontier.statistics().given_up, frontier.statistics().waiting) == (1, 0)
    frontier = Frontier.load(frontier.dump(), FrontierSettings(delay=0.0, max_failures=2))
    frontier.revive()
    assert frontier.statistics().waiting == 2
    assert len(order_of(frontier, 10.0, 2)) == 2


def test_a_host_that_cannot_be_reached_keeps_its_urls():
    """A DNS outage lasts longer than all tries: the host is given up for this run, and nothing is lost."""
    wanted = FrontierSettings(delay=0.0, retries=2, back_off=1.0)
    frontier = Frontier(wanted)
    frontier.add([due(f"http://a.test/{n}") for n in range(4)])
    snapshot, log, now = frontier.dump(), [], 10.0
    while (wait := frontier.wait(now)) is not None:
        now += wait
        taken = frontier.next(now)
        assert taken is not None
        frontier.done(taken, Outcome.DNS, now, 0.0)
        log.append((taken, Outcome.DNS, now, 0.0))
    assert len(log) == wanted.max_failures
    assert frontier.statistics().given_up == 1
    again = Frontier.load(snapshot, wanted)
    for ended in log:
        again.replay(*ended)
    again.requeue_in_flight()
    for recovered in (frontier, again):
        recovered.revive()
        assert recovered.statistics().waiting == 4
        taken = recovered.next(now + 700)
        assert taken is not None
        recovered.done(taken, Outcome.CONNECT, now + 700, 0.0)
        # One try in a run is enough to see that it is still so.
        assert recovered.wait(now + 700) is None
        recovered.revive()
        assert len(order_of(recovered, now + 2000, 4)) == 4


def test_a_port_that_refuses_does_not_cost_its_host():
    frontier = Frontier(FrontierSettings(delay=0.0, retries=1, back_off=0.0))
    frontier.add([due("http://a.test:81/", 9.0), *(due(f"http://a.test/{n}") for n in range(9))])
    asked = []
    while (taken := frontier.next(10.0)) is not None:
        asked.append(taken.address.port)
        frontier.done(taken, Outcome.CONNECT if taken.address.port == 81 else Outcome.OK, 10.0, 0.0)
    assert asked == [81, 81, *[80] * 9, 81, 81]
    frontier.revive()
    assert frontier.statistics().waiting == 1


def test_what_is_not_under_way_cannot_end():
    frontier = Frontier(FrontierSettings())
    with pytest.raises(ValueError, match="not in flight"):
        frontier.done(due("http://a.test/"), Outcome.OK, 1.0, 0.0)


@given(st.data())
def test_every_damaged_snapshot_is_refused(data):
    frontier = Frontier(FrontierSettings())
    frontier.add([due(f"http://a.test/{n}") for n in range(3)])
    good = frontier.dump()
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(bad), good[:place]):
        with pytest.raises((CorruptFile, NewerFormat)):
            Frontier.load(damaged, FrontierSettings())


@given(st.lists(st.lists(st.integers(0, 60).map(lambda n: n * (2**64 // 61)), max_size=20), max_size=20))
def test_the_seen_set_is_a_set(batches):
    newest, seen_module._NEWEST = seen_module._NEWEST, 8
    try:
        seen, naive = SeenSet(), set()
        for batch in batches:
            fresh = [batch[place] for place in seen.unseen(batch)]
            assert fresh == [key for key in dict.fromkeys(batch) if key not in naive]
            seen.update(fresh)
            naive.update(batch)
            assert len(seen) == len(naive)
            asked = [*range(0, 2**64, 2**64 // 61), *batch[:3]]
            assert [key in seen for key in asked] == seen.contains_each(asked) == [key in naive for key in asked]
        assert set(SeenSet(seen.keys()).keys().tolist()) == naive
    finally:
        seen_module._NEWEST = newest


def test_a_million_urls_take_little_memory():
    seen = SeenSet()
    keys = np.random.default_rng(1).integers(0, 2**63, 1_000_000, dtype=np.uint64)
    for part in np.array_split(keys, 100):
        listed = part.tolist()
        seen.update([listed[place] for place in seen.unseen(listed)])
    resident = sum(run.keys.nbytes for run in seen._runs)
    assert resident <= 8 * len(seen)
    assert len(seen._runs) <= 12
    assert len(seen._newest) < 65_536
    assert not seen.unseen(keys[:5000].tolist())


def test_a_url_that_waits_is_not_queued_again_for_a_revisit(tmp_path):
    frontier = Frontier(FrontierSettings(delay=0.0, back_off=100.0, per_host=4), tmp_path / "spill")
    frontier.add([due(f"http://a.test/{n}", float(-n)) for n in range(12)])
    first = frontier.next(1.0)
    assert first is not None
    frontier.done(first, Outcome.BUSY, 1.0, 0.0)  # waits for a retry
    second = frontier.next(101.0)
    assert second is not None  # in flight
    assert frontier.statistics().spilled > 0
    before = frontier.statistics().waiting
    frontier.add_revisits([due(f"http://a.test/{n}", 100.0) for n in range(12)] * 2)
    assert frontier.statistics().waiting == before
    frontier.add_revisits([due("http://a.test/new")] * 2)
    assert frontier.statistics().waiting == before + 1


def test_a_port_that_refuses_does_not_delay_another():
    frontier = Frontier(FrontierSettings(delay=1.0, back_off=30.0))
    frontier.add([due("http://a.test/1", 9), due("http://a.test/2", 8), due("http://a.test:8091/", 1)])
    refused = frontier.next(10.0)
    assert refused is not None
    frontier.done(refused, Outcome.CONNECT, 10.0, 0.0)
    other = frontier.next(11.0)
    assert other is not None
    assert other.address.port == 8091
    frontier.done(other, Outcome.OK, 11.0, 0.0)
    assert frontier.next(12.0) is None
    assert frontier.wait(12.0) == pytest.approx(28.0)
    assert frontier.statistics().waiting == 2


def test_a_host_with_one_port_that_refuses_is_left_alone():
    frontier = Frontier(FrontierSettings(delay=1.0, back_off=30.0))
    frontier.add([due("http://a.test/1"), due("http://a.test/2")])
    refused = frontier.next(10.0)
    assert refused is not None
    frontier.done(refused, Outcome.CONNECT, 10.0, 0.0)
    assert frontier.wait(10.0) == pytest.approx(30.0)
