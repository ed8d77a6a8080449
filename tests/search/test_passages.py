"""Passages: divided and scored as by plain loops, chosen within a budget, and exactly what the store has."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.passages import divide, score
from periplus.app.engine import Engine
from periplus.records import Query, ResultPage
from periplus.search import Searcher, passages_of_snippets
from periplus.search.answering.passage_finder import heading_path
from periplus.search.kernels.passage_scores import divide_text, score_passages
from periplus.search.presentation.page_passages import PassageSpan, choose_passages, estimate_tokens


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 25), st.data())
def test_kernels_equal_plain_loops(lengths: list[int], width: int, data: st.DataObject) -> None:
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    bounds = np.zeros(int(starts[-1]) + 2, np.int64)
    count = divide_text(starts, len(lengths), width, bounds)
    expected = divide(starts.tolist(), width)
    assert bounds[: count + 1].tolist() == expected
    tokens = st.integers(0, int(starts[-1]) + 3)
    places = data.draw(st.lists(st.lists(tokens, max_size=9, unique=True).map(sorted), min_size=1, max_size=4))
    weights = np.arange(1.0, len(places) + 1)
    flat = np.array([place for own in places for place in own], np.int64)
    scores = np.empty(count)
    score_passages(bounds, count, flat, np.cumsum([len(own) for own in places]), weights, scores)
    assert scores.tolist() == pytest.approx(score(expected, places, weights.tolist()))


def span(page: int, text: str, value: float) -> PassageSpan:
    return PassageSpan(page, 0, 0, len(text), text, value)


def test_chosen_within_the_budget_and_none_repeats_another() -> None:
    words = "the lighthouse keeper climbs the tower every evening at dusk to light the lamp"
    found = [span(0, words, 0.9), span(3, words + " again", 0.8), span(1, "other words " * 40, 0.5), span(2, "", 1.0)]
    assert [one.page for one in choose_passages(found, 1_000)] == [0, 1]
    assert [one.page for one in choose_passages(found, 60)] == [0]
    assert [one.page for one in choose_passages(found, 1)] == [0], "the first is shown however long"
    assert estimate_tokens("abcdefgh") == 2
    assert estimate_tokens("灯台守") == 3


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder = tmp_path_factory.mktemp("passages")
    filler = "Boats carry grain and oil along the shore. " * 30
    tower = "The tower of Pharos was built by Sostratus of Cnidus about 280 before our era."
    with Engine(folder / "data") as engine:
        engine.publish("Harbours", filler + "\n\n" + filler, url="https://coast.example/harbours")
        engine.publish(
            "Pharos", f"{filler}\n\n{tower} It stood for ages.\n\n{filler}", url="https://coast.example/pharos"
        )
        engine.publish("Towers", "A tower of stone. " + filler, url="https://coast.example/towers")
        return engine._open_searcher()


def test_a_passage_is_a_piece_of_the_stored_text(searcher: Searcher) -> None:
    _, passages = searcher.passages(Query("who built the tower of Pharos", size=10), 400)
    first = passages[0]
    assert first.url == "https://coast.example/pharos"
    assert "Sostratus" in first.text
    for passage in passages:
        page = searcher.cached_page(passage.key)
        assert page is not None
        assert page.text[passage.begin : passage.end] == passage.text
        assert passage.content == hashlib.sha256(page.text.encode()).hexdigest()
    assert sum(estimate_tokens(passage.text) for passage in passages[1:]) <= 400
    assert searcher.passages(Query("nothinglikethis"), 400)[1] == ()
    assert searcher.passages(Query(""), 400)[1] == ()


def test_snippets_serve_where_texts_are_elsewhere(searcher: Searcher) -> None:
    page = searcher.search(Query("tower of Pharos"))
    found = passages_of_snippets(page, 100)
    assert found[0].url == page.hits[0].url
    assert found[0].text in "".join(text for text, _ in page.hits[0].snippet)
    assert passages_of_snippets(ResultPage(Query("x"), (), 0, True, False, 0.0, 0), 100) == ()


def test_headings_above_a_passage() -> None:
    from periplus.parse import TextBlock

    blocks = [
        TextBlock("heading", "Coast", 1),
        TextBlock("heading", "Harbours", 2),
        TextBlock("paragraph", "Boats carry grain."),
        TextBlock("heading", "Lights", 2),
        TextBlock("heading", "Pharos", 3),
        TextBlock("paragraph", "The  tower was built long ago by Sostratus of Cnidus."),
    ]
    assert heading_path(blocks, "The tower was built long ago by Sostratus") == ("Coast", "Lights", "Pharos")
    assert heading_path(blocks, "Boats carry grain.") == ("Coast", "Harbours")
    assert heading_path(blocks, "Nowhere.") == heading_path((), "x") == heading_path(blocks, "") == ()
