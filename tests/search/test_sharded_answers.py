"""Answers of several shards are those of one index over the same pages: results, order, scores and all the rest."""

import itertools
import json
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embeddings.tiny_model import NaiveEncoder
from index.made_pages import Ranks, queries, random_ranks, random_visits, visit
from periplus.embeddings import EmbeddingSearcher, embed_index
from periplus.errors import BadUrl
from periplus.evaluate import read_documents
from periplus.hashing import fingerprint_text
from periplus.index import LiveIndex, build_index, gather_build_statistics, sum_build_statistics
from periplus.query import Synonyms
from periplus.rank import Ranker
from periplus.records import FetchRecord, Query, ResultPage
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import EmbeddingSettings, SearchSettings, Settings
from periplus.text import LANGUAGES

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
        assert broker.cached_blocks(key) == whole.cached_blocks(key) == ()
        for url in (page.url, "https://nowhere.test/"):
            assert broker.page_status(url) == whole.page_status(url)
        with pytest.raises(BadUrl):
            broker.page_status("no url")
        one_parts, parts = whole.index_parts(), broker.index_parts()
        assert one_parts is not None
        assert parts is not None
        assert parts.documents == one_parts.documents
        assert sum(row[1] for row in parts.segments) == sum(row[1] for row in one_parts.segments)
        assert parts.languages == one_parts.languages
        assert sorted(parts.hosts) == sorted(one_parts.hosts)
        changed = {weight.name: 3.0 for weight in whole.weights()[:3]}
        assert broker.preview(Query("sea"), changed).hits == whole.preview(Query("sea"), changed).hits


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> tuple[Searcher, ShardedSearcher, LocalShards]:
    """Build three shards of the first articles of Simple English Wikipedia, with made-up hosts."""
    documents = shared_data / "ir" / "simplewiki_entity" / "docs.jsonl.zst"
    if not documents.is_file():
        pytest.skip("no simplewiki_entity in ../shared/data")
    visits = []
    for record in itertools.islice(read_documents(documents, []), 2_400):
        assert record.page is not None
        url = f"https://h{record.key % 31}.test/{record.url.rpartition('/')[2]}"
        page = msgspec.structs.replace(record.page, url=url)
        visits.append(msgspec.structs.replace(record, url=url, key=fingerprint_text(url), page=page))
    ranks = Ranks(random_ranks(1, visits))
    return build_both(tmp_path_factory.mktemp("wiki"), split_by_host(visits, 3, 4), ranks)


def test_queries_of_a_log_have_the_same_answers(
    wiki: tuple[Searcher, ShardedSearcher, LocalShards], shared_data: Path
) -> None:
    """The whole collection is compared by bench/cluster_answers.py."""
    lines = (shared_data / "queries" / "search-benchmark-game.jsonl").read_text("utf-8").splitlines()
    whole, broker, _ = wiki
    results = 0
    for line in lines[:500]:
        results += len(assert_same(whole, broker, Query(json.loads(line)["query"], size=100)).hits)
    assert results > 10_000


def test_a_query_takes_two_rounds(wiki: tuple[Searcher, ShardedSearcher, LocalShards]) -> None:
    """Counts that are in postings only are asked for once; texts are read where no simhash is stored."""
    _, broker, group = wiki
    for words in ("april", "solar system", "history of music", "+river +france", '"united states"', "lang:en moon"):
        assert broker.search(Query(words)).hits
        group.calls.clear()
        broker.search(Query(words))
        assert [method for method, _ in group.calls if method != "signatures"] == ["retrieve", "present"]


def test_short_texts_are_read_only_if_they_are_as_long_as_others(tmp_path: Path) -> None:
    texts = [["fog", "fog bell", "fog over sea"], ["fog on a coast", "fog bell", "fog ship"]]
    parts = [
        [visit(f"https://{shard}.test/{n}", f"Page {shard} {n}", text) for n, text in enumerate(own)]
        for shard, own in enumerate(texts)
    ]
    whole, broker, group = build_both(tmp_path, parts, Ranks({}))
    page = assert_same(whole, broker, Query("fog", size=100))
    assert sorted(len(hit.similar) for hit in page.hits) == [0, 0, 0, 0, 1]  # 'fog ship' is as long, but no duplicate
    assert [method for method, _ in group.calls if method == "signatures"] == ["signatures"]
    group.calls.clear()
    assert_same(whole, broker, Query("coast", size=100))
    assert [method for method, _ in group.calls] == ["retrieve", "present"]


@pytest.mark.parametrize("mode", ["always", "auto"])
def test_feedback_takes_words_of_the_best_pages_of_all_shards(tmp_path: Path, mode: str) -> None:
    own = msgspec.structs.replace(SETTINGS, search=msgspec.structs.replace(SETTINGS.search, feedback=mode))
    visits = random_visits(6, 150)
    whole, broker, _ = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks(random_ranks(6, visits)), own)
    for words in ("sea chart", "ship", "fog bell tide", '"sea chart" fog', "harbour light wind rope"):
        assert_same(whole, broker, Query(words, size=50, explain=True))


def test_synonyms_widen_plans_alike(tmp_path: Path) -> None:
    visits = random_visits(8, 150)
    whole, broker, _ = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks(random_ranks(8, visits)))
    session = whole._session
    assert session is not None
    session.synonyms = broker._synonyms = Synonyms.from_pairs(
        [("harbour", "sea", 5), ("fog bell", "tide", 4), ("007", "the", 3)], 0.5
    )
    for words in ("harbour", "fog bell", "harbour light", "007 rope"):
        assert_same(whole, broker, Query(words, size=50, explain=True))


