"""Traps: what is learnt about hosts, and that what is no trap stays."""

import msgspec

from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.policies.traps import Traps, TrapsState, signature
from periplus.records import FetchRecord, FetchRequest, Link, Outcome, Page
from periplus.settings import CrawlSettings
from periplus.url import parse_address


def visit(url: str, text: str = "words", **more) -> FetchRecord:
    page = None if more.get("duplicate_of") else Page(url, title="T", text=text)
    return FetchRecord(url, parse_address(url).key, Outcome.OK, 1000.0, status=200, page=page, **more)


def learn(traps: Traps, record: FetchRecord) -> FetchRequest | None:
    return traps.learn(record, parse_address(record.url))


def rewritten(traps: Traps, url: str) -> str:
    return traps.rewrite(parse_address(url)).url


def test_a_parameter_that_makes_no_difference_is_dropped():
    traps = Traps()
    for room in range(2):
        for mark in ("0a1b2c3d", "ffee0011", "12345678"):
            learn(traps, visit(f"http://maze.test/room/{room}?visit={mark}&a=1", f"room {room}"))
    assert rewritten(traps, "http://maze.test/room/9?visit=deadbeef1&a=1") == "http://maze.test/room/9?a=1"
    assert rewritten(traps, "http://other.test/room/9?visit=deadbeef1") == "http://other.test/room/9?visit=deadbeef1"
    again = Traps(traps.state)
    assert rewritten(again, "http://maze.test/x?visit=deadbeef1") == "http://maze.test/x"


def test_a_parameter_that_makes_a_difference_stays():
    traps = Traps()
    for number in range(20):
        learn(traps, visit(f"http://shop.test/item?id=0000{number:04d}", f"thing {number % 5}"))
        learn(traps, visit(f"http://shop.test/list?page={number}", "the same beginning"))
    for url in ("http://shop.test/item?id=00009999", "http://shop.test/list?page=99"):
        assert rewritten(traps, url) == url


def test_twins_are_one_after_three_pages_agree():
    traps = Traps()
    for number in range(3):
        assert rewritten(traps, "http://here.test/z") == "http://here.test/z"
        learn(traps, visit(f"http://here.test/{number}", duplicate_of=f"https://www.here.test/{number}"))
    assert rewritten(traps, "http://here.test/z?q=1") == "https://www.here.test/z?q=1"
    for number in range(9):
        learn(traps, visit(f"http://mirror.test/{number}", duplicate_of=f"https://www.here.test/{number}"))
    assert rewritten(traps, "http://mirror.test/z") == "http://mirror.test/z"


def test_a_mirror_comes_last_until_it_has_pages_of_its_own():
    outlinks = OutlinkExtractor(CrawlSettings(scope="web"), [parse_address("http://here.test/")])
    place = parse_address("http://mirror.test:8080/next")
    before = outlinks.rank(place, 1)
    for number in range(19):
        outlinks.extract(visit(f"http://mirror.test:8080/{number}", duplicate_of=f"http://here.test/{number}"))
    assert outlinks.rank(place, 1) == before
    near = visit("http://mirror.test:8080/19", "nearly")
    outlinks.extract(msgspec.structs.replace(near, near_duplicate_of="http://here.test/19"))
    assert outlinks.rank(place, 1) < before - 3
    assert Traps(outlinks.traps.state).mirrors == {"mirror.test"}
    for number in range(5):
        outlinks.extract(visit(f"http://mirror.test:8080/own{number}", f"own words {number}"))
    assert outlinks.rank(place, 1) == before


def test_copies_within_one_host_make_no_mirror():
    traps = Traps()
    for number in range(50):
        learn(traps, visit(f"http://here.test/{number}", duplicate_of="http://here.test/first"))
    assert traps.mirrors == set()


def test_a_host_that_never_says_no_is_found_out():
    traps = Traps(TrapsState())
    probes = [learn(traps, visit(f"http://yes.test/{number}", f"text {number}")) for number in range(12)]
    (probe,) = [due for due in probes if due is not None]
    assert probe.address.host == "yes.test"
    answer = traps.classify(visit(probe.address.url, "Sorry, nothing here"), "yes.test")
    assert (answer.outcome, answer.page) == (Outcome.GONE, None)
    assert learn(traps, answer) is None
    soft = traps.classify(visit("http://yes.test/offer/1", "Sorry, nothing here"), "yes.test")
    assert (soft.outcome, soft.page) == (Outcome.GONE, None)
    true = visit("http://yes.test/true", "Something")
    assert traps.classify(true, "yes.test") is true
    assert traps.classify(visit("http://no.test/", "Sorry, nothing here"), "no.test").page is not None
    assert signature(Page("x", title="T", text="Sorry, nothing here")) == traps.state.soft["yes.test"]


def test_a_host_that_repeats_the_address_is_found_out_too():
    traps = Traps()
    probe = [learn(traps, visit(f"http://yes.test/{number}", f"text {number}")) for number in range(5)][-1]
    sorry = "We could not find {} on this server. Try /help."
    learn(traps, traps.classify(visit(probe.address.url, sorry.format(probe.address.path)), "yes.test"))
    for url, named in (
        ("http://yes.test/offers/a%20b", "/offers/a b"),
        ("http://yes.test/offers/x.html?y=1", "http://yes.test/offers/x.html?y=1"),
        ("http://yes.test/deep/name", "name"),
    ):
        assert traps.classify(visit(url, sorry.format(named)), "yes.test").outcome is Outcome.GONE
    other = visit("http://yes.test/offers/9", "An offer of /offers/9 that is really there.")
    assert traps.classify(other, "yes.test") is other


def test_an_honest_404_to_a_probe_teaches_nothing():
    traps = Traps()
    probe = [learn(traps, visit(f"http://no.test/{number}")) for number in range(5)][-1]
    assert probe is not None
    assert learn(traps, FetchRecord(probe.address.url, probe.address.key, Outcome.GONE, 1.0, status=404)) is None
    assert traps.state.soft == {}
    assert traps.state.probes == {}


def test_the_harvest_asks_by_what_was_learnt():
    outlinks = OutlinkExtractor(CrawlSettings(scope="web"), [parse_address("http://maze.test/")])
    for mark in ("0a1b2c3d", "ffee0011", "12345678", "87654321"):
        outlinks.extract(visit(f"http://maze.test/room?visit={mark}"))
    links = tuple(Link(f"http://maze.test/hall?visit=aa{n}bb{n}cc{n}dd") for n in range(9))
    found = outlinks.extract(
        FetchRecord("http://maze.test/", 1, Outcome.OK, 1.0, page=Page("http://maze.test/", links=links))
    )
    assert {due.address.path for due in found if "no-such-page" not in due.address.path} == {"/hall"}
