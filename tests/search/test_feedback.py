"""Queries widened by words of their best results."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from index.made_pages import visit
from periplus.errors import PeriplusError
from periplus.index import Index, build_index
from periplus.query import (
    QueryBudget,
    best_documents,
    count_document_terms,
    expand_by_feedback,
    find_candidates,
    is_clear,
    parse_query,
)
from periplus.rank import Ranker
from periplus.records import Candidates, Query, ResultPage
from periplus.search import Searcher
from periplus.search.retrieve import retrieve_with_feedback
from periplus.settings import Settings

_SEAS = "The old harbour lies behind a wall of stones, and boats are moored along its quay in every season."
PAGES = [
    *(
        visit(f"https://a.test/{n}", f"Fever {n}", f"Fever fever is treated by quinine. Case {n}. {_SEAS}")
        for n in range(6)
    ),
    visit("https://a.test/both", "A ward", f"Fever once, and quinine quinine quinine. {_SEAS}"),
    visit("https://a.test/other", "A kitchen", f"Fever once, and a recipe for bread with flour. {_SEAS}"),
    visit("https://a.test/quinine", "Quinine", f"Quinine is made from the bark of a tree. {_SEAS}"),
    *(visit(f"https://b.test/{n}", f"Harbour {n}", f"Number {n} has nothing else. {_SEAS}") for n in range(80)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("feedback")
    build_index(PAGES, place / "index", Settings().index, None)
    return place


def search(folder: Path, mode: str, words: str, **more: bool) -> ResultPage:
    settings = Settings()
    settings = msgspec.structs.replace(
        settings, search=msgspec.structs.replace(settings.search, feedback=mode, per_host=0)
    )
    return Searcher.open(folder, settings).search(Query(words, size=20, **more))


def added_words(page: ResultPage) -> set[str]:
    names = {name for hit in page.hits for name, _ in hit.reasons}
    return {name.removeprefix("word: ").partition(",")[0] for name in names if "from the best results" in name}


def test_words_of_the_best_results_are_added_and_explained(folder: Path) -> None:
    assert "quinine" in added_words(search(folder, "always", "fever", explain=True))
    assert not added_words(search(folder, "off", "fever", explain=True))


def test_they_reorder_results_and_match_nothing_more(folder: Path) -> None:
    before, after = (search(folder, mode, "fever") for mode in ("off", "always"))
    titles = [[hit.title for hit in page.hits] for page in (before, after)]
    assert sorted(titles[0]) == sorted(titles[1])
    assert "Quinine" not in titles[1]
    assert titles[1].index("A ward") < titles[1].index("A kitchen")
    assert before.total == after.total


def test_operators_are_meant_as_they_are(folder: Path) -> None:
    for words in ('"fever is"', "+fever +treated", "fever -flour", "fever site:a.test"):
        assert not added_words(search(folder, "always", words, explain=True))


def candidates(scores: list[float]) -> Candidates:
    count = len(scores)
    return Candidates(
        np.zeros(count, np.int32), np.arange(count, dtype=np.int32), np.array(scores, np.float32), count, True, False
    )


def test_only_queries_whose_best_results_stand_out_are_predicted_to_gain(folder: Path) -> None:
    index = Index.open(folder / "index")
    ranker = Ranker(index, Settings().rank)
    tree = parse_query("fever").tree
    assert tree is not None
    plan = ranker.plan(tree)
    best = plan.best_score
    assert is_clear(plan, candidates([best] * 5 + [0.1 * best] * 45))
    assert not is_clear(plan, candidates([0.5 * best] * 50))
    assert not is_clear(plan, candidates([best, 0.1 * best]))
    assert not is_clear(plan, candidates([]))


def test_it_is_bounded_and_left_out_when_time_is_up(folder: Path) -> None:
    index = Index.open(folder / "index")
    ranker = Ranker(index, Settings().rank)
    tree = parse_query("fever").tree
    assert tree is not None
    plan = ranker.plan(tree)
    best = best_documents(find_candidates(index, plan, 100))
    words = [(count_document_terms(index.segments[segment], document), score) for segment, document, score in best]
    wider = expand_by_feedback(index, plan, words)
    assert 0 < len(wider.leaves) - len(plan.leaves) <= 10
    added = sum(leaf.weight for leaf in wider.leaves[len(plan.leaves) :])
    assert np.isclose(added, 0.3 * plan.best_score)
    late = QueryBudget(seconds=-1.0)
    same, _ = retrieve_with_feedback(ranker, plan, 10, late, "always")
    assert same is plan
    assert expand_by_feedback(index, plan, []) is plan


def test_other_values_of_the_setting_are_refused() -> None:
    with pytest.raises((msgspec.ValidationError, PeriplusError)):
        msgspec.convert({"feedback": "sometimes"}, type(Settings().search))
