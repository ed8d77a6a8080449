"""Recrawling a web that changes: what has changed is read again, what has not costs a 304, what is gone goes."""

import random
from pathlib import Path

import pytest
from fastwarc import ArchiveIterator, WarcRecordType

from periplus.crawl import Crawler
from periplus.crawl.revisits import CrawlHistory
from periplus.records import FetchRecord, Outcome, Page
from periplus.url import parse_address

DAY = 86_400.0


def test_a_second_look_reads_what_has_changed(server, fast, fake_web, tmp_path, read_stored):
    data = tmp_path / "data"
    first = Crawler(data, fast(), fake_web.seeds).run()
    before = len(read_stored(data, fast()))
    server.advance(40)
    settings = fast(recrawl=True, recrawl_per_day=10**9)
    try:
        second = Crawler(data, settings).run()
    finally:
        fake_web.tick = 0
    later = read_stored(data, settings)[before:]
    assert second.pages == first.pages
    outcomes = [visit.outcome for visit in later]
    assert outcomes.count(Outcome.NOT_MODIFIED) > 50
    changed = [visit for visit in later if visit.outcome is Outcome.OK and visit.page is not None]
    assert changed
    assert all(visit.revisit for visit in later)
    assert len({visit.url for visit in later}) == len(later)
    assert revisits(data / "store") == outcomes.count(Outcome.NOT_MODIFIED)
    third = Crawler(data, fast(recrawl=True)).run()  # all was looked at a moment ago
    assert third.fetched == second.fetched


def revisits(store: Path) -> int:
    found = 0
    for path in store.glob("*.warc*"):
        with path.open("rb") as file:
            import io

            import zstandard

            plain = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
        found += sum(1 for _ in ArchiveIterator(io.BytesIO(plain), record_types=WarcRecordType.revisit))
    return found


def look(history: CrawlHistory, url: str, day: float, content: int, outcome: Outcome = Outcome.OK) -> None:
    page = Page(url) if outcome is Outcome.OK else None
    history.learn(FetchRecord(url, parse_address(url).key, outcome, day * DAY, content=content, page=page))


def test_what_changes_comes_sooner_and_what_is_gone_never():
    history = CrawlHistory()
    for day in range(0, 20, 2):
        look(history, "http://a.test/news", day, content=day)
        look(history, "http://a.test/old", day, 7, Outcome.NOT_MODIFIED if day else Outcome.OK)
    look(history, "http://a.test/gone", 1, 1)
    look(history, "http://a.test/gone", 2, 0, Outcome.GONE)
    due = [due.address.path for due in history.select_due(20 * DAY, 1)]
    assert due in ([], ["/news"])
    due = [due.address.path for due in history.select_due(21 * DAY, 2)]
    assert due[:1] == ["/news"]
    assert "/gone" not in [due.address.path for due in history.select_due(900 * DAY, 10)]


@pytest.mark.parametrize("per_day", [1, 3, 100])
def test_no_more_is_due_than_the_budget_of_a_day(per_day):
    history = CrawlHistory()
    for number in range(50):
        look(history, f"http://a.test/{number}", 0, number)
    assert len(history.select_due(10_000 * DAY, per_day)) <= per_day
    assert CrawlHistory().select_due(0.0, per_day) == []


def stale_share(scheduled: bool, pages: int = 120, days: int = 40, budget: int = 60) -> float:
    """Give the share of stale pages over the second half of the time, with a crawl each day."""
    chance = random.Random(3)
    urls = [f"http://a.test/{number}" for number in range(pages)]
    gaps = {url: chance.choice((1.0, 7.0, 30.0, 120.0, 1_000.0)) for url in urls}
    history, stale, total = CrawlHistory(), dict.fromkeys(urls, False), 0.0
    for url in urls:
        look(history, url, 1, 0)
    for day in range(2, days):
        for url, gap in gaps.items():
            stale[url] = stale[url] or chance.random() < 1 / gap
        fixed = [urls[(day * budget + place) % pages] for place in range(budget)]
        chosen = [due.address.url for due in history.select_due(day * DAY, budget)] if scheduled else fixed
        assert len(chosen) <= budget
        for url in chosen:
            look(history, url, day, day if stale[url] else 0)
            stale[url] = False
        total += sum(stale.values()) / pages * (day > days // 2)
    return total / (days - days // 2 - 1)


def test_a_crawl_each_day_keeps_more_pages_fresh_than_going_round():
    fixed, route = stale_share(False), stale_share(True)
    assert route <= 0.7 * fixed, (fixed, route)


def test_several_runs_a_day_share_the_looks_of_a_day():
    history = CrawlHistory()
    for number in range(50):
        look(history, f"http://a.test/{number}", 0, number)
    looked = 0
    for hour in range(1, 25):
        for due in history.select_due((900 + hour / 24) * DAY, 10):
            look(history, due.address.url, 900 + hour / 24, 1)
            looked += 1
    assert looked == 10


def test_nothing_due_has_a_reason():
    history = CrawlHistory()
    assert "no page has been stored" in history.explain_none(0.0, 10)
    for number in range(5):
        look(history, f"http://a.test/{number}", 0, number)
    assert history.select_due(60.0, 1) == []
    assert "5 stored pages, the first is due in about" in history.explain_none(60.0, 1)
    for number in range(5):
        look(history, f"http://a.test/{number}", 1, number)
    assert "crawl.recrawl_per_day allows 5" in history.explain_none(DAY + 60.0, 5)
