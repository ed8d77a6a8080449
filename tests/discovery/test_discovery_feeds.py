"""Feeds as entries: what each of them refers to, in RSS 2.0, RSS 1.0 and Atom, complete or cut off."""

from periplus.discovery import Enclosure, Feed, FeedEntry, parse_feed

DAY = 86_400.0
PODCAST = b"""<rss xmlns:media="m" xmlns:atom="a"><channel><title>Tides</title><link>http://a.example/</link>
<textInput><title>Search</title><name>q</name></textInput><itunes:author>Ada</itunes:author>
<pubDate>Thu, 05 Mar 2026 00:00:00 GMT</pubDate>
<item><title>One</title><link>/1</link><atom:link href="/other"/><description>&lt;p&gt;Words&lt;/p&gt;</description>
<pubDate>Wed, 04 Mar 2026 00:00:00 GMT</pubDate><enclosure url="/1.mp3" type="audio/mpeg"/>
<media:group><media:thumbnail url="/1.png"/><media:content url="/1.mp4" medium="video"/></media:group></item>
<item><guid isPermaLink="false">http://a.example/not-a-page</guid><title>Two</title></item>
</channel></rss>"""
ATOM = b"""<feed><title>Log</title><subtitle>Of tides</subtitle><author><name>Ada</name></author>
<updated>2026-03-05</updated>
<entry><title>One</title><link href=" /1 "/><link rel="edit" href="/edit"/><link rel="enclosure" href="/1.mp3"/>
<published>2026-03-04T00:00:00Z</published><updated>2026-03-05T00:00:00Z</updated>
<source><title>Elsewhere</title><link href="http://b.example/"/><updated>2027-01-01T00:00:00Z</updated></source>
<content type="xhtml"><div>Words <b>in</b> markup</div></content></entry>
<entry><id>http://a.example/2</id></entry><entry><id>tag:3</id></entry></feed>"""


def feed_of(body: bytes, max_entries: int = 100) -> Feed:
    feed = parse_feed(body, max_entries)
    assert feed is not None
    return feed


def test_entries_of_rss() -> None:
    feed = feed_of(PODCAST)
    assert (feed.title, feed.author, feed.date, feed.problem) == ("Tides", "Ada", "Thu, 05 Mar 2026 00:00:00 GMT", "")
    enclosures = (Enclosure("/1.mp3", "audio/mpeg"), Enclosure("/1.png", "image"), Enclosure("/1.mp4", "video"))
    assert feed.entries == (
        FeedEntry(("/1",), "One", "<p>Words</p>", 20516 * DAY, enclosures),
        FeedEntry((), "Two"),
    )


def test_entries_of_atom() -> None:
    feed = feed_of(ATOM)
    assert (feed.title, feed.description, feed.author, feed.date) == ("Log", "Of tides", "Ada", "2026-03-05")
    first = FeedEntry(("/1",), "One", "Words in markup", 20517 * DAY, (Enclosure("/1.mp3", ""),))
    assert feed.entries == (first, FeedEntry(("http://a.example/2",)), FeedEntry())


def test_links_before_a_fault_count() -> None:
    feed = feed_of(PODCAST[: PODCAST.index(b"<description>")])
    assert [entry.links for entry in feed.entries] == [("/1",)]
    assert "well-formed" in feed.problem


def test_entries_are_limited() -> None:
    items = b"".join(b"<item><link>http://a.example/%d</link></item>" % number for number in range(30))
    feed = feed_of(b"<rss><channel>" + items + b"</channel></rss>", 20)
    assert len(feed.entries) == 20
    assert "more entries" in feed.problem
    links = b"<link href='http://a.example/%d'/>" * 30 % tuple(range(30))
    assert len(feed_of(b"<feed><entry>" + links + b"</entry></feed>").entries[0].links) == 16


def test_other_xml_is_not_a_feed() -> None:
    assert parse_feed(b"<html><rss><item><link>http://a.example/</link></item></rss></html>") is None
    assert parse_feed(b"") is None
