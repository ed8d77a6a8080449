"""URLs that are held back: found again by name and by URL, and not held any longer once they were fetched."""

import pytest

from periplus.crawl.regions.held_requests import release_named
from periplus.crawl.regions.regions import RegionTable
from periplus.frontier import Frontier, host_queues
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

SETTINGS = FrontierSettings(delay=0, max_delay=0, per_host=20)


def request_for(number: int) -> FetchRequest:
    return FetchRequest(parse_address(f"http://a.test/list/{number}"), 1, -float(number))


def hold_all(frontier: Frontier, regions: RegionTable | None = None) -> None:
    while (request := frontier.next(1.0)) is not None:
        if regions is not None:
            regions.note_held(request.address, "it repeats")
        frontier.hold(request, 1.0)


@pytest.fixture
def frontier(tmp_path, monkeypatch):
    monkeypatch.setattr(host_queues, "_MAX_HELD", 10)
    frontier = Frontier(SETTINGS, tmp_path / "spill")
    frontier.add([request_for(number) for number in range(95)])
    yield frontier
    frontier.close()


def test_releasing_some_reads_only_what_has_them(frontier):
    hold_all(frontier)
    host = frontier.host("a.test")
    assert (frontier.statistics().held, len(host.held_chunks), len(host.held)) == (95, 9, 5)
    urls = {request_for(number).address.url for number in (13, 17, 93)}
    assert set(frontier.release_held("a.test", urls.__contains__, 3, urls)) == urls
    assert (frontier.statistics().held, frontier.statistics().waiting) == (92, 3)
    assert len(host.held_chunks) == 8  # only the one with two of them was read back
    few = frontier.release_held("a.test", lambda url: True, 4)
    assert len(few) == 4
    assert len(host.held_chunks) == 8
    assert sum(len(list(held)) for _, held in frontier.held_urls()) == frontier.statistics().held == 88


@pytest.mark.parametrize(("outcome", "waiting"), [(Outcome.OK, 0), (Outcome.TIMEOUT, 1)])
def test_what_was_fetched_after_the_snapshot_is_not_held_after_a_crash(frontier, tmp_path, outcome, waiting):
    hold_all(frontier)
    data = frontier.dump()
    again = Frontier.load(data, SETTINGS, tmp_path / "spill")
    again.replay(request_for(42), outcome, 2.0, 0.1)
    assert again.requeue_in_flight(3.0) == [request_for(42).address.url]
    assert (again.statistics().held, again.statistics().waiting) == (94, waiting)
    again.close()


def test_a_region_is_released_although_its_template_has_changed(frontier):
    regions = RegionTable()
    hold_all(frontier, regions)
    assert [(region.region, region.held) for region in regions.held()] == [("a.test /list/#", 95)]
    for number in range(20):  # so many names that the folder is one of many kinds
        regions._templates.learn(parse_address(f"http://a.test/{'x' * number}/1"))
    assert regions.region_of(request_for(1).address.url) == "a.test /*/#"
    assert not release_named(frontier, regions, "b.test /list/#")
    regions.note_held(parse_address("http://a.test/list/999"), "it repeats")
    assert release_named(frontier, regions, "a.test /*/#")
    assert (frontier.statistics().held, frontier.statistics().waiting, regions.held()) == (0, 95, [])


def test_a_region_that_was_listed_is_released_under_its_old_name(frontier):
    regions = RegionTable()
    hold_all(frontier, regions)
    for number in range(20):
        regions._templates.learn(parse_address(f"http://a.test/{'x' * number}/1"))
    assert release_named(frontier, regions, "a.test /list/#")
    assert (frontier.statistics().held, frontier.statistics().waiting) == (0, 95)


def test_a_revisit_of_what_waits_on_disk_is_not_queued_twice(frontier):
    assert frontier.statistics().spilled
    before = frontier.statistics().waiting
    for _ in range(3):
        frontier.add_revisits([request_for(number) for number in range(95)])
    frontier.add_revisits([request_for(200), request_for(200)])
    assert frontier.statistics().waiting == before + 1
