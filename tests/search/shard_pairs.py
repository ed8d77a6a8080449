"""The same pages in one index and in several shards, to compare their answers."""

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from index.made_pages import Ranks
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
    for shard in shards:  # An only shard answers by itself, with spellings of its own.
        shard._session().suggester.ready()
    broker.load_spelling()
    return whole, broker, group


def assert_same(whole: Searcher, broker: ShardedSearcher, query: Query) -> ResultPage:
    one, many = whole.search(query), broker.search(query)
    assert [(hit.key, hit.score) for hit in many.hits] == [(hit.key, hit.score) for hit in one.hits], query
    for name in one.__struct_fields__:
        if name not in CLOCK:
            assert getattr(many, name) == getattr(one, name), (query, name)
    return one


def answers_of(page: ResultPage) -> list[tuple[int, float]]:
    return [(hit.key, hit.score) for hit in page.hits]
