"""Queries beyond any reason, against a small index."""

from pathlib import Path

import pytest

from index.made_pages import random_visits
from periplus.index import Index, build_index
from periplus.query import QueryBudget, Scoring, find_candidates, parse_query, plan_query
from periplus.query.kernels import match
from periplus.settings import IndexSettings


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("limits")
    build_index(random_visits(1, 200), folder, IndexSettings())
    return Index.open(folder)


@pytest.mark.parametrize(
    "words",
    [
        " ".join(f"word{n}" for n in range(3000)) + " sea",
        " ".join(f"+word{n}" for n in range(3000)),
        " OR ".join(f"word{n}" for n in range(2000)) + " OR sea",
        '"' + " ".join(["sea"] * 3000) + '"',
        "sea " + " ".join(f'-"word{n} sea"' for n in range(500)),
        "(" * 60 + "sea" + ")" * 60,
    ],
)
def test_very_long_queries_answer_and_say_what_was_left_out(index: Index, words: str) -> None:
    parsed = parse_query(words)
    assert parsed.tree is not None
    plan = plan_query(index, parsed.tree, Scoring(), parsed.notes)
    assert len(plan.leaves) <= 64
    found = find_candidates(index, plan, 10)
    assert len(found.documents) <= 10
    if len(words) > 1000:
        assert plan.notes


def test_rare_words_are_kept_when_there_are_too_many(index: Index) -> None:
    parsed = parse_query(" ".join(f"word{n}" for n in range(200)) + " sea")
    assert parsed.tree is not None
    assert find_candidates(index, plan_query(index, parsed.tree, Scoring()), 10).total > 0


def test_a_segment_that_was_not_reached_in_time_makes_the_answer_partial(tmp_path: Path) -> None:
    visits = random_visits(2, 60)
    build_index(visits[:30], tmp_path, IndexSettings())
    build_index(visits[30:], tmp_path, IndexSettings(), append=True)
    index = Index.open(tmp_path)
    parsed = parse_query("sea")
    assert parsed.tree is not None
    found = find_candidates(index, plan_query(index, parsed.tree, Scoring()), 10, budget=QueryBudget(-1.0))
    assert found.partial
    assert not found.exact
    assert not find_candidates(index, plan_query(index, parsed.tree, Scoring()), 10).partial


def test_counts_beyond_the_limit_are_estimated_and_say_so(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    from periplus.query import find_candidates as run_function

    monkeypatch.setitem(run_function.__globals__, "_COUNT_BLOCKS", 1)
    parsed = parse_query("sea")
    assert parsed.tree is not None
    plan = plan_query(index, parsed.tree, Scoring())
    estimated = run_function(index, plan, 1)
    monkeypatch.undo()
    exact = find_candidates(index, plan, 200)
    assert exact.exact
    assert exact.total == len(exact.documents)
    if not estimated.exact:
        assert 0.3 * exact.total < estimated.total < 3 * exact.total


@pytest.mark.parametrize("words", ["sea ship", "+sea +ship", '"sea ship"', "sea -tide", "sea OR fog NEAR tide"])
def test_a_query_in_many_turns_finds_what_it_finds_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    build_index(random_visits(5, 900), tmp_path, IndexSettings())
    index, tree = Index.open(tmp_path), parse_query(words).tree
    assert tree is not None
    one = find_candidates(index, plan_query(index, tree, Scoring()), 20)
    monkeypatch.setattr(match, "TURN", 1)
    many = find_candidates(index, plan_query(index, tree, Scoring()), 20)
    assert one.documents.tolist() == many.documents.tolist()
    assert one.scores.tolist() == many.scores.tolist()
    assert (one.total, one.exact, one.partial) == (many.total, many.exact, many.partial)


def test_time_is_looked_at_within_a_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(random_visits(5, 900), tmp_path, IndexSettings())
    index, tree = Index.open(tmp_path), parse_query("sea ship").tree
    assert tree is not None
    whole = find_candidates(index, plan_query(index, tree, Scoring()), 900)
    monkeypatch.setattr(match, "TURN", 2)
    found = find_candidates(index, plan_query(index, tree, Scoring()), 900, budget=QueryBudget(-1.0))
    assert found.partial
    assert not found.exact
    assert 0 < found.total < whole.total
    scores = dict(zip(whole.documents.tolist(), whole.scores.tolist(), strict=True))
    assert [scores[number] for number in found.documents.tolist()] == found.scores.tolist()
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    again = find_candidates(index, plan_query(index, tree, Scoring()), 900)
    assert again.documents.tolist() == whole.documents.tolist()
