"""Completions: from titles and hosts, with a letter amiss, and never slower for being many."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import Ranks, visit
from periplus.index import Index, LiveIndex, build_index
from periplus.index.vocabulary import spelling_dictionary
from periplus.search import Searcher
from periplus.search.suggester import Suggester, fold
from periplus.settings import IndexSettings, Settings

TITLES = ["Lighthouse keeping", "The lighthouse of Pharos", "Light winds", "Čapek and the sea", "Harbour 日本"]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("suggest")
    pages = [visit(f"https://www.coast{n}.test/{n}", title, f"text {n}") for n, title in enumerate(TITLES)]
    pages += [visit(f"https://many.test/{n}", f"Page {n % 900} of many", f"words {n}") for n in range(3000)]
    build_index(pages, folder / "index", Settings().index, Ranks({pages[2].key: 1.0}))
    searcher = Searcher.open(folder, Settings())
    opened = searcher._session
    assert opened is not None
    opened.suggester.ready()
    return searcher


def texts(searcher: Searcher, words: str, size: int = 8) -> list[str]:
    return [text for text, _ in searcher.suggest(words, size)]


def test_beginnings_are_completed_best_first(searcher: Searcher) -> None:
    assert texts(searcher, "light") == ["Light winds", "Lighthouse keeping", "The lighthouse of Pharos"]
    assert texts(searcher, "LIGHTHOUSE  k") == ["Lighthouse keeping"]
    assert texts(searcher, "capek") == ["Čapek and the sea"]
    assert texts(searcher, "harbour 日") == ["Harbour 日本"]
    worths = [worth for _, worth in searcher.suggest("light")]
    assert worths == sorted(worths, reverse=True)
    assert all(0 < worth <= 1 for worth in worths)


def test_hosts_are_completed_without_their_www(searcher: Searcher) -> None:
    assert "coast1.test" in texts(searcher, "coast1")


@pytest.mark.parametrize("typed", ["lighthuose k", "lighthose k", "ligthhouse k", "lighthoouse k", "lighthpuse k"])
def test_one_letter_amiss_is_mended(searcher: Searcher, typed: str) -> None:
    assert texts(searcher, typed)[0] == "Lighthouse keeping"


def test_nothing_is_made_up(searcher: Searcher) -> None:
    assert texts(searcher, "zzzzzz") == []
    assert texts(searcher, "l") == []
    assert texts(searcher, "") == []
    assert len(texts(searcher, "page", 5)) == 5
    assert all(text.startswith("Page ") for text in texts(searcher, "page", 20))


def test_long_beginnings_are_compared_to_their_end(searcher: Searcher) -> None:
    assert texts(searcher, "the lighthouse of pharos") == ["The lighthouse of Pharos"]
    assert texts(searcher, "the lighthouse of pharos is old") == []


def test_words_that_find_nothing_are_corrected(searcher: Searcher) -> None:
    from periplus.records import Query

    assert searcher.search(Query("lighthuose")).corrections == ("lighthouse",)
    assert searcher.search(Query("+lighthuose -windz")).corrections == ("+lighthouse -windz",)
    assert searcher.search(Query("lighthouse")).corrections == ()


@given(st.text(max_size=200), st.integers(-2, 50))
def test_any_beginning_will_do(searcher: Searcher, words: str, size: int) -> None:
    assert len(searcher.suggest(words, size)) <= max(0, size)
    fold(words)


NEARLY = st.sampled_from([*TITLES, "coast1.test", "page 17 of many", "zzzz", "lig", "abcd"]).flatmap(
    lambda text: st.builds(
        lambda end, at, letter: text[: max(1, end)][:at] + letter + text[: max(1, end)][at:],
        st.integers(1, len(text)),
        st.integers(0, len(text)),
        st.sampled_from(["", "", "x", "e", " ", "é"]),
    )
)


@given(st.lists(NEARLY, max_size=4))
def test_what_was_asked_before_changes_no_completions(searcher: Searcher, beginnings: list[str]) -> None:
    """A beginning without any is remembered, since nothing begins with it and a space either."""
    session = searcher._session
    assert session is not None
    for words in beginnings:
        for text in (words, words + " "):
            assert session.suggester.complete(text, 8) == Suggester(session.index).complete(text, 8)


def test_a_new_generation_completes_new_titles(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "Amber road", "x")], tmp_path / "index", Settings().index)
    searcher = Searcher.open(tmp_path, Settings())
    build_index([visit("https://b.test/", "Ambling mule", "x")], tmp_path / "index", Settings().index)
    assert searcher.refresh()
    opened = searcher._session
    assert opened is not None
    opened.suggester.ready()
    assert texts(searcher, "amb") == ["Ambling mule"]


def test_words_are_loaded_again_after_a_rest_and_of_the_newest_generation_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling_dictionary, "_REST", 1e9)
    settings = IndexSettings()
    with LiveIndex(tmp_path, settings, background=False) as live:
        live.add(visit("https://a.test/1", "One", "lighthouse harbour"))
        live.publish()
        index = Index.open(tmp_path)
        first = Suggester(index)
        first.ready()
        assert index.spelling.document_frequencies(["lighthouse"]) == [1]
        live.add(visit("https://a.test/2", "Two", "lighthouse keeper"))
        live.publish()
        second_index = index.reopen()
        second = Suggester(second_index, first)
        assert second_index.spelling.rest_seconds > 0
        assert second._reader.is_alive()
        live.add(visit("https://a.test/3", "Three", "lighthouse ships"))
        live.publish()
        third_index = second_index.reopen()
        third = Suggester(third_index, second)
        second._reader.join(10)
        assert not second._reader.is_alive()
        assert second_index.spelling.document_frequencies(["lighthouse"]) == [1]
        third.ready()
        assert third_index.spelling.document_frequencies(["lighthouse"]) == [3]
