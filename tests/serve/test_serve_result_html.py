"""Pages of results that are joined from escaped parts are those of one template, whatever is in them."""

from html import escape

from hypothesis import given
from hypothesis import strategies as st
from tests.naive import result_items
from tests.naive.result_page import render_page

from periplus.records import Card, Hit, Media, Query, ResultPage
from periplus.serve.instant.instant_answers import InstantAnswer
from periplus.serve.instant.weather import WeatherQuery
from periplus.serve.pages.locales import LOCALES, load_locale
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.pages.static_files import read_assets
from periplus.serve.pages.trending_pages import TrendingPage
from periplus.serve.result_html.escaping import escape_all, escape_text
from periplus.serve.result_html.hit_html import write_results
from periplus.serve.result_html.page_frame import PageFrame, slot_mark
from periplus.serve.result_html.result_page import ResultPageWriter
from periplus.serve.result_html.result_parts import ResultView
from periplus.serve.search_request import TABS, TIME_RANGES, RequestLinks, SearchRequest, request_url

RENDERERS = [PageRenderer(read_assets(), lambda: False), PageRenderer(read_assets(), lambda: True)]
WRITERS = [ResultPageWriter(renderer) for renderer in RENDERERS]
ASSETS_NOW = 1_795_000_000.0

HOSTILE = st.text(st.sampled_from("<>&\"'\0\ue000\ue001{}%_-#=;/ .…›·aAbZ09é日\u202e\u2028\n"), max_size=40)
WORDS = st.one_of(
    HOSTILE,
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            '" onmouseover=alert(1) x="',
            "' autofocus onfocus='alert(1)",
            "&lt;b&gt; &amp;amp; &#39;",
            "{{ 7 * 7 }}{% raw %}",
            "\ue000results\ue001",
            "a word and another, " * 15,
            "Salt harbour",
        ]
    ),
)
NAMES = WORDS.filter(bool)
URLS = st.one_of(
    st.builds("https://a.example/{}".format, WORDS),
    st.sampled_from(
        [
            "javascript:alert(1)",
            "https://published.invalid/" + "0f" * 32,
            "https://published.invalid/short",
            "http://Given.INVALID/x",
            "https://a.\u0131nvalid/",
            "HTTPS://Upper.example/?a=1&b='2'#part",
            "",
        ]
    ),
)
SMALL = st.integers(0, 12)
REASONS = st.one_of(WORDS, st.builds("word: {}".format, WORDS))
SNIPPETS = st.lists(st.tuples(WORDS, st.booleans()), max_size=4).map(tuple)
HITS = st.builds(
    Hit,
    url=URLS,
    title=WORDS,
    snippet=st.one_of(
        SNIPPETS,
        st.just((("Salt harbour · ", False), ("what follows is long enough for a snippet of its own.", True))),
        st.just((("… ", False), ("The first sentence is whole. ", True), ("So is the second one.", False))),
    ),
    breadcrumbs=st.lists(WORDS, max_size=3).map(tuple),
    score=st.just(1.0),
    key=st.integers(0, 2**64 - 1),
    language=st.sampled_from(["", "en", "de", "zh-Hant", "<x>"]),
    fetched=st.sampled_from([0.0, 1_794_000_000.0, float("inf"), -1.0]),
    kind=st.one_of(st.sampled_from(["text/html", "text/plain", "application/pdf", "application/wsdl+xml"]), WORDS),
    missing=st.lists(NAMES, max_size=2).map(tuple),
    reasons=st.lists(st.tuples(REASONS, st.floats(-9, 9)), max_size=3).map(tuple),
    day=st.sampled_from([0, 20_775, 20_770, 19_000, 10**7, -3]),
    flags=st.integers(0, 255),
    similar=st.lists(URLS, max_size=2).map(tuple),
    links=st.lists(st.tuples(WORDS, URLS), max_size=2).map(tuple),
    media=st.lists(st.builds(Media, URLS, st.just("image"), WORDS), max_size=2).map(tuple),
    answer=st.tuples(SMALL, st.integers(0, 60)).filter(lambda span: span[0] < 6 or span[1] > 30),
)
QUERIES = st.builds(
    Query,
    words=NAMES,
    start=st.sampled_from([0, 10, 30]),
    language=st.sampled_from(["", "de", "xyz"]),
    site=st.sampled_from(["", "a.example"]),
    safe=st.integers(0, 2),
    folded=st.booleans(),
    verbatim=st.booleans(),
    snapshot=st.sampled_from(["", "nightly", "@2026-05-01"]),
    enough=st.sampled_from([-1, 0, 30]),
)
REQUESTS = st.builds(
    SearchRequest,
    query=QUERIES,
    truncated=st.booleans(),
    explained=st.integers(0, 2),
    tab=st.sampled_from(sorted(TABS)),
    time_range=st.sampled_from(["", *TIME_RANGES]),
    locale=st.sampled_from(["", "de", "xx"]),
    rules=st.sampled_from(["", "0" * 32]),
)
CARDS = st.builds(Card, WORDS, URLS, WORDS, st.lists(st.tuples(WORDS, WORDS), max_size=2).map(tuple), WORDS)
SITES = st.tuples(WORDS, st.sampled_from(["local", "answered", "silent"]), st.floats(0, 9e3), SMALL, WORDS)
PAGES = st.builds(
    ResultPage,
    query=QUERIES,
    hits=st.lists(HITS, max_size=1).map(tuple),
    total=st.sampled_from([0, 1, 87, 12_345]),
    exact=st.booleans(),
    unsearched=st.sampled_from([0, 0, 12_000]),
    partial=st.booleans(),
    seconds=st.sampled_from([0.0, 0.0031, 3.2]),
    documents=st.sampled_from([1, 1_204_331]),
    notes=st.lists(WORDS, max_size=2).map(tuple),
    hidden=SMALL,
    examined=SMALL,
    corrections=st.lists(NAMES, max_size=3).map(tuple),
    card=st.one_of(st.none(), CARDS),
    showing_for=st.one_of(st.just(""), NAMES),
    shards=st.sampled_from([(0, ()), (3, ()), (3, (1,))]),
    sites=st.lists(SITES, max_size=2).map(tuple),
)
VIEWS = st.builds(
    ResultView,
    page=PAGES,
    request=REQUESTS,
    query=QUERIES,
    results=st.just("<li>result</li>"),
    numbers=st.sampled_from([[], [1], [1, 2, 3], [2, 3, 4, 5]]),
    tabs=st.sampled_from([["web"], ["web", "media"], list(TABS)]),
    languages=st.sampled_from([(), ("en",), ("en", "de", "xyz")]),
    shorter=st.lists(st.tuples(WORDS, WORDS), max_size=2),
    related=st.lists(st.tuples(WORDS, WORDS), max_size=2),
    trending=st.lists(st.builds(TrendingPage, URLS, WORDS, WORDS, SMALL), max_size=2),
    answer=st.one_of(st.none(), st.builds(InstantAnswer, WORDS, st.just("units"))),
    weather=st.one_of(st.none(), st.builds(WeatherQuery, WORDS, st.booleans())),
    card_image=st.sampled_from(["", "/t/0.webp"]),
    clicks=st.booleans(),
    many_hidden=st.booleans(),
)


