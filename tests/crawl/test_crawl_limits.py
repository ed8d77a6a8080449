"""Near a limit the crawl pauses and says so; it goes on by itself when there is room, and nothing is lost."""

import msgspec
import pytest

from periplus import health
from periplus.crawl import CrawlControl, Crawler, Supervisor
from periplus.crawl.policies import limit_watch
from periplus.files import open_data_folder
from periplus.limits import measure_folder
from periplus.settings import LimitSettings, StoreSettings
from periplus.store import PageStore

BALLAST = 20_000_000
LIMIT = 21_300_000
"""In bytes: the crawl pauses at 95 % of it, before it has stored the whole web."""


@pytest.fixture(autouse=True)
def _check_in_every_step(monkeypatch):
    monkeypatch.setattr(limit_watch, "_SECONDS", 0.0)
    monkeypatch.setattr("periplus.limits.folder_size._MIN_SECONDS", 0.0)
    monkeypatch.setattr("periplus.crawl.crawler._CONTROL_SECONDS", 0.0)
    monkeypatch.setattr("periplus.crawl.crawler._MAX_WAIT", 0.01)
    monkeypatch.setattr("periplus.crawl.crawler._REPORT_SECONDS", 0.0)
    health._PARTS.clear()
    yield
    health._PARTS.clear()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    open_data_folder(folder, create=True)
    (folder / "ballast").write_bytes(b"x" * BALLAST)
    return folder


def limited(settings, **limits):
    return msgspec.structs.replace(settings, limits=LimitSettings(**limits))


def crawl_until_paused(crawler):
    while not crawler.statistics().paused:
        assert crawler.step(), "the crawl ended before it paused"
    while crawler.statistics().busy:
        crawler.step()


def test_a_crawl_pauses_at_the_disk_limit_and_resumes(server, fast, fake_web, data, read_stored, urls_of):
    unlimited = fast()
    settings = limited(unlimited, disk_gb=LIMIT / 1e9)
    seeds = [page.url for page in fake_web.truth().pages[:1]]
    with Crawler(data, settings, seeds) as crawler:
        crawl_until_paused(crawler)
        pages = crawler.statistics().pages
        assert pages > 0
        assert "limits.disk_gb" in crawler.statistics().paused
        assert measure_folder(data) <= LIMIT
        for _ in range(20):
            assert crawler.step()
        assert crawler.statistics().pages == pages
        status = CrawlControl(data).status()
        assert (status["state"], status["paused"]) == ("paused", crawler.statistics().paused)
        assert b"periplus_crawl_paused_by_limit 1" in (data / "crawl" / "metrics.prom").read_bytes()
        assert [part.name for part in health.read_health(data) if part.failing_since] == ["disk limit"]
        (data / "ballast").unlink()
        while crawler.step():
            pass
        assert crawler.statistics().paused == ""
    assert not [part for part in health.read_health(data) if part.failing_since]
    limited_urls = urls_of(read_stored(data, settings))
    other = data.parent / "unlimited"
    Crawler(other, unlimited, seeds).run()
    assert limited_urls == urls_of(read_stored(other, unlimited))


def test_a_crawl_pauses_at_the_memory_limit(server, fast, fake_web, tmp_path, monkeypatch):
    """This process has more than a megabyte, whatever it does."""
    monkeypatch.setattr(limit_watch, "_SECONDS", 60.0)  # every check beyond the limit collects the garbage of all tests
    seeds = [page.url for page in fake_web.truth().pages[:1]]
    with Crawler(tmp_path / "data", limited(fast(), memory_mb=1), seeds) as crawler:
        crawl_until_paused(crawler)
        pages = crawler.statistics().pages
        for _ in range(20):
            assert crawler.step()
        assert "MB of the 1 MB of limits.memory_mb" in crawler.statistics().paused
        assert crawler.statistics().pages == pages


def test_old_responses_are_removed_at_the_limit_where_retention_is_configured(
    server, fast, fake_web, data, monkeypatch
):
    monkeypatch.setattr(limit_watch, "_RETENTION_SECONDS", 0.0)
    store = StoreSettings(rotate_bytes=65_536, keep_days=1e6)
    settings = msgspec.structs.replace(limited(fast(), disk_gb=LIMIT / 1e9), store=store)
    seeds = [page.url for page in fake_web.truth().pages[:1]]
    asked = []
    retention = PageStore.apply_retention
    monkeypatch.setattr(
        PageStore, "apply_retention", lambda self, *limits: asked.append(limits) or retention(self, *limits)
    )
    with Crawler(data, settings, seeds) as crawler:
        crawl_until_paused(crawler)
        stored = crawler._store.statistics().warc_bytes
    keep_bytes, keep_days = asked[-1]
    assert 0 < keep_bytes < stored
    assert keep_days == 1e6


def test_shards_share_the_bandwidth_and_pause_with_their_supervisor(server, fast, fake_web, data):
    from periplus.crawl.sharding.supervisor import divide_settings

    settings = limited(fast(), disk_gb=LIMIT / 1e9, bandwidth_mbit=80.0)
    assert divide_settings(settings, 4).limits == LimitSettings(disk_gb=LIMIT / 1e9, bandwidth_mbit=20.0)
    seeds = [page.url for page in fake_web.truth().pages[:1]]
    supervisor = Supervisor(data, settings, seeds, 2)

    def on_progress(statistics, shards):
        # Both say so, if not at the same moment: only then there is room again, and the crawl goes on to its end.
        if statistics.paused and CrawlControl(data).status()["state"] == "paused":
            (data / "ballast").unlink(missing_ok=True)

    with health.share_health(data):
        statistics = supervisor.run(on_progress)
    assert not (data / "ballast").exists()
    assert statistics.paused == ""
    assert statistics.pages > 100


def test_a_crawl_stays_within_its_bandwidth(server, fast, fake_web, tmp_path):
    settings = limited(fast(pages=40), bandwidth_mbit=8.0)
    seeds = [page.url for page in fake_web.truth().pages[:1]]
    crawler = Crawler(tmp_path / "data", settings, seeds)
    statistics = crawler.run()
    # Bodies are counted after decompression; a slow machine can only be slower.
    received = crawler._fetcher._bucket.received
    assert received / statistics.seconds <= 1_000_000 * 1.1 + 250_000 / statistics.seconds
    assert statistics.pages >= 40
