"""The first tier alone: it finds what a search of everything finds in it, and it is used only where declared."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.made_pages import Ranks, visit
from periplus.index import Index, build_index
from periplus.index.kernels.postings_format import BLOCK
from periplus.query import QueryBudget, QueryPlan, Scoring, find_candidates, parse_query, plan_query
from periplus.query.kernels import match
from periplus.query.kernels.first_blocks import limit_blocks
from periplus.query.matcher import ScratchPool, plan_segment
from periplus.settings import IndexSettings

SCORING = Scoring(static_weight=2.0, all_words_bonus=0.3, short_query=4)
COMMON, MIDDLE, RARE = ("sea", "ship", "fog", "tide"), ("lighthouse", "buoy", "compass"), ("zanzibar", "quadrant")
DOCUMENTS = 40_000
ORDERS = ("tiers", "rank")


def typed_queries() -> st.SearchStrategy[str]:
    """Queries over words of every encoding."""
    word = st.sampled_from([*COMMON, *MIDDLE, *RARE])
    phrase = st.lists(word, min_size=2, max_size=3).map(lambda words: '"' + " ".join(words) + '"')
    either = st.lists(word, min_size=2, max_size=2).map(lambda words: "(" + " OR ".join(words) + ")")
    part = st.tuples(st.sampled_from(("", "", "+", "-")), st.one_of(word, word, word, phrase, either)).map("".join)
    site = st.sampled_from(("", "", "", " site:h3.test", " lang:en"))
    return st.tuples(st.lists(part, min_size=1, max_size=4).map(" ".join), site).map("".join)


@pytest.fixture(scope="module", params=ORDERS)
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder, chance = tmp_path_factory.mktemp("tiers"), random.Random(7)
    visits, ranks = [], {}
    for number in range(DOCUMENTS):
        words = [chance.choice(COMMON) for _ in range(chance.randint(0, 4))]
        words += [word for word in MIDDLE if chance.random() < 0.007] + [w for w in RARE if chance.random() < 0.002]
        chance.shuffle(words)
        visits.append(visit(f"https://h{number % 9}.test/{number}", text=" ".join(words)))
        ranks[visits[-1].key] = chance.randint(0, 50) / 50  # Many are equal.
    build_index(visits, folder, IndexSettings(order=request.param), Ranks(ranks))
    return Index.open(folder)


def plan_of(index: Index, words: str, enough: int = 0) -> QueryPlan:
    tree = parse_query(words).tree
    assert tree is not None
    return plan_query(index, tree, SCORING)._replace(enough=enough)


def test_words_are_of_every_encoding(index: Index) -> None:
    kinds = [index.segments[0].find_term(word.encode()) for word in ("sea", "buoy", "zanzibar")]
    assert [entry.encoding for entry in kinds if entry] == [2, 1, 0]


@settings(max_examples=60)
@given(words=typed_queries(), k=st.integers(1, 200), blocks=st.integers(1, 625))
def test_the_first_blocks_alone_are_matched_as_among_all(index: Index, words: str, k: int, blocks: int) -> None:
    """However many blocks there are: documents, scores, their order where scores are equal, and how many match."""
    segment, plan = index.segments[0], plan_of(index, words)
    every = find_candidates(index, plan, DOCUMENTS)
    inside = every.documents < blocks * BLOCK
    laid_out, pool = plan_segment(segment, plan), ScratchPool()
    scratch = pool.get(len(segment.live), laid_out, DOCUMENTS)
    found = match.match(limit_blocks(segment.pinned_postings, blocks), laid_out, scratch, k, 1 << 20)
    assert found.documents.tolist() == every.documents[inside][:k].tolist()
    assert found.scores.tolist() == every.scores[inside][:k].tolist()
    assert found.exact
    assert found.total == np.count_nonzero(inside)


@settings(max_examples=60)
@given(words=typed_queries(), k=st.integers(1, 150), enough=st.integers(1, 400))
def test_a_tier_that_is_enough_has_the_results_it_has_among_all(index: Index, words: str, k: int, enough: int) -> None:
    """And what is not enough is searched as if nothing had been declared."""
    segment, plan = index.segments[0], plan_of(index, words, enough)
    every = find_candidates(index, plan._replace(enough=0), DOCUMENTS)
    assert every.unsearched == 0
    found = find_candidates(index, plan, k)
    if not found.unsearched:
        exact = find_candidates(index, plan._replace(enough=0), k)
        assert all(np.array_equal(one, other) for one, other in zip(found[:3], exact[:3], strict=True))
        assert found[3:] == exact[3:]
        return
    inside = every.documents < segment.first_tier * BLOCK
    assert found.documents.tolist() == every.documents[inside][:k].tolist()
    assert found.scores.tolist() == every.scores[inside][:k].tolist()
    assert len(found.documents) == k
    assert not found.exact
    assert np.count_nonzero(inside) >= enough
    assert found.unsearched == DOCUMENTS - segment.first_tier * BLOCK


def test_good_pages_have_all_words(index: Index) -> None:
    """Thousands of pages have one of two words; only those with both are counted."""
    both = find_candidates(index, plan_of(index, "+lighthouse +sea"), DOCUMENTS)
    of_tier = np.count_nonzero(both.documents < index.segments[0].first_tier * BLOCK)
    assert 10 < of_tier < 60
    assert find_candidates(index, plan_of(index, "lighthouse sea", enough=of_tier + 1), 10).unsearched == 0
    assert find_candidates(index, plan_of(index, "lighthouse sea", enough=10), 10).unsearched > 0.74 * DOCUMENTS
    assert find_candidates(index, plan_of(index, "ship sea", enough=100), 10).unsearched > 0.74 * DOCUMENTS


def test_without_time_the_tier_is_partial(index: Index) -> None:
    """What it has must do, and the rest of the segment is not begun."""
    late = find_candidates(index, plan_of(index, "sea ship", enough=5), 10, QueryBudget(work=2_000))
    assert late.partial
    assert late.unsearched == DOCUMENTS - index.segments[0].first_tier * BLOCK


def test_alternatives_and_what_looks_like_them_are_searched_everywhere(index: Index) -> None:
    for words in ("(sea OR ship)", "+sea +ship", '"sea ship"'):
        assert find_candidates(index, plan_of(index, words, enough=5), 10).unsearched == 0


def test_pages_without_ranks_have_no_tier(tmp_path_factory: pytest.TempPathFactory) -> None:
    for order, ranked in (("tiers", False), ("site", True)):
        folder = tmp_path_factory.mktemp("flat")
        visits = [visit(f"https://h.test/{n}", text="sea ship") for n in range(300)]
        ranks = Ranks({v.key: n / 300 for n, v in enumerate(visits)} if ranked else {})
        build_index(visits, folder, IndexSettings(order=order), ranks)
        index = Index.open(folder)
        assert index.segments[0].first_tier == 0
        assert find_candidates(index, plan_of(index, "sea", enough=1), 5).unsearched == 0


def test_a_tier_of_all_blocks_leaves_nothing_out(tmp_path: Path) -> None:
    """It has whole blocks: of a segment of one block, all documents are searched, and the answer is exact."""
    for count in (BLOCK, BLOCK + 1):
        visits = [visit(f"https://h.test/{n}", text="sea ship") for n in range(count)]
        build_index(visits, tmp_path / str(count), IndexSettings(), Ranks({v.key: n for n, v in enumerate(visits)}))
        index = Index.open(tmp_path / str(count))
        assert index.segments[0].first_tier == 1
        found = find_candidates(index, plan_of(index, "sea", enough=1), 5)
        assert (found.exact, found.unsearched) == (count == BLOCK, count - BLOCK)
        assert found.total == BLOCK
