"""Budgets, shares, groups and spilling: who waits behind whom, and that nothing is lost by waiting."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.errors import CorruptFile
from periplus.frontier import Frontier
from periplus.frontier import host_queues as queues_module
from periplus.frontier.budgets import penalty
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address


def due(url: str, rank: float = 0.0) -> FetchRequest:
    return FetchRequest(parse_address(url), rank=rank)


def crawl(frontier: Frontier, now: float, most: int) -> list[str]:
    """Take and end one URL after the other."""
    found = []
    while len(found) < most and (wait := frontier.wait(now)) is not None:
        now += wait
        taken = frontier.next(now)
        assert taken is not None
        found.append(taken.address.url)
        frontier.done(taken, Outcome.OK, now, 0.0)
    return found


def test_a_host_over_its_budget_waits_behind_others_and_loses_nothing():
    frontier = Frontier(FrontierSettings(delay=0, host_budget=10))
    frontier.add([due(f"http://farm.test/{n}", 100.0) for n in range(60)])
    assert len(crawl(frontier, 1000.0, 30)) == 30
    frontier.add([due(f"http://small{n}.test/") for n in range(20)])
    found = crawl(frontier, 2000.0, 100)
    assert sum("small" in url for url in found[:22]) == 20  # every twentieth turn is for those behind
    assert sum("farm" in url for url in found) == 30


def test_a_budget_grows_with_reputation():
    frontier = Frontier(FrontierSettings(delay=0, host_budget=10))
    frontier.reputation = lambda name: 99.0 if name == "famous.test" else 0.0
    for name in ("famous", "unknown"):
        frontier.add([due(f"http://{name}.test/{n}") for n in range(100)])
    found = crawl(frontier, 1000.0, 200)
    first = found[:110]
    assert sum("famous" in url for url in first) >= 95
    assert len(set(found)) == 200


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0.0), (0.001, 0.0), (0.0255, 0.5), (0.05, 1.0), (0.9, 1.0)])
def test_the_share_penalty_goes_from_a_thousandth_to_a_twentieth(share, expected):
    assert penalty(share) == pytest.approx(expected)


def test_a_host_with_too_large_a_share_is_asked_less_often_than_others():
    frontier = Frontier(FrontierSettings(delay=0, host_budget=10**9))
    frontier.add([due("http://big.test/0")])
    frontier._hosts["big.test"].recent = 30_000.0
    frontier.add([due(f"http://big.test/{n}") for n in range(1, 300)])
    frontier.add([due(f"http://h{n % 3}.test/{n}") for n in range(900)])
    found = crawl(frontier, 1000.0, 400)
    assert 10 < sum("big" in url for url in found) < 60


def test_one_domain_is_asked_a_few_times_at_once():
    frontier = Frontier(FrontierSettings(delay=0, per_domain=2))
    frontier.add([due(f"http://h{n}.one.test/") for n in range(5)])
    first, second = frontier.next(10.0), frontier.next(10.0)
    assert first is not None
    assert second is not None
    assert frontier.next(10.0) is None
    assert frontier.wait(10.0) is None or frontier.next(10.0) is None
    frontier.done(first, Outcome.OK, 11.0, 0.0)
    assert frontier.next(11.0) is not None
    assert frontier.next(11.0) is None


def test_one_address_is_asked_a_few_times_at_once_also_after_a_restart():
    wanted = FrontierSettings(delay=0, per_address=1)
    frontier = Frontier(wanted)
    frontier.add([due(f"http://site{n}.test/{page}") for n in range(3) for page in range(2)])
    for _ in range(3):
        taken = frontier.next(10.0)
        assert taken is not None
        frontier.done(taken, Outcome.OK, 10.0, 0.0, ip="192.0.2.1")
    for loaded in (frontier, Frontier.load(frontier.dump(), wanted)):
        taken = loaded.next(20.0)
        assert taken is not None
        assert loaded.next(20.0) is None
        loaded.done(taken, Outcome.OK, 20.0, 0.0)
        assert loaded.next(20.0) is not None


def test_another_hosts_turn_is_asked_for_and_counts():
    frontier = Frontier(FrontierSettings(delay=5.0))
    frontier.add([due("http://a.test/1"), due("http://a.test/2")])
    assert frontier.reserve("a.test", 10.0) == 0.0
    assert frontier.next(10.0) is None
    assert frontier.reserve("a.test", 10.0) > 0
    frontier.release("a.test", Outcome.OK, 11.0, 0.1)
    assert frontier.reserve("a.test", 12.0) == pytest.approx(4.0)
    assert frontier.next(15.9) is None
    assert frontier.next(16.0) is not None


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr(queues_module, "_ENTRY_BYTES", 20_000)  # 1 MB holds 50


def test_what_memory_does_not_hold_waits_on_disk(tmp_path: Path, little_memory):
    frontier = Frontier(FrontierSettings(delay=0, memory_mb=1), tmp_path / "spill")
    for start in range(0, 2000, 40):
        frontier.add([due(f"http://h{n % 7}.test/{n}", n % 97) for n in range(start, start + 40)])
        assert frontier._queues._in_memory <= 50
    found = frontier.statistics()
    assert (found.waiting, found.dropped) == (2000, 0)
    assert found.spilled >= 1950
    order = crawl(frontier, 1000.0, 3000)
    assert len(order) == len(set(order)) == 2000
    for host in range(7):
        ranks = [int(url.rpartition("/")[2]) % 97 for url in order if f"//h{host}." in url]
        assert ranks == sorted(ranks, reverse=True)
    assert frontier.statistics().spilled == 0
    for _ in range(4):
        frontier.dump()
    assert len(list((tmp_path / "spill").iterdir())) <= 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(0, 9)), max_size=200), st.integers(1, 80))
def test_spilling_changes_nothing_but_the_place(tmp_path_factory, places, taken):
    folder = tmp_path_factory.mktemp("spill")
    dues = [due(f"http://h{host}.test/{page}", float(rank)) for host, page, rank in places]
    wanted = FrontierSettings(delay=0, memory_mb=1, per_host=3)
    plain = Frontier(FrontierSettings(delay=0))
    spilling = Frontier(wanted, folder)
    for one in dues:
        assert plain.add([one]) == spilling.add([one])
    crawl(spilling, 1000.0, taken)
    again = Frontier.load(spilling.dump(), wanted, folder)
    done = {*crawl(plain, 1000.0, 10_000)}
    left = crawl(again, 2000.0, 10_000)
    assert len(left) == max(0, len(done) - taken)
    assert set(left) <= done


def test_a_damaged_spill_file_is_refused_when_loaded(tmp_path: Path):
    wanted = FrontierSettings(delay=0, per_host=3)
    frontier = Frontier(wanted, tmp_path)
    frontier.add([due(f"http://a.test/{n}") for n in range(20)])
    data = frontier.dump()
    file = next(tmp_path.glob("*.spill"))
    good = file.read_bytes()
    for bad in (good[:-1], bytes([good[0] ^ 1]) + good[1:], b""):
        file.write_bytes(bad)
        with pytest.raises(CorruptFile, match=r"\.spill"):
            Frontier.load(data, wanted, tmp_path)
    file.unlink()
    with pytest.raises(CorruptFile, match=r"\.spill"):
        Frontier.load(data, wanted, tmp_path)
