"""Why a page is not found, asked of a broker: its owner says whether it matches, the broker where it was lost."""

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.serving.shard_processes import KEY, SETTINGS, Replica, build_shards, publish_table
from periplus.cluster import Broker, TableReader
from periplus.evaluate import QueryDiagnosis, diagnose
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher
from periplus.search.sharding.gathering.traced_plans import TraceReply, TraceRequest
from periplus.serve import Actions, background_server
from periplus.settings import ServeSettings

pytestmark = pytest.mark.xdist_group("cluster-serving")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_shards(tmp_path_factory.mktemp("shards"), 2)


@pytest.fixture(scope="module")
def replicas(folders: list[Path]) -> Iterator[list[Replica]]:
    replicas = [Replica(shard, folder) for shard, folder in enumerate(folders)]
    yield replicas
    for replica in replicas:
        replica.kill()


@pytest.fixture
def broker(replicas: list[Replica], tmp_path: Path) -> Iterator[Broker]:
    publish_table(tmp_path / "table.json", replicas)
    broker = Broker(TableReader.of_file(tmp_path / "table.json"), KEY, SETTINGS)
    yield broker
    broker.close()


def ask(broker: Broker, words: str, url: str, **filters: object) -> QueryDiagnosis:
    return diagnose(broker, None, SETTINGS, Query(words, **filters), url)  # type: ignore[arg-type]


def test_a_page_of_any_shard_has_its_rank_in_the_merged_results(broker: Broker) -> None:
    hits = broker.search(Query("sea chart", size=100)).hits
    assert len(hits) > 10
    for rank, hit in enumerate(hits, 1):
        page, trace = broker.trace(Query("sea chart"), hit.key)
        assert (trace.indexed, trace.rank, trace.score, trace.results) == (True, rank, hit.score, len(page.hits))
        assert trace.matched
        assert trace.first_rank >= 1
    found = ask(broker, "sea chart", hits[4].url)
    assert (found.reason, found.rank) == ("ranked", 5)
    assert found.better is not None


def test_a_page_that_is_lost_has_the_stage(broker: Broker) -> None:
    url = broker.search(Query("sea")).hits[0].url
    host = urllib.parse.urlsplit(url).hostname
    other = next(hit.url for hit in broker.search(Query("sea", size=100)).hits if f"//{host}/" not in hit.url)
    site = ask(broker, "sea", other, site=host)
    assert (site.reason, site.filters) == ("filtered", (f"site:{host}",))
    excluded = ask(broker, f"coast -site:{host}", url) if host else None
    assert excluded is not None
    assert excluded.reason in ("excluded", "no match")
    missing = ask(broker, "+sea +zeppelin", url, verbatim=True)
    assert missing.reason == "no match"
    assert "zeppelin" in missing.missing
    unknown = ask(broker, "sea", "https://nowhere.test/")
    assert (unknown.reason, unknown.rank) == ("unknown", 0)


def test_the_first_stage_of_shards_has_the_score_of_the_whole_query(folders: list[Path]) -> None:
    shards = LocalShards([IndexShard(folder, SETTINGS, n) for n, folder in enumerate(folders)], encoded=True)
    searcher = ShardedSearcher(shards, SETTINGS)
    hits = searcher.search(Query("sea", size=100)).hits
    traces = [searcher.trace(Query("sea"), hit.key)[1] for hit in hits]
    assert [trace.rank for trace in traces] == list(range(1, len(hits) + 1))
    ordered = sorted(traces, key=lambda trace: trace.first_rank)
    scores = [trace.first_score for trace in ordered]
    assert scores == sorted(scores, reverse=True)
    assert shards.calls[-1] == ("trace", 2)


def test_shards_that_do_not_answer_are_said(folders: list[Path], tmp_path: Path) -> None:
    replicas = [Replica(shard, folder) for shard, folder in enumerate(folders)]
    try:
        publish_table(tmp_path / "table.json", replicas)
        broker = Broker(TableReader.of_file(tmp_path / "table.json"), KEY, SETTINGS)
        replicas[1].kill()
        found = ask(broker, "sea", "https://nowhere.test/")
        assert found.reason == "shards"
        assert "1 of 2 shards" in found.summary
        broker.close()
    finally:
        for replica in replicas:
            replica.kill()


def test_the_api_of_a_broker_answers(broker: Broker) -> None:
    url = broker.search(Query("sea")).hits[0].url
    actions = Actions(why=lambda query, page: diagnose(broker, None, SETTINGS, query, page))
    with background_server(broker, ServeSettings(port=0), actions) as address:
        asked = urllib.parse.urlencode({"q": "sea", "url": url})
        with urllib.request.urlopen(f"{address.rstrip('/')}/api/why?{asked}", timeout=30) as response:
            answer = json.load(response)
    assert (answer["reason"], answer["rank"]) == ("ranked", 1)


def test_a_query_without_results_and_a_wrong_reply_are_no_fault(folders: list[Path]) -> None:
    class Wrong(IndexShard):
        def trace(self, request: TraceRequest) -> TraceReply:
            return TraceReply(True, ())

    for kind, is_indexed in ((IndexShard, True), (Wrong, False)):
        shards = LocalShards([kind(folder, SETTINGS, n) for n, folder in enumerate(folders)])
        searcher = ShardedSearcher(shards, SETTINGS)
        hit = searcher.search(Query("sea chart")).hits[0]
        for words in ("sea chart", "+unheardof +nowhere", '"chart of the unheardof"'):
            _, trace = searcher.trace(Query(words, verbatim=True), hit.key)
            assert trace.indexed == is_indexed, words
            assert (trace.rank > 0) == (is_indexed and words == "sea chart")
