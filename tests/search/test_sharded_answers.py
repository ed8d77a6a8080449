"""Answers of several shards are those of one index over the same pages: results, order, scores and all the rest."""

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index.made_pages import Ranks, queries, random_ranks, random_visits
from periplus.index import build_index, gather_build_statistics, sum_build_statistics
from periplus.records import FetchRecord, Query, ResultPage
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import SearchSettings, Settings

SETTINGS = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))
"""Nothing is left out for want of time: kernels may have to be compiled."""
CLOCK = ("seconds", "timings", "generation", "work")
"""Fields that depend on the clock, and on when and where an index was built."""


def split_by_host(visits: Sequence[FetchRecord], count: int, seed: int) -> list[list[FetchRecord]]:
    """Return the pages of each shard, which owns some hosts; shards without any page are left out."""
    chance = random.Random(seed)
    owner = {host: chance.randrange(count) for host in sorted({visit.url.split("/")[2] for visit in visits})}
    parts = [[visit for visit in visits if owner[visit.url.split("/")[2]] == shard] for shard in range(count)]
    return [part for part in parts if part]


def build_both(
    folder: Path, parts: Sequence[Sequence[FetchRecord]], ranks: Ranks, own: Settings = SETTINGS
) -> tuple[Searcher, ShardedSearcher, LocalShards]:
    """Return a searcher of one index, which has the pages shard by shard, and one of as many shards."""
    statistics = sum_build_statistics([gather_build_statistics(part, ranks) for part in parts], 1)
    for number, part in enumerate(parts):
        build_index(part, folder / "one" / "index", own.index, ranks, append=number > 0, statistics=statistics)
        build_index(part, folder / f"shard-{number:02}" / "index", own.index, ranks, statistics=statistics)
    whole = Searcher.open(folder / "one", own)
    shards = [IndexShard(folder / f"shard-{number:02}", own, number) for number in range(len(parts))]
    group = LocalShards(shards, encoded=True)
    broker = ShardedSearcher(group, own)
    assert whole._session is not None
    whole._session.suggester.ready()
    broker.load_spelling()
    return whole, broker, group


def assert_same(whole: Searcher, broker: ShardedSearcher, query: Query) -> ResultPage:
    one, many = whole.search(query), broker.search(query)
    assert [(hit.key, hit.score) for hit in many.hits] == [(hit.key, hit.score) for hit in one.hits], query
    for name in one.__struct_fields__:
        if name not in CLOCK:
            assert getattr(many, name) == getattr(one, name), (query, name)
    return one


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Searcher, ShardedSearcher]]:
    """Build collections of one to four shards."""
    built = []
    for count in range(1, 5):
        visits = random_visits(count, 120)
        parts = split_by_host(visits, count, count)
        ranks = Ranks(random_ranks(count, visits))
        built.append(build_both(tmp_path_factory.mktemp(f"shards-{count}"), parts, ranks)[:2])
    return built


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries(), st.integers(0, 3), st.booleans(), st.integers(0, 30), st.booleans())
def test_any_query_has_the_same_answer(
    collections: list[tuple[Searcher, ShardedSearcher]],
    words: str,
    which: int,
    explain: bool,
    start: int,
    folded: bool,
) -> None:
    assert_same(*collections[which], Query(words, size=20, start=start, explain=explain, folded=folded))
    assert_same(*collections[which], Query(words, size=100))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1_000), st.integers(1, 5), st.lists(queries(), min_size=8, max_size=8))
def test_any_corpus_in_any_shards_has_the_same_answers(seed: int, count: int, asked: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="periplus-shards-"))
    try:
        visits = random_visits(seed, 40)
        ranks = Ranks(random_ranks(seed, visits))
        whole, broker, _ = build_both(folder, split_by_host(visits, count, seed), ranks)
        for words in asked:
            assert_same(whole, broker, Query(words, size=100))
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "query",
    [
        Query("sea chart", language="en"),
        Query("sea chart", language="de"),
        Query("sea", site="coast.test"),
        Query("ship", safe=2),
        Query("sea", days=3),
        Query("sea", kinds=("html", "pdf")),
        Query("harbuor"),
        Query("harbuor lihgt"),
        Query("sea har", as_you_type=True),
        Query("+unknownword sea"),
        Query('"fog bell rope sail"'),
        Query("site:nowhere.test sea"),
        Query("link:coast.test"),
        Query("coast.test"),
        Query("deep coast", size=5, start=5),
        Query("sea", having="news"),
        Query("sea", having="media"),
        Query(""),
    ],
    ids=lambda query: f"{query.words}-{query.start}",
)
def test_filters_corrections_and_relaxation(collections: list[tuple[Searcher, ShardedSearcher]], query: Query) -> None:
    for whole, broker in collections:
        assert_same(whole, broker, query)


def test_completions_and_statistics_are_those_of_one_index(
    collections: list[tuple[Searcher, ShardedSearcher]],
) -> None:
    for whole, broker in collections:
        for words in ("se", "sea", "sea ch", "hrbour", "coa", "s"):
            assert broker.suggest(words) == whole.suggest(words)
        one, many = whole.statistics(), broker.statistics()
        assert msgspec.structs.replace(one, bytes=0) == msgspec.structs.replace(many, bytes=0)
        key = whole.search(Query("sea")).hits[0].key
        page, stored = whole.cached_page(key), broker.cached_page(key)
        assert page is not None
        assert stored is not None
        assert (stored.url, stored.title, stored.text) == (page.url, page.title, page.text)
