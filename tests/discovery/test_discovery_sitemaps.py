"""Sitemaps and feeds: every form, the public examples, and hostile ones."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.discovery import parse_feed, parse_sitemap

SUITE = Path(__file__).parents[3] / "shared" / "data" / "suites" / "sitemaps"
URLSET = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<url><loc> http://a.example/1?x=1&amp;y=2 </loc><image:image><image:loc>http://a.example/1.png</image:loc></image:image></url>
<url><loc><![CDATA[http://a.example/2]]></loc></url>
<url><loc>ftp://a.example/3</loc></url>
</urlset>"""
INDEX = b"""<sitemapindex><sitemap><loc>http://a.example/s1.xml</loc></sitemap><sitemap>http://a.example/s2.xml</sitemap>
</sitemapindex>"""
LAUGHS = (
    b"""<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>"""
)
OUTSIDE = b"""<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>"""


def test_urlset() -> None:
    sitemap = parse_sitemap(URLSET)
    assert sitemap.pages == ("http://a.example/1?x=1&y=2", "http://a.example/2")
    assert (sitemap.sitemaps, sitemap.problem) == ((), "")
    assert parse_sitemap(gzip.compress(URLSET)) == sitemap
    assert parse_sitemap(URLSET.decode().replace("UTF-8", "UTF-16").encode("utf-16")) == sitemap
    assert parse_sitemap(b"\xef\xbb\xbf" + URLSET) == sitemap


def test_language_versions() -> None:
    body = b"""<urlset xmlns:xhtml="x"><url><loc>http://a.example/en</loc><lastmod>2026-01-01T00:00:00Z</lastmod>
    <xhtml:link rel="alternate" hreflang="de" href="http://a.example/de"/>
    <xhtml:link rel="alternate" hreflang="fr" href="javascript:x"/><xhtml:link rel="canonical" href="http://a.example/c"/>
    </url></urlset>"""
    sitemap = parse_sitemap(body)
    assert sitemap.pages == ("http://a.example/en", "http://a.example/de")
    assert sitemap.changed == (20454 * 86_400.0, 0.0)


def test_index() -> None:
    assert parse_sitemap(INDEX).sitemaps == ("http://a.example/s1.xml", "http://a.example/s2.xml")


def test_text() -> None:
    sitemap = parse_sitemap(b"\xef\xbb\xbfhttp://a.example/1\r\n\r\nhttps://a.example/2\nnonsense\n")
    assert sitemap.pages == ("http://a.example/1", "https://a.example/2")
    assert sitemap.problem == ""


@pytest.mark.parametrize("body", [LAUGHS, OUTSIDE])
def test_entities_are_refused(body: bytes) -> None:
    sitemap = parse_sitemap(body)
    assert sitemap.pages == ()
    assert "internal subset" in sitemap.problem


def test_a_large_sitemap_with_default_attributes_is_refused_where_they_begin() -> None:
    names = b" ".join(b"a%d CDATA 'v'" % number for number in range(1_000))
    body = b"<!DOCTYPE urlset [<!ATTLIST url " + names + b">]><urlset>" + b"<url/>" * 600_000 + b"</urlset>"
    for packed in (body, gzip.compress(body, 1)):
        sitemap = parse_sitemap(packed)
        assert sitemap.pages == ()
        assert "'urlset' has an internal subset" in sitemap.problem


def test_what_came_before_a_fault_is_kept() -> None:
    sitemap = parse_sitemap(URLSET[: URLSET.index(b"<url><loc>ftp")])
    assert len(sitemap.pages) == 2
    assert "well-formed" in sitemap.problem
    packed = gzip.compress(URLSET)
    assert "early" in parse_sitemap(packed[:-12]).problem
    assert parse_sitemap(b"\x1f\x8bnonsense").problem == "broken gzip"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html><body>not found</body></html>", "neither"),
        (b"", "no line"),
        (b"<a>" * 100_000, "deeply"),
        (b"<?xml version='1.0' encoding='nonsense'?><urlset/>", "encoding"),
        (b"<urlset>" + b"<url><loc>http://a.example/%d</loc></url>" * 60_000, "well-formed"),
        (gzip.compress(b"\n" * 60_000_000, mtime=0), "longer"),
    ],
    ids=range(6),
)
def test_refused_with_a_reason(body: bytes, reason: str) -> None:
    assert reason in parse_sitemap(body).problem


