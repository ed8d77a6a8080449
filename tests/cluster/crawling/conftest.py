"""A fake web, and settings to crawl it on several shards."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crawl_cluster import cluster_settings

from periplus.cluster.crawling import cluster_shard, mail_sender
from periplus.crawl import crawler
from periplus.fakeweb import FakeWeb, FakeWebPlan, FakeWebServer, run_in_thread
from periplus.settings import Settings


@pytest.fixture(scope="session")
def fake_web() -> FakeWeb:
    return FakeWeb(FakeWebPlan(seed=11, hosts=8, pages=120))


@pytest.fixture
def server(fake_web: FakeWeb) -> Iterator[FakeWebServer]:
    with run_in_thread(fake_web, log=True) as server:
        yield server


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send messages of one URL at once, and poll often: shards otherwise wait, to send fewer messages."""
    monkeypatch.setattr(cluster_shard, "_MAX_AGE", 0.02)
    monkeypatch.setattr(mail_sender, "_POLL_SECONDS", 0.02)
    monkeypatch.setattr(crawler, "_MAX_WAIT", 0.02)


@pytest.fixture
def make_settings(server: FakeWebServer, tmp_path: Path) -> Callable[..., Settings]:
    hosts = tmp_path / "hosts"
    server.write_hosts_file(hosts)
    return lambda delay=0.0, **crawl: cluster_settings(hosts, delay, **crawl)
