"""The whole way from an index on disk to a page, with the real searcher."""

import json
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest
from asgi_caller import get
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from periplus.hashing import fingerprint_text
from periplus.index import build_index
from periplus.records import FetchRecord, Outcome, Page
from periplus.search import Searcher
from periplus.serve import SearcherLike, background_server, make_app
from periplus.settings import IndexSettings, ServeSettings, Settings

TEXTS = {
    "https://coast.example/salt%20pans": (
        "Salt pans",
        "The salt pans dry in the sun beside the old harbour.\nBoats come.",
    ),
    "https://coast.example/light": ("The lighthouse", "Its fire was seen far over the sea <script>alert(1)</script>."),
    "https://town.example/": ("Le port", "Le port de la ville est ouvert toute la nuit pour les bateaux."),
}


def visits(texts: dict[str, tuple[str, str]]) -> list[FetchRecord]:
    return [
        FetchRecord(url, fingerprint_text(url), Outcome.OK, 1.7e9, 200, page=Page(url, title=title, text=text))
        for url, (title, text) in texts.items()
    ]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> SearcherLike:
    folder = tmp_path_factory.mktemp("real")
    build_index(visits(TEXTS), folder / "index", IndexSettings())
    return Searcher.open(folder, Settings())


@pytest.fixture(scope="module")
def app(searcher: SearcherLike) -> Starlette:
    return make_app(searcher, ServeSettings(threads=2))


def test_a_page_is_found_shown_explained_and_cached(app: Starlette) -> None:
    page = get(app, "/search?q=salt+harbour&explain=1")
    assert page.status == 200
    assert "<mark>salt</mark>" in page.text.lower()
    assert "<bdi>salt pans</bdi>" in page.text, "the path is readable"
    assert 'class="reasons"' in page.text
    first = get(app, "/api/search?q=salt+harbour").json["results"][0]
    assert first["url"] == "https://coast.example/salt%20pans"
    copy = get(app, first["cached"])
    assert copy.status == 200
    assert "Boats come." in copy.text


def test_statistics_and_landing(app: Starlette) -> None:
    assert get(app, "/api/statistics").json["documents"] == 3
    assert "3 pages from 2 sites" in get(app, "/").text


def test_markup_in_a_page_stays_text(app: Starlette) -> None:
    text = get(app, "/search?q=lighthouse+fire").text
    assert "<script>alert" not in text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=120) | st.text('salt -+"():|AND OR site: harbour*', max_size=60))
def test_any_words_are_answered(app: Starlette, words: str) -> None:
    raw = quote(words.encode("utf-8", "surrogatepass"))
    assert get(app, f"/search?q={raw}&explain=1").status in (200, 303)
    assert get(app, f"/api/search?q={raw}").status in (200, 400)


@pytest.mark.parametrize("words", ["salt " * 400, "(" * 2000, '"' * 2000, "-" * 2000, "a OR " * 400])
def test_heavy_words_are_answered(app: Starlette, words: str) -> None:
    assert get(app, "/search?q=" + quote(words)).status == 200


def test_an_empty_folder_is_a_first_run_until_there_is_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("periplus.serve.search_executor._STATISTICS_SECONDS", 0.0)
    with background_server(Searcher.open(tmp_path, Settings(), may_be_empty=True), ServeSettings(port=0)) as url:
        assert b"The index is empty" in urllib.request.urlopen(url).read()
        build_index(visits(TEXTS), tmp_path / "index", IndexSettings())
        while json.load(urllib.request.urlopen(url + "api/statistics"))["documents"] == 0:
            pass
        with urllib.request.urlopen(url + "api/search?q=lighthouse") as answer:
            assert json.load(answer)["number_of_results"] == 1
