"""The parts of the crawl loop, without a network."""

import pytest

from periplus.crawl.crawl_statistics import RateMeter
from periplus.crawl.fetch_records import DuplicateTable, make_page_record, retry_after
from periplus.crawl.outlinks import LIST_KIND, OutlinkExtractor
from periplus.crawl.robots_cache import RobotsCache
from periplus.records import FetchRecord, FetchRequest, FetchResult, Link, Outcome, Page
from periplus.settings import CrawlSettings, ParseSettings
from periplus.url import parse_address

HOME = parse_address("http://www.here.test/")


def fetched(url: str, outcome: Outcome = Outcome.OK, body: bytes = b"", **more) -> FetchResult:
    return FetchResult(FetchRequest(parse_address(url)), outcome, 1000.0, body=body, **more)


def visit(page: Page | None = None, url: str = HOME.url, outcome: Outcome = Outcome.OK, **more) -> FetchRecord:
    return FetchRecord(url, parse_address(url).key, outcome, 1000.0, page=page, **more)


def links(*urls: str, **more) -> Page:
    return Page(HOME.url, links=tuple(Link(url) for url in urls), **more)


def found(outlinks: OutlinkExtractor, found_by: FetchRecord) -> list[str]:
    return [due.address.url for due in outlinks.extract(found_by)]


def test_links_are_filtered():
    outlinks = OutlinkExtractor(CrawlSettings(scope="domain", max_url=64), [HOME])
    page = links(
        "http://www.here.test/a",
        "http://other.here.test/b",
        "http://elsewhere.test/c",
        "http://www.here.test/" + "x" * 100,
        "http://www.here.test/photo.JPG",
        "http://www.here.test/robots.txt",
        "http://www.here.test/a/b/a/b/a/b/a/b/",
        "mailto:me@here.test",
        "http://[broken",
        "http://www.here.test/file.html",
        "http://www.here.test/.gz",
    )
    assert found(outlinks, visit(page)) == [
        "http://www.here.test/a",
        "http://other.here.test/b",
        "http://www.here.test/a/b/a/b/a/b/a/b/",
        "http://www.here.test/file.html",
        "http://www.here.test/.gz",
    ]


def test_what_is_not_followed():
    def outlinks() -> OutlinkExtractor:
        return OutlinkExtractor(CrawlSettings(depth=3), [HOME])

    target = "http://www.here.test/a"
    assert found(outlinks(), visit(links(target))) == [target]
    assert found(outlinks(), visit(links(target), depth=3)) == []
    assert found(outlinks(), visit(links(target, nofollow=True))) == []
    assert found(outlinks(), visit(links(target), duplicate_of="http://www.here.test/b")) == []
    assert found(outlinks(), visit(Page(HOME.url, links=(Link(target, nofollow=True),)))) == []
    assert found(outlinks(), visit(links(target, noindex=True))) == [target]


def test_a_link_too_deep_is_found_again_from_nearer():
    outlinks = OutlinkExtractor(CrawlSettings(depth=3), [HOME])
    assert found(outlinks, visit(links("http://www.here.test/a"), depth=3)) == []
    assert found(outlinks, visit(links("http://www.here.test/a"), depth=2)) == ["http://www.here.test/a"]


def test_redirects_lead_on_but_not_for_ever():
    outlinks = OutlinkExtractor(CrawlSettings(), [HOME])
    moved = visit(outcome=Outcome.REDIRECT, location="http://www.here.test/new", depth=2, hops=4)
    assert [(due.address.path, due.depth, due.hops) for due in outlinks.extract(moved)] == [("/new", 2, 5)]
    assert found(outlinks, visit(outcome=Outcome.REDIRECT, location="http://www.here.test/new", hops=5)) == []
    assert found(outlinks, visit(outcome=Outcome.REDIRECT, location="javascript:x")) == []
    assert found(outlinks, visit(outcome=Outcome.REDIRECT, location="http://far.test/", depth=1)) == []


def test_a_seed_that_moved_takes_its_scope_along():
    outlinks = OutlinkExtractor(CrawlSettings(), [HOME])
    assert found(outlinks, visit(outcome=Outcome.REDIRECT, location="http://far.test/")) == ["http://far.test/"]
    assert found(outlinks, visit(links("http://far.test/x"))) == ["http://far.test/x"]


