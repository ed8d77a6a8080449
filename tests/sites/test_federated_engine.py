"""The searcher of a running site: answers over all sites that are alive, and its own whatever others do."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_world import EngineWorld, await_bounds, record
from made_sites import SETTINGS

from periplus.app.sites.bounds_sender import BoundsSender
from periplus.index import Index, LiveIndex, build_index
from periplus.rank import open_external_signals
from periplus.records import Query, VisitReport
from periplus.serve.pages.trending_pages import TrendingPages
from periplus.signals import append_received_visits, append_visit_reports, read_trending, update_visit_counts
from periplus.sites import SiteFolder, make_site_bounds, new_site_record


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineWorld]:
    made = EngineWorld(tmp_path_factory.mktemp("engine"))
    await_bounds(made)
    yield made
    made.close()


def test_a_query_is_answered_by_the_site_that_has_pages(world: EngineWorld) -> None:
    page = world.engines["site-0"].search(Query("harbour"))
    assert {hit.url.split(".")[0] for hit in page.hits} == {"http://two"}
    outcomes = {site: (outcome, results) for site, outcome, _, results, _ in page.sites}
    assert outcomes["site-1"] == ("answered", len(page.hits))
    assert outcomes["site-0"][0] == "local"


def test_a_site_is_not_asked_for_what_it_cannot_have(world: EngineWorld) -> None:
    page = world.engines["site-0"].search(Query("lighthouse"))
    assert page.hits
    outcomes = {site: (outcome, reason) for site, outcome, _, _, reason in page.sites}
    assert outcomes["site-1"][0] == "not asked"
    assert outcomes["site-1"][1]


def test_what_there_is_to_search_is_at_all_sites(world: EngineWorld) -> None:
    engine = world.engines["site-0"]
    assert engine.statistics().documents == 12
    assert engine.local.statistics().documents == 6
    assert engine.page_status("http://two.example/3").indexed


def test_the_tail_box_shows_what_rose_in_this_region_wherever_it_is_indexed(world: EngineWorld) -> None:
    folder, now = world.made.folder / "site-0", time.time()
    visits = {"http://two.example/3": 4, "http://one.example/1": 3, "http://one.example/2": 2}
    append_visit_reports(folder, [VisitReport(url, count, when=now) for url, count in visits.items()])
    append_received_visits(folder, [VisitReport("http://two.example/5", 90, when=now)], "site-1 lane 1")
    trending = TrendingPages(world.engines["site-0"], lambda: read_trending(folder))
    trending.refresh()
    assert [(page.url, page.title, page.visits) for page in trending.pages] == [
        ("http://two.example/3", "harbour number 3", 4),
        ("http://one.example/1", "lighthouse number 1", 3),
    ]
    elsewhere = TrendingPages(world.engines["site-1"], lambda: read_trending(world.made.folder / "site-1"))
    elsewhere.refresh()
    assert elsewhere.pages == ()


def test_a_site_that_is_cut_off_answers_what_is_its_own(world: EngineWorld) -> None:
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
    world = EngineWorld(tmp_path)
    try:
        await_bounds(world)
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
    world = EngineWorld(tmp_path)
    try:
        await_bounds(world)
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


class _Signals:
    def __init__(self, version: bytes) -> None:
        self.popular, self.liked, self.version = False, False, version
        self.visited = SimpleNamespace(keys=())


def test_bounds_are_sent_the_sooner_the_more_has_changed(tmp_path: Path) -> None:
    pages = [record(f"http://one.example/{n}", f"lighthouse {n}", "The old tower. " * 5) for n in range(20)]
    build_index(pages, tmp_path / "index", SETTINGS.index)
    shard: Any = SimpleNamespace(index=Index.open(tmp_path / "index"), signals=_Signals(b"1"))
    sent: list[tuple[str, bytes]] = []
    node: Any = SimpleNamespace(send_data=lambda sink, name, body: sent.append((name, body)))
    made: list[Any] = []

    def make(index: Index) -> Any:
        made.append(make_site_bounds("site-0", index, open_external_signals(tmp_path, SETTINGS.rank)))
        return made[-1]

    sender = BoundsSender(node, make, 0.1, 600.0)
    assert sender.step(shard, 0.0)
    assert not sender.step(shard, 1.0)
    with LiveIndex(tmp_path / "index", SETTINGS.index, background=False) as live:
        for number in (100, 101, 102):
            live.add(record(f"http://one.example/{number}", "New", "New text."))
            live.publish()
            shard.index, shard.signals = shard.index.reopen(), _Signals(b"1")
            due = number == 102  # Three of 23: more than a tenth.
            assert sender.step(shard, 2.0 + number - 100) == due
        live.delete("http://one.example/3")
        live.publish()
        shard.index, shard.signals = shard.index.reopen(), _Signals(b"1")
    assert not sender.step(shard, 10.0)
    assert sender.step(shard, 400.0), "less, but long ago"
    shard.signals = _Signals(b"2")
    shard.signals.liked = True
    assert sender.step(shard, 401.0), "scores depend on it"
    assert not sender.step(shard, 402.0)
    assert sender.step(shard, 401.0 + made[-1].valid_seconds / 2), "nothing has changed, but bounds expire"
    assert [name for name, _ in sent].count("bounds") == len(made) == 5
