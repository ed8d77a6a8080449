"""Representative pages: every field of a Page."""

import pytest

from periplus.parse import is_supported
from periplus.settings import ParseSettings

PAGE = """<!doctype html><html lang="en-GB"><head><meta charset="utf-8">
<title> A  good
 page </title><base href="/base/">
<meta name="description" content="What it is &amp; why">
<meta property="article:published_time" content="2024-03-05T10:00Z">
<link rel="canonical" href="http://h.example/good"><link rel="alternate" type="application/rss+xml" href="feed.xml">
<link rel="stylesheet" href="style.css"><style>p { color: red }</style></head>
<body><nav><a href="/">Home</a></nav>
<h1>The <em>main</em> point</h1><p>One<b>bold</b> word, and <strong>two words</strong>.</p><p>Second.</p>
<div>in<span>line</span></div>after<ul><li>first<li>second</ul>
<script>var hidden = "no";</script><noscript>none</noscript><p hidden>unseen</p><svg><text>drawn</text></svg>
<table><tr><td>a</td><td>b</td></tr></table>
<a href="next.html">Next <i>page</i></a> <a href="next.html#part">again</a>
<a href="http://other.example/" rel="NoFollow ugc">Other</a>
<a href="pic"><img src="p.png" alt="A picture"></a><a href="javascript:go()">no</a>
<a href="mailto:a@b.c">no</a><a>none</a>
<map><area href="/area" alt="Area"></map><h2></h2><h3>Deep</h3></body></html>"""


def test_a_whole_page(parse_page) -> None:
    page = parse_page(PAGE)
    assert page.title == "A good page"
    assert page.headings == ("The main point", "Deep")
    assert page.description == "What it is & why"
    assert page.language == "en"
    assert page.charset == "utf-8"
    assert page.canonical == "http://h.example/good"
    assert page.feeds == ("http://h.example/base/feed.xml",)
    assert page.published == "2024-03-05"
    assert page.emphasis == ("main", "bold", "two words", "page")
    assert not page.noindex
    assert not page.nofollow
    assert [(image.url, image.text) for image in page.images] == [("http://h.example/base/p.png", "A picture")]


def test_text_has_a_line_for_each_block_and_nothing_hidden(parse_page) -> None:
    lines = parse_page(PAGE).text.split("\n")
    assert lines[:7] == [
        "Home",
        "The main point",
        "Onebold word, and two words.",
        "Second.",
        "inline",
        "after",
        "first",
    ]
    assert lines[7:10] == ["second", "a", "b"]
    text = parse_page(PAGE).text
    assert not any(word in text for word in ("hidden", "none ", "unseen", "drawn", "color", "good"))


def test_links_are_absolute_each_once_with_their_text(parse_page) -> None:
    links = [(link.url, link.text, link.nofollow) for link in parse_page(PAGE).links]
    assert links == [
        ("http://h.example/", "Home", False),
        ("http://h.example/base/next.html", "Next page", False),
        ("http://other.example/", "Other", True),
        ("http://h.example/base/pic", "A picture", False),
        ("http://h.example/area", "Area", False),
    ]


@pytest.mark.parametrize(
    ("content", "noindex", "nofollow"),
    [("noindex", True, False), ("NOFOLLOW , noarchive", False, True), ("none", True, True), ("all", False, False)],
)
def test_robots_words(parse_page, content: str, noindex: bool, nofollow: bool) -> None:
    page = parse_page(f'<meta name="ROBOTS" content="{content}"><a href="/x">x</a>')
    assert (page.noindex, page.nofollow, page.links[0].nofollow) == (noindex, nofollow, nofollow)
    header = parse_page("<a href=/x>x</a>", x_robots_tag=content)
    assert (header.noindex, header.nofollow) == (noindex, nofollow)


def test_rules_for_another_robot_are_ignored(parse_page) -> None:
    page = parse_page("x", x_robots_tag="otherbot: noindex, nofollow")
    assert not page.noindex
    assert not page.nofollow


