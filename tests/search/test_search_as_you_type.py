"""Search as you type: the last word matches as itself or as the beginning of a longer one."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import visit
from periplus.index import Index, build_index
from periplus.query import Scoring, parse_query, plan_query
from periplus.records import Query
from periplus.search import Searcher
from periplus.search.rewriting.unfinished_word import unfinished_word
from periplus.settings import Settings, load

PAGES = [
    visit("https://keeper.test/", "The keeper", "a lighthouse keeper sees fog and sailing boats"),
    visit("https://port.test/", "Harbour", "harbour lights and a sea"),
    visit("https://search.test/", "Engine", "search engines and searching"),
    visit("https://season.test/", "Storms", "every season has its storms"),
    *(visit(f"https://many{n}.test/", f"Many {n}", f"word{n:03} and more of them") for n in range(60)),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("typing")
    build_index(PAGES, folder / "index", Settings().index)
    searcher = Searcher.open(folder, load(None, {}, ["search.budget_ms=60000"]))
    assert searcher._session is not None
    searcher._session.suggester.ready()
    return searcher


def titles(searcher: Searcher, words: str) -> list[str]:
    return [hit.title for hit in searcher.search(Query(words, as_you_type=True, verbatim=True)).hits]


def test_every_beginning_of_a_query_finds_the_page(searcher: Searcher) -> None:
    typed = "lighthouse keeper"
    for end in range(2, len(typed) + 1):
        assert titles(searcher, typed[:end])[:1] == ["The keeper"] or end < 6, typed[:end]
    assert titles(searcher, "sailin") == ["The keeper"], "the stem of sailing is shorter"
    assert titles(searcher, "lighthouse kee") == ["The keeper"]


def test_a_whole_word_comes_before_longer_ones(searcher: Searcher) -> None:
    assert titles(searcher, "sea")[0] == "Harbour"
    assert set(titles(searcher, "sea")) == {"Harbour", "Engine", "Storms"}
    assert titles(searcher, "sea ") == ["Harbour"], "a space ends the word"
    assert [hit.title for hit in searcher.search(Query("sea")).hits] == ["Harbour"]


def test_completions_are_marked_and_not_missing(searcher: Searcher) -> None:
    hit = searcher.search(Query("harbour ligh", as_you_type=True)).hits[0]
    assert [text for text, marked in hit.snippet if marked] == ["harbour lights"]
    assert hit.missing == ()


def test_operators_go_on_working(searcher: Searcher) -> None:
    assert titles(searcher, "+harb") == ["Harbour"]
    assert titles(searcher, "intitle:stor") == ["Storms"]
    assert titles(searcher, "fog AND kee") == ["The keeper"]
    assert set(titles(searcher, "fog OR engi")) == {"The keeper", "Engine"}
    assert titles(searcher, "sea -harb") == ["Harbour"], "what is excluded is not completed"


def test_no_correction_is_offered_while_typing(searcher: Searcher) -> None:
    page = searcher.search(Query("lighthuose keep", as_you_type=True))
    assert page.corrections == () or page.showing_for


def test_expansions_are_bounded(searcher: Searcher) -> None:
    assert searcher._session is not None
    index: Index = searcher._session.index
    tree = parse_query("wo").tree
    assert tree is not None
    plan = plan_query(index, tree, Scoring(), (), "wo")
    assert len(plan.leaves) == 16
    assert len(plan_query(index, parse_query("w").tree, Scoring(), (), "w").leaves) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ("deep se", "se"),
        ("Deep Sé", "se"),
        ("deep sea ", ""),
        ("deep -se", ""),
        ("deep NOT se", ""),
        ("+se", "se"),
        ("(deep se", "se"),
        ("intitle:se", "se"),
        ("intitle:(se", "se"),
        ("site:se", ""),
        ('"deep se"', ""),
        ("wi-fi", "fi"),
        ("", ""),
        (" ", ""),
        ("sea!", ""),
        ("sail*", ""),
    ],
)
def test_which_word_is_unfinished(words: str, word: str) -> None:
    assert unfinished_word(Query(words, as_you_type=True)) == word
    assert unfinished_word(Query(words)) == ""


@given(st.text(max_size=60))
def test_any_beginning_gets_an_answer(searcher: Searcher, words: str) -> None:
    searcher.search(Query(words, as_you_type=True))


@given(st.text(alphabet="abelmnorsw0", max_size=4), st.integers(0, 20))
def test_completions_of_the_vocabulary_are_those_of_a_scan(searcher: Searcher, prefix: str, most: int) -> None:
    assert searcher._session is not None
    book = searcher._session.index.spelling
    assert book._loaded is not None
    words = [book._spell(number) for number in range(book.size)]
    counts = dict(zip(words, book._loaded.words.count.tolist(), strict=True))
    longer = [word for word in words if prefix and word.startswith(prefix) and word != prefix]
    assert book.complete(prefix, most) == sorted(longer, key=lambda word: -counts[word])[:most]