@given(VIEWS, st.sampled_from(sorted(LOCALES)), st.integers(0, 1))
def test_a_page_is_that_of_one_template(view: ResultView, code: str, publishes: int) -> None:
    locale = load_locale(code)
    assert WRITERS[publishes].write(view, locale) == render_page(RENDERERS[publishes], view, locale)


@given(st.lists(HITS, max_size=3), REQUESTS, st.sampled_from(sorted(LOCALES)), st.booleans())
def test_results_are_those_that_are_escaped_one_by_one(
    hits: list[Hit], request: SearchRequest, code: str, thumbnails: bool
) -> None:
    rest = (hits, request, load_locale(code), ASSETS_NOW, lambda url: thumbnails)
    assert write_results(*rest) == result_items.write_results(*rest)


@given(REQUESTS, st.integers(0, 10_000), st.one_of(st.just(""), WORDS))
def test_links_of_a_request_are_those_made_from_scratch(request: SearchRequest, start: int, words: str) -> None:
    links = RequestLinks(request)
    assert links.page(start) == request_url(request, start=start)
    assert links.words(words) == request_url(request, q=words, start=0)
    assert links.explain("0") == request_url(request, explain="0")


@given(st.lists(WORDS, max_size=6))
def test_texts_are_escaped_together_as_alone(texts: list[str]) -> None:
    assert escape_all(texts) == [escape(text) for text in texts] or not texts
    assert not any(set(escape_text(text)) & set("<>\"'") for text in texts)


def test_what_is_filled_into_a_frame_is_not_taken_for_a_slot() -> None:
    frame = PageFrame(f"<p>{slot_mark('one')}|{slot_mark('two')}|{slot_mark('one')}</p>")
    assert frame.slots == {"one", "two"}
    assert frame.fill({"one": slot_mark("two"), "two": "\ud800é"}).decode() == (
        f"<p>{slot_mark('two')}|?é|{slot_mark('two')}</p>"
    )
