"""A broker and replicas in processes of their own: the same answers, whatever happens to the replicas."""

import contextlib
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.serving.shard_processes import KEY, SETTINGS, Replica, build_shards, publish_table
from conditions import wait_until
from periplus.cluster import Broker, ClusterKey, TableReader, close_generation, open_generation, read_health
from periplus.errors import Overloaded
from periplus.publish import make_published_record
from periplus.records import Query, ResultPage
from periplus.search import IndexShard, LocalShards, ShardedSearcher
from periplus.serve import background_server
from periplus.settings import ServeSettings

pytestmark = pytest.mark.xdist_group("cluster-serving")
QUERIES = ["sea chart", "the ship of fog", '"harbour light" bell', "wind", "coast", "lang:en tide", "rope -sail"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build two shards."""
    return build_shards(tmp_path_factory.mktemp("shards"), 2)


@pytest.fixture(scope="module")
def standing(folders: list[Path]) -> Iterator[list[Replica]]:
    """Serve two replicas of each, for tests that leave them as they are."""
    replicas = [Replica(shard, folders[shard]) for shard in (0, 1) for _ in range(2)]
    yield replicas
    for replica in replicas:
        replica.kill()


@contextlib.contextmanager
def brokering(table: Path, key: ClusterKey = KEY) -> Iterator[Broker]:
    broker = Broker(TableReader.of_file(table), key, SETTINGS)
    try:
        yield broker
    finally:
        broker.close()


def answers(page: ResultPage) -> list[tuple[int, float]]:
    return [(hit.key, hit.score) for hit in page.hits]


class Client:
    """Asks queries from a thread, and keeps what was wrong with an answer."""

    def __init__(self, broker: Broker, is_right: Callable[[str, ResultPage], bool]) -> None:
        self.wrong: list[object] = []
        self.count = 0
        self._broker, self._is_right = broker, is_right
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopped.is_set():
            words = QUERIES[self.count % len(QUERIES)]
            try:
                page = self._broker.search(Query(words, size=100))
                if not self._is_right(words, page):
                    self.wrong.append((words, page.shards, answers(page)))
            except Exception as error:
                self.wrong.append(error)
            self.count += 1

    def __enter__(self) -> "Client":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def ask(self, more: int) -> None:
        """Wait until some more queries were answered."""
        before = self.count
        wait_until(lambda: self.count >= before + more)


def expected_answers(folders: list[Path]) -> dict[str, list[tuple[int, float]]]:
    """Return what the shards answer in one process."""
    searcher = ShardedSearcher(LocalShards([IndexShard(f, SETTINGS, n) for n, f in enumerate(folders)]), SETTINGS)
    searcher.load_spelling()
    return {words: answers(searcher.search(Query(words, size=100))) for words in QUERIES}


def test_answers_are_those_of_the_shards_in_one_process(
    folders: list[Path], standing: list[Replica], tmp_path: Path
) -> None:
    publish_table(tmp_path / "table.json", standing)
    expected = expected_answers(folders)
    assert sum(map(len, expected.values())) > 20
    with brokering(tmp_path / "table.json") as broker:
        for words in QUERIES * 3:
            page = broker.search(Query(words, size=100))
            assert answers(page) == expected[words]
            assert page.shards == (2, ())
            assert not page.partial
        hit = broker.search(Query("sea")).hits[0]
        cached = broker.cached_page(hit.key)
        assert cached is not None
        assert cached.url == hit.url
        assert broker.page_status(hit.url).indexed
        assert not broker.page_status("https://nowhere.test/").indexed
        wait_until(lambda: broker.suggest("se", 5))  # completions are loaded in a thread
        parts = broker.index_parts()
        assert parts is not None
        assert parts.documents == broker.statistics().documents > 50


def test_a_killed_replica_is_not_noticed(folders: list[Path], tmp_path: Path) -> None:
    replicas = [Replica(shard, folders[shard]) for shard in (0, 0, 1, 1)]
    publish_table(tmp_path / "table.json", replicas)
    expected = expected_answers(folders)
    with brokering(tmp_path / "table.json") as broker:
        with Client(broker, lambda words, page: answers(page) == expected[words] and not page.partial) as client:
            client.ask(7)
            replicas[0].kill()
            client.ask(14)
            port = replicas[0].address[1]
            replicas[0] = Replica(0, folders[0], port=port)
            assert replicas[0].address[1] == port
            wait_until(lambda: {r.state for r in broker.group_statistics().replicas[0]} == {"up"})
            replicas[1].kill()
            client.ask(14)
        assert client.wrong == []
    for replica in replicas:
        replica.kill()


def test_a_replica_that_hangs_is_hedged_and_then_avoided(
    standing: list[Replica], folders: list[Path], tmp_path: Path
) -> None:
    publish_table(tmp_path / "table.json", standing)
    expected = expected_answers(folders)
    with brokering(tmp_path / "table.json") as broker:
        for words in QUERIES * 4:
            broker.search(Query(words, size=100))
        with standing[0].stopped():
            for words in QUERIES * 4:
                page = broker.search(Query(words, size=100))
                assert answers(page) == expected[words]
                assert not page.partial

            def is_down() -> bool:
                broker.search(Query("sea"))  # it is noticed by whoever asks it
                return broker.group_statistics().replicas[0][0].state == "down"

            wait_until(is_down)
        wait_until(lambda: broker.group_statistics().replicas[0][0].state == "up")


def test_a_shard_without_replicas_is_named(folders: list[Path], tmp_path: Path) -> None:
    replicas = [Replica(0, folders[0]), Replica(1, folders[1])]
    publish_table(tmp_path / "table.json", replicas)
    with brokering(tmp_path / "table.json") as broker:
        whole = broker.search(Query("sea", size=100, folded=False))
        replicas[1].kill()
        page = broker.search(Query("sea", size=100, folded=False))
        assert page.partial
        assert page.shards == (2, (1,))
        rest = [hit for hit in answers(whole) if hit in answers(page)]
        assert answers(page) == rest  # the scores of the others are the same
        assert 0 < len(rest) < len(whole.hits)
        broker.refresh()
        assert answers(broker.search(Query("sea", size=100, folded=False))) == rest
        with background_server(broker, ServeSettings(port=0, rate=0)) as root:
            url = root.rstrip("/")
            for _ in range(2):  # a partial answer is not cached
                with urllib.request.urlopen(url + "/api/search?q=sea", timeout=60) as response:
                    found = json.load(response)
                assert found["shards"] == {"asked": 2, "answered": 1, "missing": [1]}
                assert found["partial"]
            with urllib.request.urlopen(url + "/search?q=sea", timeout=60) as response:
                assert "1 of 2 shards did not answer" in response.read().decode()
            with urllib.request.urlopen(url + "/search?q=sea&hl=de", timeout=60) as response:
                assert "1 von 2 Shards haben nicht geantwortet" in response.read().decode()
            replicas[1] = Replica(1, folders[1], port=replicas[1].address[1])

            def is_complete() -> bool:
                with urllib.request.urlopen(url + "/api/search?q=sea&count=100&similar=1", timeout=60) as response:
                    found = json.load(response)
                return len(found["results"]) == len(whole.hits) and not found["shards"]["missing"]

            wait_until(is_complete)
    for replica in replicas:
        replica.kill()


def test_a_broker_starts_without_a_shard_and_finds_it_later(folders: list[Path], tmp_path: Path) -> None:
    replicas = [Replica(0, folders[0]), Replica(1, None)]
    publish_table(tmp_path / "table.json", replicas)
    with brokering(tmp_path / "table.json") as broker:
        page = broker.search(Query("sea", size=100))
        assert page.shards == (2, (1,))
        open_generation(replicas[1].address, KEY, 1, folders[1], 1)
        expected = expected_answers(folders)

        def is_complete() -> bool:
            broker.refresh()
            page = broker.search(Query("sea chart", size=100))
            return not page.partial and answers(page) == expected["sea chart"]

        wait_until(is_complete)
    for replica in replicas:
        replica.kill()


def test_a_wrong_key_gets_no_answer(standing: list[Replica], tmp_path: Path) -> None:
    publish_table(tmp_path / "table.json", standing)
    with brokering(tmp_path / "table.json", ClusterKey(bytes(32))) as broker:
        page = broker.search(Query("sea"))
        assert page.shards == (2, (0, 1))
        assert page.hits == ()
        errors = {r.error for shard in broker.group_statistics().replicas.values() for r in shard}
        assert any("key of this cluster" in error for error in errors)


def test_an_index_is_replaced_without_a_failed_query(folders: list[Path], tmp_path: Path) -> None:
    """Every answer is whole, and that of the old generation or that of the new one."""
    others = build_shards(tmp_path, 2, seed=2)
    old, new = expected_answers(folders), expected_answers(others)
    assert old != new
    replicas = [Replica(shard, folders[shard]) for shard in (0, 0, 1, 1)]
    table = tmp_path / "table.json"
    publish_table(table, replicas)

    def is_right(words: str, page: ResultPage) -> bool:
        return answers(page) in (old[words], new[words]) and not page.partial

    with brokering(table) as broker, brokering(table) as other:
        with Client(broker, is_right) as client:
            client.ask(7)
            for replica in replicas:
                open_generation(replica.address, KEY, 2, others[replica.shard], replica.shard)
            client.ask(7)
            publish_table(table, replicas, 2)
            assert broker.refresh()
            for replica in replicas:
                close_generation(replica.address, KEY, 1)
            client.ask(14)
            # The other broker has not read the table yet: it asks by the old generation until that is closed.
            wait_until(lambda: all(len(read_health(r.address, KEY, 10).generations) == 1 for r in replicas))
            page = other.search(Query("sea chart", size=100))
            assert answers(page) == new["sea chart"]
            assert not page.partial
        assert client.wrong == []
        assert {words: answers(broker.search(Query(words, size=100))) for words in QUERIES} == new
    for replica in replicas:
        replica.kill()


def test_a_published_page_is_found_through_every_broker(tmp_path: Path) -> None:
    folders = build_shards(tmp_path / "a", 2)
    copies = build_shards(tmp_path / "b", 2)
    storage = f"file://{tmp_path}/storage"
    replicas = [Replica(shard, folder[shard], storage=storage) for shard in (0, 1) for folder in (folders, copies)]
    table = tmp_path / "table.json"
    publish_table(table, replicas)
    with brokering(table) as broker, brokering(table) as other:
        both = (broker, other)
        replicas[1].kill()
        replicas[3].kill()
        for host in ("a", "b", "c", "d"):
            broker.publish(make_published_record("Zeppelin", f"zeppelin of {host}", f"https://{host}.test/zeppelin"))

        def finds(count: int) -> bool:
            for one in both:
                one.refresh()
            return all(one.search(Query("zeppelin", size=50, folded=False)).total == count for one in both)

        wait_until(lambda: finds(4))
        # Replicas that were away catch up; the others are killed: what was acknowledged is found through these.
        for number, folder in ((1, copies[0]), (3, copies[1])):
            replicas[number] = Replica(number // 2, folder, port=replicas[number].address[1], storage=storage)
        wait_until(lambda: all(read_health(replicas[n].address, KEY, 60).publications > 0 for n in (1, 3)))
        wait_until(lambda: sum(read_health(replicas[n].address, KEY, 60).publications for n in (1, 3)) == 4)
        replicas[0].kill()
        replicas[2].kill()
        wait_until(lambda: finds(4))
        broker.withdraw("https://a.test/zeppelin")
        wait_until(lambda: finds(3))
        for replica in replicas:
            replica.kill()
        with pytest.raises(Overloaded, match="does not accept pages"):
            broker.publish(make_published_record("Late", "too late", "https://a.test/late"))