def test_canonical_and_feeds_are_taken():
    outlinks = OutlinkExtractor(CrawlSettings(), [HOME])
    page = Page(HOME.url, canonical="http://www.here.test/true", feeds=("/feed.xml",))
    assert found(outlinks, visit(page)) == ["http://www.here.test/true", "http://www.here.test/feed.xml"]
    assert parse_address("http://www.here.test/feed.xml").key in outlinks.lists
    assert parse_address("http://www.here.test/true").key not in outlinks.lists
    assert found(OutlinkExtractor(CrawlSettings(feeds=False), [HOME]), visit(page)) == ["http://www.here.test/true"]


def test_lists_of_one_host_are_bounded():
    outlinks = OutlinkExtractor(CrawlSettings(lists_per_host=100), [HOME])
    page = Page(HOME.url, kind=LIST_KIND, feeds=tuple(f"/sitemap-{n}.xml" for n in range(500)))
    assert len(outlinks.extract(visit(page))) == 100
    assert outlinks.cuts == {"lists-of-host": 400}


def test_near_and_plain_urls_rank_higher():
    outlinks = OutlinkExtractor(CrawlSettings(), [HOME])

    def rank(url: str, depth: int) -> float:
        return outlinks.rank(parse_address(url), depth)

    assert rank("http://a.test/", 0) > rank("http://a.test/", 1)
    assert rank("http://a.test/short", 1) > rank("http://a.test/much-longer-than-that-one", 1)
    assert rank("http://a.test/p/x", 1) > rank("http://a.test/p?x=1", 1)
    before = rank("http://famous.test/", 1)
    for number in range(9):
        outlinks.extract(visit(links(f"http://famous.test/{number}")))
    assert rank("http://famous.test/", 1) == before  # out of scope: not counted
    web = OutlinkExtractor(CrawlSettings(scope="web"), [HOME])
    web.extract(visit(links(*(f"http://famous.test/{number}" for number in range(9)))))
    assert web.rank(parse_address("http://famous.test/"), 1) > before


def test_copies_are_told_by_content():
    originals = DuplicateTable()
    body = b"<title>one</title><p>the same words"
    html = (("content-type", "text/html"),)
    first = make_page_record(fetched("http://a.test/1", body=body, headers=html), ParseSettings(), originals)
    originals.learn(first)
    assert first.page is not None
    assert first.page.title == "one"
    second = make_page_record(fetched("http://a.test/2", body=body, headers=html), ParseSettings(), originals)
    assert (second.duplicate_of, second.page, second.content) == ("http://a.test/1", None, first.content)
    again = make_page_record(fetched("http://a.test/1", body=body, headers=html), ParseSettings(), originals)
    assert again.duplicate_of == ""


def test_a_copy_that_names_its_original_gives_way_to_it():
    originals = DuplicateTable()
    body = b'<link rel="canonical" href="http://a.test/true"><p>words'
    html = (("content-type", "text/html"),)
    originals.learn(
        make_page_record(fetched("http://a.test/copy", body=body, headers=html), ParseSettings(), originals)
    )
    true = make_page_record(fetched("http://a.test/true", body=body, headers=html), ParseSettings(), originals)
    assert true.duplicate_of == ""
    assert true.page is not None


def test_what_nobody_reads_is_of_the_wrong_type():
    got = fetched("http://a.test/", body=b"\x89PNG\r\n\x1a\n", headers=(("content-type", "image/png"),))
    assert make_page_record(got, ParseSettings(), DuplicateTable()).outcome is Outcome.WRONG_TYPE


