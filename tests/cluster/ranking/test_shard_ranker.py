"""The graph of a cluster through storage: rounds, restarts of single shards, and what is refused."""

import numpy as np
import pytest
from farm_web import crawl
from shard_webs import build_whole, compare_graphs, split_records, write_store

from periplus.arrays import ArrayFile
from periplus.cluster.ranking import RoundStore, ShardRanker, rank_shards
from periplus.errors import CorruptFile, WrongVersion
from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.files import DataFolder
from periplus.graph import Graph
from periplus.index import build_index
from periplus.settings import GraphSettings, IndexSettings, StorageSettings
from periplus.storage import open_storage

SHARDS = (0, 1, 2)
FEW_ROUNDS = GraphSettings(tolerance=0.05)
FILES = ["backlinks.arrays", "graph.arrays", "synonyms.arrays"]


@pytest.fixture(scope="module")
def parts():
    """Return the records of a crawl of the fake web, for each shard."""
    return split_records(list(crawl(FakeWeb(FakeWebPlan(seed=7, hosts=14, pages=90, trouble=("farm",))))), len(SHARDS))


@pytest.fixture
def folders(parts, tmp_path):
    """Return a data folder for each shard."""
    for number, records in enumerate(parts):
        write_store(tmp_path / f"shard-{number:02d}" / "store", records)
    return {number: tmp_path / f"shard-{number:02d}" for number in SHARDS}


@pytest.fixture
def rounds(tmp_path):
    """Return the rounds of a build, on a shared disk."""
    storage = open_storage((tmp_path / "storage").as_uri(), StorageSettings(retry_seconds=0.0), create=True)
    return RoundStore(storage, "7")


def make(folders, rounds, number, settings=FEW_ROUNDS):
    return ShardRanker(folders[number], number, SHARDS, settings, rounds)


def graph_bytes(folders):
    """Return the bytes of all files of the graphs."""
    graphs = [DataFolder(folders[number]).graph for number in SHARDS]
    assert [sorted(path.name for path in graph.iterdir()) for graph in graphs] == [FILES] * len(SHARDS)
    return [(graph / name).read_bytes() for graph in graphs for name in FILES]


def finish(rankers):
    """Advance all rankers until their graphs are written; return their statistics."""
    statuses = {}
    while not all(status.statistics for status in statuses.values()) or not statuses:
        statuses = {number: ranker.advance() for number, ranker in rankers.items()}
    return {number: status.statistics for number, status in statuses.items()}


def test_the_graph_of_the_fake_web_equals_that_of_one_machine(folders, parts, tmp_path):
    build_whole(tmp_path / "whole", parts)
    statistics = rank_shards(folders, GraphSettings())
    assert compare_graphs(tmp_path, parts, tmp_path / "whole") <= 1e-9
    assert sum(shard.pages for shard in statistics.values()) == len(Graph.open(tmp_path / "whole" / "graph"))
    assert all(len(records) > 10 for records in parts)


def static_columns(folder):
    """Return the static rank and the flags of each document of an index, by its key."""
    rows = {}
    for path in folder.glob("*/documents.arrays"):
        columns = ArrayFile(path, "documents")
        values = zip(columns["static"].tolist(), columns["flags"].tolist(), strict=True)
        rows |= dict(zip(columns["key"].tolist(), values, strict=True))
    return rows


def test_indexes_of_shards_have_the_static_columns_of_one_index(folders, parts, tmp_path):
    build_whole(tmp_path / "whole", parts)
    rank_shards(folders, GraphSettings())
    records = [record for part in parts for record in part]
    build_index(records, tmp_path / "whole" / "index", IndexSettings(), Graph.open(tmp_path / "whole" / "graph"))
    expected, columns = static_columns(tmp_path / "whole" / "index"), {}
    for number, folder in folders.items():
        build_index(parts[number], folder / "index", IndexSettings(), Graph.open(folder / "graph"))
        rows = static_columns(folder / "index")
        assert not rows.keys() & columns.keys()
        columns |= rows
    assert columns == expected
    assert len({static for static, _ in columns.values()}) > 20