@pytest.mark.parametrize(
    ("words", "noindex"),
    [
        ("periplus: noindex", True),
        ("Periplus : nofollow, none", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", True),
        ("max-snippet: 20", False),
        ("noindex, max-snippet: 20", True),
    ],
)
def test_rules_for_our_robot_and_rules_with_values(parse_page, words: str, noindex: bool) -> None:
    assert parse_page("x", x_robots_tag=words).noindex == noindex


def test_rules_of_a_page_for_us(parse_page) -> None:
    assert parse_page("<meta name=Periplus content=noindex>x").noindex
    assert not parse_page("<meta name=otherbot content=noindex>x").noindex


def test_an_end_tag_of_a_custom_element_closes_what_is_open_within_it(parse_page) -> None:
    assert parse_page("<p>a <x-y><abbr hidden>b</x-y> c <z-q>d</z-q> e").text == "a c d e"


def test_canonical_in_a_header(parse_page) -> None:
    page = parse_page("x", link='<style.css>; rel=preload, </good>; title="a"; rel="canonical"')
    assert page.canonical == "http://h.example/good"


def test_refresh_is_a_link(parse_page) -> None:
    page = parse_page('<meta http-equiv="Refresh" content="5; URL=\'/moved\'">')
    assert [link.url for link in page.links] == ["http://h.example/moved"]
    assert parse_page('<meta http-equiv=refresh content="30">').links == ()


def test_languages(parse_page) -> None:
    assert parse_page("<p>x", content_language="de-AT").language == "de"
    assert parse_page("<html lang=fr><p>x", content_language="de-AT").language == "fr"
    assert parse_page("<html lang='nonsense tag'>x").language == ""


def test_dates(parse_page) -> None:
    assert (
        parse_page('<script type="application/ld+json">{"datePublished": "2020-01-02T03"}</script>').published
        == "2020-01-02"
    )
    assert parse_page("<time datetime=2021-05-06>May</time>").published == "2021-05-06"
    assert parse_page("<time datetime=2021-55-06>?</time>").published == ""


def test_a_page_without_a_title_has_its_first_heading(parse_page) -> None:
    assert parse_page("<h1>Only</h1>text").title == "Only"


def test_limits(parse_page) -> None:
    settings = ParseSettings(max_text=1_000, max_links=3, max_deferred_links=2)
    page = parse_page("<p>" + "word " * 5_000 + "".join(f"<a href={n}>x</a>" for n in range(9)), settings=settings)
    assert len(page.text) <= 1_000
    assert len(page.links) == 5


def test_plain_text(parse_page) -> None:
    page = parse_page(b"\nA  title\n\nand <b>text</b>\x00\n", "text/plain; charset=utf-8")
    assert (page.title, page.text, page.kind) == ("A title", "A title\nand <b>text</b>", "text/plain")


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/html", b"%PDF-1.7 \n", None),
        ("text/plain", b"\x89PNG\r\n\x1a\n", None),
        ("text/html", b"\x00\x01\x02" * 100, None),
        ("application/pdf", b"words", None),
        ("image/png", b"<html>words", None),
        ("text/html", b"", None),
        ("", b"<!DOCTYPE html><p>words", "text/html"),
        ("application/octet-stream", b"words", "text/plain"),
        ("text/plain", b"<html>words", "text/plain"),
        ("APPLICATION/XHTML+XML; charset=utf-8", b"<html>words", "text/html"),
    ],
)
def test_bytes_override_a_wrong_content_type(try_parse, kind: str, body: bytes, expected: str | None) -> None:
    page = try_parse(body, kind)
    assert (page.kind if page else None) == expected


def test_supported_content_types() -> None:
    assert is_supported("text/html; charset=x")
    assert is_supported("")
    assert not is_supported("image/png")
    assert not is_supported("application/zip")
