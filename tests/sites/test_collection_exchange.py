"""All sites build with one sum of statistics: whatever was cut off meanwhile, and whatever a site claims."""

import contextlib
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from made_sites import SETTINGS, spread

from index.made_pages import Ranks, random_ranks, random_visits
from periplus.app.sites.federated_engine import FederatedEngine
from periplus.app.sites.site_links import start_nats, write_config
from periplus.index import (
    BuildStatistics,
    IndexMeasurer,
    LiveIndex,
    build_index,
    folder_statistics,
    gather_build_statistics,
    sum_build_statistics,
)
from periplus.records import FetchRecord, Query
from periplus.search import Searcher
from periplus.settings import SiteSettings
from periplus.sites import (
    CollectionExchange,
    LocalNetwork,
    NatsTransport,
    SiteConfig,
    SiteFolder,
    SiteNode,
    SiteTopology,
    free_tcp_port,
    new_site_record,
    read_collection,
)
from periplus.sites.exchange.collection_exchange import COLLECTION, COLLECTION_PART
from periplus.sites.site_status import PeerStatus, SiteStatus

_SITE = SiteSettings(heartbeat_seconds=0.5, liveness_seconds=600.0, deadline=600.0)
_NAMES = ("a", "b", "c")


def _statistics(seed: int, documents: int) -> BuildStatistics:
    return gather_build_statistics(random_visits(seed, documents))


class _Sites:
    """Three sites within this process, whose statistics are set by hand."""

    def __init__(self, folder: Path) -> None:
        self.network = LocalNetwork()
        folders = {name: SiteFolder(folder / name) for name in _NAMES}
        records = tuple(new_site_record(folders[name].make_key(), name, None, (), "") for name in _NAMES)
        self.nodes, self.exchanges = {}, {}
        for name in _NAMES:
            folders[name].create(SiteConfig(name=name, client_port=1), SiteTopology(network="test", sites=records))
            self.nodes[name] = SiteNode(folders[name], self.network.join(name), _SITE, {})
            self.exchanges[name] = CollectionExchange(self.nodes[name], 0.1, 600.0)
        self.own: dict[str, BuildStatistics | None] = {
            name: _statistics(seed, 20 + seed) for seed, name in enumerate(_NAMES)
        }
        self.clock = itertools.count(0.0, 700.0)

    def turn(self, times: int = 4) -> None:
        for _ in range(times):
            now = next(self.clock)
            for name, node in self.nodes.items():
                with contextlib.suppress(TimeoutError):
                    node.step()
                self.exchanges[name].step(self.own[name], now)

    def collections(self) -> dict[str, BuildStatistics | None]:
        return {name: read_collection(node.data) for name, node in self.nodes.items()}

    def cut_off(self, name: str) -> None:
        for other in set(_NAMES) - {name}:
            self.network.cut(name, other)

    def mend(self) -> None:
        for one, other in itertools.combinations(_NAMES, 2):
            self.network.mend(one, other)

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
            node.transport.close()


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[_Sites]:
    made = _Sites(tmp_path)
    yield made
    made.close()


def _agreed(sites: _Sites) -> BuildStatistics:
    """Return what all sites build with; all have the same sum, that of all parts."""
    found = list(sites.collections().values())
    first = found[0]
    assert first is not None
    assert found == [first] * 3
    parts = [part for part in sites.own.values() if part is not None]
    assert first == sum_build_statistics(parts, first.epoch)
    return first


def test_all_sites_adopt_one_sum_with_an_epoch(sites: _Sites) -> None:
    sites.turn(1)
    sites.turn()
    first = _agreed(sites)
    versions = {name: node.data.versions() for name, node in sites.nodes.items()}
    sites.turn()
    assert {name: node.data.versions() for name, node in sites.nodes.items()} == versions  # Nothing new, nothing sent.
    sites.own["c"] = _statistics(9, 90)
    sites.turn()
    assert _agreed(sites).epoch > first.epoch


