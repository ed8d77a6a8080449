"""The searcher of a running site: answers over all sites that are alive, and its own whatever others do."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from index.made_pages import Ranks
from periplus.app.sites.federated_engine import FederatedEngine
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.settings import SiteSettings
from periplus.sites import LocalNetwork, SiteConfig, SiteFolder, SiteNode, SiteTopology, new_site_record
from periplus.url import parse_address
from sites.made_sites import SETTINGS, MadeFederation

_SITE = SiteSettings(heartbeat_seconds=0.5, liveness_seconds=60.0, deadline=600.0)


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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_World]:
    made = _World(tmp_path_factory.mktemp("engine"))
    limit = time.monotonic() + 120
    while True:
        made.turn()
        known = [engine.federation.status()[0].valid for engine in made.engines.values() if engine.federation]
        if len(known) == 2 and all(known):
            break
        assert time.monotonic() < limit
    made.turn()
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