def test_endless_lists_are_cut() -> None:
    body = b"<urlset>" + b"".join(b"<url><loc>http://a.example/%d</loc></url>" % n for n in range(50_100))
    sitemap = parse_sitemap(body)
    assert len(sitemap.pages) == 50_000
    assert "more entries" in sitemap.problem


def feed_links(body: bytes) -> tuple[str, ...]:
    feed = parse_feed(body)
    assert feed is not None
    return tuple(feed.dated_links())


def test_rss() -> None:
    body = b"""<rss version="2.0"><channel><title>T</title><link>http://a.example/</link>
    <item><title>1</title><link>http://a.example/1</link><guid>http://a.example/g1</guid></item>
    <item><guid>http://a.example/2</guid></item><item><guid isPermaLink="false">tag:3</guid></item></channel></rss>"""
    assert feed_links(body) == ("http://a.example/1", "http://a.example/2")
    assert parse_sitemap(body).pages == feed_links(body)


def test_atom_and_rdf() -> None:
    atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/"/><entry><link href="/1"/>
    <link rel="edit" href="/edit"/></entry><entry><link rel="alternate" href="http://a.example/2"/></entry></feed>"""
    assert feed_links(atom) == ("/1", "http://a.example/2")
    rdf = b"""<rdf:RDF xmlns:rdf="r" xmlns="n"><item rdf:about="http://a.example/1"><title>x</title></item></rdf:RDF>"""
    assert feed_links(rdf) == ("http://a.example/1",)


@given(st.one_of(st.binary(), st.binary().map(gzip.compress), st.binary().map(lambda body: b"<urlset><url>" + body)))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_sitemap(body)
    parse_feed(body)


@pytest.mark.data
def test_public_examples_are_read_or_refused_with_a_reason() -> None:
    if not SUITE.exists():
        pytest.skip("needs ../shared/data/suites/sitemaps")
    seen = 0
    for path in sorted(path for path in SUITE.rglob("*") if path.is_file()):
        sitemap = parse_sitemap(path.read_bytes())
        assert sitemap.pages or sitemap.sitemaps or sitemap.problem, path.name
        seen += bool(sitemap.pages or sitemap.sitemaps)
    assert seen >= 10
    assert len(parse_sitemap((SUITE / "sitemap.ns.xml").read_bytes()).pages) >= 2
    assert len(parse_sitemap((SUITE / "sitemap.index.xml").read_bytes()).sitemaps) >= 5
    assert parse_sitemap((SUITE / "atom.xml").read_bytes()).pages[0] == "http://example.org/2003/12/13/atom03"


def test_a_sitemap_with_as_many_entries_as_the_protocol_allows_is_read_whole() -> None:
    entry = "<url><loc>http://a.example/page/%d</loc><lastmod>2026-01-02</lastmod>%s</url>"
    other = '<xhtml:link rel="alternate" hreflang="de" href="http://a.example/de/%d"/>'
    body = "".join(entry % (number, other % number) for number in range(50_000)).encode()
    whole = parse_sitemap(b"<urlset>" + body + b"</urlset>")
    assert (len(whole.pages), whole.problem, whole.changed[-1] > 0) == (50_000, "", True)
    more = parse_sitemap(b"<urlset>" + body + b"<url><loc>http://a.example/more</loc></url></urlset>")
    assert (more.pages, more.problem) == (whole.pages, "more entries than are read")
    lines = [b"http://a.example/%d" % number for number in range(50_001)]
    assert parse_sitemap(b"\n".join(lines[:-1])).problem == ""
    assert parse_sitemap(b"\n".join(lines)).problem == "more entries than are read"


def test_members_of_gzip_are_read_one_after_the_other_and_packed_twice() -> None:
    half = len(URLSET) // 2
    members = gzip.compress(URLSET[:half]) + gzip.compress(URLSET[half:])
    assert parse_sitemap(members) == parse_sitemap(URLSET) == parse_sitemap(gzip.compress(members))
