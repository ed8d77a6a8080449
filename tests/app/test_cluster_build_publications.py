"""Builds of a cluster take published pages into the index: whatever dies, and whichever shard owns their hosts then."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from shard_folders import add_pages

from periplus.app.clusters.build_worker import BuildWorker
from periplus.app.clusters.generation_build import build_generation
from periplus.cluster import ClusterTopology, PublicationLog, Unit, UnitSpec, new_topology, remove_built
from periplus.cluster.cluster_topology import ShardRecord
from periplus.cluster.control.generation_store import restore_generation
from periplus.cluster.control.ray_host import Probe
from periplus.cluster.serving.publication_log import encode_publication
from periplus.crawl import HostPartitioner
from periplus.errors import ClusterError
from periplus.publish import DeletionList, make_published_record
from periplus.records import FetchRecord, Outcome, Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher
from periplus.settings import GraphSettings, Settings, StorageSettings
from periplus.storage import ShardMirror, Storage, open_storage

URLS = [f"https://host{number}.test/" for number in range(8)]


class LocalCluster:
    """Build units in threads of this process, with a topology: what a build uses of client and host."""

    def __init__(self, folder: Path, shards: int) -> None:
        self.folder = folder
        url = (folder / "storage").as_uri()
        self.storage: Storage = open_storage(url, StorageSettings(retry_seconds=0.0), create=True)
        self.settings = Settings(
            storage=StorageSettings(url=url, retry_seconds=0.0), graph=GraphSettings(tolerance=0.05)
        )
        self._topology = new_topology(shards, 1)
        self._workers: dict[Unit, BuildWorker] = {}
        self.before_step: Callable[[str], None] = lambda step: None

    def topology(self) -> ClusterTopology:
        return self._topology

    def update(self, **fields: Any) -> None:
        self._topology = msgspec.structs.replace(self._topology, **fields)

    def wait(self, is_reached: Callable[[dict[str, Any]], bool], what: str, seconds: float) -> None:
        assert is_reached({})

    def probe(self, units: Sequence[Unit]) -> dict[Unit, Probe]:
        return {unit: Probe("running", {}) for unit in units}

    def call_all(self, arguments: dict[Unit, bytes], step: str, seconds: float) -> dict[Unit, bytes]:
        self.before_step(step)
        with ThreadPoolExecutor(len(arguments)) as pool:
            calls = {unit: pool.submit(self._worker(unit).call, step, data) for unit, data in arguments.items()}
            return {unit: call.result() for unit, call in calls.items()}

    def _worker(self, unit: Unit) -> BuildWorker:
        if unit not in self._workers:
            spec = UnitSpec(
                kind="build",
                number=unit.number,
                settings=self.settings,
                node_dir=str(self.folder / "node"),
                node="n",
                address="127.0.0.1",
                term=1,
            )
            self._workers[unit] = BuildWorker(spec)
        return self._workers[unit]

    def publish(
        self, generation: int, epoch: int, shards: Sequence[int], owners: Sequence[int], base: int | None
    ) -> None:
        assert base == self._topology.generation
        self.update(
            generation=generation,
            statistics_epoch=epoch,
            generation_shards=tuple(shards),
            generation_owners=tuple(owners),
        )

    def build(self) -> int:
        client: Any = self
        return build_generation(client, client, self.storage).attempts

    def add(self, record: FetchRecord) -> None:
        """Publish a page, or withdraw it, in the shard that owns its host."""
        owner = HostPartitioner(self._topology.owner_numbers).owner(record.url.split("/")[2])
        PublicationLog(self.storage, owner).add(encode_publication(record))

    def search(self, words: str) -> list[str]:
        """Return the URLs that the last generation has for a query, in the order of their names."""
        topology = self._topology
        shards = []
        for position, number in enumerate(topology.generation_shards):
            folder = self.folder / f"served-{topology.generation}-{number}"
            restore_generation(self.storage, topology.generation, number, folder)
            shards.append(IndexShard(folder, self.settings, position))
        searcher = ShardedSearcher(LocalShards(shards), self.settings)
        query = Query(words, size=50, folded=False, verbatim=True)
        return sorted(hit.url for hit in searcher.search(query).hits)

    def logged(self) -> int:
        return sum(len(PublicationLog(self.storage, number).names()) for number in range(10))


@pytest.fixture
def cluster(tmp_path: Path) -> LocalCluster:
    return LocalCluster(tmp_path, 2)


def publish(cluster: LocalCluster, *urls: str, word: str = "zephyr") -> None:
    for url in urls:
        cluster.add(make_published_record(f"A page of {url}", f"The word {word} is on it, and {url} is its URL.", url))


def withdraw(cluster: LocalCluster, url: str) -> None:
    key = make_published_record("A page", "Any text.", url).key
    cluster.add(FetchRecord(url, key, Outcome.GONE, time.time(), 410))


def test_builds_have_published_pages_also_when_the_logs_are_trimmed(cluster: LocalCluster) -> None:
    owner = HostPartitioner((0, 1)).owner("example.org")
    crawled = cluster.folder / "node" / f"shard-{owner:02d}"
    add_pages(crawled, 0, 3)
    ShardMirror(crawled, cluster.storage, owner).upload()
    publish(cluster, *URLS)
    withdraw(cluster, URLS[7])
    withdraw(cluster, "https://example.org/1")
    cluster.build()
    assert cluster.search("zephyr") == URLS[:7]
    assert remove_built(cluster.storage, 1) == len(URLS) + 2
    assert cluster.logged() == 0
    publish(cluster, URLS[0], word="mistral")
    publish(cluster, URLS[7])  # once more
    withdraw(cluster, URLS[6])
    cluster.build()
    assert cluster.search("zephyr") == [*URLS[1:6], URLS[7]]
    assert cluster.search("mistral") == [URLS[0]]
    documents = sum(
        IndexShard(cluster.folder / f"served-2-{number}", cluster.settings).index.documents for number in (0, 1)
    )
    assert documents == 7 + 2, "pages of the crawl, but for the one that was withdrawn, and published ones"


def test_what_was_deleted_stays_so_when_its_host_has_moved(cluster: LocalCluster) -> None:
    owner = HostPartitioner((0, 1)).owner("example.org")
    crawled = cluster.folder / "node" / f"shard-{owner:02d}"
    add_pages(crawled, 0, 3)
    before = cluster.folder / "node" / f"shard-{1 - owner:02d}"
    before.mkdir()
    DeletionList(before).add(["https://example.org/1"])
    cluster.build()
    served = IndexShard(_restore(cluster, owner), cluster.settings)
    urls = {segment.string("url", n) for segment in served.index.segments for n in range(segment.documents)}
    assert urls == {"https://example.org/0", "https://example.org/2"}


def _restore(cluster: LocalCluster, number: int) -> Path:
    folder = cluster.folder / f"served-{number}"
    restore_generation(cluster.storage, cluster.topology().generation, number, folder)
    return folder


def test_what_is_published_during_a_build_stays_in_the_log(cluster: LocalCluster) -> None:
    publish(cluster, *URLS[:4])
    cluster.before_step = lambda step: publish(cluster, URLS[5]) if step == "prepare" else None
    cluster.build()
    assert cluster.search("zephyr") == URLS[:4]
    remove_built(cluster.storage, 1)
    assert cluster.logged() == 1


def test_a_build_whose_units_are_lost_at_every_step_has_all_pages(cluster: LocalCluster) -> None:
    publish(cluster, *URLS)
    left = ["collect", "prepare", "graph", "statistics", "index", "store"]

    def lose(step: str) -> None:
        if left and step == left[0]:
            left.pop(0)
            cluster._workers.clear()
            raise ClusterError("The actor died.")

    cluster.before_step = lose
    assert cluster.build() == 7
    assert cluster.search("zephyr") == URLS
    remove_built(cluster.storage, cluster.topology().generation)
    assert cluster.logged() == 0


def test_published_pages_follow_hosts_that_move(cluster: LocalCluster) -> None:
    publish(cluster, *URLS)
    cluster.build()
    remove_built(cluster.storage, 1)
    withdraw(cluster, URLS[3])
    cluster.update(shards=(ShardRecord(0), ShardRecord(1), ShardRecord(2, 0, "joining")))
    publish(cluster, URLS[0], word="mistral")  # in the log of the shard that will own the host
    cluster.build()  # while hosts move, pages are divided as before
    assert cluster.topology().generation_owners == (0, 1)
    assert cluster.search("zephyr") == [url for url in URLS[1:] if url != URLS[3]]
    assert cluster.search("mistral") == [URLS[0]]
    remove_built(cluster.storage, 2)
    for generation, numbers in ((3, (0, 1, 2)), (4, (7,))):
        cluster.update(shards=tuple(map(ShardRecord, numbers)))
        cluster.build()
        assert cluster.topology().generation == generation
        assert set(cluster.topology().generation_shards) <= set(numbers)
        assert cluster.search("zephyr") == [url for url in URLS[1:] if url != URLS[3]]
        assert cluster.search("mistral") == [URLS[0]]
