"""Best first: a crawl with a topic asks the most promising host, and waits a little for it."""

from periplus.frontier import BestFirst, Frontier
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

SETTINGS = FrontierSettings(delay=1.0, delay_factor=0.0)


def frontier(patience: float = 2.0) -> Frontier:
    made = Frontier(SETTINGS)
    made.best_first = BestFirst(10.0, patience)
    return made


def due(url: str, rank: float) -> FetchRequest:
    return FetchRequest(parse_address(url), 0, rank)


def take(found: Frontier, now: float) -> str:
    got = found.next(now)
    if got is None:
        return ""
    found.done(got, Outcome.OK, now, 0.0)
    return got.address.url


def test_the_host_with_the_best_url_goes_first() -> None:
    found = frontier()
    found.add([due("http://a.test/1", 11.0), due("http://b.test/1", 15.0), due("http://c.test/1", 13.0)])
    assert [take(found, 0.0) for _ in range(3)] == ["http://b.test/1", "http://c.test/1", "http://a.test/1"]


def test_a_better_url_moves_its_host_forward() -> None:
    found = frontier()
    found.add([due("http://a.test/1", 11.0), due("http://b.test/1", 12.0)])
    found.add([due("http://a.test/2", 19.0)])
    assert take(found, 0.0) == "http://a.test/2"


def test_unpromising_hosts_wait_while_a_promising_one_is_near() -> None:
    found = frontier()
    found.add([due("http://dull.test/1", 1.0), due("http://good.test/1", 15.0), due("http://good.test/2", 14.0)])
    assert take(found, 0.0) == "http://good.test/1"
    assert take(found, 0.1) == ""
    assert 0.8 < (found.wait(0.1) or 0.0) <= 1.0
    assert take(found, 1.1) == "http://good.test/2"
    assert found.wait(1.2) == 0.0
    assert take(found, 1.2) == "http://dull.test/1"
    assert found.wait(1.3) is None


def test_without_patience_nobody_is_waited_for() -> None:
    found = frontier(patience=0.0)
    found.add([due("http://dull.test/1", 1.0), due("http://good.test/1", 15.0), due("http://good.test/2", 14.0)])
    assert take(found, 0.0) == "http://good.test/1"
    assert take(found, 0.1) == "http://dull.test/1"


def test_waiting_urls_can_be_lifted() -> None:
    found = frontier()
    found.add([due("http://a.test/1", 3.0), due("http://a.test/2", 2.0), due("http://b.test/1", 12.0)])
    place = parse_address("http://a.test/2")
    found.reprioritize({"a.test": {place.key: 18.0, 1: 99.0}, "nobody.test": {2: 5.0}})
    assert take(found, 0.0) == "http://a.test/2"
    found.reprioritize({"a.test": {parse_address("http://a.test/1").key: 1.0}})
    assert [take(found, 2.0), take(found, 3.0), take(found, 4.0)] == ["http://b.test/1", "http://a.test/1", ""]


def test_dull_hosts_have_a_turn_now_and_then() -> None:
    found = frontier()
    found.add([due(f"http://good{n}.test/{m}", 15.0) for n in range(30) for m in range(2)])
    found.add([due("http://dull.test/1", 1.0)])
    got = [take(found, 0.0) for _ in range(25)]
    assert "http://dull.test/1" in got[15:]


def test_a_snapshot_goes_on_the_same_way() -> None:
    found = frontier()
    found.add([due(f"http://h{n}.test/{m}", (7 * n + 3 * m) % 20) for n in range(8) for m in range(3)])
    for step in range(4):
        take(found, float(step))
    again = Frontier.load(found.dump(), SETTINGS)
    again.best_first = found.best_first
    assert [take(found, 10.0 + n) for n in range(25)] == [take(again, 10.0 + n) for n in range(25)]
    assert found.statistics() == again.statistics()
