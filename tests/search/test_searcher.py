"""From words to a result page."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import Ranks, random_visits, visit
from periplus.errors import NothingHere
from periplus.index import build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings, load

FOG = (
    "The keeper climbs the tower each evening. When fog comes in, the signal sounds twice a minute. "
    "Ships far out hear it before they see the light.\nA new chapter begins here. " + "Nothing more is said. " * 40
)
PAGES = [
    visit("https://coast.test/lighthouse/fog%20signal", "The fog signal", FOG),
    visit("https://coast.test/tides", "Tides", "The tide comes twice a day. Fog does not care about the tide."),
    visit("https://www.inland.test/bread", "Bread", "Flour, water, salt, and time. A signal success."),
    visit("https://www.inland.test/empty", "Nothing but a title", ""),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("search")
    build_index(PAGES, place / "index", Settings().index, Ranks({PAGES[1].key: 1.0}))
    return place


@pytest.fixture(scope="module")
def searcher(folder: Path) -> Searcher:
    return Searcher.open(folder, Settings())


def found(searcher: Searcher, words: str, **more: int) -> list[str]:
    return [hit.title for hit in searcher.search(Query(words, **more)).hits]


def test_the_page_about_it_comes_first(searcher: Searcher) -> None:
    assert found(searcher, "fog signal")[0] == "The fog signal"
    assert found(searcher, "tide") == ["Tides"]
    assert found(searcher, "signals -fog") == ["Bread"]
    assert found(searcher, "site:inland.test signal") == ["Bread"]
    assert found(searcher, '"comes twice a day"') == ["Tides"]
    assert found(searcher, '"twice a minute" OR flour') == ["Bread", "The fog signal"]


def test_a_result_says_what_it_is(searcher: Searcher) -> None:
    page = searcher.search(Query("fog signal", explain=True))
    hit = page.hits[0]
    assert hit.url == PAGES[0].url
    assert hit.breadcrumbs == ("coast.test", "lighthouse", "fog signal")
    assert hit.language == "en"
    assert hit.key == PAGES[0].key
    assert dict(hit.reasons).keys() >= {"word: fog", "word: signal", "all words", "quality"}
    assert sum(value for _, value in hit.reasons) == pytest.approx(hit.score, rel=1e-4)
    assert page.total == 3
    assert page.exact
    assert page.documents == 4
    assert page.hits[1].missing == ("signal",)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how often does the fog signal sound", "When fog comes in, the signal sounds twice a minute."),
        ("when does the tide come?", "The tide comes twice a day."),
        ("fog signal", ""),
        ("fog signal tide", ""),
        ("tide", ""),
    ],
)
def test_a_question_has_the_sentence_that_answers_it(searcher: Searcher, question: str, answer: str) -> None:
    hit = searcher.search(Query(question)).hits[0]
    begin, end = hit.answer
    assert "".join(piece for piece, _ in hit.snippet)[begin:end] == answer


def test_snippets_mark_words_of_the_page_itself(searcher: Searcher) -> None:
    pieces = searcher.search(Query("fog signal")).hits[0].snippet
    text = "".join(piece for piece, _ in pieces)
    assert "When fog comes in, the signal sounds twice" in text
    assert [piece for piece, marked in pieces if marked] == ["fog", "signal"]
    assert len(text) < 250


def test_a_page_found_by_its_title_alone_shows_its_beginning(searcher: Searcher) -> None:
    hit = searcher.search(Query("title")).hits[0]
    assert hit.snippet == ()
    bread = searcher.search(Query("bread")).hits[0]
    assert "".join(piece for piece, _ in bread.snippet).startswith("Flour, water")


def test_pages_of_results_join(tmp_path: Path) -> None:
    build_index(random_visits(7, 120), tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    whole = [hit.url for hit in searcher.search(Query("sea", size=50)).hits]
    parts = [hit.url for start in range(0, 50, 10) for hit in searcher.search(Query("sea", start=start)).hits]
    assert parts == whole
    assert len(set(whole)) == 50


@given(st.text(max_size=80), st.integers(-5, 2000), st.integers(-5, 200))
def test_any_words_get_an_answer(searcher: Searcher, words: str, start: int, size: int) -> None:
    page = searcher.search(Query(words, start=start, size=size))
    assert len(page.hits) <= max(0, size)


def test_no_index_is_an_error_or_an_empty_answer(tmp_path: Path) -> None:
    with pytest.raises(NothingHere):
        Searcher.open(tmp_path, Settings())
    searcher = Searcher.open(tmp_path, Settings(), may_be_empty=True)
    assert searcher.search(Query("sea")).hits == ()
    assert searcher.statistics().documents == 0
    assert searcher.cached_page(1) is None
    build_index(PAGES, tmp_path / "index", Settings().index)
    assert searcher.refresh()
    assert not searcher.refresh()
    assert searcher.search(Query("tide")).total == 1


def test_the_kept_copy_is_the_text(searcher: Searcher) -> None:
    copy = searcher.cached_page(PAGES[1].key)
    assert copy is not None
    assert (copy.url, copy.title, copy.text) == (PAGES[1].url, "Tides", PAGES[1].page.text if PAGES[1].page else "")
    assert searcher.cached_page(12345) is None
    assert searcher.cached_page(-1) is None
    assert searcher.cached_page(1 << 70) is None


def test_static_rank_decides_between_equals(tmp_path: Path) -> None:
    twins = [visit(f"https://twin{n}.test/", "sea", "sea") for n in range(5)]
    for best in twins:
        build_index(twins, tmp_path / "index", Settings().index, Ranks({best.key: 0.9}))
        assert Searcher.open(tmp_path, Settings()).search(Query("sea")).hits[0].url == best.url


def test_results_end_where_the_setting_says(folder: Path) -> None:
    searcher = Searcher.open(folder, load(None, {}, ["search.max_results=10"]))
    page = searcher.search(Query("fog", start=10))
    assert (page.hits, page.total) == ((), 2)


def test_stems_of_other_languages_do_not_widen_a_word_the_main_one_knows(tmp_path: Path) -> None:
    pages = [visit(f"https://en{n}.test/", "The keeper", "The keeper and the light.") for n in range(9)]
    pages.append(visit("https://keep.test/", "Keeps", "He keeps the light."))
    german = visit("https://de.test/", "Häuser", "Die Häuser der Stadt und der Hafen.")
    assert german.page is not None
    page = msgspec.structs.replace(german.page, language="de")
    pages.append(msgspec.structs.replace(german, page=page))
    build_index(pages, tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    assert searcher.search(Query("keeper")).total == 9
    assert [hit.url for hit in searcher.search(Query("haus")).hits] == ["https://de.test/"]
