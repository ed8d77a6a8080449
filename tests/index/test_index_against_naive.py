"""Index, query and match kernel against an engine that looks at every document."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.made_pages import Ranks, queries, random_ranks, random_visits
from naive.engine import NaiveEngine
from periplus.index import Index, build_index, check_index
from periplus.query import Scoring, find_candidates, parse_query, plan_query
from periplus.settings import IndexSettings

SCORING = Scoring(static_weight=0.7, all_words_bonus=0.3, short_query=3)
SETTINGS = IndexSettings()
CORPORA = [(seed, count) for seed, count in enumerate((1, 3, 40, 64, 65, 150, 300))]


@pytest.fixture(scope="module", params=CORPORA, ids=lambda p: f"{p[1]}-documents")
def engines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Index, NaiveEngine]:
    seed, count = request.param
    visits = random_visits(seed, count)
    ranks = random_ranks(seed, visits)
    folder = tmp_path_factory.mktemp("index")
    build_index(visits, folder, SETTINGS, Ranks(ranks))
    assert check_index(folder) == []
    return Index.open(folder), NaiveEngine(visits, SETTINGS, ranks)


@settings(max_examples=40)
@given(words=queries(), k=st.integers(1, 12))
def test_results_equal_the_naive_engines(engines: tuple[Index, NaiveEngine], words: str, k: int) -> None:
    index, naive = engines
    tree = parse_query(words).tree
    assert tree is not None
    found = find_candidates(index, plan_query(index, tree, SCORING), k)
    expected = naive.search(tree, SCORING)
    segment = index.segments[0]
    urls = [segment.string("url", int(n)) for n in found.documents]
    assert len(urls) == min(k, len(expected))
    assert found.total == len(expected)
    assert found.exact
    assert set(urls) <= set(expected)
    best = sorted(expected.values(), reverse=True)[:k]
    assert found.scores.tolist() == pytest.approx(best, rel=1e-4, abs=1e-4)
    assert [expected[url] for url in urls] == pytest.approx(best, rel=1e-4, abs=1e-4)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), words=queries())
def test_many_segments_find_what_one_does(seed: int, words: str) -> None:
    visits = random_visits(seed, 90)
    tree = parse_query(words).tree
    assert tree is not None
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        build_index(visits, Path(one), SETTINGS)
        for start in range(0, 90, 30):
            build_index(visits[start : start + 30], Path(many), SETTINGS, append=True)
        counts = []
        for folder in (one, many):
            index = Index.open(Path(folder))
            found = find_candidates(index, plan_query(index, tree, SCORING), 90)
            pairs = zip(found.segments, found.documents, strict=True)
            urls = {index.segments[s].string("url", int(d)) for s, d in pairs}
            counts.append((urls, found.total))
        assert len(index.segments) == 3
    assert counts[0] == counts[1]
