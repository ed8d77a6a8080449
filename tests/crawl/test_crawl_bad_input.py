"""Bad input, one kind at a time: floods of links, sitemaps in circles, robots files of a gigabyte, bad certificates."""

import resource
import sys
from pathlib import Path

import msgspec
import pytest

from periplus.crawl import Crawler
from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.fetch import Fetcher
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.robots import parse_robots
from periplus.settings import CrawlSettings, FetchSettings, ParseSettings
from periplus.url import parse_address

sys.path.insert(0, str(Path(__file__).parents[1] / "fetch"))
from certificates import Authority, TlsPeer
from hostile_web import HostileWeb


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("count", [100_000, 400_000])
def test_a_page_of_very_many_links_takes_little(count):
    body = b"".join(b'<a href="/%d">x</a>' % number for number in range(count))
    seed = parse_address("http://a.test/")
    fetched = FetchResult(FetchRequest(seed), Outcome.OK, 1.0, 200, (("content-type", "text/html"),), body)
    outlinks = OutlinkExtractor(CrawlSettings(), [seed])
    before = peak()
    visit = make_page_record(fetched, ParseSettings(), DuplicateTable())
    found = outlinks.extract(visit)
    assert len(found) == ParseSettings().all_links
    assert {request.rank < -100 for request in found[:5_000]} == {False}
    assert {request.rank < -100 for request in found[5_000:]} == {True}
    assert outlinks.cuts == {"deferred-links": 50_000}
    assert peak() - before < 300


def test_sitemaps_in_circles_end(scripted, tmp_path):
    def index(*names: str) -> str:
        rows = "".join(f"<sitemap><loc>http://a.test/{name}</loc></sitemap>" for name in names)
        return f"<sitemapindex>{rows}</sitemapindex>"

    scripted.put("http://a.test/robots.txt", "Sitemap: http://a.test/one.xml", "text/plain")
    scripted.put("http://a.test/", "<p>start")
    scripted.put("http://a.test/one.xml", index("one.xml", "two.xml", "missing.xml"), "text/xml")
    scripted.put("http://a.test/two.xml", index("one.xml", "two.xml", "pages.xml"), "text/xml")
    scripted.put("http://a.test/pages.xml", "<urlset><url><loc>http://a.test/page</loc></url></urlset>", "text/xml")
    scripted.put("http://a.test/page", "<p>the page that only a sitemap knows")
    Crawler(tmp_path / "data", scripted.settings(tmp_path, "a.test"), ["http://a.test/"]).run()
    assert sorted(set(scripted.requests)) == sorted(scripted.requests)
    assert "http://a.test/page" in scripted.requests


def test_a_sitemap_that_is_too_long_is_read_as_far_as_it_goes(scripted, tmp_path):
    rows = "".join(f"<url><loc>http://a.test/p{number}</loc></url>" for number in range(3_000))
    scripted.put("http://a.test/robots.txt", "Sitemap: http://a.test/map.xml", "text/plain")
    scripted.put("http://a.test/", "<p>start")
    scripted.put("http://a.test/map.xml", f"<urlset>{rows}</urlset>", "text/xml")
    settings = scripted.settings(tmp_path, "a.test", pages=30)
    fetch = msgspec.structs.replace(settings.fetch, max_bytes=20_000, max_list_bytes=20_000)
    settings = msgspec.structs.replace(settings, fetch=fetch)
    for number in range(3_000):
        scripted.put(f"http://a.test/p{number}", f"<p>page {number}")
    statistics = Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    assert sum("/p" in url for url in scripted.requests) >= 20
    assert {cut.kind: (cut.count, cut.setting) for cut in statistics.cuts} == {
        "lists": (1, "fetch.max_list_bytes"),
        "pages": (statistics.waiting, "crawl.pages"),
    }


@pytest.fixture
def hostile():
    web = HostileWeb()
    yield web
    web.close()


@pytest.mark.parametrize("host", ["robots-flood.test", "robots-giant.test"])
def test_a_robots_file_of_a_gigabyte_is_obeyed_by_its_beginning(hostile, tmp_path, host):
    (tmp_path / "hosts").write_text(f"127.0.0.1:{hostile.port} {host}\n")
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.1/32",), hosts_file=str(tmp_path / "hosts"), timeout=60))
    before = peak()
    fetcher.start(FetchRequest(parse_address(f"http://{host}/robots.txt")), any_type=True)
    ended = []
    while not ended:
        ended = fetcher.poll(5)
    fetcher.close()
    assert ended[0].outcome is Outcome.TOO_LARGE
    rules = parse_robots(ended[0].body, "PeriplusBot")
    assert (rules.allows("/no/1"), rules.allows("/yes")) == (False, True)
    assert peak() - before < 100


def test_a_bad_certificate_keeps_nobody_from_the_rest(scripted, tmp_path, read_stored):
    authority = Authority(tmp_path)
    expired = TlsPeer(authority.vouch("expired.test", (-9, -2)))
    scripted.put("http://a.test/", '<a href="https://expired.test/">x</a> <a href="/b">b</a>')
    scripted.put("http://a.test/b", "<p>b")
    settings = scripted.settings(tmp_path, "a.test", scope="web")
    with (tmp_path / "hosts").open("a") as hosts:
        hosts.write(f"127.0.0.1:{expired.port} expired.test\n")
    trusting = msgspec.structs.replace(settings.fetch, ca_file=str(authority.file))
    settings = msgspec.structs.replace(settings, fetch=trusting)
    Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    expired.close()
    outcomes = {visit.url: visit.outcome for visit in read_stored(tmp_path / "data", settings)}
    assert outcomes["https://expired.test/"] is Outcome.TLS
    assert outcomes["http://a.test/b"] is Outcome.OK
    assert expired.requests == 0
