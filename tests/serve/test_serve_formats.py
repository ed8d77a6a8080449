"""One answer in every form: SearXNG's JSON, RSS, CSV, completions."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher, FakeStatistics, hit

from periplus.records import Card, Hit, Query, ResultPage
from periplus.serve import make_app
from periplus.serve.api.result_formats import as_json
from periplus.settings import ServeSettings

SEARCHER = FakeSearcher()
APP = make_app(SEARCHER, ServeSettings(threads=2, cache_mb=0))

SEARXNG = {
    *("query", "number_of_results", "results", "answers", "corrections", "infoboxes", "suggestions"),
    "unresponsive_engines",
}
SEARXNG_RESULT = {
    *("url", "title", "content", "engine", "engines", "parsed_url", "template", "positions", "score", "category"),
    *("publishedDate", "thumbnail", "img_src", "priority"),
}


def test_json_has_all_that_searxng_clients_read_and_what_is_ours() -> None:
    found = get(APP, "/search?q=salt+harbour&format=json&explain=1&count=3&page=2").json
    assert set(found) >= SEARXNG
    assert set(found) >= {"timings", "partial", "exact", "documents", "generation", "hidden", "notes", "seconds"}
    assert (found["query"], found["number_of_results"], len(found["results"])) == ("salt harbour", 87, 3)
    first = found["results"][0]
    assert set(first) >= SEARXNG_RESULT | {"snippet", "cached", "missing", "similar", "explain", "kind"}
    assert first["positions"] == [4]
    assert first["engines"] == ["periplus"]
    assert first["parsed_url"][:3] == ["https", "coast3.example", "/guide/tides/3"]
    assert first["explain"][0] == {"name": "words in the title", "value": 4.2}
    assert found["unresponsive_engines"] == []


def test_json_has_the_sentence_that_answers() -> None:
    pieces = (("Before. It was ", False), ("built", True), (" in 1817. After", False))
    one = Hit("https://a.example/", "A", pieces, ("a.example",), 1.0, 7, answer=(8, 29))
    none = Hit("https://b.example/", "B", pieces, ("b.example",), 1.0, 8)
    results = as_json(ResultPage(Query("x"), (one, none), 2, True, False, 0.1, 9))["results"]
    assert [result["answer"] for result in results] == ["It was built in 1817.", ""]
    assert results[0]["content"] == "Before. It was built in 1817. After"


def test_the_accept_header_chooses_too() -> None:
    for accepted, kind in (
        ("application/json", "application/json"),
        ("application/rss+xml", "application/rss+xml"),
        ("text/csv;q=0.9", "text/csv; charset=utf-8"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
        ("", "text/html; charset=utf-8"),
    ):
        assert get(APP, "/search?q=salt", headers={"accept": accepted}).headers["content-type"] == kind
    assert get(APP, "/search?q=salt&format=JSON").headers["content-type"] == "application/json"
    assert get(APP, "/search?q=salt&format=exe").headers["content-type"].startswith("text/html")


def test_what_narrows_a_search_reaches_it() -> None:
    target = "/search?q=salt&format=json&lang=de-CH&site=Coast.Example&time_range=week&safesearch=2&tab=services"
    assert get(APP, target).status == 200
    query = SEARCHER.asked[-1]
    assert (query.language, query.site, query.days, query.safe) == ("de", "coast.example", 7, 2)
    assert "application/wsdl+xml" in query.kinds
    assert query.folded
    assert get(APP, "/search?q=salt&similar=1").status == 200
    assert not SEARCHER.asked[-1].folded


@pytest.mark.parametrize(
    "given", ["count=0", "count=101", "page=0", "page=x", "safesearch=3", "time_range=decade", "tab=x", "explain=2"]
)
def test_invalid_requests_of_programs_are_refused(given: str) -> None:
    answer = get(APP, f"/search?q=salt&format=json&{given}")
    assert answer.status == 400
    assert set(answer.json) == {"error", "hint"}
    assert get(APP, f"/search?q=salt&{given}").status == 200, "people get the nearest that does"
    assert get(APP, "/search?format=json&q=").status == 400


def test_rss_is_a_feed() -> None:
    answer = get(APP, "/search?q=salt+%26+%3Cpepper%3E&format=rss&count=5")
    tree = ElementTree.fromstring(answer.body)
    items = tree.findall("channel/item")
    assert len(items) == 5
    assert tree.findtext("channel/title") == "salt & <pepper> · Periplus"
    assert items[0].findtext("link") == "https://coast0.example/guide/harbour/0"
    assert tree.findtext("channel/{http://a9.com/-/spec/opensearch/1.1/}totalResults") == "87"


def test_csv_is_a_table_without_formulas() -> None:
    bad = hit(0, Query("x"))
    bad = Hit(**{**{name: getattr(bad, name) for name in bad.__struct_fields__}, "title": "=cmd()|'x'!A1\n\r,\""})
    app = make_app(FakeSearcher(answer=lambda q: ResultPage(q, (bad,), 1, True, False, 0.1, 10)), ServeSettings())
    answer = get(app, "/search?q=x&format=csv")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0] == ["title", "url", "content", "host", "engine", "score", "type"]
    assert rows[1][0] == "'=cmd()|'x'!A1 ,\""
    assert len(rows) == 2
    assert "attachment" in answer.headers["content-disposition"]


def hostile(q: Query) -> ResultPage:
    bad = Hit(
        "javascript:alert(1)", "\x00\ud800]]>", (("\x0b<b>", True),), ("<i>",), float("nan"), 2**64 - 1, day=10**9
    )
    return ResultPage(q, (bad,), 1, True, False, 0.1, 10)


@pytest.mark.parametrize("form", ["json", "rss", "csv"])
def test_hostile_pages_break_no_format(form: str) -> None:
    app = make_app(FakeSearcher(answer=hostile), ServeSettings())
    answer = get(app, f"/search?q=%00%ED%A0%80x&format={form}")
    assert answer.status == 200
    if form == "rss":
        ElementTree.fromstring(answer.body)
    elif form == "json":
        json.loads(answer.body)


def test_completions_have_the_form_browsers_read() -> None:
    answer = get(APP, "/suggest?q=sal")
    assert answer.headers["content-type"] == "application/x-suggestions+json"
    words, texts, _, _, more = answer.json
    assert (words, texts) == ("sal", ["Salt harbour"])
    assert more["google:suggestrelevance"] == [1000]
    assert get(APP, "/suggest").status == 200
    assert len(get(APP, "/suggest?q=" + "x" * 5000).json[0]) == 200


def test_instant_answers_stand_above() -> None:
    assert "12 nmi = 22.224 km" in get(APP, "/search?q=12+nmi+in+km").text
    assert get(APP, "/search?q=2%5E10&format=json").json["answers"] == ["2^10 = 1,024"]


def test_safe_search_says_when_much_is_hidden() -> None:
    def answer(hidden: int) -> str:
        app = make_app(
            FakeSearcher(
                answer=lambda q: ResultPage(q, (hit(0, q),), 1, True, False, 0.1, 9, hidden=hidden, examined=100)
            ),
            ServeSettings(),
        )
        return get(app, "/search?q=x&safesearch=1").text

    assert "Safe search hid 21 of the first 100 results" in answer(21)
    assert "Safe search hid" not in answer(20)


def test_similar_results_and_inner_links_are_shown() -> None:
    one = hit(0, Query("x"))
    more = {"similar": ("https://a.example/",), "links": (("Tides", "https://b.example/t"), ("Bad", "javascript:x"))}
    rich = Hit(**{**{name: getattr(one, name) for name in one.__struct_fields__}, **more})
    app = make_app(FakeSearcher(answer=lambda q: ResultPage(q, (rich,), 1, True, False, 0.1, 9)), ServeSettings())
    text = get(app, "/search?q=x").text
    assert 'href="/search?q=x&amp;similar=1"' in text
    assert 'href="https://b.example/t"' in text
    assert "javascript:" not in text
    assert "#:~:text=x%20will%20tell" in text, "a link to the passage"


def test_a_page_without_a_place_on_the_web_leads_to_its_copy() -> None:
    page = Hit("https://published.invalid/ab", "Ours", (), ("published.invalid", "ab"), 1.0, 0xAB)
    app = make_app(FakeSearcher(answer=lambda q: ResultPage(q, (page,), 1, True, False, 0.1, 9)), ServeSettings())
    assert 'class="title" href="/cached/00000000000000ab"' in get(app, "/search?q=x").text
    assert "/cached/00000000000000ab" in get(app, "/search?q=x&format=rss").text


class Plain(FakeSearcher):
    """An index of English HTML and nothing else."""

    def statistics(self) -> FakeStatistics:
        return FakeStatistics(5, 1, 1.0, 9, ("en",), frozenset({"text/html"}))


def test_filters_show_only_where_they_apply() -> None:
    text = get(APP, "/search?q=salt").text
    assert 'name="lang"' in text
    assert '<option value="ja">Japanese</option>' in text
    assert "Services" in text
    plain = get(make_app(Plain(), ServeSettings()), "/search?q=salt").text
    assert 'name="lang"' not in plain
    assert "Services" not in plain
    assert 'name="safesearch"' in plain
    kept = get(make_app(Plain(), ServeSettings()), "/search?q=salt&lang=fr&tab=services").text
    assert '<option value="fr" selected>' in kept, "what is asked for is shown"
    assert "Services" in kept


def test_a_card_is_shown_and_given_to_programs() -> None:
    card = Card("Pharos <b>", "https://coast.example/pharos", "A lighthouse.", (("Height", "103 m"), ("<i>", "<u>")))
    page = FakeSearcher(answer=lambda q: ResultPage(q, (hit(0, q),), 1, True, False, 0.1, 9, card=card))
    app = make_app(page, ServeSettings())
    text = get(app, "/search?q=pharos").text
    assert "Pharos &lt;b&gt;" in text
    assert "103 m" in text
    assert "<u>" not in text
    box = get(app, "/search?q=pharos&format=json").json["infoboxes"][0]
    assert box["infobox"] == "Pharos <b>"
    assert box["attributes"][0] == {"label": "Height", "value": "103 m"}
