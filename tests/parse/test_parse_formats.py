"""Formats made of text: feeds, Markdown, XML, and descriptions of service_description."""

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_pages import make_result

from periplus.parse import PARSERS, mime_sniffing, parse
from periplus.parse.formats import markdown, service_description
from periplus.parse.mime_sniffing import detect_content_type
from periplus.records import LIST_KIND, Link, Media
from periplus.settings import ParseSettings

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Tides &amp; lights</title><link>https://pod.example/</link>
<description>A &lt;b&gt;sea&lt;/b&gt; podcast</description>
<language>en-gb</language><pubDate>Thu, 04 Mar 2021 10:00:00 GMT</pubDate>
<image><title>Logo</title><url>https://pod.example/logo.png</url></image>
<item><title>First &amp; last</title><link>/e/1</link><description><![CDATA[<p>How it <i>began</i>.</p>]]></description>
<enclosure url="/a/1.mp3" length="1" type="audio/mpeg"/></item>
<item><title>Second</title><guid>https://pod.example/e/2</guid><media:content url="https://pod.example/v/2.mp4"/></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title><updated>2022-05-06T00:00:00Z</updated>
<author><name>Ada Keeper</name></author><link href="https://a.example/" /><link rel="self" href="/feed"/>
<entry><title>One</title><link href="/one"/><link rel="enclosure" type="video/mp4" href="/one.mp4"/>
<content type="xhtml"><div>Words <b>in</b> markup</div></content></entry></feed>"""


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml", "application/xml", "text/html", "text/plain", ""])
def test_rss_by_any_name(parse_page, kind: str) -> None:
    page = parse_page(RSS, kind)
    assert page.kind == LIST_KIND
    assert not page.noindex  # a podcast
    assert (page.title, page.description, page.language) == ("Tides & lights", "A sea podcast", "en")
    assert page.published == "2021-03-04"
    assert page.links == (Link("http://h.example/e/1", "First & last"), Link("https://pod.example/e/2", "Second"))
    assert page.text.splitlines() == ["First & last: How it began .", "Second"]
    assert page.media == (
        Media("http://h.example/a/1.mp3", "audio", "First & last"),
        Media("https://pod.example/v/2.mp4", "video", "Second"),
    )


def test_atom(parse_page) -> None:
    page = parse_page(ATOM, "application/atom+xml")
    assert (page.title, page.author, page.published) == ("Log", "Ada Keeper", "2022-05-06")
    assert page.links == (Link("http://h.example/one", "One"),)
    assert page.media == (Media("http://h.example/one.mp4", "video", "One"),)
    assert page.text == "One: Words in markup"


def test_a_feed_that_breaks_off_keeps_what_it_had(parse_page) -> None:
    assert len(parse_page(RSS[: RSS.index("Second")], "application/rss+xml").links) == 1


MARKDOWN = """---
title: The keeper's book
date: 2020-02-03
author: Ada
---
Setext heading
==============

# Lights #

Some **bold words** and a [link](./a.md "why"), an ![image of a lamp](/lamp.png), [by name][two] and <https://bare.example/>.

- item *one*
1. item two

[two]: https://two.example/x

