"""What a result page says of a query that was corrected or relaxed, in every format and language."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher, hit

from periplus.records import Query, ResultPage
from periplus.serve import make_app
from periplus.settings import ServeSettings

NOTE = 'No page has "zibble": left out of the search.'


def answer(query: Query) -> ResultPage:
    """Correct the query 'slat <b>', unless it is verbatim."""
    corrected = "" if query.verbatim or "slat" not in query.words else query.words.replace("slat", "salt")
    hits = tuple(hit(number, query) for number in range(query.start, query.start + query.size))
    offers = (corrected,) if corrected else ("offer",)
    return ResultPage(query, hits, 87, True, False, 0.003, 10, (NOTE,), corrections=offers, showing_for=corrected)


SEARCHER = FakeSearcher(answer=answer)
APP = make_app(SEARCHER, ServeSettings(threads=1))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("en", "Showing results for salt &lt;b&gt;. Search instead for slat &lt;b&gt;"),
        ("de", "Ergebnisse für salt &lt;b&gt;. Stattdessen suchen nach slat &lt;b&gt;"),
        ("es", "Mostrando resultados de salt &lt;b&gt;. Buscar, en cambio, slat &lt;b&gt;"),
        ("fr", "Résultats affichés pour salt &lt;b&gt;. Chercher plutôt slat &lt;b&gt;"),
    ],
)
def test_the_page_says_what_it_shows(code: str, line: str) -> None:
    text = get(APP, f"/search?q=slat+<b>&hl={code}").text
    corrected = re.search(r'<p class="note corrected" role="status">(.*?)</p>', text)
    assert corrected is not None
    assert re.sub(r"<[^>]*>", "", corrected[1]) == line
    links = re.findall(r'href="([^"]*)"', corrected[1])
    assert links == [f"/search?q=salt+%3Cb%3E&amp;hl={code}", f"/search?q=slat+%3Cb%3E&amp;verbatim=1&amp;hl={code}"]
    assert 'value="slat &lt;b&gt;"' in text, "the field keeps what was typed"
    assert f'rel="next" href="/search?q=salt+%3Cb%3E&amp;start=10&amp;hl={code}"' in text


def test_what_is_offered_stays_an_offer() -> None:
    text = get(APP, "/search?q=slat&verbatim=1").text
    assert "Did you mean:" in text
    assert "Showing results for" not in text
    assert SEARCHER.asked[-1].verbatim
    assert 'href="/search?q=slat&amp;start=10&amp;verbatim=1"' in text


def test_notes_are_announced() -> None:
    text = get(APP, "/search?q=salt").text
    assert '<div class="notices" role="status"><p class="note">No page has &#34;zibble&#34;: left out' in text


def test_programs_learn_it_too() -> None:
    body = json.loads(get(APP, "/api/search?q=slat").body)
    assert (body["query"], body["showing_for"], body["corrections"], body["notes"]) == (
        "slat",
        "salt",
        ["salt"],
        [NOTE],
    )
    assert json.loads(get(APP, "/api/search?q=slat&verbatim=1").body)["showing_for"] == ""
    rss = ElementTree.fromstring(get(APP, "/search?q=slat&format=rss").text)
    assert rss.findtext("channel/title") == "salt · Periplus"
    assert rss.findtext("channel/description") == "Results for salt instead of slat"
    rows = list(csv.DictReader(io.StringIO(get(APP, "/search?q=slat&format=csv").text)))
    assert [(row["title"], row["type"]) for row in rows[:2]] == [
        ("salt", "correction"),
        ("Salt harbour, chapter 1", "result"),
    ]
