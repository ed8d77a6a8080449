"""The scope of a crawl that belongs to a site: its own, widened by seeds of others only where that is wanted."""

from pathlib import Path

import msgspec
import pytest
from site_fixtures import NETWORK, make_sites

from periplus.app.sites.federation_shard import ROUND_TRIPS, FederationShard
from periplus.crawl import ClusterCrawler, ForeignMessage, ForwardedLink
from periplus.crawl.crawl_state import CrawlState
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page, VisitReport
from periplus.settings import CrawlSettings, Settings, SiteSettings
from periplus.signals import append_visit_reports
from periplus.sites import (
    DocumentState,
    ForwardedLinks,
    GeographicPartitioner,
    HostOwner,
    LocatedHost,
    Outbox,
    OutboxReader,
    Place,
    RoundTripReport,
    RoundTripTable,
    SiteConfig,
    SiteFolder,
    SiteTopology,
    UrlDiscovery,
    UrlItem,
    new_site_record,
    read_metric_log,
)
from periplus.sites.exchange.site_shard import ReceivedUrls, SiteShard
from periplus.sites.messaging.batches import Batch, BatchHeader, decode_batch
from periplus.sites.site_data import DataStore
from periplus.url import parse_address

_SETTINGS = msgspec.structs.replace(Settings(), crawl=CrawlSettings(scope="host"))


class _Owners:
    def settled_owner(self, host: str) -> str | None:
        return host[0]

    def owner(self, host: str) -> str:
        return host[0]

    def assign(self, host: str, site: str) -> None:
        pass


def _state(folder: Path, seeds: list[str]) -> CrawlState:
    state = CrawlState(folder / "crawl" / "frontier.bin", _SETTINGS)
    for seed in seeds:
        state.outlinks.add_seed(parse_address(seed))
    return state


def _links(*urls: str) -> list[ForwardedLink]:
    return [ForwardedLink(url, 1, 0.0, 0, False) for url in urls]


def test_links_of_another_site_keep_to_the_scope_of_this_crawl(tmp_path: Path) -> None:
    state = _state(tmp_path, ["http://a.example/"])
    urls = ("http://a.example/1", "http://b.example/1", "http://a.example/x.zip", "garbage")
    state.accept_message(ForeignMessage(0, _links(*urls)))
    assert state.frontier.statistics().waiting == 1
    state.accept_message(ForeignMessage(0, _links("http://b.example/1"), ["http://b.example/"]))
    assert state.frontier.statistics().waiting == 2


def test_seeds_of_other_sites_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.crawl.crawl_state._MAX_FOREIGN_SEEDS", 5)
    state = _state(tmp_path, ["http://a.example/"])
    state.accept_message(ForeignMessage(0, [], [f"http://h{n}.example/" for n in range(20)]))
    assert len(state.outlinks.seeds) == 5


@pytest.mark.parametrize("accept", [True, False])
def test_what_a_site_receives_are_links_seeds_and_scopes(tmp_path: Path, accept: bool) -> None:
    _, keys = make_sites(tmp_path, ("a", "b"))
    items = [UrlItem("http://a.example/1", 4), UrlItem("http://a.example/", 0), UrlItem("http://b.example/", -1)]
    ReceivedUrls(tmp_path).apply(Batch(BatchHeader("n", "b", "a", "urls", "l", 1, 3, 1), items))
    with Outbox(tmp_path / "outbox", "crawl", keys["a"], NETWORK, "a") as outbox:
        shard = SiteShard(tmp_path, tmp_path, "a", _Owners(), outbox, accept_seeds=accept)
        (message,) = shard.receive()
        assert isinstance(message, ForeignMessage)
        depths = [(link.url, link.depth) for link in message.links]
        assert depths == [("http://a.example/1", 4), ("http://a.example/", 0 if accept else 1)]
        assert message.seeds == (["http://a.example/", "http://b.example/"] if accept else [])


class _Crawl:
    """The shard of site a; hosts are where their names say: 'a...' at site a, 'b...' at site b."""

    def __init__(self, folder: Path, accept_seeds: bool = True) -> None:
        self.folder, self.site = folder, SiteFolder(folder)
        self.places = {"a": Place(0.0, 0.0), "b": Place(0.0, 90.0), "c": Place(0.0, 180.0)}
        self.keys = {name: SiteFolder(folder / name).make_key() for name in self.places}
        self.keys["a"] = self.site.make_key()
        self.records = {name: new_site_record(self.keys[name], name, self.places[name], (), "") for name in self.places}
        self.topology = SiteTopology(network="test", sites=(self.records["a"], self.records["b"]))
        self.site.create(SiteConfig(name="a", client_port=1), self.topology)
        self.outbox = Outbox(self.site.path / "outbox", "crawl", self.keys["a"], "test", "a")
        self.round_trips = RoundTripTable(("a", "b"), "a")

        def locate(host: str) -> LocatedHost:
            return LocatedHost(self.places[host[0]], "", "192.0.2.0/24")

        from periplus.app.sites.master_chooser import site_places

        self.clock = 1e9
        partitioner = self.partitioner = GeographicPartitioner(
            site_places(self.site), locate, self.round_trips, clock=lambda: self.clock
        )
        settings = SiteSettings(batch_seconds=0.001, accept_seeds=accept_seeds)
        self.shard = FederationShard(folder, self.site, settings, partitioner, self.round_trips, self.outbox)

    def sent(self, receiver: str) -> list[tuple[str, int]]:
        reader = OutboxReader(self.site.path / "outbox")
        items = []
        for entry in reader.pending(receiver):
            body = reader.read(entry)
            assert body is not None
            items += decode_batch(body, self.site.topology(), receiver, 1 << 20).items
        return [(item.url, item.depth) for item in items]


