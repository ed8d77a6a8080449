"""Published pages: who owns them, in which order they count, and what a replica has before it is asked."""

import threading
import time
from pathlib import Path

import pytest

from cluster.serving.shard_processes import KEY, SETTINGS, build_shards
from conditions import wait_until
from periplus.cluster import Broker, PublicationLog, ServingTable, ShardEntry, ShardServer, TableReader, encode_table
from periplus.cluster.serving import replica_publications
from periplus.cluster.serving.publication_log import encode_publication, list_logs
from periplus.cluster.serving.replica_publications import PublicationSource, ReplicaPublications
from periplus.cluster.serving.serving_table import format_address
from periplus.crawl import HostPartitioner
from periplus.publish import make_published_record, publisher
from periplus.records import FetchRecord, Outcome, Query
from periplus.storage import Storage, open_storage
from periplus.url import parse_address

pytestmark = pytest.mark.xdist_group("cluster-serving")
OWNERS = (0, 1, 2, 3)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """Make a storage in a folder."""
    return open_storage(f"file://{tmp_path}/storage", SETTINGS.storage, create=True)


def page(url: str = "https://a.test/1", words: str = "zeppelin") -> FetchRecord:
    return make_published_record("Zeppelin", words, url)


def withdrawal(url: str = "https://a.test/1") -> FetchRecord:
    address = parse_address(url)
    return FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410)


def host_of(owner: int, owners: tuple[int, ...] = OWNERS) -> str:
    """Return a host that a shard owns."""
    partitioner = HostPartitioner(owners)
    return next(f"h{n}.test" for n in range(1000) if partitioner.owner(f"h{n}.test") == owner)


def publish(log: PublicationLog, record: FetchRecord) -> str:
    """Add a record to a log; return its name."""
    publication = encode_publication(record)
    assert log.claim(publication) == 0
    log.add(publication)
    return publication.name


class Cluster:
    """Replicas of two shards in this process, of four that own hosts, and a broker."""

    def __init__(self, folder: Path, storage: Storage, served: tuple[int, ...] = (0, 1)) -> None:
        self.servers = []
        for position, (number, path) in enumerate(zip(served, build_shards(folder, len(served)), strict=True)):
            server = ShardServer(number, ("127.0.0.1", 0), KEY, SETTINGS, storage)
            server.open(1, path, position, OWNERS, served)
            server.start()
            self.servers.append(server)
        entries = [ShardEntry(n, (format_address(s.address),)) for n, s in zip(served, self.servers, strict=True)]
        data = encode_table(ServingTable(1, 1, tuple(entries), owners=OWNERS))
        self._data = data
        self.broker = self.open_broker()

    def open_broker(self) -> Broker:
        """Open one more broker."""
        return Broker(TableReader(lambda: self._data, "table"), KEY, SETTINGS)

    def finds(self, words: str, broker: Broker | None = None) -> set[str]:
        """Return the URLs that a query finds now."""
        broker = broker or self.broker
        broker.refresh()
        return {hit.url for hit in broker.search(Query(words, size=50, folded=False)).hits}

    def close(self) -> None:
        """End all."""
        self.broker.close()
        for server in self.servers:
            server.close()


def test_owners_do_not_change_when_a_shard_gets_its_first_page(storage: Storage, tmp_path: Path) -> None:
    """Shard 3 has no page: its log is written all the same, and read by a shard that is served."""
    url = f"https://{host_of(3)}/1"
    first = Cluster(tmp_path / "a", storage)
    first.broker.publish(page(url))
    assert list_logs(storage) == [3]
    wait_until(lambda: first.finds("zeppelin") == {url})
    first.close()
    second = Cluster(tmp_path / "b", storage, (0, 1, 3))
    assert second.finds("zeppelin") == {url}, "the page is there before the replica is asked"
    second.broker.withdraw(url)
    wait_until(lambda: not second.finds("zeppelin"))
    second.close()


