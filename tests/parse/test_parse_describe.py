"""Beyond the text: main content, preview, facts, media, services and flags."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_pages import make_result

from periplus.parse import main_text, parse
from periplus.records import Media, PageFlag
from periplus.settings import ParseSettings

SENTENCE = "The keeper of the northern light writes down every ship that passes the rock, by day and by night. "
ARTICLE = f"""<!doctype html><html lang=en><head><title>Northern light</title>
<meta property="og:type" content="article"><meta property="og:image" content="/cover.jpg">
<meta name="author" content="Ada Keeper">
<script type="application/ld+json">{{"@type": "NewsArticle", "headline": "Northern light",
"author": [{{"name": "Ada Keeper"}}], "publisher": {{"name": "Sea News"}},
"datePublished": "2021-03-04T10:00"}}</script>
</head><body><header><a href="/">Sea News</a> <a href="/a">Ships</a></header>
<nav><ul><li><a href="/1">Harbours</a><li><a href="/2">Tides</a></ul></nav>
<div class="story"><h1>Northern light</h1><p>{SENTENCE * 3}</p><h2>By night</h2><p>{SENTENCE * 2}</p>
<figure><img src="/lamp.jpg" alt="The lamp"><figcaption>Lit at dusk</figcaption></figure>
<p>{SENTENCE * 2}</p></div>
<div class="sidebar"><p>{SENTENCE} in the sidebar</p></div>
<video src="/film.mp4" title="A film"><track src="/film.vtt" label="English"></video>
<footer><p>All rights reserved, and so on, by the company that runs this site and its friends.</p></footer>"""


def test_main_content(parse_page) -> None:
    page = parse_page(ARTICLE)
    main = main_text(page)
    assert main.splitlines()[0] == "Northern light"
    assert main.count("keeper of the northern light") == 7
    for left_out in ("Harbours", "sidebar", "rights reserved", "Sea News"):
        assert left_out in page.text
        assert left_out not in main
    assert page.preview.startswith("The keeper of the northern light")
    assert all(0 <= offset <= len(page.text) for offset in page.main)


def test_headings_longer_than_the_text(parse_page) -> None:
    page = parse_page(f"<div><p>{SENTENCE}</p></div><div>" + f"<h2>{SENTENCE}</h2>" * 9 + "</div>")
    assert "keeper" in main_text(page)


def test_structured_data(parse_page) -> None:
    page = parse_page(ARTICLE)
    assert (page.author, page.published) == ("Ada Keeper", "2021-03-04")
    assert {("og:type", "article"), ("headline", "Northern light"), ("publisher", "Sea News")} <= set(page.facts)


def test_media(parse_page) -> None:
    assert set(parse_page(ARTICLE).media) == {
        Media("http://h.example/cover.jpg", "image", ""),
        Media("http://h.example/lamp.jpg", "image", "The lamp. Lit at dusk"),
        Media("http://h.example/film.mp4", "video", "A film"),
        Media("http://h.example/film.vtt", "track", "English"),
    }


def test_infobox_and_microdata(parse_page) -> None:
    page = parse_page(
        '<table class="infobox vcard"><tr><th>Height:</th><td>47 <b>m</b></td></tr><tr><td>x</td></tr></table>'
        '<div itemscope><span itemprop="name">Northern &amp; light</span><meta itemprop="sku" content="N1">'
        '<time itemprop="datePublished" datetime="2020-01-02">then</time></div>'
    )
    assert page.facts == (
        ("Height", "47 m"),
        ("name", "Northern & light"),
        ("sku", "N1"),
        ("datePublished", "2020-01-02"),
    )
    assert page.published == "2020-01-02"


def test_media_are_described_by_their_context(parse_page) -> None:
    page = parse_page(
        "<h2>The lamp room</h2><div><img data-src=/a.png> Lit at dusk, by hand.</div><p><img src=/looks.png alt=''></p>"
        "<section><img src=/b.png></section><p><img src=/c.png title='From the sea'></p>"
        "<figure><video poster=/d.png><source src=/d.webm></video><figcaption>The <b>light</b> turns</figcaption>"
        "</figure>"
        "<audio controls><source src=/horn.ogg></audio><object type='video/mp4' data=/e.mp4></object>"
    )
    assert {medium.url.rpartition("/")[2]: (medium.kind, medium.text) for medium in page.media} == {
        "a.png": ("image", "Lit at dusk, by hand."),
        "b.png": ("image", "The lamp room"),
        "c.png": ("image", "From the sea"),
        "d.png": ("image", "The light turns"),
        "d.webm": ("video", "The lamp room. The light turns"),
        "horn.ogg": ("audio", "The lamp room"),
        "e.mp4": ("video", "The lamp room"),
    }


def test_alternative_text_of_a_shared_image(parse_page) -> None:
    page = parse_page("<meta property=og:image content=/a.png><meta property=og:image:alt content='The lamp'><p>words")
    assert page.media == (Media("http://h.example/a.png", "image", "The lamp"),)


def test_microdata_of_items_and_headings(parse_page) -> None:
    page = parse_page(
        "<article itemscope><h1 itemprop=headline>Northern <b>light</b></h1><div itemprop=author itemscope>"
        "<a itemprop=url href=/ada><span itemprop=name>Ada Keeper</span></a></div>"
        f"<div itemprop=articleBody>{SENTENCE}</div><div itemprop=review itemscope>{SENTENCE}</div></article>"
    )
    assert dict(page.facts) == {
        "headline": "Northern light",
        "author": "Ada Keeper",
        "url": "Ada Keeper",
        "name": "Ada Keeper",
    }
    assert (page.author, page.headings) == ("Ada Keeper", ("Northern light",))


def test_author_by_a_link(parse_page) -> None:
    assert (
        parse_page("<p>By <a href=/x>x</a> <a rel='nofollow author' href=/ada>Ada  Keeper</a>").author == "Ada Keeper"
    )
    assert parse_page("<meta name=author content=Bo><a rel=author href=/ada>Ada</a>").author == "Bo"


@pytest.mark.parametrize(
    ("body", "day"),
    [
        ("<meta name=dcterms.date content=2021-03-04>", "2021-03-04"),
        ("<meta name=citation_publication_date content=2021/3/4>", "2021-03-04"),
        ("<meta name=date content='Thu, 04 Mar 2021 10:00:00 GMT'>", "2021-03-04"),
        ("<meta name=date content='March 4th, 2021'>", "2021-03-04"),
        ("<meta name=date content='4. März'>", ""),
        ("<meta name=date content='2021-02-30'>", ""),
        ('<script type=\'application/ld+json; charset=utf-8\'>{"datePublished": "2021-03-04"}</script>', "2021-03-04"),
    ],
)
def test_dates_in_any_form(parse_page, body: str, day: str) -> None:
    assert parse_page(body + "<p>words").published == day


def test_a_date_in_the_url() -> None:
    for path, day in {"2021/3/04/lights": "2021-03-04", "2021/13/04/lights": "", "12021/3/4/": ""}.items():
        page = parse(make_result(b"<p>words", url=f"http://h.example/{path}"), ParseSettings())
        assert page is not None
        assert page.published == day


def test_hidden_text_is_measured_with_its_links(parse_page) -> None:
    page = parse_page(f"<p>{SENTENCE}</p><div style='text-indent:-9999px'>{(SENTENCE + '<a href=/x>x</a>') * 9}</div>")
    assert page.reasons == ("hidden text: 900 characters, 9 links that people do not see",)


def test_services(parse_page) -> None:
    portal = parse_page('<title>Developers</title><p>See <a href="/v1/openapi.json">the description</a>')
    assert portal.service == "portal"
    reference = parse_page(
        "<title>Tide API reference</title><p>Send an API key.</p><pre>GET /tides/{id}</pre><pre>POST /tides</pre>"
        "<pre>DELETE /tides/{id}</pre><p>Query parameters: none. The request body is JSON.</p>"
    )
    assert reference.service == "api-reference"
    assert parse_page(ARTICLE).service == ""


def flags(page) -> PageFlag:
    assert len(page.reasons) == page.flags.bit_count()
    return PageFlag(page.flags)


PROSE = (
    "Before the first lantern was lit, fishermen steered by the white chapel on the hill and by the smell of smoke. "
    "A stone tower replaced the wooden frame after a storm had carried half of it into the bay. Its walls are a yard "
    "thick at the foot, narrow towards the gallery, and painted in red and white bands that fade within a few summers. "
    "Oil came by boat twice a year; whoever carried the barrels up the stairs was paid in bread, tobacco and news. "
    "Letters of one keeper mention fog that lasted nine days, a wrecked schooner, and the goat that ate his calendar. "
    "Electricity arrived late, long after the town had it, because nobody wanted to lay a cable through the strait. "
    "Today an engine turns the lens, and visitors who climb all hundred and sixty steps see three islands. "
    "The museum below shows charts, brass instruments, broken lamps, and photographs of families who lived there. "
)
HONEST = f"<p>{PROSE}"
FLAGGED = {
    PageFlag.ADULT: ["<meta name=rating content=adult><p>words", "<title>Free porn</title><p>porn xxx hentai porn"],
    PageFlag.STUFFED: [
        "<p>" + "cheap flights to rome, book cheap flights now, " * 40,
        "<meta name=keywords content='" + "flights, " * 200 + "'><p>words",
        "<p>" + " cheap flights ".join(PROSE.split()[::4]) * 4,
    ],
    PageFlag.HIDDEN: [f"<p>{SENTENCE}</p><div style='position:absolute;left:-9999px'>{SENTENCE * 20}</div>"],
    PageFlag.LINK_FARM: ["".join(f"<a href='http://site{n}.example{n}.com/'>Best casino {n}</a> " for n in range(80))],
    PageFlag.PAYWALL: [
        f"<p>{SENTENCE}<p>Subscribe to continue reading.",
        '<script type="application/ld+json">{"isAccessibleForFree": false}</script><p>words',
        f"<div class='article paywall'><p>{SENTENCE}</div>",
    ],
    PageFlag.SCRIPT_ONLY: [
        "<div id='root'></div><script src=app.js></script>",
        "<noscript>You need to enable JavaScript to run this.</noscript><script src=a.js></script>",
    ],
}


@pytest.mark.parametrize(("flag", "body"), [(flag, body) for flag, bodies in FLAGGED.items() for body in bodies])
def test_flags_are_raised_with_a_reason(parse_page, flag: PageFlag, body: str) -> None:
    assert flags(parse_page(body)) & flag


@pytest.mark.parametrize(
    "body",
    [
        ARTICLE,
        f"<title>Sex education in schools</title>{HONEST}",
        f"<ul style='display:none'><li>Menu</ul>{HONEST}",
        HONEST + "".join(f"<a href='http://s{n}.example/'>source</a>" for n in range(60)),
        f"<script src=a.js></script><script src=b.js></script>{HONEST}",
        f"<p>Our newsletter: subscribe now.{HONEST}",
        "<h1>Savepoints</h1>" + "".join(f"<p>{part} savepoint" for part in PROSE.split(",")),
        "<pre>" + "\n".join(f"public static final int OPTION_{n} = {n};" for n in range(80)) + "</pre>",
        "<table>" + "".join(f"<tr><td>E{n}<td>non-reserved<td>reserved<td>reserved" for n in range(90)) + "</table>",
        "<dl>" + "".join(f"<dt>__eq{n}__<dd>method of class{n}, method of module{n}" for n in range(90)) + "</dl>",
        "<p>" + " ".join(f"addToUniqSet{n} :: Uniquable a => UniqSet a -> UniqSet a" for n in range(60)),
    ],
)
def test_ordinary_pages_have_no_flags(parse_page, body: str) -> None:
    page = parse_page(body.replace("keeper", "person"))
    assert page.reasons == ()
    assert page.flags == 0


HOSTILE = [b"<figure>", b"<script type=ld+json>", b"<table class=infobox>", b"<p style='display:none'>", b"<meta "]
HOSTILE += [b"<a itemprop=x>", b"<h1>", b"style='left:-9999px'", b"<img src=x alt=y>", b"<th>", b"<tr", b"GET /x\n"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_pages_are_described(piece: bytes) -> None:
    page = parse(make_result(piece * (400_000 // len(piece))), ParseSettings())
    assert page is not None
    assert len(page.facts) <= 60
    assert len(page.media) <= 100


PIECES = st.sampled_from(
    [
        *(piece.decode() for piece in HOSTILE),
        SENTENCE,
        "</figure>",
        "<figcaption>",
        "</script>",
        "</table>",
        "<p>",
        "</p>",
    ]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=30).map("".join))
def test_any_page_is_described(text: str) -> None:
    page = parse(make_result(text.encode("utf-8", "replace")), ParseSettings())
    assert page is None or list(page.main) == sorted(page.main)
