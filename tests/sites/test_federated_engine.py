"""The searcher of a running site: answers over all sites that are alive, and its own whatever others do."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from made_sites import SETTINGS, MadeFederation

from index.made_pages import Ranks
from periplus.app.sites.federated_engine import FederatedEngine
from periplus.records import FetchRecord, Outcome, Page, Query, VisitReport
from periplus.settings import SiteSettings
from periplus.signals import append_visit_reports, update_visit_counts
from periplus.sites import LocalNetwork, SiteConfig, SiteFolder, SiteNode, SiteTopology, new_site_record
from periplus.url import parse_address

_SITE = SiteSettings(heartbeat_seconds=0.5, liveness_seconds=600.0, deadline=600.0)


def _record(url: str, title: str, text: str) -> FetchRecord:
    address = parse_address(url)
    page = Page(url=address.url, title=title, text=text, language="en")
    return FetchRecord(address.url, address.key, Outcome.OK, 1.6e9, 200, page=page, content=address.key)


def _pages() -> list[list[FetchRecord]]:
    parts = []
    for name, word in (("one", "lighthouse"), ("two", "harbour")):
        text = f"The {word} of this page is old. " * 5
        parts.append([_record(f"http://{name}.example/{i}", f"{word} number {i}", text) for i in range(6)])
    return parts


class _World:
    def __init__(self, folder: Path) -> None:
        self.network = LocalNetwork()
        self.made = MadeFederation(folder, _pages(), Ranks({}))
        self.settings = msgspec.structs.replace(SETTINGS, site=_SITE)
        folders = {name: SiteFolder(folder / name) for name in self.made.names}
        records = tuple(new_site_record(folders[name].make_key(), name, None, (), "") for name in self.made.names)
        topology = SiteTopology(network="test", sites=records)
        self.nodes, self.engines = {}, {}
        for name in self.made.names:
            folders[name].create(SiteConfig(name=name, client_port=1), topology)
            transport = self.network.join(name)
            self.nodes[name] = SiteNode(folders[name], transport, _SITE, {})
            self.engines[name] = FederatedEngine(folder / name, self.settings, self.nodes[name])
            transport.start_delivery()

    def turn(self) -> None:
        for name in self.made.names:
            self.nodes[name].step()
            self.engines[name].update()

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
            node.transport.close()


def _await_bounds(world: _World) -> None:
    """Return when each site has the bounds of the other."""
    limit = time.monotonic() + 120
    while True:
        world.turn()
        valid = [engine.federation.status()[0].valid for engine in world.engines.values() if engine.federation]
        if len(valid) == 2 and all(valid):
            break
        assert time.monotonic() < limit
    world.turn()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    made = _World(tmp_path_factory.mktemp("engine"))
    _await_bounds(made)
    yield made
    made.close()


def test_a_query_is_answered_by_the_site_that_has_pages(world: _World) -> None:
    page = world.engines["site-0"].search(Query("harbour"))
    assert {hit.url.split(".")[0] for hit in page.hits} == {"http://two"}
    outcomes = {site: (outcome, results) for site, outcome, _, results, _ in page.sites}
    assert outcomes["site-1"] == ("answered", len(page.hits))
    assert outcomes["site-0"][0] == "local"


def test_a_site_is_not_asked_for_what_it_cannot_have(world: _World) -> None:
    page = world.engines["site-0"].search(Query("lighthouse"))
    assert page.hits
    outcomes = {site: (outcome, reason) for site, outcome, _, _, reason in page.sites}
    assert outcomes["site-1"][0] == "not asked"
    assert outcomes["site-1"][1]


def test_what_there_is_to_search_is_at_all_sites(world: _World) -> None:
    engine = world.engines["site-0"]
    assert engine.statistics().documents == 12
    assert engine.local.statistics().documents == 6
    assert engine.page_status("http://two.example/3").indexed


def test_a_site_that_is_cut_off_answers_what_is_its_own(world: _World) -> None:
    world.network.cut("site-0", "site-1")
    try:
        engine = world.engines["site-0"]
        own = engine.search(Query("lighthouse"))
        assert own.hits
        other = engine.search(Query("harbour"))
        assert not other.hits
        assert other.partial
        assert any("site-1" in note for note in other.notes)
    finally:
        world.network.mend("site-0", "site-1")


def test_new_signals_are_announced_within_a_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = _World(tmp_path)
    try:
        _await_bounds(world)
        node, engine = world.nodes["site-1"], world.engines["site-1"]
        before = node.data.versions()
        world.turn()
        assert node.data.versions() == before
        reports = [VisitReport("http://two.example/3", source=source) for source in range(1, 9)]
        append_visit_reports(tmp_path / "site-1", reports)
        assert update_visit_counts(tmp_path / "site-1", every=0.0)
        monkeypatch.setattr("periplus.rank.external_signals._AGAIN", -1.0)
        other = world.engines["site-0"]
        other.search(Query("harbour"))
        assert other.federation is not None
        assert len(other.federation.known) == 1
        engine.update()
        after = node.data.versions()
        assert after["bounds"].version == before["bounds"].version + 1  # Before, no page was popular.
        assert after["signals"].version == before["signals"].version + 1
        limit = time.monotonic() + 60
        while len(other.federation.known):
            world.turn()
            assert time.monotonic() < limit
    finally:
        world.close()


def test_a_site_that_sorts_first_shifts_the_numbers_of_shards(tmp_path: Path) -> None:
    world = _World(tmp_path)
    try:
        _await_bounds(world)
        key = SiteFolder(tmp_path / "new").make_key()
        record = new_site_record(key, "a-new-site", None, (), "")
        for number, name in enumerate(world.made.names):
            engine = world.engines[name]
            assert engine._shard is not None
            assert engine._shard.number == number
            world.nodes[name].add_records((record,))
            engine.update()
            assert engine.federation is not None
            assert engine._shard.number == engine.federation.own == number + 1
    finally:
        world.close()