def test_a_page_is_found_through_every_broker(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What indexing takes is loaded before a replica is open: the first page waits for nothing."""
    monkeypatch.setattr(publisher, "_WARM", threading.Event())
    cluster = Cluster(tmp_path / "shards", storage)
    assert publisher._WARM.is_set()
    brokers = [cluster.broker, cluster.open_broker()]
    for number in range(4):
        url, word = f"https://{host_of(number)}/1", f"zeppelin{number}"
        brokers[number % 2].publish(page(url, word))
        for broker in brokers:
            wait_until(lambda broker=broker, word=word, url=url: cluster.finds(word, broker) == {url})
    brokers[1].close()
    cluster.close()


def test_a_shard_applies_what_was_published_for_hosts_that_it_owns_now(storage: Storage, tmp_path: Path) -> None:
    """Shard 2 was removed: the others read its log, and each page is applied by its new owner only."""
    urls = [f"https://{host_of(2)}/{n}" for n in range(3)]
    owner = HostPartitioner((0, 1)).owner(host_of(2))
    for url in urls:
        publish(PublicationLog(storage, 2), page(url))
    counts = {}
    for shard in (0, 1):
        (folder := tmp_path / f"shard-{shard}").mkdir()
        publications = ReplicaPublications(folder, SETTINGS, PublicationSource(storage, shard, (0, 1), (0, 1)))
        publications.catch_up()
        counts[shard] = publications.count
        publications.close()
    assert counts == {owner: 3, 1 - owner: 0}


def test_the_later_publication_counts_whatever_the_clocks_show(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica_publications, "_WHOLE_SECONDS", 0.1)  # what has an earlier name is found in whole logs
    cluster = Cluster(tmp_path / "shards", storage)
    url = f"https://{host_of(1)}/1"
    ahead = encode_publication(page(url))
    ahead = ahead.renumbered(ahead.time_ns + 3600 * 10**9)
    log = PublicationLog(storage, 1)
    assert log.claim(ahead) == 0
    log.add(ahead)
    assert log.claim(ahead) == 0, "to claim it again changes nothing"
    wait_until(lambda: cluster.finds("zeppelin") == {url})
    cluster.broker.withdraw(url)
    wait_until(lambda: not cluster.finds("zeppelin"))
    names = list(log.names())
    assert names[0] == ahead.name
    assert len(names) == 2
    late = encode_publication(page(url))
    assert log.claim(late) == int(names[1][:20]), "refused: the page would be back"
    cluster.close()


def test_a_replica_has_what_was_published_before_it_is_open(storage: Storage, tmp_path: Path) -> None:
    """A replica that was away, or is new, does not show a page that was withdrawn meanwhile."""
    [folder] = build_shards(tmp_path, 1)
    server = ShardServer(0, ("127.0.0.1", 0), KEY, SETTINGS, storage)
    log = PublicationLog(storage, 0)
    publish(log, page("https://a.test/1", "zeppelin"))
    server.open(1, folder, 0)
    documents = server.health().generations[0].documents
    server.close()
    publish(log, withdrawal("https://a.test/1"))
    server = ShardServer(0, ("127.0.0.1", 0), KEY, SETTINGS, storage)
    server.open(1, folder, 0)
    shard = server._generations.shards()[0]
    assert shard.publications.count == 2
    assert server.health().generations[0].documents == documents - 1
    server.close()


def test_what_is_new_is_listed_without_what_is_old(storage: Storage, tmp_path: Path) -> None:
    log = PublicationLog(storage, 0)
    old = encode_publication(page("https://a.test/old"))
    old = old.renumbered(old.time_ns - 10**16)
    log.add(old)
    new = publish(log, page("https://a.test/new"))
    assert list(log.names()) == [old.name, new]
    assert list(log.names(after=new)) == [new]
    assert list(log.names(after=old.name)) == [old.name, new]
    publications = ReplicaPublications(tmp_path, SETTINGS, PublicationSource(storage, 0))
    asked: list[str] = []
    listing = storage.list_objects
    storage.list_objects = lambda prefix="": asked.append(prefix) or listing(prefix)  # type: ignore
    assert publications.catch_up() == 2
    assert asked == ["shards/00/publications"]
    asked.clear()
    assert publications.catch_up() == 0
    assert asked
    assert all(len(prefix) > len("shards/00/publications") for prefix in asked), "only folders of late"
    publications.close()


def test_a_publication_that_was_removed_is_none(storage: Storage) -> None:
    log = PublicationLog(storage, 0)
    name = publish(log, page())
    [(_, length)] = log.names().items()
    log.remove([name])
    assert log.read(name, length) is None


def test_a_replica_without_the_generation_does_not_make_queries_run_twice(tmp_path: Path) -> None:
    [folder] = build_shards(tmp_path, 1)
    servers = [ShardServer(0, ("127.0.0.1", 0), KEY, SETTINGS) for _ in range(2)]
    for generation, server in enumerate(servers, 1):
        server.open(generation, folder, 0)
        server.start()
    entry = ShardEntry(0, tuple(format_address(server.address) for server in servers))
    data = encode_table(ServingTable(1, 1, (entry,)))
    opened: list[int] = []
    broker = Broker(TableReader(lambda: data, "table"), KEY, SETTINGS, opened.append)
    wait_until(lambda: not broker.search(Query("sea")).partial)  # kernels may have to be compiled
    contexts = []
    ask = broker._ask_once
    broker._ask_once = lambda *rest: contexts.append(ask(*rest)) or contexts[-1]  # type: ignore
    for _ in range(10):
        assert not broker.search(Query("sea")).partial
    assert len(contexts) == 10
    assert opened == [1]
    assert servers[1].health().requests, "the other one was asked, too"
    broker.close()
    for server in servers:
        server.close()
