"""Sitemaps and feeds that give dates: a page that its site says was changed is looked at before its turn."""

import random
import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from periplus.crawl import Crawler
from periplus.crawl.revisits import CrawlHistory
from periplus.discovery import parse_sitemap
from periplus.records import LIST_KIND, FetchRecord, Link, Outcome, Page
from periplus.url import parse_address

DAY = 86_400.0


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def look(history: CrawlHistory, url: str, when: float, content: int) -> None:
    history.learn(FetchRecord(url, parse_address(url).key, Outcome.OK, when, content=content, page=Page(url)))


def listed(history: CrawlHistory, when: float, dates: dict[str, float]) -> list[str]:
    page = Page("http://a.test/map", kind=LIST_KIND, links=tuple(map(Link, dates)), changed=tuple(dates.values()))
    found = [due.address.url for due in history.read_dates(page, when)]
    history.learn(FetchRecord(page.url, parse_address(page.url).key, Outcome.OK, when, page=page))
    return found


def test_a_changed_page_is_due_before_its_turn():
    history = CrawlHistory()
    for number in range(10):
        look(history, f"http://a.test/{number}", 100 * DAY, number)
    before = history.select_due(101 * DAY, 2)
    assert before == []
    dates = {f"http://a.test/{number}": (100 + (number - 5) / 10) * DAY for number in range(10)}
    assert listed(history, 101 * DAY, dates) == [f"http://a.test/{number}" for number in (6, 7, 8, 9)]
    assert len(history.select_due(101 * DAY, 2)) == 2
    assert {due.address.path for due in history.select_due(101 * DAY, 4)} == {"/6", "/7", "/8", "/9"}
    for number in range(10):
        look(history, f"http://a.test/{number}", 101 * DAY, number)
    assert [due.address.path for due in history.select_due(101.5 * DAY, 4)] == ["/map"]


def test_a_list_that_stamps_everything_alike_is_not_believed():
    history = CrawlHistory()
    urls = [f"http://a.test/{number}" for number in range(60)]
    for url in urls:
        look(history, url, 100 * DAY, 1)
    assert listed(history, 101 * DAY, dict.fromkeys(urls, 101 * DAY)) == []
    assert len(listed(history, 101 * DAY, {url: (100.2 + at / 100) * DAY for at, url in enumerate(urls)})) == 60


def test_pages_without_a_date_do_not_silence_those_with_one():
    history = CrawlHistory()
    urls = [f"http://a.test/{number}" for number in range(60)]
    for url in urls:
        look(history, url, 100 * DAY, 1)
    dates = dict.fromkeys(urls, 0.0) | {urls[7]: 100.5 * DAY}
    assert listed(history, 101 * DAY, dates) == [urls[7]]


def test_a_date_to_come_is_believed_once_for_each_look_at_the_list():
    history = CrawlHistory()
    look(history, "http://a.test/1", 100 * DAY, 1)
    assert listed(history, 101 * DAY, {"http://a.test/1": 9_000 * DAY}) == ["http://a.test/1"]
    assert [due.rank for due in history.select_due(101.01 * DAY, 5)] == [1_000.0]
    look(history, "http://a.test/1", 101.1 * DAY, 1)
    assert not any(due.rank == 1_000.0 for due in history.select_due(101.2 * DAY, 5))


def test_a_site_that_vouches_for_a_page_is_believed_until_it_is_wrong():
    history = CrawlHistory()
    one, other = "http://a.test/1", "http://a.test/2"
    for url in (one, other):
        look(history, url, 100 * DAY, 1)
    listed(history, 160 * DAY, {one: 90 * DAY})
    assert [due.address.url for due in history.select_due(160.5 * DAY, 1)[1:]] == [other]
    look(history, one, 161 * DAY, 2)
    listed(history, 162 * DAY, {one: 90 * DAY})
    assert history.pages[parse_address(one).key].unchanged_hint == 0.0