def test_a_sitemap_becomes_links():
    body = b"<urlset><url><loc>http://a.test/x</loc></url></urlset>"
    page = make_page_record(
        fetched("http://a.test/s.xml", body=body), ParseSettings(), DuplicateTable(), as_list=True
    ).page
    assert page is not None
    assert [link.url for link in page.links] == ["http://a.test/x"]
    index = b"<sitemapindex><sitemap><loc>http://a.test/2.xml</loc></sitemap></sitemapindex>"
    page = make_page_record(
        fetched("http://a.test/i.xml", body=index), ParseSettings(), DuplicateTable(), as_list=True
    ).page
    assert page is not None
    assert page.feeds == ("http://a.test/2.xml",)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("9" * 400, 999_999_999.0),
        ("Thu, 99 Jan 99999 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read(text, seconds):
    assert retry_after(fetched("http://a.test/", headers=(("retry-after", text),))) == seconds


ORIGIN = HOME.origin
NO = b"User-agent: *\nDisallow: /secret\nCrawl-delay: 3\n"


def book() -> RobotsCache:
    return RobotsCache("PeriplusBot/0.1 (+x)")


def test_robots_are_asked_for_and_learnt():
    robots = book()
    assert robots.rules(ORIGIN, 0.0) is None
    assert robots.target(HOME).url == "http://www.here.test/robots.txt"
    assert robots.learn(ORIGIN, fetched(HOME.url, body=NO), 0.0) is Outcome.OK
    rules = robots.rules(ORIGIN, 1.0)
    assert rules is not None
    assert (rules.allows("/secret/x"), rules.allows("/open"), rules.delay) == (False, True, 3.0)
    assert robots.rules(ORIGIN, 86_401.0) is None
    again = RobotsCache("PeriplusBot", robots.entries(1.0)).rules(ORIGIN, 1.0)
    assert again is not None
    assert not again.allows("/secret")


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.CLIENT_ERROR])
def test_no_robots_allow_all(outcome):
    robots = book()
    assert robots.learn(ORIGIN, fetched(HOME.url, outcome), 0.0) is Outcome.OK
    rules = robots.rules(ORIGIN, 0.0)
    assert rules is not None
    assert rules.allows("/secret")


@pytest.mark.parametrize("outcome", [Outcome.SERVER_ERROR, Outcome.BUSY, Outcome.DNS, Outcome.TIMEOUT, Outcome.TLS])
def test_unreachable_robots_allow_nothing(outcome):
    robots = book()
    assert robots.learn(ORIGIN, fetched(HOME.url, outcome), 0.0) is outcome
    assert robots.rules(ORIGIN, 0.0) is None


def test_giant_robots_are_read_as_far_as_they_go():
    robots = book()
    assert robots.learn(ORIGIN, fetched(HOME.url, Outcome.TOO_LARGE, NO + b"#" * 600_000), 0.0) is Outcome.OK
    rules = robots.rules(ORIGIN, 0.0)
    assert rules is not None
    assert not rules.allows("/secret")


def test_robots_that_moved_are_followed_five_times():
    robots = book()
    for hop in range(5):
        moved = fetched(HOME.url, Outcome.REDIRECT, location=f"http://www.here.test/{hop}")
        assert robots.learn(ORIGIN, moved, 0.0) is Outcome.REDIRECT
        assert robots.target(HOME).path == f"/{hop}"
    assert robots.learn(ORIGIN, fetched(HOME.url, Outcome.REDIRECT, location="http://x.test/"), 0.0) is Outcome.OK
    assert robots.rules(ORIGIN, 0.0) is not None
    assert robots.target(HOME).path == "/robots.txt"


def test_robots_of_one_origin_serve_another_that_points_to_them():
    robots, bare = book(), parse_address("http://here.test/")
    moved = fetched("http://here.test/robots.txt", Outcome.REDIRECT, location="http://www.here.test/robots.txt")
    assert robots.learn(bare.origin, moved, 0.0) is Outcome.REDIRECT
    assert robots.learn(bare.origin, fetched("http://www.here.test/robots.txt", body=NO), 0.0) is Outcome.OK
    for origin in (bare.origin, ORIGIN):
        rules = robots.rules(origin, 0.0)
        assert rules is not None
        assert not rules.allows("/secret")
    other = parse_address("http://m.here.test/")
    assert robots.learn(other.origin, moved, 0.0) is Outcome.OK
    assert robots.rules(other.origin, 0.0) is not None


def test_the_meter_forgets_old_pages():
    meter = RateMeter()
    for second in range(100):
        meter.count(f"http://a.test/{second}", float(second))
    assert meter.rate(99.0, 0.0) == pytest.approx(1.1)
    assert meter.rate(200.0, 0.0) == 0.0
    assert list(meter.recent)[-1] == "http://a.test/99"
