"""Visits and clicks that are reported over HTTP raise pages in the ranking; a flood from one network does not."""

from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from asgi_caller import send

from index.made_pages import visit
from periplus.app import server_actions
from periplus.index import build_index
from periplus.records import Query
from periplus.search import Searcher
from periplus.serve import ApiKeys, make_app
from periplus.serve.middleware.client_address import ClientAddresses
from periplus.serve.middleware.reporter_hashes import ReporterHasher
from periplus.settings import ServeSettings, Settings
from periplus.signals import read_clicks

TWINS = ("https://a.test/bell", "https://b.test/bell")


class World:
    """Two pages that are alike, a server of them behind a proxy, and a key for those who report visits."""

    def __init__(self, folder: Path) -> None:
        pages = [visit(url, "Harbour bell", "The bell of the harbour rings at noon.") for url in TWINS]
        build_index(pages, folder / "index", Settings().index)
        self.folder = folder
        settings = Settings(search=msgspec.structs.replace(Settings().search, per_host=0))
        self.searcher = Searcher.open(folder, settings)
        self.keys = ApiKeys(folder)
        self.key = self.keys.add("report", "report")
        serving = ServeSettings(threads=1, behind_proxy=True, clicks=True, rate=0)
        self.app = make_app(self.searcher, serving, server_actions(folder, self.searcher, settings), self.keys)

    def report(self, url: str, address: str, count: int = 1) -> None:
        given = {"visits": [{"url": url, "count": count}]}
        answer = send(self.app, "/api/visits", given, self.key, headers={"x-forwarded-for": address})
        assert answer.status == 202

    def click(self, url: str, address: str) -> None:
        given = {"query": "bell", "url": url, "position": 2, "shown": list(TWINS)}
        assert send(self.app, "/api/click", given, headers={"x-forwarded-for": address}).status == 204

    def parts(self, url: str, name: str) -> float:
        """Say what a part adds to the score of a page."""
        hits = self.searcher.search(Query("bell", folded=False, explain=True)).hits
        assert {hit.url for hit in hits} == set(TWINS)
        return next(dict(hit.reasons).get(name, 0.0) for hit in hits if hit.url == url)

    def first(self) -> str:
        return self.searcher.search(Query("bell", folded=False)).hits[0].url


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("periplus.rank.external_signals._AGAIN", -1.0)
    monkeypatch.setattr("periplus.signals.visit_counts.update_visit_counts.__defaults__", (-1.0,))
    return World(tmp_path)


def test_pages_that_many_visit_rise_above_their_equals(world: World) -> None:
    behind = next(url for url in TWINS if url != world.first())
    for number in range(12):
        world.report(behind, f"198.51.{number}.7")
    assert world.searcher.refresh()
    assert not world.searcher.refresh(), "nothing new"
    assert world.first() == behind
    assert world.parts(behind, "popularity") > 0
    assert world.parts(behind, "popularity") > world.parts(next(u for u in TWINS if u != behind), "popularity") == 0
    queue = b"".join(path.read_bytes() for path in (world.folder / "passive").iterdir())
    assert b"198.51" not in queue


def test_a_flood_from_one_network_counts_nothing(world: World) -> None:
    first = world.first()
    behind = next(url for url in TWINS if url != first)
    for number in range(60):
        world.report(behind, f"45.67.89.{number}", count=1_000_000)
    world.searcher.refresh()
    assert world.first() == first
    assert world.parts(behind, "popularity") == 0


def test_clicks_of_many_count_and_those_of_one_hardly(world: World) -> None:
    first = world.first()
    behind = next(url for url in TWINS if url != first)
    for _ in range(40):
        world.click(behind, "45.67.89.9")
    world.searcher.refresh()
    alone = world.parts(behind, "clicks")
    for number in range(40):
        world.click(behind, f"198.51.{number}.7")
    assert world.searcher.refresh()
    assert world.first() == behind
    assert world.parts(behind, "clicks") > 2 * alone
    assert len({click.source for click in read_clicks(world.folder)}) > 15
    assert b"198.51" not in (world.folder / "clicks.jsonl").read_bytes()


def test_numbers_of_reporters_say_nothing_beyond_one_page() -> None:
    class Client:
        host = ""

    class SearchRequest:
        client = Client
        headers: ClassVar[dict[str, Any]] = {}

    reporters = ReporterHasher(ApiKeys(None), ClientAddresses(ServeSettings()))

    def source(host: str, about: str) -> int:
        Client.host = host
        return reporters.source(SearchRequest, about)  # type: ignore[arg-type]

    assert source("45.67.89.9", "a") == source("45.67.89.200", "a") > 0
    assert source("2a01:4f8:1::1", "a") == source("2a01:4f8:1:ffff::2", "a") > 0
    assert len({source("45.67.89.9", f"page {n}") for n in range(200)}) > 50, "another for every page"
    assert len({source(f"10.0.0.{n}", "a") for n in range(200)}) > 50, "people of a private network are told apart"
    assert source("nonsense", "a") == source("", "a") == 0
    others = ReporterHasher(ApiKeys(None), ClientAddresses(ServeSettings()))
    assert [reporters.source(SearchRequest, str(n)) for n in range(9)] == [0] * 9  # type: ignore[arg-type]
    Client.host = "45.67.89.9"
    mine, theirs = ([r.source(SearchRequest, str(n)) for n in range(20)] for r in (reporters, others))  # type: ignore[arg-type]
    assert mine != theirs, "only this server can make them"
