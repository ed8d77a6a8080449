"""The hostile web: every good page is fetched, in bounded time and memory, and nothing private is ever reached."""

import resource
import socket
import threading

import pytest
from hostile_web import GOOD_HOSTS, HOSTILE, PAGES, HostileWeb

from periplus.crawl import Crawler
from periplus.fetch import Fetcher
from periplus.records import FetchRequest, Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, ParseSettings, Settings
from periplus.url import parse_address


@pytest.fixture
def hostile():
    web = HostileWeb()
    yield web
    web.close()


def test_every_good_page_of_the_hostile_web_is_fetched(hostile, tmp_path, read_stored):
    names = (*GOOD_HOSTS, *HOSTILE)
    (tmp_path / "hosts").write_text("".join(f"127.0.0.1:{hostile.port} {name}\n" for name in names))
    settings = Settings(
        fetch=FetchSettings(allow=("127.0.0.1/32",), hosts_file=str(tmp_path / "hosts"), timeout=8, slow_seconds=5),
        frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=3, retries=1, per_address=0),
        crawl=CrawlSettings(scope="web", host_pages=400, minutes=3, depth=64),
        parse=ParseSettings(max_deferred_links=5_000),  # of 100,000 links: each that is kept is requested
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    final = Crawler(tmp_path / "data", settings, [f"http://{name}/" for name in GOOD_HOSTS]).run()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    visits = {visit.url: visit for visit in read_stored(tmp_path / "data", settings)}
    for host in GOOD_HOSTS:
        for number in range(PAGES):
            visit = visits[f"http://{host}/p{number}" if number else f"http://{host}/"]
            assert visit.page is not None or visit.duplicate_of
    assert final.seconds < 150
    assert grown < 250
    assert final.waiting == 0 or final.given_up
    counts = hostile.counts
    assert counts["endless-redirects.test"] < 20
    assert counts["calendar.test"] < 300
    assert counts["session-maze.test"] < 60
    assert counts["yes-to-all.test"] < 60
    assert counts["echo-404.test"] < 60
    assert counts["sitemap-circle.test"] < 150
    assert counts["refresh-loop.test"] < 60
    assert not any("/no/" in url for url, visit in visits.items() if visit.outcome is not Outcome.ROBOTS)
    refused = [visit for visit in visits.values() if visit.outcome is Outcome.FORBIDDEN_ADDRESS]
    assert {visit.url.split("/")[2] for visit in refused} >= {"127.0.0.99:1"}


class Inside:
    """A service on a loopback address that nobody may reach."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.77", 0))
        self.port = self._listener.getsockname()[1]
        self.reached = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.reached += 1
            peer.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def inside():
    service = Inside()
    yield service
    service.close()


def test_a_name_that_changes_its_address_reaches_nothing_private(hostile, inside, tmp_path):
    """DNS rebinding: the name is good at the first look and private at the second. The check is at connecting."""
    hosts = tmp_path / "hosts"
    allow = ("127.0.0.1/32",)
    hosts.write_text(f"127.0.0.1:{hostile.port} good-one.test\n")
    place = FetchRequest(parse_address("http://good-one.test/"))
    first = Fetcher(FetchSettings(allow=allow, hosts_file=str(hosts)))
    first.start(place)
    assert _one(first).outcome is Outcome.OK
    hosts.write_text(f"127.0.0.77:{inside.port} good-one.test\n")
    second = Fetcher(FetchSettings(allow=allow, hosts_file=str(hosts)))
    second.start(place)
    assert _one(second).outcome is Outcome.FORBIDDEN_ADDRESS
    assert inside.reached == 0


@pytest.mark.parametrize("form", ["127.0.0.77", "0x7f.0.0.77", "2130706509", "017700000115", "[::ffff:127.0.0.77]"])
def test_a_redirect_inside_is_refused_in_every_spelling(hostile, inside, tmp_path, form, read_stored):
    (tmp_path / "hosts").write_text(f"127.0.0.1:{hostile.port} start.test\n")
    moved = f"HTTP/1.1 302 Found\r\nLocation: http://{form}:{inside.port}/\r\nContent-Length: 0\r\n\r\n".encode()
    hostile.respond = lambda peer, host, path: bool(peer.sendall(moved)) or True
    settings = Settings(
        fetch=FetchSettings(allow=("127.0.0.1/32",), hosts_file=str(tmp_path / "hosts"), timeout=60),
        frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.01, max_failures=3, retries=0),
        crawl=CrawlSettings(scope="web"),
    )
    Crawler(tmp_path / "data", settings, ["http://start.test/"]).run()
    assert inside.reached == 0


def _one(fetcher: Fetcher):
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    fetcher.close()
    return ended[0]