def stale_share(hints: bool, budget: int = 8, pages: int = 160, days: int = 24) -> float:
    """Give the share of stale pages of a site of which half is in a sitemap with true dates."""
    chance = random.Random(3)
    history, stale = CrawlHistory(), dict.fromkeys((f"http://a.test/{number}" for number in range(pages)), False)
    gaps = {url: chance.choice((1.0, 7.0, 30.0, 300.0)) for url in stale}
    changed = {url: DAY * place / pages for place, url in enumerate(list(stale)[::2])}
    for url in stale:
        look(history, url, DAY, 0)
    total = 0.0
    for day in range(2, days):
        for url, gap in gaps.items():
            if chance.random() < 1 / gap:
                stale[url] = True
                if url in changed:
                    changed[url] = (day - 0.5) * DAY
        if hints:
            listed(history, day * DAY, changed)
        for due in history.select_due(day * DAY, budget):
            if not due.address.url.endswith("/map"):
                look(history, due.address.url, day * DAY, day if stale[due.address.url] else 0)
                stale[due.address.url] = False
        total += sum(stale.values()) / pages
    return total / (days - 2)


def test_hints_leave_fewer_pages_stale_with_the_same_budget():
    without, with_hints = stale_share(False), stale_share(True)
    assert with_hints < 0.85 * without, (without, with_hints)


@pytest.fixture
def site(scripted):
    scripted.put("http://a.test/robots.txt", "Sitemap: http://a.test/map.xml", "text/plain")
    scripted.put("http://a.test/", '<link rel=alternate type="application/rss+xml" href="/feed"><p>start')
    for number in range(8):
        scripted.put(f"http://a.test/{number}", f"<p>page {number} as it was", ETag=f'"{number}"')
    return scripted


def put_lists(site, changed: dict[int, float]) -> None:
    rows = "".join(
        f"<url><loc>http://a.test/{n}</loc><lastmod>{iso(changed.get(n, 1e9 + n))}</lastmod></url>" for n in range(5)
    )
    site.put("http://a.test/map.xml", f"<urlset>{rows}</urlset>", "application/xml")
    items = "".join(
        f"<item><link>http://a.test/{n}</link>"
        f"<pubDate>{format_datetime(datetime.fromtimestamp(changed.get(n, 1e9 + n), UTC))}</pubDate></item>"
        for n in range(5, 8)
    )
    site.put("http://a.test/feed", f"<rss><channel>{items}</channel></rss>", "application/rss+xml")


def test_a_crawl_looks_first_where_the_site_says_it_changed(site, tmp_path, monkeypatch):
    put_lists(site, {})
    settings = site.settings(tmp_path, "a.test", recrawl_per_day=3)
    Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    assert {f"http://a.test/{n}" for n in range(8)} <= set(site.requests)
    site.requests.clear()
    # Two hours later, one page of the sitemap and one of the feed have changed.
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 7_200)
    put_lists(site, {3: real() + 3_600, 6: real() + 3_600})
    again = site.settings(tmp_path, "a.test", recrawl=True, recrawl_per_day=3)
    Crawler(tmp_path / "data", again).run()
    assert set(site.requests[:2]) == {"http://a.test/map.xml", "http://a.test/feed"}
    assert set(site.requests[2:]) >= {"http://a.test/3", "http://a.test/6"}
    assert len(site.requests) == len(set(site.requests)) <= 5


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-04", 20517),
        ("2026-03", 20544),
        ("2026-12", 20819),
        ("2026", 20819),
        ("2026-03-04T12:00:00Z", 20516.5),
        ("2026-03-04T12:00:00+00:00", 20516.5),
        ("Wed, 04 Mar 2026 12:00:00 GMT", 20516.5),
        ("", 0),
        ("soon", 0),
        ("9999-99-99", 0),
        ("99999-01-01", 0),
        ("1066-10-14", 0),
        ("2026-03-04T12:00:00" + "0" * 99, 0),
    ],
)
def test_dates_as_sites_write_them(text, day):
    body = f"<urlset><url><lastmod>{text}</lastmod><loc>http://a.test/</loc></url></urlset>".encode()
    found = parse_sitemap(body)
    assert found.pages == ("http://a.test/",)
    assert (found.changed[0] if found.changed else 0) == day * DAY


def test_feeds_of_both_kinds_give_dates():
    atom = b"""<feed><entry><link href="http://a.test/1"/><published>2026-03-04T00:00:00Z</published>
    <updated>2026-03-05T00:00:00Z</updated></entry><entry><link href="http://a.test/2"/></entry></feed>"""
    assert parse_sitemap(atom).changed == (20517 * DAY, 0.0)
    rss = b"""<rss><channel><pubDate>Thu, 05 Mar 2026 00:00:00 GMT</pubDate><item><guid>http://a.test/1</guid>
    <pubDate>Wed, 04 Mar 2026 00:00:00 GMT</pubDate></item></channel></rss>"""
    assert parse_sitemap(rss).changed == (20516 * DAY,)