def test_shards_that_are_killed_repeat_their_rounds(folders, rounds):
    rank_shards(folders, FEW_ROUNDS)
    expected = graph_bytes(folders)
    rankers = {number: make(folders, rounds, number) for number in SHARDS}
    random, restarts = np.random.default_rng(5), 0
    while None in {number: ranker.advance().statistics for number, ranker in rankers.items()}.values():
        if restarts < 4 and random.random() < 0.05:
            # A killed process closes nothing.
            number = int(random.integers(len(SHARDS)))
            rankers[number] = make(folders, rounds, number)
            restarts += 1
    assert restarts == 4
    for ranker in rankers.values():
        ranker.close()
    assert graph_bytes(folders) == expected
    assert rounds.statistics()[0] > 100
    rounds.remove()
    assert rounds.statistics() == (0, 0)


def test_a_shard_waits_for_all_others(folders, rounds):
    with make(folders, rounds, 1) as ranker:
        assert ranker.advance().waiting_for == (0, 2)
        with make(folders, rounds, 0) as other:
            other.advance()
            assert ranker.advance().waiting_for == (2,)
            assert ranker.run(lambda: True, lambda seconds: None).statistics is None


def test_records_that_are_added_during_a_build_are_not_read(folders, parts, rounds):
    rank_shards(folders, FEW_ROUNDS)
    expected = graph_bytes(folders)
    rankers = {number: make(folders, rounds, number) for number in SHARDS}
    for ranker in rankers.values():
        ranker.advance()
    write_store(folders[1] / "store", parts[1][:20])
    rankers[1] = make(folders, rounds, 1)
    finish(rankers)
    for ranker in rankers.values():
        ranker.close()
    assert graph_bytes(folders) == expected


def test_a_round_is_never_repeated_differently(folders, rounds):
    rankers = {number: make(folders, rounds, number) for number in SHARDS}
    finish(rankers)
    changed = {number: make(folders, rounds, number, GraphSettings(tolerance=0.05, damping=0.5)) for number in SHARDS}
    with pytest.raises(CorruptFile, match="differently"):
        finish(changed)


def test_a_shard_of_another_version_is_refused(folders, rounds, monkeypatch):
    with make(folders, rounds, 0) as ranker:
        ranker.advance()
    monkeypatch.setattr("periplus.cluster.ranking.round_store.__version__", "9.9.9")
    with pytest.raises(WrongVersion, match=r"9\.9\.9"):
        make(folders, rounds, 0)


def test_a_truncated_message_is_an_error(folders, rounds, tmp_path):
    rankers = {number: make(folders, rounds, number) for number in SHARDS}

    def advance_all():
        while True:
            for ranker in rankers.values():
                ranker.advance()
                for path in (tmp_path / "storage" / "graph" / "7").glob("*/*-*"):
                    path.write_bytes(path.read_bytes()[:-7])

    with pytest.raises(CorruptFile):
        advance_all()


def test_a_shard_without_pages_has_an_empty_graph(folders, parts, rounds, tmp_path):
    shards = {**folders, 5: tmp_path / "shard-05"}
    rankers = {n: ShardRanker(folder, n, tuple(shards), FEW_ROUNDS, rounds) for n, folder in shards.items()}
    assert finish(rankers)[5].pages == 0
    assert len(Graph.open(DataFolder(shards[5]).graph)) == 0


def test_shards_that_are_late_are_asked_less_and_less_often(folders, rounds):
    pauses = []
    with make(folders, rounds, 1) as ranker, make(folders, rounds, 0) as other:

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 20:
                other.advance()

        ranker.run(lambda: len(pauses) == 40, pause)
    assert pauses[0] < pauses[5] < pauses[10]
    assert max(pauses) <= 1.0
    assert pauses[20] == pauses[0]  # one of them has come
    assert sum(pauses) / len(pauses) > 0.3
