"""A small fake web in a thread, and settings that crawl it without waiting."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_web import ScriptedWeb

from periplus.fakeweb import FakeWeb, FakeWebPlan, FakeWebServer, run_in_thread
from periplus.records import FetchRecord
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore

PLAN = FakeWebPlan(seed=11, hosts=8, pages=300)


@pytest.fixture(scope="session")
def fake_web() -> FakeWeb:
    return FakeWeb(PLAN)


@pytest.fixture
def server(fake_web: FakeWeb) -> Iterator[FakeWebServer]:
    with run_in_thread(fake_web, log=True) as server:
        yield server


@pytest.fixture
def fast(server: FakeWebServer, tmp_path: Path) -> Callable[..., Settings]:
    """Make settings for the fake web: no delays, names from its hosts file."""
    hosts = tmp_path / "hosts"
    server.write_hosts_file(hosts)

    def make(**crawl) -> Settings:
        return settings_for(hosts, **crawl)

    return make


def settings_for(hosts: Path, /, **crawl) -> Settings:
    crawl.setdefault("scope", "web")
    return Settings(
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(hosts), timeout=20, slow_seconds=10, connections=8),
        frontier=FrontierSettings(delay=0, max_delay=0, back_off=0.02, max_failures=4),
        crawl=CrawlSettings(**crawl),
    )


def stored(folder: Path, settings: Settings) -> list[FetchRecord]:
    with PageStore.open(folder / "store", settings.store) as store:
        return list(store.records())


def page_urls(visits: list[FetchRecord]) -> set[str]:
    """The URLs that have a page, or whose very content is kept under another URL."""
    return {visit.url for visit in visits if visit.duplicate_of or (visit.page and visit.page.kind.startswith("text/"))}


@pytest.fixture
def read_stored() -> Callable[[Path, Settings], list[FetchRecord]]:
    return stored


@pytest.fixture
def urls_of() -> Callable[[list[FetchRecord]], set[str]]:
    return page_urls


@pytest.fixture
def make_settings() -> Callable[..., Settings]:
    return settings_for


@pytest.fixture
def scripted() -> Iterator[ScriptedWeb]:
    web = ScriptedWeb()
    yield web
    web.close()
