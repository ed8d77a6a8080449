"""A misspelt query shows the results of its correction, unless it was meant as typed."""

from pathlib import Path

import pytest

from index.made_pages import visit
from periplus.index import build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings, load

PAGES = [
    *(visit(f"https://light{n}.test/", f"Lighthouse {n}", f"a lighthouse keeper sees fog {n}") for n in range(40)),
    *(visit(f"https://port{n}.test/", f"Harbour {n}", f"harbour charts of the coast {n}") for n in range(40)),
    visit("https://name.test/", "Lighthousse", "Lighthousse is the name of a band"),
    visit("https://letters.test/", "Model", "the model A320neo and the zzyzx road"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("corrected")
    build_index(PAGES, folder / "index", Settings().index)
    searcher = Searcher.open(folder, load(None, {}, ["search.budget_ms=60000"]))
    assert searcher._session is not None
    searcher._session.suggester.ready()
    return searcher


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("lighthuose", "lighthouse"),
        ("lighthuose keeper", "lighthouse keeper"),
        ("Lighthuose, keper!", "lighthouse, keeper!"),
        ("light house", "lighthouse"),
        ("harbuor chrats", "harbour charts"),
    ],
)
def test_results_of_the_correction_are_shown(searcher: Searcher, typed: str, meant: str) -> None:
    page, other = searcher.search(Query(typed)), searcher.search(Query(meant))
    assert page.showing_for == page.corrections[0] == meant
    assert page.query == Query(typed)
    assert [hit.url for hit in page.hits] == [hit.url for hit in other.hits]
    assert page.total == other.total > 0
    assert other.showing_for == ""


@pytest.mark.parametrize(
    "typed",
    [
        "lighthouse",
        "lighthousse",
        "lighthousse harbour",
        '"lighthuose"',
        "+lighthuose",
        "lighthuose -fog",
        "lighthuose OR harbour",
        "lighthuose site:light1.test",
        "intitle:lighthuose",
        "a320nep",
        "charms of the coast",
        "coats harbour",
        "qqqqqqqqq",
        "lighthouse harbuor band",
    ],
)
def test_what_may_be_meant_is_not_replaced(searcher: Searcher, typed: str) -> None:
    assert searcher.search(Query(typed)).showing_for == ""


@pytest.mark.parametrize(("typed", "meant"), [("fgo", "fog"), ("fogg", "fog"), ("wighthouse", "lighthouse")])
def test_what_finds_nothing_shows_what_may_be_meant(searcher: Searcher, typed: str, meant: str) -> None:
    page = searcher.search(Query(typed))
    assert (page.showing_for, page.corrections[0]) == (meant, meant)
    assert page.hits == searcher.search(Query(meant)).hits
    assert searcher.search(Query(typed, verbatim=True)).hits == ()


def test_a_verbatim_query_is_only_offered_its_correction(searcher: Searcher) -> None:
    page = searcher.search(Query("lighthuose", verbatim=True))
    assert (page.hits, page.showing_for, page.corrections) == ((), "", ("lighthouse",))


def test_further_pages_and_short_pages_are_of_the_same_results(searcher: Searcher) -> None:
    whole = searcher.search(Query("lighthuose", size=40))
    parts = [searcher.search(Query("lighthuose", start=start, size=4)) for start in range(0, 40, 4)]
    assert [hit.url for page in parts for hit in page.hits] == [hit.url for hit in whole.hits]
    assert {page.showing_for for page in parts} == {"lighthouse"}


def test_a_relaxed_query_is_offered_the_correction_of_what_was_left_out(searcher: Searcher) -> None:
    page = searcher.search(Query('"lighthuose keeper"'))
    assert page.notes == ('No page has "lighthuose": left out of the search.',)
    assert page.hits
    assert page.corrections == ('"lighthouse keeper"',)
