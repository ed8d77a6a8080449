"""The pages for people, asked without a network."""

import logging
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
import pytest
from asgi_caller import Answer, get
from fake_searcher import FakeSearcher, hit

from periplus.errors import CorruptFile, NothingHere
from periplus.records import Hit, Query, ResultPage
from periplus.serve import make_app
from periplus.serve.pages.page_links import fragment_link
from periplus.settings import ServeSettings

SETTINGS = ServeSettings(threads=2)


def page(target: str | bytes, searcher: FakeSearcher | None = None, **more: object) -> Answer:
    return get(make_app(searcher or FakeSearcher(), SETTINGS), target, **more)  # type: ignore[arg-type]


def answering(*hits: Hit, total: int | None = None, notes: tuple[str, ...] = (), exact: bool = True) -> FakeSearcher:
    count = len(hits) if total is None else total
    return FakeSearcher(answer=lambda q: ResultPage(q, hits, count, exact, False, 0.5, 10, notes))


class _Balance(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    VOID = frozenset(("meta", "link", "input", "br", "circle", "path", "rect"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs), "inline script or style"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(answer: Answer) -> str:
    """Give the text of a page, having checked its shape."""
    parser = _Balance()
    parser.feed(answer.text)
    parser.close()
    assert parser.open == []
    assert len(set(parser.ids)) == len(parser.ids)
    return re.sub(r"\s+", " ", "".join(parser.text))


TARGETS = [
    "/",
    "/search?q=salt+harbour",
    "/search?q=salt&start=30&explain=3",
    "/search?q=nothing+here",
    "/about",
    "/no",
]


@pytest.mark.parametrize("target", TARGETS)
def test_pages_are_well_formed_and_guarded(target: str) -> None:
    answer = page(target)
    read(answer)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "<style" not in answer.text
    assert not re.search(r"<script(?! src=)", answer.text)
    for landmark in ("<main", "<footer", 'lang="en"', 'class="skip"'):
        assert landmark in answer.text


def test_landing_gives_the_facts() -> None:
    assert "1,204,331 pages from 8,412 sites, newest 40 seconds ago" in read(page("/"))


def test_results_show_title_trail_snippet_and_counts() -> None:
    answer = page("/search?q=salt+harbour")
    text = read(answer)
    assert "87 results in 3.1 ms" in text
    assert "Salt harbour, chapter 1" in text
    assert "coast0.example › guide › harbour › chapter 1" in text
    assert "<mark>salt</mark>" in answer.text
    assert 'href="https://coast0.example/guide/harbour/0"' in answer.text
    assert answer.text.count('<li class="result"') == 10
    assert 'value="salt harbour"' in answer.text
    assert len(answer.body) < 60_000


def test_estimates_and_partial_answers_say_so() -> None:
    assert "About 12,300 results in" in read(page("/search?q=x", FakeSearcher(total=12_300)))
    assert "there may be more: the search ran out of time" in read(page("/search?q=partial"))
    assert "incomplete" not in read(page("/search?q=salt"))


def test_an_answer_from_the_first_tier_says_so_and_links_to_a_search_of_all_pages() -> None:
    def answer(query: Query) -> ResultPage:
        unsearched = 0 if query.enough == 0 else 750
        return ResultPage(query, (hit(0, query),), 240, not unsearched, False, 0.1, 1_000, unsearched=unsearched)

    searcher = FakeSearcher(answer=answer)
    first = page("/search?q=salt&enough=30&hl=en", searcher)
    assert searcher.asked[-1].enough == 30
    assert "At least 240 results in" in read(first)
    assert '<a href="/search?q=salt&amp;hl=en&amp;enough=0">Search all pages</a>' in first.text
    whole = read(page("/search?q=salt&enough=0&hl=en", searcher))
    assert searcher.asked[-1].enough == 0
    assert "240 results in" in whole
    assert "At least" not in whole
    assert "Search all pages" not in whole
    page("/search?q=salt&enough=x", searcher)
    assert searcher.asked[-1].enough == -1


def test_notes_are_shown_and_escaped() -> None:
    answer = page("/search?q=x", answering(hit(0, Query("x")), notes=("Left out: <the>",)))
    assert "Left out: &lt;the&gt;" in answer.text


def test_missing_words_can_be_required() -> None:
    text = page("/search?q=old+Harbour").text
    assert "<s>harbour</s>" in text
    assert 'href="/search?q=old+%2BHarbour"' in text


def test_other_languages_are_declared() -> None:
    text = page("/search?q=salt").text
    assert text.count('class="snippet" dir="auto" lang="fr"') == 1
    assert 'lang="en"' not in text.split("<main")[1]


def test_explanations_are_shown_on_request() -> None:
    searcher = FakeSearcher()
    plain, explained = page("/search?q=salt", searcher).text, page("/search?q=salt&explain=2", searcher)
    assert [query.explain for query in searcher.asked] == [False, True]
    assert '<details class="why"' not in plain
    assert 'href="/search?q=salt&amp;explain=2#r2"' in plain
    assert explained.text.count('<details class="why"') == 10
    assert explained.text.count('<details class="why" open>') == 1
    assert "words in the title" in read(explained)
    assert "−5%" in read(explained)


def test_pages_are_links() -> None:
    text = page("/search?q=salt&start=40").text
    starts = {int(start) for start in re.findall(r"q=salt&amp;start=(\d+)\"", text)}
    assert starts == {10, 20, 30, 50, 60, 70, 80}
    assert 'rel="prev" href="/search?q=salt&amp;start=30"' in text
    assert 'rel="next" href="/search?q=salt&amp;start=50"' in text
    assert 'aria-current="page"' in text
    assert 'rel="next"' not in page("/search?q=salt&start=80").text
    assert "Pages of results" not in page("/search?q=salt", FakeSearcher(total=3)).text


def test_past_the_last_result_leads_back() -> None:
    answer = page("/search?q=salt&start=500")
    assert "No more results" in read(answer)
    assert 'href="/search?q=salt"' in answer.text


def test_no_results_offers_to_drop_a_word() -> None:
    answer = page("/search?q=nothing+here")
    assert "No results for" in read(answer)
    assert 'href="/search?q=here"' in answer.text
    assert 'href="/search?q=nothing"' not in answer.text, "that one finds nothing either"
    lost = page("/search?q=nothing+nothings")
    assert "Try other words" in read(lost)
    assert "Search again without" not in read(lost)


def test_an_empty_query_goes_to_the_landing_page() -> None:
    answer = page("/search?q=%20%00")
    assert (answer.status, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("target", ["/", "/search?q=salt"])
def test_the_first_run_says_how_to_begin(target: str) -> None:
    empty = FakeSearcher(documents=0, total=0)
    assert "periplus crawl https://example.org/" in read(page(target, empty))


def test_no_index_at_all_is_a_first_run_too() -> None:
    def refuse(_: Query) -> ResultPage:
        raise NothingHere("No index in /secret/place.")

    answer = page("/search?q=salt", FakeSearcher(answer=refuse))
    assert "periplus index build" in read(answer)
    assert page("/api/search?q=salt", FakeSearcher(answer=refuse)).status == 503


def test_a_fault_shows_an_id_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Query) -> ResultPage:
        raise ZeroDivisionError("secret detail")

    with caplog.at_level(logging.ERROR, "periplus.serve"):
        answer = page("/search?q=salt", FakeSearcher(answer=fail))
    assert answer.status == 500
    name = re.search(r"<code>([0-9a-f]{8})</code>", answer.text)
    assert name
    assert name[1] in caplog.text
    assert "secret" not in answer.text
    assert "content-security-policy" in answer.headers


def test_a_broken_index_is_not_described_to_strangers() -> None:
    def fail(_: Query) -> ResultPage:
        raise CorruptFile("/home/me/data/index/1.seg is damaged.")

    answer = page("/search?q=salt", FakeSearcher(answer=fail))
    assert answer.status == 503
    assert "/home" not in answer.text


def test_the_cached_copy_is_text() -> None:
    answer = page(f"/cached/{hit(0, Query('salt')).key:016x}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "14 November 2023, 22:13 UTC" in read(answer)


@pytest.mark.parametrize("key", ["0000000000000000", "x", "0" * 40, "-1", "%2e%2e", "FFFFFFFFFFFFFFFF"])
def test_no_copy_is_a_404(key: str) -> None:
    assert page(f"/cached/{key}").status == 404


BEHIND = " in 1817. It<mark> is</mark>"
SNIPPET = (("… So. The <tower> was ", False), ("built", True), (" in 1817. It", False), (" is", True))


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (
            (6, 36),
            '… So. <b class="answer-sentence">The &lt;tower&gt; was <mark>built</mark> in 1817.</b> It<mark> is</mark>',
        ),
        (
            (6, 42),
            '… So. <b class="answer-sentence">The &lt;tower&gt; was <mark>built</mark> in 1817. It<mark> is</mark></b>',
        ),
        (
            (0, 24),
            f'<b class="answer-sentence">… So. The &lt;tower&gt; was <mark>bu</mark></b><mark>ilt</mark>{BEHIND}',
        ),
        (
            (0, 99),
            '<b class="answer-sentence">… So. The &lt;tower&gt; was <mark>built</mark> in 1817. It<mark> is</mark></b>',
        ),
        ((0, 0), "So. The &lt;tower&gt; was <mark>built</mark> in 1817. It<mark> is</mark>"),
    ],
)
def test_the_sentence_that_answers_is_bold(answer: tuple[int, int], shown: str) -> None:
    one = Hit("https://a.example/", "A", SNIPPET, ("a.example",), 1.0, 7, kind="text/html", answer=answer)
    text = page("/search?q=who+built+the+tower", answering(one)).text
    assert f'<p class="snippet" dir="auto">{shown}</p>' in text


def test_a_heading_that_repeats_the_title_is_left_out() -> None:
    sentence = (("It takes about 28 weeks to learn how to sound the ", False), ("signal", True), (".", False))
    snippet = (("Fog signal", True), (" · ", False), *sentence)
    text = "It takes about 28 weeks to learn how to sound the <mark>signal</mark>."
    for answer, shown in (((0, 10), text), ((13, 70), f'<b class="answer-sentence">{text}</b>')):
        one = Hit("https://a.example/", "Fog signal | Headland", snippet, ("a.example",), 1.0, 7, answer=answer)
        assert f'<p class="snippet" dir="auto">{shown}</p>' in page("/search?q=fog", answering(one)).text
        other = msgspec.structs.replace(one, title="Horns", answer=(0, 0))
        assert "<mark>Fog signal</mark> · It takes" in page("/search?q=fog", answering(other)).text


def test_a_heading_stays_where_the_words_are_nowhere_else() -> None:
    snippet = (("Fog signal", True), (" · It takes about 28 weeks to learn how to sound the horn.", False))
    for answer in ((0, 10), (0, 0)):
        one = Hit("https://a.example/", "Fog signal | Headland", snippet, ("a.example",), 1.0, 7, answer=answer)
        shown = '<p class="snippet" dir="auto"><mark>Fog signal</mark> · It takes about 28 weeks'
        assert shown in page("/search?q=fog", answering(one)).text


def test_the_link_to_the_passage_begins_with_the_answer() -> None:
    one = Hit("https://a.example/", "A", SNIPPET, ("a.example",), 1.0, 7, kind="text/html", answer=(6, 36))
    assert fragment_link(one) == "https://a.example/#:~:text=The%20%3Ctower%3E%20was%20built%20in%201817."


def test_hostile_hits_do_no_harm() -> None:
    bad = Hit(
        url="javascript:alert(1)",
        title='"><script>alert(1)</script>\ud800',
        snippet=(("<img src=x onerror=alert(1)>", False), ("</mark><b>", True)),
        breadcrumbs=("<i>", "\x00"),
        score=float("nan"),
        key=2**64 - 1,
        language='en" onclick="x',
        fetched=1e300,
        kind="<svg>",
        missing=('"><b>',),
        reasons=(("<b>", float("inf")),),
        answer=(3, 1 << 60),
    )
    answer = page("/search?q=x&explain=1", answering(bad))
    read(answer)
    assert answer.status == 200
    for forbidden in ("<script>", "<img", "<b>", "<i>", "javascript:", 'onclick="', "<svg>"):
        assert forbidden not in answer.text
    assert page("/api/search?q=x", answering(bad)).status == 200


def test_static_files_are_cached_by_version() -> None:
    css = re.search(r'href="(/static/periplus\.css\?v=\w+)"', page("/").text)
    assert css
    answer = page(css[1])
    assert answer.headers["content-type"].startswith("text/css")
    assert "immutable" in answer.headers["cache-control"]
    again = page(css[1], headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert "immutable" not in page("/static/periplus.css?v=old").headers["cache-control"]
    for target in ("/static/no.css", "/static/../app.py", "/static/%2e%2e/app.py", "/static/"):
        assert page(target).status == 404
    assert page("/favicon.svg").headers["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize("host", ["search.example:8080", "[::1]:80"])
def test_opensearch_names_the_requested_host(host: str) -> None:
    app = make_app(FakeSearcher(), ServeSettings(host_names=("search.example",)))
    tree = ElementTree.fromstring(get(app, "/opensearch.xml", headers={"host": host}).text)
    urls = [element.get("template") for element in tree.iter() if element.tag.endswith("Url")]
    assert urls[0] == f"http://{host}/search?q={{searchTerms}}&start={{startIndex?}}"


def test_opensearch_ignores_a_forged_host() -> None:
    text = page("/opensearch.xml", headers={"host": 'x"/><evil>'}).text
    assert "evil" not in text


def test_unknown_paths_and_methods() -> None:
    assert page("/nowhere").status == 404
    answer = page("/search?q=x", method="PUT")
    assert answer.status == 405
    assert page("/search?q=x", method="HEAD").status == 200
