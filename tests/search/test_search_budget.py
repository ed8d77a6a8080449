"""One deadline for the whole path of a search: after it, what is optional is left out, and the answer says so."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from index.made_pages import random_visits
from periplus.errors import ExpensiveQuery
from periplus.index import build_index
from periplus.query import QueryBudget, estimate_cost, parse_query
from periplus.records import Query, SearchLimits
from periplus.search import Searcher
from periplus.search.presentation.result_selection import CandidateFields, ContentSignature, select_results
from periplus.settings import Settings


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    folder: Path = tmp_path_factory.mktemp("search-budget")
    build_index(random_visits(6, 900), folder / "index", Settings().index)
    patient = msgspec.structs.replace(Settings().search, budget_ms=600_000.0)
    return Searcher.open(folder, msgspec.structs.replace(Settings(), search=patient))


def test_an_answer_without_time_is_partial_and_says_what_was_left_out(searcher: Searcher) -> None:
    page = searcher.search(Query("sea ship"), SearchLimits(seconds=0.0))
    assert page.partial
    assert "spelling" in page.notes[-1]
    assert page.notes[-1].startswith("The time for this query ran out.")
    whole = searcher.search(Query("sea ship"))
    assert not whole.partial
    assert not whole.notes


def test_limits_that_are_not_reached_change_nothing(searcher: Searcher) -> None:
    for words in ("sea ship", "+sea +fog", '"sea ship"', "s* -fog", "12..2000", "site:coast.test/a sea"):
        free = searcher.search(Query(words))
        limited = searcher.search(Query(words), SearchLimits(seconds=60.0, cost=1e9))
        assert limited.hits == free.hits
        assert (limited.total, limited.exact, limited.partial) == (free.total, free.exact, free.partial)
        assert limited.work == free.work or "site" in words or "*" in words or ".." in words


def test_explanations_are_left_out_without_time(searcher: Searcher) -> None:
    assert all(hit.reasons for hit in searcher.search(Query("sea", explain=True)).hits)
    late = searcher.search(Query("sea", explain=True), SearchLimits(seconds=0.0))
    assert late.hits
    assert not any(hit.reasons for hit in late.hits)
    assert "explanations" in late.notes[-1]


def test_a_query_that_costs_more_than_allowed_is_planned_and_not_run(searcher: Searcher) -> None:
    limits = SearchLimits(cost=40.0)
    for words in ("sea ship", '"sea ship"', "site:coast.test/a sea", "s*"):
        searcher.search(Query(words), limits)
    for query in (
        Query("sea", start=990),
        Query("sea", size=100, explain=True),
        Query(" OR ".join(["sea"] * 100)),
    ):
        with pytest.raises(ExpensiveQuery):
            searcher.search(query, limits)
        assert searcher.search(query) is not None


def test_the_plan_of_an_answer_has_numbers_and_no_words(searcher: Searcher) -> None:
    page = searcher.search(Query('"sea ship" fog s* 1..99 -site:coast.test'))
    assert page.plan
    assert "phrases" in page.plan
    assert "expansions" in page.plan
    assert "sea" not in page.plan
    assert page.work > 0


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        ("sea ship", '"sea ship"'),
        ('"sea ship"', '"sea ship" OR "the sea" OR "fog bell"'),
        ("sea", "sea site:coast.test/a"),
        ("sea NEAR fog", " NEAR ".join(["sea", "fog"] * 8)),
        ("s*", "s* t* 1..99"),
        ("sea OR fog", "(sea fog) OR (ship -tide)"),
    ],
)
def test_estimated_costs_grow_with_what_a_query_asks_for(searcher: Searcher, cheap: str, dear: str) -> None:
    session = searcher._session
    assert session is not None
    blocks = sum(len(segment.live) for segment in session.index.segments)
    plans = [session.plan(parse_query(words), Query(words)) for words in (cheap, dear)]
    costs = [estimate_cost(plan, session.index.documents, blocks) for plan in plans]
    assert costs[0] < costs[1]


def test_near_duplicates_are_found_among_many_as_among_few() -> None:
    chance = np.random.default_rng(5)
    hashes = chance.integers(0, 1 << 62, 400).tolist()
    signatures = [ContentSignature(h, 1_000, 0) for h in hashes]
    for row in range(200, 400, 2):
        signatures[row] = ContentSignature(hashes[row - 150] ^ 5, 1_001, 0)
    for row in range(301, 400, 20):
        signatures[row] = signatures[row - 270] = ContentSignature(row, 50, row)
    flags = np.zeros(400, np.int64)
    fields = CandidateFields(lambda row: row, signatures.__getitem__)
    folded = select_results(flags, fields, 400, 0, 0, 3)
    rows: list[int] = []
    similar: dict[int, list[int]] = {}
    for row, own in enumerate(signatures):  # the naive twin: each is compared with all results before
        original = next((at for at in rows if own.is_near_duplicate(signatures[at], 3)), None)
        if original is None:
            rows.append(row)
        else:
            similar.setdefault(original, []).append(row)
    assert len(rows) <= 320
    assert folded.rows == rows
    assert folded.similar == similar


def test_near_duplicates_behind_the_first_results_are_kept_without_time() -> None:
    hashes = np.random.default_rng(6).integers(0, 1 << 62, 30).tolist()
    signatures = [ContentSignature(hashes[row // 2], 1_000, 0) for row in range(60)]
    fields = CandidateFields(lambda row: row, signatures.__getitem__)
    budget = QueryBudget(-1.0)
    kept = select_results(np.zeros(60, np.int64), fields, 60, 0, 0, 3, lambda: budget.skips("near-duplicates"))
    assert kept.rows[:11] == list(range(0, 22, 2))
    assert kept.rows[11:] == list(range(21, 60))
    assert list(budget.skipped) == ["near-duplicates"]