def test_a_site_that_joins_is_sent_the_seeds_and_shares_hosts(tmp_path: Path) -> None:
    crawl = _Crawl(tmp_path)
    crawl.shard.known_seeds = lambda: ("http://a.example/",)
    assert not crawl.shard.owns("b.example")
    crawl.site.merge((crawl.records["c"],))
    crawl.shard.follow_topology()
    crawl.shard.send(everything=True)
    assert crawl.sent("c") == [("http://a.example/", -1)]
    assert not crawl.sent("b")
    assert not crawl.shard.owns("c.example")
    crawl.shard.send_seeds([parse_address("http://www.a.example/")])
    crawl.shard.send(everything=True)
    assert crawl.sent("b") == [("http://www.a.example/", -1)]
    crawl.outbox.close()


def test_round_trips_are_reported_and_accepted(tmp_path: Path) -> None:
    crawl = _Crawl(tmp_path)
    request = FetchRequest(parse_address("http://a.example/"), 0, 0.0)
    record = FetchRecord("http://a.example/", request.address.key, Outcome.OK, 1.0, 200, page=Page("http://a.example/"))
    for seconds in (0.09, 0.03, 0.0):
        crawl.shard.note_fetch(record, None, FetchResult(request, Outcome.OK, 1.0, ip="192.0.2.7", connect=seconds))
    data = DataStore(crawl.site.path)
    report = RoundTripReport("b", {"192.0.2.0/24": 5.0})
    data.store("b", ROUND_TRIPS, 1, msgspec.json.encode(report))
    crawl.shard.exchange_round_trips()
    assert crawl.round_trips.times(("a", "b"), ["192.0.2.0/24"]).tolist() == [[30.0, 5.0]]
    body = data.get(ROUND_TRIPS)
    assert body is not None
    assert msgspec.json.decode(body, type=RoundTripReport).times == {"192.0.2.0/24": 30.0}
    for garbage in (b"{", msgspec.json.encode(RoundTripReport("c", {"192.0.2.0/24": 1.0}))):
        data.store("b", ROUND_TRIPS, 9, garbage, newest=True)
        crawl.shard.exchange_round_trips()
        assert crawl.round_trips.times(("b",), ["192.0.2.0/24"]).tolist() == [[5.0]]
    crawl.shard.review_hosts()
    crawl.outbox.close()


def test_a_running_crawl_records_links_discoveries_and_documents(tmp_path: Path) -> None:
    crawl = _Crawl(tmp_path)
    urls = ("http://a.example/1", "http://b.example/1", "http://b.example/1")
    requests = [FetchRequest(parse_address(url), 1, 0.5) for url in urls]
    assert [request.address.url for request in crawl.shard.route(requests, set())] == ["http://a.example/1"]
    crawl.shard.send(everything=True)
    append_visit_reports(tmp_path, [VisitReport("http://a.example/2")])
    for url, content, before in (
        ("http://a.example/1", 1, None),
        ("http://a.example/2", 1, None),
        ("http://a.example/1", 2, 1),
        ("http://a.example/1", 2, 2),
    ):
        key = parse_address(url).key
        now, past = (
            FetchRecord(url, key, Outcome.OK, 1.0, 200, page=Page(url), content=number) for number in (content, before)
        )
        crawl.shard.note_fetch(now, past if before is not None else None, None)
    crawl.shard._metrics.flush()
    records = list(read_metric_log(tmp_path))
    assert [(r.target, r.links) for r in records if isinstance(r, ForwardedLinks)] == [("b", 1)]
    assert [r.source for r in records if isinstance(r, UrlDiscovery)] == ["crawl", "crawl"]
    states = [(r.passive, r.stale) for r in records if isinstance(r, DocumentState)]
    assert states == [(False, False), (True, False), (False, True), (False, False)]
    crawl.outbox.close()


def test_what_is_queued_of_a_host_that_moves_is_sent_to_its_new_site(tmp_path: Path) -> None:
    crawl = _Crawl(tmp_path)
    crawl.partitioner.restore({"b.example": HostOwner("a", "hash", 0.0), "a.example": HostOwner("a", "hash", 0.0)})
    urls = ["http://a.example/1", "http://b.example/1", "http://b.example/2"]
    crawl.shard.send_queues()  # There is no crawl yet.
    crawler = ClusterCrawler(tmp_path, _SETTINGS, urls, crawl.shard)
    crawl.shard.queued_hosts, crawl.shard.release_hosts = crawler.queued_hosts, crawler.release_hosts
    with crawler:
        frontier = crawler._state.frontier
        while (request := frontier.next(1e9)) is not None and request.address.host != "b.example":
            pass
        assert request is not None
        crawl.partitioner.review()  # Nearer, but not for long enough.
        crawl.clock += 2 * 86_400
        crawl.shard.review_hosts()
        crawl.shard.send_queues()
        crawl.shard.send(everything=True)
        assert crawl.sent("b") == [], "a request is under way there"
        frontier.requeue(request, 1e9, 0.0)
        crawl.shard.send_queues()
        crawl.shard.send(everything=True)
        assert {url for url, _ in crawl.sent("b")} == {"http://b.example/1", "http://b.example/2"}
        assert crawler.queued_hosts() == ["a.example"]
        crawl.shard.send_queues()
        crawl.shard.send(everything=True)
        assert len(crawl.sent("b")) == 2
    crawl.outbox.close()