def test_embeddings_take_part_alike(tmp_path: Path) -> None:
    """Whether a query is in a language of the model, the best pages of all shards decide."""
    semantic = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4, nearest=5, candidates=10)
    own = msgspec.structs.replace(SETTINGS, embeddings=semantic)
    visits = random_visits(5, 160)
    whole, broker, group = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks(random_ranks(5, visits)), own)
    sessions = [whole._session, *(shard._sessions[-1] for shard in group._shards if isinstance(shard, IndexShard))]
    for session in sessions:
        assert session is not None
        embed_index(session.index.folder, semantic, encoder=NaiveEncoder())
        session.ranker = Ranker(session.index, own.rank, semantic, signals=session.signals)
        assert session.ranker.embeddings is not None
        session.ranker.embeddings._meaning = EmbeddingSearcher(session.index, semantic, NaiveEncoder())
    for words in ("sea chart", "the ship of fog", "wind", '"harbour light" bell', "rope -sail tide", "zebra", "море"):
        assert_same(whole, broker, Query(words, size=100, explain=True))


def test_live_changes_reach_the_broker_when_it_is_refreshed(tmp_path: Path) -> None:
    visits = random_visits(7, 80)
    parts = split_by_host(visits, 3, 1)
    whole, broker, group = build_both(tmp_path, parts, Ranks({}))
    new = visit("https://live.coast.test/kraken", "Kraken", "the kraken rises from the deep sea " * 9)
    gone = parts[1][3].url
    for folder in ("one", "shard-01"):
        with LiveIndex(tmp_path / folder / "index", SETTINGS.index, background=False) as live:
            live.add(new)
            live.delete(gone)
            live.publish()
    assert not broker.refresh()
    shard = group._shards[1]
    assert isinstance(shard, IndexShard)
    assert shard.refresh()
    assert broker.refresh()
    assert not broker.refresh()
    found = broker.search(Query("kraken"))
    assert [hit.url for hit in found.hits] == [new.url]
    assert whole.refresh()
    one = whole.search(Query("kraken"))
    assert [hit.url for hit in one.hits] == [new.url]
    assert found.hits[0].score == pytest.approx(one.hits[0].score)


def test_a_query_that_began_on_the_last_generation_ends_on_it(tmp_path: Path) -> None:
    visits = random_visits(7, 60)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    shard = group._shards[0]
    assert isinstance(shard, IndexShard)
    expected = broker.search(Query("sea ship"))
    call = group.call

    def refresh_before_present(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        if method == "present":
            with LiveIndex(tmp_path / "shard-00" / "index", SETTINGS.index, background=False) as live:
                live.add(visit(f"https://live.coast.test/{len(group.calls)}", "Sea ship", "sea ship " * 20))
                live.publish()
            shard.refresh()
        return call(method, requests, seconds)

    group.call = refresh_before_present  # type: ignore[method-assign]
    assert [hit.url for hit in broker.search(Query("sea ship")).hits] == [hit.url for hit in expected.hits]


def test_shards_that_do_not_answer_are_named(tmp_path: Path) -> None:
    visits = random_visits(7, 90)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 3, 1), Ranks({}))
    complete = broker.search(Query("sea", size=100))
    assert not complete.partial
    call, silent = group.call, {"retrieve": {1}, "present": set[int]()}

    def call_some(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        answering = {shard: item for shard, item in requests.items() if shard not in silent.get(method, ())}
        return call(method, answering, seconds)

    group.call = call_some  # type: ignore[method-assign]
    page = broker.search(Query("sea", size=100))
    assert page.partial
    assert page.notes[-1] == "1 of 3 shards did not answer."
    assert 0 < len(page.hits) < len(complete.hits)
    silent |= {"retrieve": set(), "present": {0}}
    page = broker.search(Query("sea", size=100))
    assert page.partial
    assert 0 < len(page.hits) < len(complete.hits)
    silent |= {"retrieve": {0, 1, 2}}
    page = broker.search(Query("sea"))
    assert (page.hits, page.partial, page.notes[-1]) == ((), True, "3 of 3 shards did not answer.")


def test_counts_are_kept_only_if_all_shards_have_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard that was late once does not make counts too low from then on, and the answer is partial."""
    monkeypatch.setattr("periplus.search.sharding.sharded_collection.MAX_RARE", 0)
    visits = random_visits(7, 90)
    _, broker, group = build_both(tmp_path, split_by_host(visits, 2, 1), Ranks({}))
    language = frozenset({LANGUAGES.index("en")})
    terms = [b"sea", b"ship", b"wind", b"chart", b"fog"]

    def count(of: ShardedSearcher) -> tuple[list[int], list[bool]]:
        collection = of.collection
        present = collection.have_terms(terms, [0] * len(terms), [language]).tolist()
        return collection.count_together(b"sea", [b"ship", b"wind"]), present

    expected = count(ShardedSearcher(group, SETTINGS))
    assert min(expected[0]) > 0
    call, silent = group.call, {0, 1}

    def call_some(method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        late = silent if method == "statistics" else set()
        return call(method, {shard: item for shard, item in requests.items() if shard not in late}, seconds)

    group.call = call_some  # type: ignore[method-assign]
    assert count(broker) == ([0, 0], [False] * len(terms))
    page = broker.search(Query("sea link:https://nowhere.test/"))
    assert (page.partial, page.notes[-1]) == (True, "2 of 2 shards did not answer.")
    silent.clear()
    assert count(broker) == expected
    assert not broker.search(Query("sea link:https://nowhere.test/")).partial
