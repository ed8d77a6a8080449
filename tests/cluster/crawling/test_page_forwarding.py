"""Pages follow their hosts to another shard: none lost, none twice, newer ones win, in bounded batches."""

import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawl_cluster import CrawlCluster, crawl_cluster, page_urls, stored_twice

from periplus.cluster.crawling import page_forwarder
from periplus.cluster.ranking.shard_ranker import rank_shards
from periplus.crawl import ClusterCrawler, HostPartitioner, PageExport, select_owned
from periplus.crawl.sharding import page_transfer
from periplus.crawl.sharding.page_transfer import import_pages
from periplus.graph import Graph
from periplus.index import Index, build_index
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import Settings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


def check_records(cluster: CrawlCluster, fake_web) -> list[FetchRecord]:
    """Check that the shards own every page once, with its response; return their records."""
    records = cluster.records()
    assert {page.url for page in fake_web.truth().pages} <= page_urls(records)
    assert not stored_twice(records)
    shards = cluster.coordinator.plan.state.shards
    for number in shards:
        with PageStore.open(cluster.folder / f"shard-{number:02d}" / "store", cluster.settings.store) as store:
            for record in select_owned(store.records(), shards, number):
                if record.warc:
                    assert store.read_response(record).url == record.url
    return records


@contextlib.contextmanager
def small_batches(monkeypatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(page_forwarder, "_BATCH_BYTES", 20_000)
        yield


def test_pages_move_with_their_hosts(server, fake_web, make_settings, tmp_path, monkeypatch):
    with (
        small_batches(monkeypatch),
        crawl_cluster(tmp_path / "data", make_settings(), 2, fake_web.seeds) as cluster,
    ):
        cluster.run_to_end()
        fetched = server.requests().total
        before = sorted((record.url, record.when) for record in cluster.records())
        for shards in (4, 3, 2):
            cluster.resize(range(shards))
            assert sorted((record.url, record.when) for record in cluster.records()) == before
            assert cluster.coordinator.plan.members() == tuple(range(shards))
            assert not any(runner._shard.outbox.total()[0] for runner in cluster.runners.values())
            assert any(record.forwarded for record in cluster.records()) == (shards > 2)  # then all are back
        cluster.run_to_end()
        assert server.requests().total == fetched
        cluster.stop()
        check_records(cluster, fake_web)


def test_pages_move_while_it_crawls_and_shards_are_killed(fake_web, make_settings, tmp_path, monkeypatch):
    """A shard that ends between any two steps, in either role, goes on; a leaving one stays until all is forwarded."""
    with (
        small_batches(monkeypatch),
        crawl_cluster(tmp_path / "data", make_settings(delay=0.01), 2, fake_web.seeds) as cluster,
    ):
        for shards, pages in ((4, 40), (3, 80), (2, 100)):
            cluster.run_until(lambda pages=pages: cluster.pages() > pages or cluster.coordinator.is_done)
            cluster.coordinator.resize(range(shards))
            for number in set(range(shards)) - set(cluster.runners):
                cluster.start(number)
            cluster.run_until(lambda: not cluster.coordinator.plan.state.is_moving)
            for number in list(cluster.runners):
                if cluster.coordinator.plan.state.is_forwarding:
                    kill(cluster, number)
                    cluster.start(number)
                    cluster.poll()
            cluster.restart_coordinator()
            leaving = set(cluster.runners) - set(range(shards))
            assert not cluster.coordinator.plan.state.is_forwarding or leaving <= set(
                cluster.coordinator.plan.members()
            )
            cluster.run_until(lambda: not cluster.coordinator.plan.is_resizing)
            for number in leaving:
                cluster.runners.pop(number).close()
                cluster.reports.pop(number, None)
        cluster.run_to_end()
        cluster.stop()
        check_records(cluster, fake_web)


def kill(cluster: CrawlCluster, number: int) -> None:
    """End a shard without a last snapshot, as a kill does: what is in memory is lost."""
    runner = cluster.runners[number]
    crawler = runner._crawler
    crawler.checkpoint = lambda: None
    runner._checkpoint = lambda wait=False: None
    runner.close()


class Crawl:
    """What `import_pages` needs of a crawl."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.learnt: list[str] = []

    def learn_forwarded(self, record: FetchRecord) -> None:
        self.learnt.append(record.url)


def make_record(url: str, when: float, outcome: Outcome = Outcome.OK, text: str = "text") -> FetchRecord:
    page = Page(url, text) if outcome is Outcome.OK else None
    return FetchRecord(url, parse_address(url).key, outcome, when, 200, page=page)


def export(store: PageStore, start: int = 0) -> list:
    end = store.statistics().records
    return [page for _, page in PageExport(store, start, end, lambda host: 1).read(1 << 30, time.monotonic() + 60)]


@pytest.fixture
def stores(tmp_path) -> Iterator[tuple[PageStore, PageStore]]:
    with (
        PageStore.open(tmp_path / "from", StoreSettings(), write=True) as source,
        PageStore.open(tmp_path / "to", StoreSettings(), write=True) as target,
    ):
        yield source, target


def append(store: PageStore, record: FetchRecord, body: bytes) -> None:
    request = FetchRequest(parse_address(record.url))
    store.append(record, FetchResult(request, record.outcome, record.when, 200, (), body))


def test_a_page_that_comes_twice_is_stored_once(stores):
    source, target = stores
    url = "http://a.test/"
    append(source, make_record(url, 1.0), b"first")
    source.append(make_record(url, 2.0, Outcome.TIMEOUT))
    append(source, make_record(url, 3.0), b"second")
    pages = export(source)
    assert [bool(page.response) for page in pages] == [False, False, True]  # of the newest only
    crawl = Crawl()
    assert import_pages(crawl, target, pages) == 3
    assert import_pages(crawl, target, pages) == 0
    assert [(record.when, record.outcome, record.forwarded) for record in target.records()] == [
        (1.0, Outcome.OK, True),
        (2.0, Outcome.TIMEOUT, True),
        (3.0, Outcome.OK, True),
    ]
    assert target.read_response(target.find(pages and parse_address(url).key)).body == b"second"


@pytest.mark.parametrize(
    ("newer", "stored"),
    [(Outcome.OK, 1), (Outcome.GONE, 1), (Outcome.REDIRECT, 1), (Outcome.TIMEOUT, 2), (Outcome.NOT_MODIFIED, 2)],
)
def test_a_newer_record_of_the_receiver_wins(stores, newer, stored):
    """Unless it says nothing about the page, such as a timeout."""
    source, target = stores
    append(source, make_record("http://a.test/", 1.0), b"old")
    target.append(make_record("http://a.test/", 2.0, newer))
    for _ in range(2):
        import_pages(Crawl(), target, export(source))
        assert target.statistics().records == stored


def test_what_is_too_large_to_move_is_said(stores, monkeypatch, caplog):
    source, target = stores
    noise = [random.Random(number).randbytes(4_000) for number in (1, 2)]
    append(source, make_record("http://a.test/response", 1.0), noise[0])
    append(source, make_record("http://a.test/text", 1.0, text=noise[1].hex()), b"body")
    append(source, make_record("http://a.test/small", 1.0), b"body")
    monkeypatch.setattr(page_transfer, "MAX_PAGE_BYTES", 3_000)
    with caplog.at_level("WARNING", "periplus.crawl"):
        pages = export(source)
    assert all(len(page.record) + len(page.response) <= 3_000 for page in pages)
    assert [line.split()[0] for line in caplog.messages] == ["http://a.test/response", "http://a.test/text"]
    assert "without the stored response" in caplog.messages[0]
    assert "without text and links" in caplog.messages[1]
    assert import_pages(Crawl(), target, pages) == 3
    assert [(bool(record.page), bool(record.warc)) for record in target.records()] == [
        (True, False),
        (False, True),
        (True, True),
    ]


def test_damaged_pages_and_responses_are_left_out(stores):
    source, target = stores
    for number in range(3):
        append(source, make_record(f"http://a.test/{number}", 1.0), b"body")
    pages = export(source)
    pages[0] = pages[0]._replace(record=pages[0].record[:-3])
    pages[1] = pages[1]._replace(response=pages[2].record)
    crawl = Crawl()
    assert import_pages(crawl, target, pages) == 2
    assert len(crawl.notes) == 1
    records = list(target.records())
    assert [record.url for record in records] == ["http://a.test/1", "http://a.test/2"]
    assert [bool(record.warc) for record in records] == [False, True]


def test_forwarded_pages_are_revisited_by_their_new_owner(server, fake_web, make_settings, tmp_path):
    with crawl_cluster(tmp_path / "data", make_settings(), 2, fake_web.seeds) as cluster:
        cluster.run_to_end()
        cluster.resize(range(3))
        cluster.run_to_end()
        cluster.stop()
        shards = cluster.coordinator.plan.state.shards
    moved = [record for record in cluster.records() if record.forwarded and record.page is not None]
    assert moved
    settings: Settings = make_settings(recrawl=True, recrawl_per_day=1_000)
    with crawl_cluster(tmp_path / "data", settings, 3) as cluster:
        crawlers = []
        cluster.run_until(lambda: all(runner._crawler is not None for runner in cluster.runners.values()))
        for number, runner in cluster.runners.items():
            crawler: ClusterCrawler = runner._crawler
            crawlers.append((number, set(crawler._state.history.pages)))
        owner = HostPartitioner(shards).owner
        for record in moved:
            histories = dict(crawlers)
            assert record.key in histories[owner(parse_address(record.url).host)]


def test_builds_use_the_pages_of_owned_hosts_only(server, fake_web, make_settings, tmp_path):
    """By the earlier topology until all pages have arrived, by the new one then: the same pages, each once."""
    settings = make_settings()
    with crawl_cluster(tmp_path / "data", settings, 2, fake_web.seeds) as cluster:
        cluster.run_to_end()
        before = build(cluster, (0, 1), tmp_path / "before")
        cluster.resize(range(3))
        cluster.run_to_end()
        cluster.stop()
    after = build(cluster, (0, 1, 2), tmp_path / "after")
    assert len(before) == len(set(before))
    assert len(after) == len(set(after))
    # Of pages with one content, that of the first shard is indexed: another one, maybe, but as many.
    contents = {record.url: record.content for record in cluster.records()}
    assert {contents[url] for url in after} == {contents[url] for url in before}
    assert build(cluster, (0, 1), tmp_path / "during") == before
    for number in (0, 1):
        assert segment_bytes(tmp_path / "during" / f"{number}") == segment_bytes(tmp_path / "before" / f"{number}")


def segment_bytes(folder: Path) -> list[bytes]:
    segments = Index.open(folder / "index").manifest.segments
    return [path.read_bytes() for entry in segments for path in sorted((folder / "index" / entry.name).iterdir())]


def build(cluster: CrawlCluster, shards: tuple[int, ...], output: Path) -> list[str]:
    """Build graph and index of all shards; return the URLs of the pages in their indexes."""
    folders = {number: output / f"{number}" for number in shards}
    for number, folder in folders.items():
        folder.mkdir(parents=True)
        (folder / "store").symlink_to(cluster.folder / f"shard-{number:02d}" / "store")
    rank_shards(folders, cluster.settings.graph)
    urls: list[str] = []
    for number, folder in folders.items():
        with PageStore.open(folder / "store", cluster.settings.store) as store:
            records = select_owned(store.records(), shards, number)
            build_index(records, folder / "index", cluster.settings.index, Graph.open(folder / "graph"))
        urls += [url for segment in Index.open(folder / "index").segments for url in segment.strings("url")]
    return urls


def test_a_killed_import_is_not_counted_twice(server, fake_web, make_settings, tmp_path):
    """Forwarded records that the last snapshot does not reflect are not replayed as pages of this shard."""
    with crawl_cluster(tmp_path / "data", make_settings(), 1, fake_web.seeds) as cluster:
        cluster.run_to_end()
        pages = cluster.pages()
        cluster.coordinator.resize(range(2))
        cluster.start(1)
        cluster.run_until(lambda: not cluster.coordinator.plan.state.is_moving)
        log = tmp_path / "data" / "shard-01" / "store" / "visits-00000.log"
        cluster.run_until(lambda: log.stat().st_size > 1_000 or not cluster.coordinator.plan.is_resizing)
        kill(cluster, 1)
        cluster.start(1)
        cluster.run_until(lambda: not cluster.coordinator.plan.is_resizing)
        cluster.run_to_end()
        assert cluster.pages() == pages
        cluster.stop()
        check_records(cluster, fake_web)
