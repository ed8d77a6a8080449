"""The kernels of bounds beside their naive twins, and what bounds promise: no score is above them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.made_pages import Ranks, queries, random_ranks, random_visits
from naive import site_bounds as naive
from periplus.index import Index, build_index
from periplus.query import find_candidates, parse_query
from periplus.rank import FEATURES, Ranker, open_external_signals
from periplus.rank.feature_rows import count_words
from periplus.settings import Settings
from periplus.sites.forwarding import make_site_bounds
from periplus.sites.forwarding.kernels import score_bounds
from periplus.sites.forwarding.plan_bounds import bound_leaves, bound_plan, prepare_plan, score_limits
from periplus.sites.forwarding.term_pairs import _join, has_phrase, make_pair_filter

LEAF, AND, OR, WITHOUT = 0, 1, 2, 3


@given(st.lists(st.binary(max_size=12), max_size=6))
def test_terms_are_hashed_as_the_naive_twin_does(terms: list[bytes]) -> None:
    start = np.cumsum([0, *map(len, terms)], dtype=np.int64)
    hashes = score_bounds.hash_terms(np.frombuffer(b"".join(terms) or b"\0", np.uint8), start)
    assert hashes.tolist() == [naive.hash_term(term) for term in terms]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_groups_are_bounded_as_the_naive_twin_does(data: st.DataObject) -> None:
    leaves, groups = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    present = data.draw(st.lists(st.sets(st.integers(0, groups - 1)), min_size=leaves, max_size=leaves))
    weight = data.draw(st.lists(st.integers(0, 8), min_size=leaves, max_size=leaves))
    words = data.draw(st.lists(st.integers(-1, 2), min_size=leaves, max_size=leaves))
    word_count = data.draw(st.integers(0, 3))
    impact = {(leaf, group): data.draw(st.integers(1, 255)) for leaf in range(leaves) for group in present[leaf]}
    count = {(leaf, group): data.draw(st.integers(1, 9)) for leaf in range(leaves) for group in present[leaf]}
    sizes, static = [9] * groups, [data.draw(st.integers(0, 4)) / 4 for _ in range(groups)]
    phrases = [tuple(data.draw(st.lists(st.integers(0, leaves - 1), min_size=1, max_size=2)))]
    program = [(data.draw(st.sampled_from((LEAF, 4, 5, 6))), 0)]
    if program[0][0] == LEAF:
        program = [(LEAF, data.draw(st.integers(0, leaves - 1)))]
    for _ in range(data.draw(st.integers(0, 3))):
        program += [(LEAF, data.draw(st.integers(0, leaves - 1))), (data.draw(st.sampled_from((AND, OR, WITHOUT))), 0)]
    order = sorted(impact)
    begin = [sum(leaf < number for leaf, _ in order) for number in range(leaves)]
    entries = score_bounds.BoundEntries(
        np.array([group for _, group in order], np.uint32),
        np.array([impact[pair] for pair in order], np.uint8),
        np.array([count[pair] for pair in order], np.uint8),
        np.array(sizes, np.uint16),
        np.array(static, np.float32),
    )
    plan = score_bounds.PlanArrays(
        np.array(begin, np.int64),
        np.array([*begin[1:], len(order)], np.int64),
        np.array(weight, np.float64),
        np.array(words, np.int64),
        word_count,
        np.array(program, np.int64),
        np.array([0, len(phrases[0])], np.int64),
        np.array(phrases[0], np.int64),
        2.0,
        16.0,
    )
    bounds = score_bounds.bound_groups(entries, plan)
    adds = [
        {leaf: float(weight[leaf] * impact[leaf, group]) for leaf in range(leaves) if (leaf, group) in impact}
        for group in range(groups)
    ]
    expected = [
        naive.bound_group(adds[group], words, word_count, program, phrases, 2.0 * static[group], 16.0)
        for group in range(groups)
    ]
    assert bounds.tolist() == expected
    least = float(data.draw(st.integers(0, 1_500)))
    bonus = 16.0 if word_count else 0.0
    numbers = [
        naive.count_group(
            adds[group],
            {leaf: count[leaf, group] for leaf in adds[group]},
            sizes[group],
            2.0 * static[group],
            bonus,
            least,
        )
        for group in range(groups)
        if bounds[group] >= max(0.0, least)
    ]
    assert score_bounds.count_documents(entries, plan, bounds, least) == sum(numbers)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder = tmp_path_factory.mktemp("bounds")
    visits = random_visits(11, 150)
    for number in range(2):
        part = visits[number * 75 : number * 75 + 75]
        build_index(part, folder / "index", Settings().index, Ranks(random_ranks(3, visits)), append=number > 0)
    return Ranker(Index.open(folder / "index"), Settings().rank)


@settings(max_examples=60, deadline=None)
@given(queries(), st.sampled_from((0, 1, 4, 64)))
def test_no_score_is_above_its_bound(ranker: Ranker, words: str, group: int) -> None:
    tree = parse_query(words).tree
    if tree is None:
        return
    plan = ranker.plan(tree)
    signals = open_external_signals(None, Settings().rank)
    first = ranker.index.segments[0]
    left_out = first.column("key")[::3].astype(np.uint64)
    copies = {first.name: np.arange(first.documents)[::3]}
    bounds = make_site_bounds("here", ranker.index, signals, group=group, copies=copies)
    bound = bound_plan(bounds, plan, prepare_plan(plan), None)
    candidates = find_candidates(ranker.index, plan, 1_000)
    keys = np.array(
        [ranker.index.segments[s].column("key")[d] for s, d in zip(*candidates[:2], strict=True)], np.uint64
    )
    scores = candidates.scores[~np.isin(keys, left_out)]
    assert float(scores.max(initial=-1.0)) <= bound.first
    for least in np.unique(scores)[::7].tolist():
        assert np.count_nonzero(scores >= least) <= bound.count(least)
    assert bound.first <= max(0.0, float(bound_leaves(bounds, prepare_plan(plan)).sum())) * 1.00002 + 1e9 * (
        plan.scoring.static_weight + plan.bonus > 0
    )


@settings(max_examples=60, deadline=None)
@given(queries(), st.sampled_from((0, 1, 4, 64)))
def test_no_score_after_reranking_is_above_its_bound(ranker: Ranker, words: str, group: int) -> None:
    tree = parse_query(words).tree
    plan = ranker.plan(tree) if tree is not None else None
    if plan is None or not plan.words:
        return
    bounds = make_site_bounds("here", ranker.index, open_external_signals(None, Settings().rank), group=group)
    limits = score_limits(ranker.model, count_words(plan))
    bound = bound_plan(bounds, plan, prepare_plan(plan), limits)
    candidates = find_candidates(ranker.index, plan, 1_000)
    rows = ranker.features.measure(plan, candidates)
    named = rows[:, FEATURES.index("name")] > 0
    rows = np.nan_to_num(rows[~named], nan=prepare_plan(plan).similarity.highest)
    for similar in (True, False):
        scores = ranker.model.scorer.score_candidates(rows, similar=similar)
        assert float(scores.max(initial=-np.inf)) <= bound.reranked(similar=similar)
    limited = bound.limit_first(bound.first / 2)
    assert limited.reranked(similar=True) <= bound.reranked(similar=True)
    assert bound.count_vectorless(0.0) <= bound.count(0.0)


def test_terms_that_stand_in_a_row_are_in_the_filter_of_pairs(ranker: Ranker) -> None:
    signals = open_external_signals(None, Settings().rank)
    bounds = make_site_bounds("here", ranker.index, signals)
    terms = [b"sea", b"chart", b"ship", b"harbour", b"light", b"fog", b"bell", b"tide", b"12", b"007"]
    for one, other in itertools.product(terms, terms):
        assert bounds.has_phrase((one, other)) or not ranker.index.count_phrase((one, other), 255)
    assert not bounds.has_phrase((b"sea", b"nowhere"))
    unknown = bounds._replace(pairs=np.zeros(0, np.uint8))
    assert unknown.has_phrase((b"sea", b"sea"))


def test_few_pairs_that_stand_nowhere_pass_the_filter() -> None:
    chance = np.random.default_rng(1)
    hashes = chance.integers(0, 1 << 32, (4_000, 2), np.uint32)
    pairs = [np.unique(_join(part[:, 0], part[:, 1])) for part in np.split(hashes[:2_000], 2)]
    pair_filter = make_pair_filter(pairs)
    passed = [has_phrase(pair_filter, pair) for pair in hashes]
    assert all(passed[:2_000])
    assert sum(passed[2_000:]) < 60