```
# not a heading [no](link)
```
<div>inline markup</div>
"""


def test_markdown(parse_page) -> None:
    page = parse_page(MARKDOWN, "text/markdown")
    assert (page.title, page.published, page.author) == ("The keeper's book", "2020-02-03", "Ada")
    assert page.headings == ("Setext heading", "Lights")
    assert page.emphasis == ("bold words", "one")
    assert page.links == (
        Link("http://h.example/d/a.md", "link"),
        Link("https://two.example/x", "by name"),
        Link("https://bare.example/", "https://bare.example/"),
    )
    assert page.media == (Media("http://h.example/lamp.png", "image", "image of a lamp"),)
    assert page.text.splitlines()[3:] == ["item one", "item two", "# not a heading [no](link)", "inline markup"]


def test_markdown_by_its_name() -> None:
    page = parse(make_result(b"# Title\n\nwords", "text/plain", "http://h.example/README.md"), ParseSettings())
    assert page is not None
    assert (page.kind, page.title) == ("text/markdown", "Title")


def test_markdown_with_html_tables_and_bare_urls(parse_page) -> None:
    page = parse_page(
        "See https://one.example/a. Not `https://code.example/`.\n\n"
        '<a href="/two"><img src="/i.png" alt="Lamp"></a>\n\n'
        "| Port | Light |\n|---|---|\n| [Dover](/dover) | white |\n\n[By its name] and [over\ntwo lines](/four)\n\n"
        "[by its name]: /three (why)\n",
        "text/markdown",
    )
    assert [(link.url, link.text) for link in page.links] == [
        ("https://one.example/a", "https://one.example/a"),
        ("http://h.example/two", "Lamp"),
        ("http://h.example/dover", "Dover"),
        ("http://h.example/three", "By its name"),
        ("http://h.example/four", "over two lines"),
    ]
    assert page.text.startswith("See https://one.example/a. Not https://code.example/.")
    assert page.media == (Media("http://h.example/i.png", "image", "Lamp"),)


COSTLY_MARKDOWN = {
    "brackets": "[",
    "images": "![",
    "strong": "**a",
    "emphasis": "_a__",
    "one run": "*",
    "references": "[a]: /u\n",
    "definitions and uses": "[a]: /u\n\n[a][a][a][a]\n",
    "cells": "|a",
    "wide table": "|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "|x\n" * 200,
    "quotations": "> > > > > > > > > > a\n",
    "lazy quotation": ">" * 100 + "a\n" * 10_000,
    "list": "* a\n\n",
    "nested lists": "- ",
    "open links": "[a](b",
    "lines": "a\n",
    "empty lines": "\n",
    "backquotes": "` `` ",
    "tags": "<a ",
}


@pytest.mark.parametrize("name", COSTLY_MARKDOWN)
def test_costly_markdown_is_bounded(parse_page, name: str) -> None:
    piece = COSTLY_MARKDOWN[name]
    begin = time.process_time()
    page = parse_page(f"# Title\n\n{piece * (2_000_000 // len(piece))}", "text/markdown")
    assert time.process_time() - begin < 10
    assert page.title == "Title"


def test_markdown_past_the_limit_is_plain_text(parse_page, monkeypatch) -> None:
    monkeypatch.setattr(markdown, "_MAX_BLOCK_STEPS", 100)
    page = parse_page("".join(f"[word{number}](/{number})\n\n" for number in range(100)), "text/markdown")
    assert 0 < len(page.links) < 50
    assert all(f"word{number}" in page.text for number in range(100))
    assert page.text.endswith("[word99](/99)")
    monkeypatch.setattr(markdown, "_MAX_INLINE_STEPS", 60)
    page = parse_page("*a* [first](/first) " + "*a* " * 100 + "[last](/last)", "text/markdown")
    assert [link.text for link in page.links] == ["first"]
    assert page.text.endswith("*a* [last](/last)")


def test_xml(parse_page) -> None:
    page = parse_page(
        "<?xml version='1.0'?><book><title>Deep</title><p href='/x'>One <b>two</b></p></book>", "text/xml"
    )
    assert (page.kind, page.title, page.text) == ("application/xml", "Deep", "Deep\nOne\ntwo")
    assert page.links == (Link("http://h.example/x", ""),)
    sitemap = parse_page("<urlset><url><loc>http://h.example/1</loc></url></urlset>", "application/xml")
    assert (sitemap.kind, sitemap.text, len(sitemap.links)) == (LIST_KIND, "", 1)


def test_xhtml_sent_as_xml(parse_page) -> None:
    page = parse_page(
        "<?xml version='1.0'?><!DOCTYPE html><html><title>T</title><p>words</p></html>", "application/xml"
    )
    assert (page.kind, page.title) == ("text/html", "T")


def test_declared_entities_end_the_walk(try_parse) -> None:
    laughs = b'<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><d>&b;</d>'
    assert try_parse(laughs, "text/xml") is None


OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "Tide tables", "description": "Tides for any harbour."},
    "servers": [{"url": "https://api.tides.example/v1"}],
    "paths": {"/tides/{harbour}": {"get": {"summary": "Tides of a day", "parameters": [{"name": "harbour"}]}}},
}


def test_openapi(parse_page, try_parse) -> None:
    page = parse_page(json.dumps(OPENAPI), "application/json")
    assert (page.service, page.title) == ("openapi", "Tide tables")
    assert page.text.splitlines()[-1] == "GET /tides/{harbour} Tides of a day harbour"
    assert [link.url for link in page.links] == ["https://api.tides.example/v1"]
    assert try_parse(b'{"openapi": 1, "paths": []}', "application/json") is None
    assert try_parse(b'{"a": 1}', "application/json") is None
    assert try_parse(b'{"openapi":' + b"[" * 100_000, "application/json") is None


def test_swagger_in_yaml(parse_page, try_parse) -> None:
    body = 'swagger: "2.0"\ninfo:\n  title: Tide tables\npaths:\n  /tides:\n    get:\n      summary: Tides of a day\n'
    page = parse_page(body, "application/yaml")
    assert (page.service, page.title) == ("swagger", "Tide tables")
    assert page.text == "Tide tables\nGET /tides Tides of a day"
    assert try_parse(b"a: b\n", "text/yaml") is None


YAML = """%YAML 1.1
--- # a comment
servers: [{url: 'https://api.tides.example/v1'}]
info: {title: "Tide \\u0074ables", description: "Tides \\
    for any harbour."}
x-day: &day
  summary: >-
    Tides
    of a day
  parameters: [&harbour {name: harbour, in: path}, *harbour, *nowhere]
paths:
  '/tides/{harbour}':
    get: *day
    post:
      description: |
        Yes: "no".

        Second paragraph
      ? [complex, key]
      : x
openapi: !!float 3.0
--- # another document
openapi: 1
"""


def test_all_of_yaml(parse_page) -> None:
    page = parse_page(YAML, "application/yaml")
    assert (page.service, page.title) == ("openapi", "Tide tables")
    assert page.text.splitlines() == [
        "Tide tables",
        "Tides for any harbour.",
        "GET /tides/{harbour} Tides of a day harbour harbour",
        'POST /tides/{harbour} Yes: "no".',
        "Second paragraph",
    ]
    assert [link.url for link in page.links] == ["https://api.tides.example/v1"]


def test_yaml_is_the_same_as_json(parse_page) -> None:
    in_json = parse_page(json.dumps(OPENAPI), "application/json")
    in_yaml = parse_page(json.dumps(OPENAPI, indent=1).replace('"openapi"', "openapi"), "application/yaml")
    assert (in_yaml.text, in_yaml.links, in_yaml.title) == (in_json.text, in_json.links, in_json.title)


def test_broken_yaml_keeps_what_was_read(parse_page, try_parse) -> None:
    body = "openapi: 3.0.0\npaths:\n  /tides:\n    get: {summary: Tides of a day}\n  /more: [\nx: }\n"
    assert parse_page(body, "application/yaml").text == "GET /tides Tides of a day"
    assert try_parse(b"openapi: 3.0.0\nx: }\npaths: {}\n", "application/yaml") is None
    assert try_parse(b"x:\n  openapi: 3.0.0\npaths: {}\n", "application/yaml") is None


BOMB = "openapi: 3.0.0\na0: &a0 {summary: x}\n" + "".join(
    f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(9))}}}\n" for n in range(1, 30)
)
HOSTILE_YAML = {
    "alias bomb": BOMB + "paths: {/a: *a29, /b: {get: *a0}}\n",
    "its own member": "openapi: 3.0.0\npaths: &p\n  /a: {get: &g {parameters: [*p, *g], summary: x}}\n  /b: *p\n",
    "tag directives": "".join(f"%TAG !a{n}! b\n" for n in range(200_000)) + "---\nopenapi: 3.0.0\npaths: {}\n",
    "objects": "openapi: 3.0.0\npaths: !!python/object/apply:os.system ['exit 1']\n",
    "deep flow": "openapi: 3.0.0\npaths: " + "[" * 1_000_000,
    "deep mappings": "openapi: 3.0.0\npaths:\n" + "\n".join(" " * n + "a:" for n in range(1, 2_000)),
    "deep sequences": "openapi: 3.0.0\npaths:\n" + "- " * 1_000_000,
    "many keys": "openapi: 3.0.0\npaths:\n" + " /a: {get: {}}\n" * 250_000,
    "many anchors": "openapi: 3.0.0\npaths:\n" + "".join(f" /{n}: &a{n} x\n" for n in range(200_000)),
    "one scalar": "openapi: 3.0.0\npaths: " + "x\n  " * 900_000,
    "not a document": "openapi: 3.0.0\npaths: \x00\n",
}


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_hostile_yaml_is_bounded(try_parse, name: str) -> None:
    begin = time.process_time()
    page = try_parse(HOSTILE_YAML[name].encode(), "application/yaml")
    assert time.process_time() - begin < 10
    assert page is None or len(page.text) <= ParseSettings().max_text


def test_yaml_ends_at_its_limits(parse_page, monkeypatch) -> None:
    body = "openapi: 3.0.0\npaths:\n" + "".join(f"  /{n}: {{get: {{summary: s}}}}\n" for n in range(100))
    assert len(parse_page(body, "application/yaml").text.splitlines()) == 100
    monkeypatch.setattr(service_description, "_MAX_YAML_EVENTS", 100)
    assert 5 < len(parse_page(body, "application/yaml").text.splitlines()) < 20


def test_wsdl(parse_page) -> None:
    body = """<wsdl:definitions name="Tides" xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/">
    <wsdl:documentation>Tides for any harbour.</wsdl:documentation><wsdl:portType name="TidePort">
    <wsdl:operation name="GetTide"/></wsdl:portType><wsdl:service name="TideService"><wsdl:port name="P">
    <soap:address location="https://tides.example/soap"/></wsdl:port></wsdl:service></wsdl:definitions>"""
    page = parse_page(body, "text/xml")
    assert (page.service, page.title) == ("wsdl", "Tides")
    assert "operation GetTide" in page.text
    assert page.links == (Link("https://tides.example/soap", ""),)


HOSTILE = {
    "brackets": b"[" * 200_000,
    "images": b"![" * 100_000 + b"](" * 100_000,
    "stars": b"**a" * 100_000,
    "hashes": b"# " + b"#" * 200_000 + b"x",
    "deep": b"<a>" * 300_000,
    "attributes": b"<a " + b" ".join(b"a%d='x'" % n for n in range(100_000)) + b">",
    "prologue": b"<?xml ?>" + b"<!-- -" * 100_000,
    "one line": b"openapi: 3.0\n" + b"  /a" * 200_000 + b"\npaths:",
    "spaces": b" " * 500_000 + b"<rss>",
    "angles": b"<rss><item><title>" + b"&lt;" * 300_000,
}


ONE_KIND_OF_EACH_PARSER = sorted({parser: kind for kind, parser in PARSERS.items() if "html" not in kind}.values())


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ONE_KIND_OF_EACH_PARSER)
def test_long_bodies_are_bounded(try_parse, name: str, kind: str) -> None:
    page = try_parse(HOSTILE[name], kind)
    assert page is None or len(page.text) <= ParseSettings().max_text


PIECES = st.sampled_from(
    [
        "<rss>",
        "<item>",
        "</item>",
        "<title>",
        "</title>",
        "<link href='x'>",
        "# a",
        "[a](b)",
        "![",
        "\n",
        "openapi: 3.0\n",
        "paths:\n",
        "&amp;",
        "<![CDATA[",
        "]]>",
        "<!DOCTYPE",
        "<?xml version='1.0'?>",
        "\x00",
        "\ud7ff",
        "{",
        '"swagger"',
        "---\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(PARSERS)),
    st.one_of(st.binary(max_size=400), st.lists(PIECES, max_size=40).map(lambda parts: "".join(parts).encode())),
)
def test_nothing_raises(kind: str, body: bytes) -> None:
    page = parse(make_result(body, kind), ParseSettings())
    assert page is None or all(link.url.startswith("http") for link in page.links)


@pytest.mark.parametrize(
    ("body", "declared", "expected"),
    [
        (b"ID3 tags describe a song: title, artist, album.", "text/plain", "text/plain"),
        (b"ID3\x04\x00\x00\x00\x00\x0f\x76TIT2", "text/plain", "audio/mpeg"),
        (b"# Files\n\nA file that begins with `%PDF-` is a PDF.\n", "text/markdown", "text/markdown"),
        (b"Notes\n%PDF-1.7 is the newest version.\n", "text/plain", "text/plain"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj", "text/plain", "application/pdf"),
        (b"junk\r\n%PDF-1.4\n\x00\x01 0 obj", "text/html", "application/pdf"),
        (b"RIFF is a container format.", "text/plain", "text/plain"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "", "application/x-riff"),
        (b"GIF8 is not a version of GIF.", "text/plain", "text/plain"),
    ],
)
def test_letters_that_begin_a_text_are_not_a_signature(body: bytes, declared: str, expected: str) -> None:
    assert detect_content_type(body, declared) == expected


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/xhtml+xml", "text/plain", ""])
@pytest.mark.parametrize("start", [b"<!DOCTYPE html>\n<html a>", b"<!doctype html><html>", b"<!doctype html><rss>"])
@pytest.mark.parametrize("rest", [b"<p>%PDF-1.4 is a mark", b"\0" * 500, b"\0<p>Text", b""])
def test_ordinary_html_is_what_the_longer_way_finds(monkeypatch, kind: str, start: bytes, rest: bytes) -> None:
    detected = mime_sniffing._detect(start + rest, kind, "/")
    monkeypatch.setattr(mime_sniffing, "_ORDINARY_HTML", re.compile(b"(?!)"))
    assert detected == mime_sniffing._detect(start + rest, kind, "/")
