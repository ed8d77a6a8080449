"""What a limit cuts is kept as far as it goes, and named with its count and its setting."""

import gzip

import msgspec

from periplus.crawl import CrawlControl, Crawler
from periplus.crawl.inspection.cuts import Cut, sum_cuts
from periplus.records import Outcome
from periplus.store import PageStore

SEED = "http://a.test/"


def change(settings, **sections):
    """Return settings with some fields of some sections replaced."""
    changed = {name: msgspec.structs.replace(getattr(settings, name), **fields) for name, fields in sections.items()}
    return msgspec.structs.replace(settings, **changed)


def counts(statistics) -> dict[str, int]:
    return {cut.kind: cut.count for cut in statistics.cuts}


def test_the_beginning_of_a_long_page_is_stored_parsed_and_marked(scripted, tmp_path):
    long = "<title>Long</title><p>first words <a href='/b'>b</a>" + "<p>more of it" * 10_000 + "<a href='/end'>end</a>"
    scripted.put(SEED, long)
    scripted.put("http://a.test/b", gzip.compress(long.replace("Long", "Packed").encode()), Content_Encoding="gzip")
    settings = change(scripted.settings(tmp_path, "a.test"), fetch={"max_bytes": 50_000})
    statistics = Crawler(tmp_path / "data", settings, [SEED]).run()
    assert scripted.requests == [SEED, "http://a.test/b"]
    assert (statistics.pages, counts(statistics)) == (2, {"bodies": 2})
    assert "2 pages are longer than is read" in statistics.cuts[0].text
    assert "(fetch.max_bytes = 50000)" in statistics.cuts[0].text
    with PageStore.open(tmp_path / "data" / "store", settings.store) as store:
        for record in store.records():
            assert (record.outcome, record.truncated, record.bytes) == (Outcome.OK, True, 50_000)
            assert record.page is not None
            assert record.page.text.startswith("first words")
            assert store.read_response(record).body == long.replace("Long", record.page.title).encode()[:50_000]


def test_a_document_that_cannot_be_read_without_its_end_is_counted(scripted, tmp_path):
    scripted.put(SEED, "<a href='/a.pdf'>a</a>")
    scripted.put("http://a.test/a.pdf", b"%PDF-1.4\n" + b"x" * 90_000, "application/pdf")
    settings = change(scripted.settings(tmp_path, "a.test"), fetch={"max_bytes": 50_000})
    statistics = Crawler(tmp_path / "data", settings, [SEED]).run()
    assert (statistics.errors, counts(statistics)) == ({"too-large": 1}, {"too-large": 1})


def test_a_sitemap_longer_than_a_page_is_read_whole(scripted, tmp_path):
    rows = "".join(f"<url><loc>http://a.test/{'long/' * 9}{number}</loc></url>" for number in range(2_000))
    scripted.put("http://a.test/robots.txt", "Sitemap: http://a.test/map.xml", "text/plain")
    scripted.put(SEED, "<p>start")
    scripted.put("http://a.test/map.xml", f"<urlset>{rows}</urlset>", "text/xml")
    settings = scripted.settings(tmp_path, "a.test", host_requests_per_day=5)
    settings = change(settings, fetch={"max_bytes": 50_000})
    statistics = Crawler(tmp_path / "data", settings, [SEED]).run()
    assert (statistics.seen, counts(statistics)) == (2_002, {"host-day": 1_997})


def test_links_beyond_the_limit_come_last_and_lists_beyond_theirs_are_counted(scripted, tmp_path):
    maps = "".join(f"Sitemap: http://a.test/{number}.xml\n" for number in range(5))
    scripted.put("http://a.test/robots.txt", maps, "text/plain")
    scripted.put(SEED, "".join(f"<a href='/{number}'>x</a>" for number in range(12)))
    for number in range(12):
        scripted.put(f"http://a.test/{number}", f"<p>page {number}<a href='/last'>last</a>")
    scripted.put("http://a.test/last", "<p>last")
    for number in range(5):
        scripted.put(f"http://a.test/{number}.xml", f"<urlset><url><loc>{SEED}</loc></url></urlset>", "text/xml")
    settings = scripted.settings(tmp_path, "a.test", lists_per_host=2, depth=1)
    settings = change(settings, parse={"max_links": 4, "max_deferred_links": 6})
    statistics = Crawler(tmp_path / "data", settings, [SEED]).run()
    followed = [url for url in scripted.requests if not url.endswith("xml")]
    assert followed[0] == SEED
    assert set(followed[1:5]) == {f"http://a.test/{number}" for number in range(4)}
    assert set(followed[5:]) == {f"http://a.test/{number}" for number in range(4, 10)}
    assert counts(statistics) == {"links": 1, "deferred-links": 6, "depth": 10, "lists-of-host": 3}


def test_what_waits_behind_the_limit_of_a_host_is_named_also_in_another_process(scripted, tmp_path):
    scripted.put(
        SEED, "".join(f"<a href='/{number}'>x</a>" for number in range(40)) + f"<a href='/{'x' * 2_000}'>y</a>"
    )
    for number in range(40):
        scripted.put(f"http://a.test/{number}", f"<p>page {number} of its own")
    settings = scripted.settings(tmp_path, "a.test", host_pages=10)
    for _ in range(2):  # the second time it continues
        statistics = Crawler(tmp_path / "data", settings, [SEED]).run()
        assert (statistics.pages, statistics.waiting, statistics.behind) == (10, 0, 31)
        assert counts(statistics) == {"host-pages": 31, "long-urls": 1}
        cut = statistics.cuts[-1]
        assert (cut.hosts, cut.setting, cut.limit) == (("a.test",), "crawl.host_pages", 10.0)
        assert "31 URLs wait behind the limit of pages of their hosts (crawl.host_pages = 10): a.test." in cut.text
    status = CrawlControl(tmp_path / "data").status()
    assert [cut["text"] for cut in status["cuts"]] == [cut.text for cut in statistics.cuts]


def test_hosts_and_requests_under_way_are_shown(scripted, tmp_path):
    scripted.put(SEED, "".join(f"<a href='http://b.test/{number}'>x</a>" for number in range(9)))
    settings = scripted.settings(tmp_path, "a.test", "b.test", scope="web", host_requests_per_day=4)
    with Crawler(tmp_path / "data", settings, [SEED]) as crawler:
        seen = set[str]()
        while crawler.step():
            seen |= {url for url, seconds, received in crawler.statistics().under_way if seconds >= 0 <= received}
    assert {url for url in seen if not url.endswith("robots.txt")} <= set(scripted.requests)
    rows = CrawlControl(tmp_path / "data").status()["host_rows"]
    assert [(row["host"], row["state"], row["waiting"], row["fetched"], row["errors"]) for row in rows] == [
        ("b.test", "suspended", 5, 0, 4),
        ("a.test", "empty", 0, 1, 0),
    ]


def test_cuts_of_shards_are_summed():
    first = Cut("host-pages", 3, "URLs wait", "crawl.host_pages", 10, ("a", "b", "c"), 1)
    second = Cut("host-pages", 4, "URLs wait", "crawl.host_pages", 10, ("d", "e", "f"))
    summed = sum_cuts([[first], [second, Cut("depth", 1, "pages", "crawl.depth", 5)]])
    assert summed[0].text == "7 URLs wait (crawl.host_pages = 10): a, b, c, d, e and 2 more."
    assert [cut.count for cut in summed] == [7, 1]