def test_sites_that_were_cut_off_agree_when_they_return(sites: _Sites) -> None:
    """Both halves sum on, each with epochs of its own; the half of one site may, too, while it believes the others."""
    sites.turn()
    before = _agreed(sites)
    sites.cut_off("a")
    sites.own.update(a=_statistics(4, 60), b=_statistics(5, 70))
    sites.turn()
    halves = sites.collections()
    assert halves["b"] == halves["c"] != halves["a"]
    epochs = {name: found.epoch for name, found in halves.items() if found is not None}
    assert epochs["b"] != epochs["a"]
    assert min(epochs.values()) >= before.epoch
    sites.mend()
    sites.turn(6)
    assert _agreed(sites).epoch >= max(epochs.values())


def test_a_site_that_is_alone_keeps_what_it_has(tmp_path: Path) -> None:
    sites = _Sites(tmp_path)
    try:
        for name in _NAMES[1:]:
            sites.nodes[name].transport.close()
        sites.exchanges["a"].step(sites.own["a"], 0.0)
        assert read_collection(sites.nodes["a"].data) is None
    finally:
        sites.close()


def _absurd() -> list[bytes]:
    sound = _statistics(1, 30)
    changes: list[dict[str, object]] = [
        {"documents": 1 << 50},
        {"documents": -1},
        {"tokens": tuple(1e30 for _ in sound.tokens)},
        {"tokens": sound.tokens[1:]},
        {"filled": tuple(31.0 for _ in sound.filled)},
        {"languages": {f"x{n}": 0.1 for n in range(300)}},
        {"epoch": 1 << 62},
        {"format": 9},
        {"documents": 1 << 39},
        {"languages": {"en": 1e300}},
    ]
    bodies = [msgspec.json.encode(msgspec.structs.replace(sound, **change)) for change in changes]
    return [*bodies, b"garbage", b" " * (65 << 10)]


@pytest.mark.parametrize("number", range(12))
def test_absurd_statistics_of_a_site_are_ignored(sites: _Sites, number: int) -> None:
    body = _absurd()[number]
    sites.own["c"] = None
    for name in (COLLECTION_PART, COLLECTION):
        sites.nodes["c"].data.set(name, body)
    sites.nodes["c"].close()
    del sites.exchanges["c"]
    for _ in range(3):
        for name in ("a", "b"):
            sites.nodes[name].step()
            sites.exchanges[name].step(sites.own[name], next(sites.clock))
    agreed = read_collection(sites.nodes["b"].data)
    parts = [part for part in (sites.own["a"], sites.own["b"]) if part is not None]
    assert agreed is not None
    assert agreed == sum_build_statistics(parts, agreed.epoch)


def test_languages_that_there_are_not_keep_nobody_from_a_sum(sites: _Sites) -> None:
    sound = _statistics(1, 30)
    many = msgspec.structs.replace(sound, languages={f"x{n}": 0.1 for n in range(250)} | sound.languages)
    sites.nodes["c"].data.set(COLLECTION_PART, msgspec.json.encode(many))
    sites.own["c"] = None
    sites.turn()
    found = read_collection(sites.nodes["a"].data)
    assert found is not None
    assert found.documents == sum(part.documents for part in (sites.own["a"], sites.own["b"], sound) if part)
    assert not any(code.startswith("x") for code in found.languages)


def test_the_status_names_sites_with_other_statistics() -> None:
    peers = tuple(PeerStatus(name=f"p{epoch}", alive=True, silent=0.0, epoch=epoch) for epoch in (-1, 0, 5, 7))
    lines = SiteStatus(name="own", time=0.0, peers=peers, epoch=7).warnings()
    assert [line.split()[0] for line in lines] == ["p0", "p5"]
    assert len(SiteStatus(name="own", time=0.0, peers=peers).warnings()) == 3


