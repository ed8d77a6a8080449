"""Media and news beside the text: kept within bounds, carried through merges, found by the tabs."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from periplus.errors import CorruptFile
from periplus.hashing import fingerprint_text
from periplus.index import (
    EXTRAS,
    Index,
    LiveIndex,
    build_index,
    check_index,
    documents_with,
    read_media,
    repair_index,
)
from periplus.index.builder.document_batches import NullDocumentSignals
from periplus.index.builder.feed_dates import FeedDates
from periplus.index.document_fields import make_document
from periplus.index.live import live_index as live_module
from periplus.index.media_file import is_news, select_media
from periplus.index.merge.segment_merger import merge_segments
from periplus.records import LIST_KIND, FetchRecord, Link, Media, Outcome, Page, Query
from periplus.search import Searcher
from periplus.settings import Settings

SETTINGS = Settings()
DAY = 86_400.0
NOW = 20_000 * DAY


def visit(number: int, media: tuple[Media, ...] = (), published: str = "", feeds: tuple[str, ...] = ()) -> FetchRecord:
    url = f"https://coast{number}.example/{number}"
    text = f"The lighthouse keeper number {number} writes about tide{number} and the sea."
    page = Page(
        url,
        title=f"Keeper {number}",
        text=text,
        language="en",
        media=media,
        published=published,
        feeds=feeds,
    )
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, NOW, status=200, page=page)


def picture(number: int, kind: str = "image") -> Media:
    return Media(f"https://coast.example/p{number}.jpg", kind, f"lamp {number}")


def pages(count: int) -> list[FetchRecord]:
    """Every third shows pictures, every fourth is news."""
    return [
        visit(
            n,
            tuple(picture(10 * n + k) for k in range(3)) if n % 3 == 0 else (),
            str(date.today() - timedelta(days=n)) if n % 4 == 0 else "",
            ("https://coast.example/feed",) if n % 4 == 0 else (),
        )
        for n in range(count)
    ]


def shown(index: Index) -> dict[str, list[str]]:
    found = {}
    for segment in index.segments:
        for document in range(segment.documents):
            if segment.is_live[document]:
                media = read_media(segment, document)
                found[segment.string("url", document)] = [one.url for one in media]
    return found


def having(index: Index, what: str) -> set[str]:
    return {
        segment.string("url", int(document))
        for segment in index.segments
        for document in documents_with(segment, what)
        if segment.is_live[document]
    }


def test_what_is_kept_is_bounded() -> None:
    many = tuple(picture(n) for n in range(100))
    odd = (
        Media("https://x.example/t.vtt", "track", "words"),
        Media("https://x.example/silent.jpg", "image", " "),
        Media("https://x.example/" + "a" * 600, "image", "long"),
        Media("https://x.example/a.mp3", "audio", "w" * 1000),
    )
    assert len(select_media(Page("u", media=many))) == 8
    kept = select_media(Page("u", media=odd))
    assert [one.kind for one in kept] == ["audio"]
    assert len(kept[0].text) == 160


def test_news_has_a_date_and_a_feed() -> None:
    assert is_news(Page("u", published="2024-01-01", feeds=("f",)))
    assert not is_news(Page("u", published="2024-01-01"))
    assert not is_news(Page("u", feeds=("f",)))


def test_a_segment_without_any_has_no_file(tmp_path: Path) -> None:
    build_index([visit(1)], tmp_path, SETTINGS.index, workers=1)
    assert not list(tmp_path.glob("seg-*/extras.arrays"))
    index = Index.open(tmp_path)
    assert all(len(documents_with(index.segments[0], what)) == 0 for what in EXTRAS)
    assert read_media(index.segments[0], 0) == ()


def test_they_are_there_after_building_and_after_merging(tmp_path: Path) -> None:
    visits = pages(150)
    build_index(visits, tmp_path / "whole", SETTINGS.index, workers=1)
    with LiveIndex(tmp_path / "parts", SETTINGS.index) as live:
        for begin in range(0, 150, 15):
            for one in visits[begin : begin + 15]:
                live.add(one)
            live.publish()
        live.merge()
    whole, parts = Index.open(tmp_path / "whole"), Index.open(tmp_path / "parts")
    assert len(parts.segments) < 10
    expected = {one.url: [media.url for media in one.page.media] for one in visits if one.page is not None}
    for index in (whole, parts):
        assert shown(index) == expected
        assert having(index, "media") == {url for url, media in expected.items() if media}
        assert having(index, "news") == {one.url for n, one in enumerate(visits) if n % 4 == 0}


def test_a_damaged_pack_is_named(tmp_path: Path) -> None:
    build_index(pages(12), tmp_path, SETTINGS.index, workers=1)
    path = next(tmp_path.glob("seg-*/extras.arrays"))
    raw = bytearray(path.read_bytes())
    raw[-64:] = bytes(64)
    path.write_bytes(raw)
    with pytest.raises(CorruptFile, match="extras"):
        Index.open(tmp_path)


def test_the_tabs_find_them(tmp_path: Path) -> None:
    build_index(pages(60), tmp_path / "index", SETTINGS.index, workers=1)
    searcher = Searcher.open(tmp_path, SETTINGS)
    assert {"media", "news"} <= searcher.statistics().kinds
    media = searcher.search(Query("lighthouse", having="media", size=50, folded=False))
    assert media.total == 20
    assert all(len(hit.media) == 3 for hit in media.hits)
    news = searcher.search(Query("lighthouse", having="news", size=50, folded=False))
    assert news.total == 15
    days = [hit.day for hit in news.hits]
    assert days[0] == max(days)
    assert sum(days[:5]) > sum(days[-5:]), "the newer come before the older, if they fit about as well"
    assert all(not hit.media for hit in searcher.search(Query("lighthouse")).hits)


def feed(number: int, *urls: str, changed: float = NOW, title: str = "") -> FetchRecord:
    url = f"https://coast{number}.example/feed.xml"
    links = tuple(Link(f"{one}?utm_source=feed") for one in urls)
    page = Page(url, title=title, links=links, kind=LIST_KIND, noindex=True, changed=(changed,) * len(urls))
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, NOW, status=200, page=page)


def test_what_a_feed_names_is_news_of_its_day(tmp_path: Path) -> None:
    home = visit(0, feeds=("https://coast0.example/feed.xml",))
    named, later, other = visit(1), visit(2), visit(3)
    sitemap = feed(9, other.url)
    visits = [home, named, feed(0, named.url, later.url, changed=19_000 * DAY), later, sitemap, other]
    build_index(visits, tmp_path / "whole", SETTINGS.index, workers=1)
    with LiveIndex(tmp_path / "live", SETTINGS.index) as live:
        for one in visits:
            live.add(one)
        live.publish()
    whole, live_index = Index.open(tmp_path / "whole"), Index.open(tmp_path / "live")
    assert having(whole, "news") == {named.url, later.url}, "whichever came first; a sitemap names no news"
    assert having(live_index, "news") == {named.url, later.url}
    segment = whole.segments[0]
    days = {segment.string("url", n): int(segment.column("day")[n]) for n in range(segment.documents)}
    assert days[later.url] == 19_000
    assert days[other.url] == 20_000


def test_feeds_are_remembered_within_bounds() -> None:
    feeds = FeedDates(max_entries=3)
    urls = [f"https://a.example/{n}" for n in range(10)]
    feeds.read_record(feed(0, *urls, title="News"))
    marked = [
        feeds.date_document(make_document(visit(0), "en", "")._replace(key=fingerprint_text(url))).news for url in urls
    ]
    assert marked == [False] * 7 + [True] * 3


def dated(index: Index) -> dict[str, int]:
    return {
        segment.string("url", n): int(segment.column("day")[n])
        for segment in index.segments
        for n in range(segment.documents)
        if segment.is_live[n]
    }


def test_a_feed_reaches_pages_that_were_found_before_it(tmp_path: Path) -> None:
    """In a live index: the page is in a segment of its own, committed, when its feed comes."""
    early, other, late = visit(1), visit(2), visit(3)
    searcher = None
    with LiveIndex(tmp_path / "index", SETTINGS.index, background=False) as live:
        live.add(visit(0, feeds=("https://coast0.example/feed.xml",)))
        live.add(early)
        live.add(other)
        live.publish()
        searcher = Searcher.open(tmp_path, SETTINGS)
        assert "news" not in searcher.statistics().kinds
        live.add(feed(0, early.url, late.url, changed=19_000 * DAY))
        assert live.publish(), "though there is no new page"
        assert not live.publish(), "once is enough"
        assert searcher.refresh()
        assert "news" in searcher.statistics().kinds
        news = searcher.search(Query("lighthouse", having="news"))
        assert [(hit.url, hit.day) for hit in news.hits] == [(early.url, 19_000)]
        live.add(feed(0, early.url, late.url, changed=19_000 * DAY))
        assert not live.publish(), "a feed that says the same again changes nothing"
        live.add(feed(0, early.url, changed=19_500 * DAY))
        live.publish()
        assert dated(Index.open(tmp_path / "index"))[early.url] == 19_500
    with LiveIndex(tmp_path / "index", SETTINGS.index, background=False) as live:
        live.add(late)  # the feed was read in the run before
        live.publish()
        index = Index.open(tmp_path / "index")
        assert having(index, "news") == {early.url, late.url}
        live.rebuild(lambda start: [visit(0), early, other, late][start:], NullDocumentSignals())
    index = Index.open(tmp_path / "index")
    assert having(index, "news") == {early.url, late.url}, "what feeds said is not lost with their visits"
    assert dated(index) == {visit(0).url: 20_000, other.url: 20_000, early.url: 19_500, late.url: 19_000}
    assert not check_index(tmp_path / "index")


def test_late_news_goes_through_merges(tmp_path: Path) -> None:
    with LiveIndex(tmp_path, SETTINGS.index, background=False) as live:
        for number in range(30):
            live.add(visit(number))
            live.publish()
        live.add(feed(0, *(visit(n).url for n in range(0, 30, 2)), changed=18_000 * DAY, title="News"))
        live.publish()
        before = Index.open(tmp_path)
        assert live.merge()
        after = before.reopen()
        expected = {visit(n).url for n in range(0, 30, 2)}
        assert having(before, "news") == having(after, "news") == expected
        assert len(after.segments) < len(before.segments)
        assert dated(after) == dated(before)
        live.delete(visit(0).url)
        live.add(feed(0, visit(0).url, visit(1).url, title="News"))
        live.publish()
        assert having(after.reopen(), "news") == (expected | {visit(1).url}) - {visit(0).url}


def test_what_a_feed_says_while_segments_merge_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LiveIndex(tmp_path, SETTINGS.index, background=False) as live:
        for number in range(10):
            live.add(visit(number))
            live.publish()
        really = merge_segments

        def merge_slowly(*given: Any) -> Any:
            done = really(*given)
            live.add(feed(0, visit(4).url, changed=18_000 * DAY, title="News"))
            live.publish()
            return done

        monkeypatch.setattr(live_module, "merge_segments", merge_slowly)
        assert live.merge()
    index = Index.open(tmp_path)
    assert len(index.segments) == 1
    assert having(index, "news") == {visit(4).url}
    assert dated(index)[visit(4).url] == 18_000


def test_a_build_in_parts_marks_pages_that_came_before_their_feed(tmp_path: Path) -> None:
    """Small memory makes a segment of a few pages; the feed comes in the last."""
    few = msgspec.structs.replace(SETTINGS.index, memory_mb=1)
    plenty = [visit(n) for n in range(2_000)]
    named = [plenty[n].url for n in (0, 700, 1_999)]
    build_index([*plenty, feed(0, *named, title="News", changed=18_000 * DAY)], tmp_path, few, workers=1)
    index = Index.open(tmp_path)
    assert having(index, "news") == set(named)
    assert {dated(index)[url] for url in named} == {18_000}
    build_index([feed(0, plenty[5].url, title="News")], tmp_path, few, append=True, workers=1)
    build_index([visit(3_000)], tmp_path, few, append=True, workers=1)
    build_index([feed(0, visit(3_000).url, title="News"), visit(3_001)], tmp_path, few, append=True, workers=1)
    assert having(Index.open(tmp_path), "news") == {*named, plenty[5].url, visit(3_000).url}


def test_damaged_late_news_is_named_and_found_again(tmp_path: Path) -> None:
    visits = [visit(1), visit(2)]
    with LiveIndex(tmp_path, SETTINGS.index, background=False) as live:
        live.add(visits[0])
        live.publish()
        live.add(feed(0, visits[0].url, title="News"))
        live.publish()
    path = next(tmp_path.glob("news-*.arrays"))
    raw = bytearray(path.read_bytes())
    raw[-64:] = b"\xff" * 64
    path.write_bytes(raw)
    assert check_index(tmp_path)
    with pytest.raises(CorruptFile, match="news"):
        Index.open(tmp_path)
    assert repair_index(visits[:1], tmp_path, SETTINGS.index).faults
    assert having(Index.open(tmp_path), "news") == {visits[0].url}


def test_a_torn_or_foreign_log_of_feeds_is_read_as_far_as_it_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "feeds.log"
    feeds = FeedDates(path)
    urls = [f"https://a.example/{n}" for n in range(10)]
    feeds.read_record(feed(0, *urls, title="News"))
    keys, days = feeds.append_log()
    assert sorted(keys.tolist()) == sorted(fingerprint_text(url) for url in urls)
    assert set(days.tolist()) == {20_000}
    whole = path.read_bytes()
    path.write_bytes(b"\x07" * 32 + whole[:-5])
    again = FeedDates(path)
    assert len(again.dated_pages()[0]) == 9
    again.read_record(feed(0, *urls, title="News"))
    again.append_log()
    assert FeedDates(path).dated_pages()[0].tolist() == feeds.dated_pages()[0].tolist()


def test_the_log_of_feeds_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "feeds.log"
    feeds = FeedDates(path, max_entries=10)
    for day in range(100):
        feeds.read_record(
            feed(0, *(f"https://a.example/{day}-{n}" for n in range(5)), title="News", changed=DAY * (day + 1))
        )
        feeds.append_log()
    assert path.stat().st_size <= 16 * 45
    assert FeedDates(path, max_entries=10).dated_pages()[0].tolist() == feeds.dated_pages()[0].tolist()
