"""The words of segments: counted as a dictionary would, kept through merges, and missed without harm."""

import itertools
from collections import Counter
from pathlib import Path

import pytest

from index.made_pages import random_visits, visit
from periplus.errors import CorruptFile
from periplus.index import Index, LiveIndex, build_index, check_index
from periplus.index.vocabulary import spelling_dictionary
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import IndexSettings, Settings
from periplus.text import split_text


def book_of(folder: Path) -> dict[str, int]:
    index = Index.open(folder)
    index.spelling.load()
    size = index.spelling.size
    return {index.spelling._spell(n): int(index.spelling._loaded.words.count[n]) for n in range(size)}  # type: ignore[union-attr]


def expected(visits: list) -> dict[str, int]:  # type: ignore[type-arg]
    counts: Counter[str] = Counter()
    for made in visits:
        page = made.page
        texts = [
            page.title,
            *page.headings,
            made.url.partition("://")[2].removeprefix("www."),
            *page.emphasis,
            page.text,
        ]
        counts.update({word for text in texts for word in split_text(text)})
    return {word: count for word, count in counts.items() if word.isalpha() and len(word) > 1}


@pytest.mark.parametrize("seed", [1, 2])
def test_words_are_counted_by_document(tmp_path: Path, seed: int) -> None:
    visits = random_visits(seed, 60)
    build_index(visits, tmp_path, IndexSettings())
    assert book_of(tmp_path) == expected(visits)


def test_words_of_several_languages_are_one(tmp_path: Path) -> None:
    pages = [visit("https://a.test/1", "", "Hand"), visit("https://a.test/2", "", "Hand", description="x")]
    other = pages[1].page
    assert other is not None
    from msgspec.structs import replace

    german = replace(pages[1], page=replace(other, language="de"))
    build_index([pages[0], german], tmp_path, IndexSettings())
    assert book_of(tmp_path)["hand"] == 2


def test_merging_keeps_them(tmp_path: Path) -> None:
    visits = random_visits(3, 40)
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        for part in _batched(visits, 4):
            for made in part:
                live.add(made)
            live.publish()
        assert live.merge()
    assert check_index(tmp_path) == []
    known = book_of(tmp_path)
    assert known == expected(visits)
    index = Index.open(tmp_path)
    index.spelling.load()
    together = [
        (a, b) for made in visits for a, b in itertools.pairwise(split_text(made.page.text)) if (a + b).isalpha()
    ]  # type: ignore[union-attr]
    first, second = together[0]
    assert index.spelling.count_pairs([first], [second])[0] > 0


def _batched(visits: list, size: int) -> list[list]:  # type: ignore[type-arg]
    return [visits[at : at + size] for at in range(0, len(visits), size)]


def test_a_segment_without_words_is_searched_as_ever(tmp_path: Path) -> None:
    build_index(random_visits(4, 30), tmp_path / "index", IndexSettings())
    for path in (tmp_path / "index").rglob("words.arrays"):
        path.unlink()
    searcher = Searcher.open(tmp_path, Settings())
    page = searcher.search(Query("harbour lihgt"))
    assert page.total > 0
    assert page.corrections == ()
    assert searcher.suggest("ha") == ()
    assert check_index(tmp_path / "index") == []


@pytest.mark.parametrize("place", [0.02, 0.4, 0.9])
def test_damage_is_found_and_named(tmp_path: Path, place: float) -> None:
    build_index(random_visits(5, 60), tmp_path, IndexSettings())
    path = next(tmp_path.rglob("words.arrays"))
    raw = bytearray(path.read_bytes())
    at = int(place * len(raw))
    while raw[at] == 0:  # Padding says nothing.
        at += 1
    raw[at] ^= 0x40
    path.write_bytes(bytes(raw))
    with pytest.raises(CorruptFile, match=r"words\.arrays"):
        Index.open(tmp_path)
    assert any("words.arrays" in fault for fault in check_index(tmp_path))
    path.write_bytes(bytes(raw[: len(raw) // 2]))
    with pytest.raises(CorruptFile, match=r"words\.arrays"):
        Index.open(tmp_path)


def test_candidates_of_a_word_are_kept_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(random_visits(4, 60), tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    index.spelling.load()
    typed = [word + "e" for word in list(book_of(tmp_path))[:20]]
    first = {word: index.spelling.find_candidates(word) for word in typed}
    assert any(first.values())
    index.spelling.find_candidates(typed[0]).clear()  # A list of its own.
    assert {word: index.spelling.find_candidates(word) for word in typed} == first
    monkeypatch.setattr(spelling_dictionary, "_MAX_CACHED", 3)
    loaded = index.spelling._loaded
    assert loaded is not None
    for word in typed:
        loaded.candidates.pop(word, None)
        assert index.spelling.find_candidates(word) == first[word]
    assert len(loaded.candidates) <= 3


def test_candidates_are_those_of_the_dictionary_that_is_loaded(tmp_path: Path) -> None:
    build_index([visit("https://a.test/1", "", "elephant")], tmp_path, IndexSettings())
    before = Index.open(tmp_path)
    before.spelling.load()
    assert [c.word for c in before.spelling.find_candidates("elephent")] == ["elephant"]
    assert before.spelling.find_candidates("zebro") == []
    build_index([visit("https://a.test/2", "", "zebra")], tmp_path, IndexSettings(), append=True)
    after = Index.open(tmp_path, previous=before)
    after.spelling.load()
    assert [c.word for c in after.spelling.find_candidates("zebro")] == ["zebra"]
