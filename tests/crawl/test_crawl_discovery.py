"""Where URLs come from: every kind of reference that a page, a header or a feed has, and none that is not one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.crawl import Crawler
from periplus.crawl.fetch_records import DuplicateTable, make_page_record
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import CrawlSettings, ParseSettings
from periplus.url import parse_address

SEED = parse_address("http://a.test/dir/page")


def led_to(markup: str, *headers: tuple[str, str]) -> list[str]:
    fetched = FetchResult(
        FetchRequest(SEED), Outcome.OK, 1.0, 200, (("content-type", "text/html"), *headers), markup.encode()
    )
    outlinks = OutlinkExtractor(CrawlSettings(scope="web"), [SEED])
    return [due.address.url for due in outlinks.extract(make_page_record(fetched, ParseSettings(), DuplicateTable()))]


@pytest.mark.parametrize(
    ("markup", "url"),
    [
        ('<a href="x">', "http://a.test/dir/x"),
        ('<base href="http://b.test/y/"><a href="x">', "http://b.test/y/x"),
        ('<area href="/x">', "http://a.test/x"),
        ("<frameset><frame src=x></frameset>", "http://a.test/dir/x"),
        ('<iframe src="http://b.test/x"></iframe>', "http://b.test/x"),
        ('<link rel="canonical" href="/x">', "http://a.test/x"),
        ('<link rel="alternate" hreflang="de" href="/de/x">', "http://a.test/de/x"),
        ('<link rel="alternate" media="only screen" href="http://m.a.test/x">', "http://m.a.test/x"),
        ('<link rel="next" href="?page=2">', "http://a.test/dir/page?page=2"),
        ('<meta http-equiv="refresh" content="0; url=/x">', "http://a.test/x"),
        ("<meta http-equiv=Refresh content=\"5;URL='x'\">", "http://a.test/dir/x"),
        ('<link rel="alternate" type="application/rss+xml" href="/feed">', "http://a.test/feed"),
        ('<link rel="alternate" type="application/atom+xml" href="/feed">', "http://a.test/feed"),
    ],
)
def test_followed(markup, url):
    assert led_to(markup) == [url]


@pytest.mark.parametrize(
    "markup",
    [
        '<a rel="nofollow" href="/x">',
        '<meta name="robots" content="nofollow"><iframe src="/x"></iframe>',
        '<iframe src="/x" width="0" height="0"></iframe>',
        '<a rel="external NoFollow ugc" href="/x">',
        '<meta name="robots" content="nofollow"><a href="/x">',
        '<meta name="robots" content="none"><a href="/x"><link rel="alternate" hreflang="de" href="/de">',
        '<link rel="alternate stylesheet" href="/style">',
        '<link rel="alternate" type="application/pdf" href="/x">',
        '<link rel="preconnect" href="http://c.test/">',
        '<a href="mailto:a@a.test">',
        '<a href="tel:1">',
        '<a href="data:text/html,x">',
        "<a href='javascript:void(0)'>",
        '<a href="#part">',
        '<a href="blob:http://a.test/1">',
        '<a href="//">',
        "<!-- <a href=/x> -->",
        '<script>document.write("<a href=/x>")</script>',
    ],
)
def test_not_followed(markup):
    assert [url for url in led_to(markup) if url != SEED.url] == []


def test_a_header_can_forbid_following():
    assert led_to('<a href="/x">', ("x-robots-tag", "nofollow")) == []
    assert led_to('<a href="/x">', ("x-robots-tag", "otherbot: nofollow")) == ["http://a.test/x"]


ATTRIBUTES = (
    '<a href="{}">',
    '<base href="{}"><a href="x">',
    '<link rel="canonical" href="{}">',
    '<link rel="alternate" hreflang="x" href="{}">',
    '<link rel="alternate" type="application/rss+xml" href="{}">',
    '<meta http-equiv="refresh" content="0;url={}">',
    '<img src="{}">',
    '<iframe src="{}">',
    '<area href="{}">',
    '<video src="{}"><source src="{}">',
    '<form action="{}"><input name="q"></form>',
)
NASTY = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "http://[::1",
            "http://a:99999/",
            "http://%zz/",
            "http:///x",
            "\\\\a\\b",
            "http://\x00/",
            "http://\ud800.test/",
            "//\ufffd",
            "http://a.test:-1/",
            "http://user:pass@a.test/",
            "http://0x7f.1/",
            "http://" + "a" * 300 + ".test/",
            "/" + "x" * 9_000,
            "?" + "a=b&" * 3_000,
            "../" * 2_000,
            "http://xn--/",
            "https:a",
            "HTTP://A.TEST/%",
            "http://a.test/\r\nSet-Cookie: x",
        ]
    ),
)


@given(st.sampled_from(ATTRIBUTES), NASTY)
def test_malformed_urls_of_every_attribute_are_ordinary(attribute, nasty):
    """Whatever stands in an attribute, the page is read, and what it leads to is a URL in canonical form."""
    markup = attribute.replace("{}", nasty)
    fetched = FetchResult(
        FetchRequest(SEED), Outcome.OK, 1.0, 200, (("content-type", "text/html"),), markup.encode("utf-8", "replace")
    )
    outlinks = OutlinkExtractor(CrawlSettings(scope="web", forms=5), [SEED])
    visit = make_page_record(fetched, ParseSettings(), DuplicateTable(), forms=True)
    assert visit.outcome is Outcome.OK
    for due in outlinks.extract(visit):
        assert due.address == parse_address(due.address.url)
        assert len(due.address.url) <= CrawlSettings().max_url
        assert not set(due.address.url) & set("\r\n\0 ")


def test_feeds_and_language_versions_are_followed_in_a_crawl(scripted, tmp_path):
    scripted.put(
        "http://a.test/",
        '<link rel="alternate" hreflang="fr" href="/fr">'
        '<link rel="alternate" type="application/atom+xml" href="/feed">',
    )
    scripted.put("http://a.test/fr", "<p>Bonjour le monde")
    entries = '<entry><link href="/one"/></entry><entry><link href="http://a.test/two"/></entry>'
    scripted.put("http://a.test/feed", f"<feed>{entries}</feed>", "application/atom+xml")
    scripted.put("http://a.test/one", "<p>one")
    scripted.put("http://a.test/two", "<p>two")
    Crawler(tmp_path / "data", scripted.settings(tmp_path, "a.test"), ["http://a.test/"]).run()
    assert set(scripted.requests) == {f"http://a.test/{path}" for path in ("", "fr", "feed", "one", "two")}


def test_what_a_page_only_shows_waits_behind_what_it_names():
    markup = "<a href=http://b.test/one>One</a><iframe src=http://c.test/one></iframe>"
    fetched = FetchResult(FetchRequest(SEED), Outcome.OK, 1.0, 200, (("content-type", "text/html"),), markup.encode())
    outlinks = OutlinkExtractor(CrawlSettings(scope="web"), [SEED])
    dues = outlinks.extract(make_page_record(fetched, ParseSettings(), DuplicateTable()))
    ranks = {due.address.host: due.rank for due in dues}
    assert ranks["b.test"] > ranks["c.test"]
    assert outlinks.links_to_host == {"b.test": 1}
