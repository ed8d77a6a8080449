"""Why a page is not found for a query: the API, the page, and the link from results."""

from pathlib import Path
from typing import Any

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher

from periplus.evaluate import diagnose
from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.search import Searcher
from periplus.serve import Actions, make_app
from periplus.settings import ServeSettings, Settings

TEXTS = {
    "https://coast.example/light": ("The lighthouse", "Its fire was seen far over the sea <script>."),
    "https://coast.example/salt": ("Salt", "The salt pans dry in the sun."),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("why")
    records = [
        FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.7e9, 200, page=Page(url, title=title, text=text))
        for url, (title, text) in TEXTS.items()
    ]
    build_index(records, folder / "index", Settings().index)
    searcher = Searcher.open(folder, Settings())

    def why(query: Query, url: str) -> Any:
        return diagnose(searcher, folder, Settings(), query, url)

    why(Query("fire"), "https://coast.example/salt")  # loads the kernels, which may take longer than a request
    return make_app(searcher, ServeSettings(threads=2, deadline=60.0), Actions(why=why))


def test_the_api_says_where_a_page_is_and_why_another_is_not(app: Any) -> None:
    found = get(app, "/api/why?q=fire&url=https://coast.example/light").json
    assert (found["reason"], found["rank"]) == ("ranked", 1)
    lost = get(app, "/api/why?q=%2Bfire&url=https://coast.example/salt").json
    assert (lost["reason"], lost["missing"]) == ("no match", ["fire"])
    assert lost["advice"]
    filtered = get(app, "/api/why?q=fire&site=town.example&url=https://coast.example/light").json
    assert filtered["filters"] == ["site:town.example"]


@pytest.mark.parametrize("target", ["q=fire", "q=fire&url=no+url", "url=https://a.example/", "q=x&url=" + "a" * 3_000])
def test_invalid_requests_are_named(app: Any, target: str) -> None:
    answer = get(app, f"/api/why?{target}")
    assert answer.status == 400
    assert answer.json["hint"] is not None


def test_the_page_works_without_scripts(app: Any) -> None:
    results = get(app, "/search?q=fire&safesearch=1").text
    assert 'href="/why-not?q=fire&amp;safesearch=1">Not what you expected?' in results
    form = get(app, "/why-not?q=fire&safesearch=1").text
    assert 'name="q" type="text" maxlength="2000" value="fire"' in form
    assert 'name="safesearch" value="1"' in form
    page = get(app, "/why-not?q=%2Bfire+%3Cb%3E&url=coast.example/salt").text
    assert "It does not have" in page
    assert "<b>" not in page
    assert "This page is in the index." in page
    assert get(app, "/why-not?q=fire&url=:::").status == 400


def test_a_server_that_cannot_explain() -> None:
    plain = make_app(FakeSearcher(), ServeSettings(threads=2))
    assert get(plain, "/api/why?q=fire&url=https://coast.example/light").status == 501
    assert get(plain, "/why-not?q=fire&url=https://coast.example/light").status == 200
