"""Queries that match nothing are relaxed with a note; filters and exclusions stay."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import queries, random_visits, visit
from periplus.index import build_index
from periplus.query import And, AndNot, BagOfWords, MatchAll, Node, Or, Phrase, Prefix, Site, Word, parse_query
from periplus.records import Query, ResultPage
from periplus.search import Searcher
from periplus.search.rewriting.query_relaxation import relax_query
from periplus.settings import Settings, load

PAGES = [
    visit("https://coast.test/fog", "Fog signals", "the deep sea and the fog bell"),
    visit("https://coast.test/tide", "Spring tide", "the sea is deep when the moon is full"),
    visit("https://inland.test/bread", "Bread", "flour and salt, like the harbour"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("relaxation")
    build_index(PAGES, folder / "index", Settings().index)
    return Searcher.open(folder, load(None, {}, ["search.budget_ms=60000"]))


def titles(page: ResultPage) -> set[str]:
    return {hit.title for hit in page.hits}


@pytest.mark.parametrize(
    ("words", "shown", "note"),
    [
        (
            '"deep sea" moon',
            {"Spring tide"},
            'No page has "deep sea" together with "moon"; showing pages with the words instead.',
        ),
        ('"bell fog"', {"Fog signals"}, 'No page has "bell fog"; showing pages with the words instead.'),
        ("fog AND zibble", {"Fog signals"}, 'No page has "zibble": left out of the search.'),
        ('"deep sea" zibble', {"Fog signals"}, 'No page has "zibble": left out of the search.'),
        ("+zibble +quux fog", {"Fog signals"}, 'No page has "quux" or "zibble": left out of the search.'),
        ('"deep zibble"', {"Fog signals", "Spring tide"}, 'No page has "zibble": left out of the search.'),
        (
            "fog AND bread",
            {"Fog signals", "Bread"},
            "No page has all of the required words; showing pages with some of them.",
        ),
        (
            "fog AND bread AND zibble",
            {"Fog signals", "Bread"},
            'No page has "zibble": left out of the search.',
        ),
        ("+fog salt", {"Fog signals"}, 'No page has "salt" together with the required words; showing pages without.'),
        (
            "intitle:moon",
            {"Spring tide"},
            'No page has "moon" in that field; showing pages that have it elsewhere.',
        ),
        (
            "intitle:(fog moon) site:coast.test",
            {"Fog signals", "Spring tide"},
            "No page has all of the required words; showing pages with some of them.",
        ),
        (
            "fog AND bread -bell",
            {"Bread"},
            "No page has all of the required words; showing pages with some of them.",
        ),
        ("fog bread site:inland.test", {"Bread"}, ""),
        ("fog AND moon site:inland.test", set(), "None of the pages that pass site:inland.test has these words."),
        ("zibble site:coast.test", set(), 'No page has "zibble".'),
        ("fog site:nowhere.test", set(), "The index has no pages of nowhere.test."),
        ("fog lang:de", set(), "The index has no pages in the language de (German)."),
        ("fog filetype:docx", set(), "The index has no documents of the type docx."),
        ("fog after:2200", set(), "The index has no pages of that time."),
        ("fog -fog", set(), ""),
        ("zibble", set(), ""),
        ("-fog -deep -salt", set(), ""),
        ("fog filetype:zip", {"Fog signals"}, "filetype:zip was ignored: it is not a type of document"),
        ("fog lang:qq", {"Fog signals"}, "lang:qq was ignored: it is not a language code that Periplus knows."),
    ],
)
def test_what_is_shown_instead(searcher: Searcher, words: str, shown: set[str], note: str) -> None:
    page = searcher.search(Query(words))
    some = "No page has all of the required words; showing pages with some of them."
    further = [some] if words == "fog AND bread AND zibble" else []
    assert titles(page) == shown
    assert [text for text in page.notes if not text.startswith(note)] == further
    assert len(page.notes) == bool(note) + len(further)


def test_a_verbatim_query_is_not_relaxed(searcher: Searcher) -> None:
    page = searcher.search(Query('"deep sea" moon', verbatim=True))
    assert (page.hits, page.total, page.notes) == ((), 0, ())


def test_an_invalid_language_of_a_request_is_ignored_with_a_note(searcher: Searcher) -> None:
    page = searcher.search(Query("fog", language="qq"))
    assert titles(page) == {"Fog signals"}
    assert page.notes == ("lang:qq was ignored: it is not a language code that Periplus knows.",)


def test_pages_of_relaxed_results_join(tmp_path: Path) -> None:
    build_index(random_visits(7, 120), tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, load(None, {}, ["search.budget_ms=60000"]))
    whole = searcher.search(Query("+zibble sea", size=40))
    parts = [searcher.search(Query("+zibble sea", start=start)) for start in range(0, 40, 10)]
    assert [hit.url for page in parts for hit in page.hits] == [hit.url for hit in whole.hits]
    assert {page.notes for page in parts} == {whole.notes}
    assert len(whole.hits) == 40


def test_alternatives_are_not_missing(searcher: Searcher) -> None:
    def missing(words: str) -> set[tuple[str, ...]]:
        return {hit.missing for hit in searcher.search(Query(words)).hits}

    assert missing("fog OR bread OR zibble") == {()}
    assert missing("(fog OR bread) deep salt") == {("salt",), ("deep",)}
    assert missing("intitle:(tide OR bread)") == {()}
    assert missing("fog moon") == {("fog",), ("moon",)}


SITE = Site("coast.test")


@pytest.mark.parametrize(
    ("words", "unknown", "trees"),
    [
        ("sea", (), []),
        ("sea", ("sea",), []),
        ("+sea site:coast.test", ("sea",), []),
        ("sea charts", (), []),
        ("+sea", (), [BagOfWords(("sea",))]),
        ("sea AND map", (), [BagOfWords(("sea", "map"))]),
        ('"sea map"', (), [And((Word("sea"), Word("map"))), BagOfWords(("sea", "map"))]),
        (
            '"sea map" -land site:coast.test',
            (),
            [
                AndNot(And((And((Word("sea"), Word("map"))), SITE)), Word("land")),
                AndNot(And((SITE, BagOfWords(("sea", "map")))), Word("land")),
            ],
        ),
        ("+sea map", (), [And((Word("sea"), Or((MatchAll(), BagOfWords(("map",)))))), BagOfWords(("sea", "map"))]),
        ("tide site:coast.test", (), []),
        ("+sea sail*", (), [Or((BagOfWords(("sea",)), Prefix("sail")))]),
        (
            "intitle:a OR site:coast.test b",
            (),
            [Or((Word("a"), And((SITE, Word("b")))))],
        ),
        ('"a b" OR c', ("c",), [Phrase(("a", "b")), BagOfWords(("a", "b"))]),
        ("a OR b", (), [BagOfWords(("a", "b"))]),
    ],
)
def test_steps_of_relaxation(words: str, unknown: tuple[str, ...], trees: list[Node]) -> None:
    tree = parse_query(words).tree
    assert tree is not None
    assert [relaxed.tree for relaxed in relax_query(tree, frozenset(unknown))] == trees


@given(queries(), st.sets(st.sampled_from(["sea", "chart", "fog", "12", "unknownword"])))
def test_at_most_two_steps_and_no_filter_is_lost(words: str, unknown: set[str]) -> None:
    tree = parse_query(words).tree
    if tree is None:
        return
    steps = list(relax_query(tree, frozenset(unknown)))
    assert len(steps) <= 2
    for step in steps:
        assert step.notes
        assert repr(step.tree).count("AndNot(") <= repr(tree).count("AndNot(")
        assert step.tree != tree


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("crowd")
    build_index(random_visits(11, 80), folder / "index", Settings().index)
    return Searcher.open(folder, load(None, {}, ["search.budget_ms=60000"]))


@given(queries())
def test_relaxed_results_pass_filters_and_exclusions(crowd: Searcher, words: str) -> None:
    allowed = {hit.url for hit in crowd.search(Query("site:coast.test -rope -zibble", size=100, folded=False)).hits}
    page = crowd.search(Query(f"({words}) +zibble site:coast.test -rope", size=100, folded=False))
    assert {hit.url for hit in page.hits} <= allowed
    assert page.notes
