"""Answers of several shards are those of one index over the same pages: results, order, scores and all the rest."""

import itertools
import json
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embeddings.tiny_model import NaiveEncoder
from index.made_pages import Ranks, queries, random_ranks, random_visits, visit
from periplus.embeddings import EmbeddingSearcher, embed_index
from periplus.errors import BadUrl, ExpensiveQuery
from periplus.evaluate import read_documents
from periplus.hashing import fingerprint_text
from periplus.query import Synonyms
from periplus.rank import Ranker
from periplus.records import Query, SearchLimits
from periplus.search import IndexShard, LocalShards, Searcher, ShardedSearcher
from periplus.settings import EmbeddingSettings
from search.shard_pairs import SETTINGS, assert_same, build_both, split_by_host


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


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


def test_a_query_takes_one_round_or_two(wiki: tuple[Searcher, ShardedSearcher, LocalShards]) -> None:
    """Counts that are in postings only are asked for once, and only results that no shard presents early."""
    _, broker, group = wiki
    for words in ("april", "solar system", "history of music", "+river +france", '"united states"', "lang:en moon"):
        assert broker.search(Query(words)).hits
        group.calls.clear()
        broker.search(Query(words))
        assert [method for method, _ in group.calls] in (["retrieve"], ["retrieve", "present"])
        group.calls.clear()
        broker.search(Query(words, start=10))
        assert [method for method, _ in group.calls if method != "signatures"] == ["retrieve", "present"]


def test_results_that_are_not_presented_early_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One shard has all that matches best, and nearly all of it has to be asked for."""
    parts = [
        [visit(f"https://{name}{n}.test/", f"{name} {n}", f"{name} {'sea ' * n} fog") for n in range(12)]
        for name in ("fog", "tide", "rope")
    ]
    whole, broker, group = build_both(tmp_path, parts, Ranks({}))
    assert_same(whole, broker, Query("fog", size=10, folded=False))
    assert ("present", 1) in group.calls
    monkeypatch.setattr(ShardedSearcher, "answers_whole", False)
    one = build_both(tmp_path / "alone", parts[:1], Ranks({}))
    for query in (Query("fog"), Query("fog", size=3), Query("fog", explain=True), Query("fog", start=3)):
        one[2].calls.clear()
        assert_same(*one[:2], query)
        is_early = not query.explain and not query.start
        assert [method for method, _ in one[2].calls] == (["retrieve"] if is_early else ["retrieve", "present"])


def test_the_only_shard_gives_whole_answers(tmp_path: Path) -> None:
    """In one message, and by stages where it has other settings than the broker."""
    part = [visit(f"https://a.test/{n}", f"Fog {n}", f"fog {'sea ' * n}") for n in range(12)]
    whole, broker, group = build_both(tmp_path, [part], Ranks({}))
    group.calls.clear()
    for query in (Query("fog"), Query("fgo"), Query("+fog +moon"), Query("fog", explain=True), Query("fog", start=3)):
        assert_same(whole, broker, query)
    assert {method for method, _ in group.calls} == {"answer"}
    with pytest.raises(ExpensiveQuery):
        broker.search(Query("fog"), SearchLimits(cost=0.0))
    group.calls.clear()
    search = msgspec.structs.replace(SETTINGS.search, snippet_chars=80)
    other = ShardedSearcher(group, msgspec.structs.replace(SETTINGS, search=search))
    assert len(other.search(Query("fog")).hits) == len(whole.search(Query("fog")).hits)
    assert [method for method, _ in group.calls if method != "describe"][-2:] == ["answer", "retrieve"]


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
    assert [method for method, _ in group.calls] == ["retrieve"]


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
