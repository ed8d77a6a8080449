"""Forms: which may be filled in at all, with what, and how soon it ends."""

import pytest

from periplus.crawl import Crawler
from periplus.crawl.policies.form_filler import FormFiller
from periplus.parse import extract_forms
from periplus.records import FetchRecord, FetchRequest, FetchResult, Form, Outcome, Page, VisitReport
from periplus.signals import append_visit_reports
from periplus.url import parse_address


def forms(markup: str) -> tuple[Form, ...]:
    place = FetchRequest(parse_address("http://a.test/dir/page"))
    return extract_forms(FetchResult(place, Outcome.OK, 1.0, 200, (("content-type", "text/html"),), markup.encode()))


def test_a_search_box_and_a_choice_are_read():
    found = forms(
        """<FORM action=../find method=GET><input name=q type=search><input type=hidden name=lang value="en&amp;de">
        <select name=in><option value=all>All<option value="books">Books<option>Films</select>
        <input type=submit name=go value=Go></form>
        <form><input type=radio name=year value=2020><input type=radio name=year value=2021></form>"""
    )
    assert found == (
        Form("http://a.test/find", "q", (("lang", "en&de"),), (("in", ("all", "books", "Films")),)),
        Form("http://a.test/dir/page", "", (), (("year", ("2020", "2021")),)),
    )


@pytest.mark.parametrize(
    "markup",
    [
        "<form method=post action=/find><input name=q></form>",
        "<form method=POST action=/find><input name=q></form>",
        "<form method=dialog><input name=q></form>",
        "<form action=/login><input name=user></form>",
        "<form action=/find><input name=q><input type=password name=p></form>",
        "<form action=/find><input name=q><input type=file name=p></form>",
        "<form action=/find><input type=email name=q></form>",
        "<form action=/logout><select name=x><option>1</select></form>",
        "<form action=/items/delete><select name=x><option>1</select></form>",
        "<form action=/find id=unsubscribe><input name=q></form>",
        "<form action=/find><input name=q><input type=hidden name=csrf_token value=1></form>",
        "<form action=/find><input name=q><textarea name=t></textarea></form>",
        "<form action=/find><input name=one><input name=two></form>",
        "<form action=/find><input></form>",
        "<form action=/find>nothing to fill in</form>",
        "<form action=javascript:go()><input name=q></form>",
        "<form action=mailto:a@a.test><input name=q></form>",
        "<form action=/find><input name=q>",
        "<form action=/find><select multiple name=q><option>1</select></form>",
        "<input name=q></form>",
        "<form action=/find>"
        + "".join(f"<input type=hidden name=h{n} value=1>" for n in range(20))
        + "<input name=q></form>",
    ],
)
def test_what_could_do_harm_or_is_broken_is_left_alone(markup):
    assert forms(markup) == ()


def test_floods_of_forms_are_bounded():
    assert len(forms("<form><input name=q></form>" * 5_000)) <= 4
    found = forms("<form><select name=s>" + "".join(f"<option>{n}" for n in range(2_900)) + "</select></form>")
    assert len(found[0].choices[0][1]) == 50
    assert forms("<form " * 50_000 + "<input name=" * 50_000) == ()


@pytest.fixture
def library(scripted):
    """A site whose books are behind a search box, and whose years are behind a choice."""
    box = '<form action="/find"><input name="q"></form>'
    scripted.put("http://a.test/", f'<title>Lighthouse library</title><p>Books.</p>{box}<a href="/years">y</a>')
    options = "".join(f"<option>{year}</option>" for year in (1901, 1902, 1903))
    scripted.put(
        "http://a.test/years", f'<title>Years</title><form action="/year"><select name="n">{options}</select></form>'
    )
    for year in (1901, 1902, 1903):
        scripted.put(f"http://a.test/year?n={year}", f"<title>{year}</title><p>What was printed in {year}.</p>")
    scripted.put(
        "http://a.test/find?q=lighthouse", '<title>Found</title><p>One book.</p><a href="/book">The keeper</a>'
    )
    scripted.put("http://a.test/book", "<title>The keeper</title><p>A book that no link leads to.</p>")
    return scripted


def test_forms_are_left_alone_unless_asked_for(library, tmp_path):
    Crawler(tmp_path / "data", library.settings(tmp_path, "a.test"), ["http://a.test/"]).run()
    assert library.requests == ["http://a.test/", "http://a.test/years"]


def test_what_is_behind_forms_is_found_with_the_words_of_the_site(library, tmp_path):
    Crawler(tmp_path / "data", library.settings(tmp_path, "a.test", forms=20), ["http://a.test/"]).run()
    assert {f"http://a.test/year?n={year}" for year in (1901, 1902, 1903)} <= set(library.requests)
    assert "http://a.test/book" in library.requests
    assert not any(request.startswith("POST") for request in library.requests)


def test_the_budget_of_a_host_holds_over_several_runs(library, tmp_path):
    for run in range(3):
        library.put("http://a.test/", library.answers["http://a.test/"][2] + b"<p>%d" % run)
        settings = library.settings(tmp_path, "a.test", forms=2, recrawl=run > 0, recrawl_per_day=10**9)
        Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    assert len({request for request in library.requests if "?" in request}) <= 2


def test_forms_that_give_nothing_new_are_left_alone_soon(scripted, tmp_path):
    box = '<form action="/find"><input name="q"></form>'
    for number in range(12):
        words = " ".join(f"{'abcdefghijkl'[number]}word{letter}" for letter in "mnopqrst")
        scripted.put(f"http://a.test/{number or ''}", f'<title>{words}</title>{box}<a href="/{number + 1}">next</a>')
    for first in "abcdefghijkl":
        for letter in "mnopqrst":
            scripted.put(f"http://a.test/find?q={first}word{letter}", "<title>No</title><p>Nothing was found.</p>")
    settings = scripted.settings(tmp_path, "a.test", forms=1_000)
    Crawler(tmp_path / "data", settings, ["http://a.test/"]).run()
    assert len([request for request in scripted.requests if "find" in request]) < 30


def test_words_that_people_ask_for_come_first(library, tmp_path):
    append_visit_reports(tmp_path / "data", [VisitReport("http://a.test/find?q=storm+petrel&page=2", 5)])
    Crawler(tmp_path / "data", library.settings(tmp_path, "a.test", forms=3), ["http://a.test/"]).run()
    assert "http://a.test/find?q=storm+petrel&page=2" in library.requests
    filler = FormFiller(10)
    filler.learn_url("http://a.test/find?q=storm+petrel&page=2", "a.test")
    filler.learn(
        FetchRecord("http://a.test/", 1, Outcome.OK, 1.0, page=Page("http://a.test/", title="Lighthouse")), "a.test"
    )
    page = Page("http://a.test/", forms=(Form("http://a.test/find", "q"),))
    assert list(filler.fill(page, "a.test")) == [
        f"http://a.test/find?q={word}" for word in ("petrel", "storm", "lighthouse")
    ]


def test_robots_hold_for_forms(library, tmp_path):
    library.put("http://a.test/robots.txt", "User-agent: *\nDisallow: /find", "text/plain")
    Crawler(tmp_path / "data", library.settings(tmp_path, "a.test", forms=20), ["http://a.test/"]).run()
    assert not any("find" in request for request in library.requests)
