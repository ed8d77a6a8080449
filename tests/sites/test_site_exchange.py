"""URLs and pages between sites: what a crawl forwards and receives, which pages are sent, and what is stored."""

import time
from pathlib import Path

import msgspec
import pytest
from site_fixtures import NETWORK, make_sites

from periplus.crawl import RobotsRequest
from periplus.errors import BadBatch
from periplus.hashing import fingerprint, fingerprint_text
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page, VisitReport
from periplus.settings import StoreSettings
from periplus.sites.exchange import received_pages
from periplus.sites.exchange.master_log import MasterLog, MasterReader, find_master
from periplus.sites.exchange.page_distributor import PageDistributor
from periplus.sites.exchange.received_pages import ReceivedPages, decode_page, encode_page
from periplus.sites.exchange.site_shard import ReceivedUrls, SiteShard
from periplus.sites.messaging.batches import Batch, BatchHeader, UrlItem, decode_batch
from periplus.sites.messaging.outbox import Outbox, OutboxReader
from periplus.store import PageStore
from periplus.store.warc.warc_writer import response_record
from periplus.url import parse_address


class _Owners:
    """Hosts by their names: 'b.example' is of site b; 'unknown' is looked up."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.assigned: dict[str, str] = {}

    def settled_owner(self, host: str) -> str | None:
        return self.found.get(host) if host.startswith("unknown") else host[0]

    def owner(self, host: str) -> str:
        return self.settled_owner(host) or "a"

    def assign(self, host: str, site: str) -> None:
        self.assigned[host] = site


def _request(url: str) -> FetchRequest:
    return FetchRequest(parse_address(url), 1, 0.5)


def _items(folder: Path, receiver: str) -> list[tuple[str, str]]:
    topology, _ = make_sites(folder, ("a", "b", "c"))
    reader = OutboxReader(folder / "outbox")
    batches = [(batch, reader.read(batch)) for batch in reader.pending(receiver)]
    decoded = [decode_batch(body, topology, receiver, 1 << 20) for _, body in batches if body is not None]
    return [(batch.header.sink, item.url) for batch in decoded for item in batch.items]


def test_a_crawl_keeps_its_hosts_and_sends_other_links_to_their_sites(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b", "c"))
    owners = _Owners()
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
        shard = SiteShard(tmp_path, tmp_path, "a", owners, outbox, batch_seconds=60)
        urls = ["http://a.example/", "http://b.example/1", "http://b.example/2", "http://c.example/"]
        own = shard.route([_request(url) for url in [*urls, "http://b.example/1"]], set())
        assert [request.address.url for request in own] == ["http://a.example/"]
        assert shard.unsent() == 3
        shard.send()
        assert _items(tmp_path, "b") == []
        shard.forward_visit(parse_address("http://c.example/x"), VisitReport("http://c.example/x", 3))
        shard.send(everything=True)
        assert _items(tmp_path, "b") == [("urls", "http://b.example/1"), ("urls", "http://b.example/2")]
        assert _items(tmp_path, "c") == [("urls", "http://c.example/"), ("visits", "http://c.example/x")]
        assert shard.unsent() == 0


def test_links_wait_until_the_place_of_their_host_is_known(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    owners = _Owners()
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
        shard = SiteShard(tmp_path, tmp_path, "a", owners, outbox, batch_seconds=0.0001)
        urls = ["http://unknown-1.example/", "http://unknown-2.example/"]
        assert shard.route([_request(url) for url in urls], set()) == []
        assert shard.unsent() == 2
        owners.found = {"unknown-1.example": "a", "unknown-2.example": "b"}
        shard.send()
        time.sleep(0.001)
        shard.send()
        assert _items(tmp_path, "b") == [("urls", "http://unknown-2.example/")]
        (message,) = shard.receive()
        assert [link.url for link in message.links] == ["http://unknown-1.example/"]


def test_links_of_other_sites_stay_on_disk_until_a_snapshot_reflects_them(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    header = BatchHeader(NETWORK, "b", "a", "urls", "lane", 7, 2, 10)
    urls = ReceivedUrls(tmp_path)
    batch = Batch(header, [UrlItem("http://a.example/1", 2, 0.25, 0, True), UrlItem("not a URL")])
    urls.apply(batch)
    urls.apply(batch)  # it comes again
    for _ in range(2):
        owners = _Owners()
        with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
            shard = SiteShard(tmp_path, tmp_path, "a", owners, outbox)
            (message,) = shard.receive()
            assert [(link.url, link.depth, link.is_list) for link in message.links] == [("http://a.example/1", 2, True)]
            assert owners.assigned == {"a.example": "a"}
            assert shard.receive() == []
    shard.acknowledge()
    assert not list((tmp_path / "received" / "urls").iterdir())


def test_links_of_other_sites_have_numbers_that_a_crawl_can_have(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    numbers = [(0, float("nan"), -1), (1 << 60, float("inf"), 1 << 60), (3, 1e300, 1), (4, 0.5, 2)]
    items = [UrlItem(f"http://a.example/{n}", *values) for n, values in enumerate(numbers)]
    ReceivedUrls(tmp_path).apply(Batch(BatchHeader(NETWORK, "b", "a", "urls", "lane", 1, 4, 10), items))
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
        (message,) = SiteShard(tmp_path, tmp_path, "a", _Owners(), outbox).receive()
    received = [(link.depth, link.rank, link.hops) for link in message.links]
    assert received == [(0, 0.0, 0), (1_000, 0.0, 1_000), (3, 1_000.0, 1), (4, 0.5, 2)]


def test_a_robots_txt_on_a_host_of_another_site_is_fetched_here(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
        shard = SiteShard(tmp_path, tmp_path, "a", _Owners(), outbox)
        assert not shard.owns("b.example")
        shard.request_robots(RobotsRequest("http://a.example", "http://b.example/robots.txt"))
        assert shard.owns("b.example")


def _record(url: str, when: float = 1.0, **changes: object) -> FetchRecord:
    address = parse_address(url)
    page = Page(url=address.url, title=f"Title of {url}", text="Some text.")
    record = FetchRecord(address.url, address.key, Outcome.OK, when, 200, page=page)
    return msgspec.structs.replace(record, **changes)


def _batch(*records: FetchRecord) -> Batch:
    items = [encode_page(record) for record in records]
    return Batch(BatchHeader(NETWORK, "b", "a", "pages", "lane", 1, len(items), 10), items)


def test_received_pages_are_stored_once_and_newer_ones_replace_them(tmp_path: Path) -> None:
    received = ReceivedPages(tmp_path, StoreSettings())
    one, two = _record("http://a.example/1"), _record("http://a.example/2")
    received.apply(_batch(one, two))
    received.apply(_batch(one))
    assert received.pages == 2
    received.apply(_batch(_record("http://a.example/1", 2.0), _record("http://a.example/1", 0.5)))
    assert received.pages == 3
    received.close()
    with PageStore.open(tmp_path / "store", StoreSettings()) as store:
        records = list(store.records())
        assert [(record.url, record.when) for record in records] == [
            ("http://a.example/1", 1.0),
            ("http://a.example/2", 1.0),
            ("http://a.example/1", 2.0),
        ]
        assert all(record.forwarded for record in records)


def test_a_page_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    received = ReceivedPages(tmp_path, StoreSettings())
    item = encode_page(_record("http://a.example/1"))
    liar = encode_page(_record("http://a.example/1", key=5))
    header = BatchHeader(NETWORK, "b", "a", "pages", "lane", 1, 1, 10)
    bad = [item._replace(digest="0" * 64), item._replace(record=b"x"), liar, encode_page(_record("http://a.example/1"))]
    for entry in bad[:3]:
        with pytest.raises(BadBatch):
            received.apply(Batch(header, [entry]))
    assert received.pages == 0
    record, response = decode_page(bad[3])
    assert (record.url, response) == ("http://a.example/1", b"")
    received.close()


def test_pages_that_are_too_large_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_pages, "_MAX_PAGES", 300_000)
    received = ReceivedPages(tmp_path, StoreSettings())
    items = [encode_page(_record(f"http://a.example/{n}"), bytes(100_000)) for n in range(4)]
    assert sum(len(item.record) + len(item.response) for item in items) < 10_000
    with pytest.raises(BadBatch, match="allowed"):
        received.apply(Batch(BatchHeader(NETWORK, "b", "a", "pages", "lane", 1, 4, 10), items))
    assert received.pages == 0
    received.apply(Batch(BatchHeader(NETWORK, "b", "a", "pages", "lane", 2, 2, 10), items[:2]))
    assert received.pages == 2
    received.close()


@pytest.mark.parametrize("when", [float("nan"), float("inf")])
def test_a_page_without_a_time_is_refused(tmp_path: Path, when: float) -> None:
    with pytest.raises(BadBatch, match="time"):
        ReceivedPages(tmp_path, StoreSettings()).apply(_batch(_record("http://a.example/1", when)))


def test_a_page_of_the_future_does_not_block_later_versions(tmp_path: Path) -> None:
    received = ReceivedPages(tmp_path, StoreSettings())
    early = _batch(_record("http://a.example/1", time.time() + 1e9, content=1))
    received.apply(early)
    received.apply(early)
    assert received.pages == 1
    later = _record("http://a.example/1", time.time() + 2e9, content=2)
    received.apply(_batch(later))
    received.close()
    with PageStore.open(tmp_path / "store", StoreSettings()) as store:
        records = list(store.records())
        assert [record.content for record in records] == [1, 2]
        assert all(record.when <= time.time() for record in records)


def test_a_response_of_another_page_is_not_stored(tmp_path: Path) -> None:
    received = ReceivedPages(tmp_path, StoreSettings())
    body = b"<p>Hello"
    cases = {
        "http://a.example/1": ("http://a.example/1", fingerprint(body)),
        "http://a.example/2": ("http://a.example/2", fingerprint(b"<p>Another")),
        "http://a.example/3": ("http://a.example/1", fingerprint(body)),
    }
    items = []
    for url, (target, content) in cases.items():
        result = FetchResult(FetchRequest(parse_address(target)), Outcome.OK, 1.0, 200, (), body)
        items.append(encode_page(_record(url, content=content), response_record(result)))
    items.append(encode_page(_record("http://a.example/4", content=fingerprint(body)), b"no response"))
    received.apply(Batch(BatchHeader(NETWORK, "b", "a", "pages", "lane", 1, 4, 10), items))
    assert received.pages == 4
    received.close()
    with PageStore.open(tmp_path / "store", StoreSettings()) as store:
        stored = {record.url: bool(record.warc) for record in store.records()}
    assert stored == {f"http://a.example/{n}": n == 1 for n in range(1, 5)}


def test_pages_go_to_their_masters_once_and_are_gone_here(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    records = [
        _record("http://a.example/"),
        _record("http://b.example/"),
        _record("http://b.example/2"),
        _record("http://b.example/3", forwarded=True),
        FetchRecord("http://b.example/4", 4, Outcome.ROBOTS, 1.0, 404),
    ]

    def distribute(outbox: Outbox) -> tuple[PageDistributor, list[FetchRecord]]:
        log = MasterLog(tmp_path / "masters.bin")
        distributor = PageDistributor(log, outbox, "a", ("a", "b"), choose, lambda: pytest.fail("no responses"))
        return distributor, list(distributor.apply(records))

    def choose(pages: object) -> list[str]:
        assert isinstance(pages, list)
        return [parse_address(record.url).host[0] for record in pages]

    with Outbox(tmp_path / "outbox", "index", keys["a"], NETWORK, "a") as outbox:
        distributor, applied = distribute(outbox)
        assert [record.outcome for record in applied] == [
            Outcome.OK,
            Outcome.GONE,
            Outcome.GONE,
            Outcome.OK,
            Outcome.ROBOTS,
        ]
        assert distributor.sent == {"b": 2}
        distributor, again = distribute(outbox)  # as after a restart, or when all pages are ranked again
        assert again == applied
        assert distributor.sent == {}
    assert len(OutboxReader(tmp_path / "outbox").pending("b")) == 1


def test_a_page_that_cannot_be_sent_is_indexed_here(tmp_path: Path) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    with Outbox(tmp_path / "outbox", "index", keys["a"], NETWORK, "a", max_bytes=10) as outbox:
        distributor = PageDistributor(
            MasterLog(tmp_path / "masters.bin"), outbox, "a", ("a", "b"), lambda pages: ["b"] * len(pages), pytest.fail
        )
        (record,) = distributor.apply([_record("http://b.example/")])
        assert record.outcome is Outcome.OK
        assert distributor.kept == 1


def test_the_log_of_masters_survives_a_write_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "masters.bin"
    MasterLog(path).add([(1, "a"), (2, "b")])
    path.write_bytes(path.read_bytes()[:-5])
    log = MasterLog(path)
    assert (len(log), log.master(1), log.master(2)) == (1, fingerprint_text("a"), None)
    log.add([(3, "b")])
    assert MasterLog(path).master(3) == fingerprint_text("b")


def test_masters_are_read_while_another_process_decides(tmp_path: Path) -> None:
    path = tmp_path / "site" / "masters.bin"
    reader = MasterReader(path)
    assert (reader.master(1), find_master(path, 1)) == (None, None)
    log = MasterLog(path)
    for site in ("a", "b"):  # A later decision counts.
        log.add([(1, site), (2, "a")])
        assert reader.master(1) == find_master(path, 1) == log.master(1)
    with path.open("ab") as file:
        file.write(b"torn")
    assert (reader.master(2), find_master(path, 2), find_master(path, 3)) == (log.master(2), log.master(2), None)