class _NatsSite:
    """A site with a NATS server, an index that is built by itself at first, and a searcher."""

    def __init__(self, folder: Path, topology: SiteTopology, name: str, pages: list[FetchRecord], ranks: Ranks) -> None:
        self.pages, self.ranks = pages, ranks
        build_index(pages, folder / "index", SETTINGS.index, ranks)
        self.stack = contextlib.ExitStack()
        site = SiteFolder(folder)
        config = write_config(site, _SITE)
        self.stack.enter_context(start_nats(site, _SITE))
        others = [other.name for other in topology.others(name)]
        url = f"nats://127.0.0.1:{config.client_port}"
        transport = NatsTransport(name, url, config.passwords, others, 16 << 20)
        self.stack.callback(transport.close)
        self.node = SiteNode(site, transport, _SITE, {})
        self.stack.callback(self.node.close)
        self.engine = FederatedEngine(folder, msgspec.structs.replace(SETTINGS, site=_SITE), self.node)
        self.live = self.stack.enter_context(LiveIndex(folder / "index", SETTINGS.index, ranks, background=False))
        self._exchange, self._measurer = CollectionExchange(self.node, 0.1, 600.0), IndexMeasurer()

    def turn(self) -> None:
        self.node.step()
        self.engine.update()
        if self.engine.index is not None:
            self._exchange.step(self._measurer.measure(self.engine.index), time.monotonic())
        collection = read_collection(self.node.data)
        if collection is not None and collection != folder_statistics(self.live.folder):
            self.live.rebuild(lambda start: self.pages[start:], self.ranks, statistics=collection)

    def is_ready(self, epoch: int) -> bool:
        """Return whether this site knows that all are built with the newest statistics, and has their bounds."""
        federation = self.engine.federation
        return (
            bool(epoch)
            and federation is not None
            and self.node.epochs == dict.fromkeys(self.node.topology.names, epoch)
            and all(status.valid for status in federation.status())
        )


@pytest.mark.xdist_group("nats")
def test_sites_on_nats_answer_as_one_index_once_statistics_are_exchanged(tmp_path: Path) -> None:
    """Slack 0 between real sites: the same pages in the same order with the same scores as one index over all."""
    pytest.importorskip("nats")
    visits = random_visits(8, 240)
    ranks = Ranks(random_ranks(8, visits))
    parts = dict(zip(_NAMES, spread(visits, 3, 8), strict=True))
    leaf = {name: free_tcp_port() for name in _NAMES}
    folders = {name: SiteFolder(tmp_path / name) for name in _NAMES}
    topology = SiteTopology(
        network="test",
        sites=tuple(
            new_site_record(folders[name].make_key(), name, None, (), f"127.0.0.1:{leaf[name]}") for name in _NAMES
        ),
    )
    for name in _NAMES:
        config = SiteConfig(name=name, client_port=free_tcp_port(), leaf_host="127.0.0.1", leaf_port=leaf[name])
        folders[name].create(config, topology)
    with contextlib.ExitStack() as stack:
        sites = [_NatsSite(tmp_path / name, topology, name, parts[name], ranks) for name in _NAMES]
        for site in sites:
            stack.enter_context(site.stack)
        for site in sites:
            site.engine.update()
        limit = time.monotonic() + 240
        noted = False
        while True:
            for site in sites:
                site.turn()
            noted |= any("collection statistics" in n for n in sites[0].engine.search(Query("a")).notes)
            collection = read_collection(sites[0].node.data)
            if collection is not None and all(site.is_ready(collection.epoch) for site in sites):
                break
            assert time.monotonic() < limit, [site.node.epochs for site in sites]
        assert noted  # Before, the page says that scores are not comparable.
        for name in _NAMES:
            build_index(
                parts[name],
                tmp_path / "one" / "index",
                SETTINGS.index,
                ranks,
                append=name != "a",
                statistics=collection,
            )
        whole = Searcher.open(tmp_path / "one", SETTINGS)
        answered = 0
        words = sorted({word for visit in visits[:40] if visit.page for word in visit.page.text.split()[:2]})[:24]
        for text in [*words, *(f"{one} {other}" for one, other in itertools.pairwise(words))]:
            expected = [(hit.key, hit.score) for hit in whole.search(Query(text)).hits]
            for site in sites:
                page = site.engine.search(Query(text))
                assert [(hit.key, hit.score) for hit in page.hits] == expected, text
                assert not page.partial
                assert not any("collection statistics" in note for note in page.notes)
                answered += sum(outcome == "answered" for _, outcome, _, _, _ in page.sites)
        assert answered  # Other sites were asked at all.
