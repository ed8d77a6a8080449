"""Rules inside retrieval: what is blocked does not match, what is raised and lowered moves."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits
from naive import rules as naive
from periplus.index import Index, build_index
from periplus.query import QueryBudget, QueryPlan, Scoring, find_candidates, parse_query, plan_query
from periplus.result_rules import ActiveRules, forget_resolved, parse_rules
from periplus.settings import IndexSettings

LISTS = [
    "block deep.coast.test",
    "*://coast.test/*",
    "block coast.test\n@*://www.coast.test/a/*",
    "raise mountain.test 9\nlower coast.test/a/ 4\nblock www.coast.test/b/",
    "/test\\/b\\/\\d*7$/\nraise deep.coast.test 2",
    "! g\n/a/1$discard\n.test/b^$boost=3\n|https://w$downrank=7\n/a/2*$discard,site=mountain.test",
    "! g\n/a/$boost=2\n$discard",
    "! g\nb/$boost\n^1$downrank=2",
    "block *.test",
]
QUERIES = [
    "sea",
    "sea chart",
    "the ship",
    '"the sea"',
    "+sea +ship",
    "sea -fog",
    "sea OR bell",
    "light site:coast.test",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("rules")
    visits = random_visits(5, 900)
    build_index(visits[:700], folder, IndexSettings())
    build_index(visits[700:], folder, IndexSettings(), append=True)
    return Index.open(folder)


def plan_of(index: Index, words: str) -> QueryPlan:
    parsed = parse_query(words)
    assert parsed.tree is not None
    return plan_query(index, parsed.tree, Scoring(0.5, 0.2, 4))


@pytest.mark.parametrize("text", LISTS)
def test_results_are_those_of_a_naive_filter(index: Index, text: str) -> None:
    rules = parse_rules(text)
    for words in QUERIES:
        plan = plan_of(index, words)
        every = find_candidates(index, plan, 2_000)
        expected = []
        for segment, document, score in zip(*every[:3], strict=True):
            blocked, factor = naive.judge(
                rules.rules, rules.blocks_others, index.segments[segment].string("url", document)
            )
            if not blocked:
                expected.append((-score * factor, int(segment), int(document)))
        expected.sort()
        for k in (3, 50, 2_000):
            found = find_candidates(index, plan._replace(rules=ActiveRules([rules])), k)
            assert sorted(found.scores.tolist(), reverse=True) == pytest.approx(
                [-item[0] for item in expected[:k]], rel=1e-4
            ), (words, k)
        assert {(int(s), int(d)) for s, d in zip(*found[:2], strict=True)} == {item[1:] for item in expected}
        assert found.total == len(expected) or not found.exact


def test_several_sets_block_and_multiply(index: Index) -> None:
    one, other = parse_rules("block coast.test\nraise mountain.test 3"), parse_rules("raise mountain.test/a/ 3")
    segment = index.segments[0]
    rules = ActiveRules([one, other])
    assert rules.postings(segment) is not None
    for document in random.Random(1).sample(range(segment.documents), 50):
        url = segment.string("url", document)
        at = np.array([document], np.int32)
        assert bool(rules.are_allowed(segment, at)[0]) == ("coast.test" not in url)
        if "mountain.test" in url:
            assert rules.factors(segment, at)[0] == pytest.approx(4.0 if "/a/" in url else 2.0)


def test_without_time_the_answer_is_partial_and_the_next_goes_on(index: Index) -> None:
    forget_resolved()
    plan = plan_of(index, "sea")._replace(rules=ActiveRules([parse_rules("/coast/")]))
    assert find_candidates(index, plan, 10, QueryBudget(-1.0)).partial
    found = find_candidates(index, plan, 10)
    assert not found.partial
    assert found.total


def test_deleted_documents_stay_deleted(index: Index) -> None:
    segment, rules = index.segments[0], ActiveRules([parse_rules("block nowhere.test")])
    plan = plan_of(index, "sea")._replace(rules=rules)
    before = find_candidates(index, plan, 2_000)
    gone = before.documents[before.segments == 0][:5].astype("int64")
    segment.mark_deleted(gone)
    try:
        after = find_candidates(index, plan, 2_000)
        assert after.total == before.total - 5
        assert not {*gone.tolist()} & {*after.documents[after.segments == 0].tolist()}
    finally:
        segment.mark_deleted(None)
