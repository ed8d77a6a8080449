"""What an operator can say: which URLs are wanted, and pause, resume, stop; and what can be asked."""

import os
import threading
import time

import msgspec
import pytest

from periplus.crawl import CrawlControl, Crawler, send_command
from periplus.crawl.policies.url_filter import UrlFilter
from periplus.errors import BadInput, SettingsError
from periplus.settings import CrawlSettings
from periplus.url import parse_address

CASES = [
    ({}, "http://any.test/x", True),
    ({"hosts": ("here.test",)}, "http://www.here.test/x", True),
    ({"hosts": ("here.test",)}, "http://nothere.test/x", False),
    ({"paths": ("/docs/", "/api/")}, "http://a.test/docs/x", True),
    ({"paths": ("/docs/", "/api/")}, "http://a.test/blog/docs/", False),
    ({"include": ("*/news/*",)}, "http://a.test/news/1", True),
    ({"include": ("/news/",)}, "http://a.test/old/news/1", True),
    ({"include": ("https://a.test/*",)}, "http://a.test/", False),
    ({"exclude": ("?print=",)}, "http://a.test/x?print=1", False),
    ({"exclude": ("[?]print=",)}, "http://a.test/x?print=1", False),
    ({"include": ("a.test",), "exclude": ("/private/",)}, "http://a.test/private/x", False),
    ({"countries": ("ch", ".de")}, "http://a.de/", True),
    ({"countries": ("ch", ".de")}, "http://a.com/", False),
]


@pytest.mark.parametrize(("wanted", "url", "expected"), CASES)
def test_filters(wanted, url, expected):
    assert UrlFilter(CrawlSettings(**wanted)).accepts(parse_address(url)) is expected


def test_block_lists(tmp_path):
    path = tmp_path / "blocked"
    path.write_text("# bad ones\nSpam.test\n0.0.0.0 ads.other.test # as in a hosts file\n\n")
    wanted = UrlFilter(CrawlSettings(blocklist=str(path)))
    for url in ("http://spam.test/", "http://www.spam.test/x", "http://ads.other.test/"):
        assert not wanted.accepts(parse_address(url))
    for url in ("http://notspam.test/", "http://other.test/", "http://test/"):
        assert wanted.accepts(parse_address(url))
    with pytest.raises(SettingsError, match="nowhere"):
        UrlFilter(CrawlSettings(blocklist=str(tmp_path / "nowhere")))


def test_filters_bound_a_crawl(server, fast, fake_web, tmp_path):
    host = fake_web.truth().pages[0].url.split("/")[2]
    Crawler(tmp_path / "data", fast(hosts=(host,)), [f"http://{host}/"]).run()
    hosts = {url.split("/")[2] for url in server.requests().counts}
    assert hosts == {host}


def test_a_crawl_can_be_paused_resumed_and_stopped(server, fast, fake_web, tmp_path, monkeypatch):
    monkeypatch.setattr("periplus.crawl.crawler._REPORT_SECONDS", 0.01)
    data = tmp_path / "data"
    with pytest.raises(BadInput, match="No crawl is running"):
        send_command(data, "pause")
    crawler = Crawler(data, fast(), fake_web.seeds)
    crawler.step()
    send_command(data, "pause")
    while not crawler._paused or crawler._fetcher.busy():
        assert crawler.step()
    before = server.requests().total
    for _ in range(3):
        assert crawler.step()
    assert server.requests().total == before
    text = (data / "crawl" / "metrics.prom").read_text()
    assert f"periplus_crawl_pages_total {crawler.statistics().pages:g}\n" in text
    send_command(data, "resume")
    while server.requests().total == before:
        assert crawler.step()
    threading.Timer(0.01, send_command, (data, "stop")).start()
    end = time.monotonic() + 30
    while crawler.step() and time.monotonic() < end:
        pass
    assert crawler._stops or crawler.statistics().waiting == 0
    crawler.close()
    with pytest.raises(BadInput, match="No crawl is running"):
        send_command(data, "stop")
    with pytest.raises(BadInput, match="dance"):
        send_command(data, "dance")


def poll_now(crawler: Crawler) -> None:
    crawler._polled = 0.0
    crawler._poll_control()
    crawler._write_status(crawler._status_now())


def test_what_a_crawl_says_of_itself(server, fast, fake_web, tmp_path):
    data = tmp_path / "data"
    control = CrawlControl(data)
    assert control.status() == {"running": False, "state": "none"}
    with Crawler(data, fast(pages=20), fake_web.seeds) as crawler:
        assert control.status()["running"]
        control.pause()
        poll_now(crawler)
        assert control.status()["state"] == "paused"
        control.resume()
        poll_now(crawler)
        assert control.status()["state"] == "running"
        control.stop()
        crawler.run()
        pages = crawler.statistics().pages
    found = control.status()
    assert (found["running"], found["state"], found["pages"]) == (False, "stopped", pages)
    for word in (control.pause, control.resume, control.stop):
        with pytest.raises(BadInput, match="No crawl is running"):
            word()
    with pytest.raises(BadInput, match="No crawl with shards is running"):
        control.resize(2)
    for shards in (0, -1, 65, 10**9):
        with pytest.raises(BadInput, match="1 to 64"):
            control.resize(shards)


def test_what_a_killed_crawl_left_deceives_nobody(server, fast, fake_web, tmp_path):
    """A status that says 'running', a lock file and a word for it are there; the process is not."""
    data = tmp_path / "data"
    Crawler(data, fast(pages=5), fake_web.seeds).run()
    control = CrawlControl(data)
    for process in (2**22 + 1, os.getpid(), 2**70):
        left = {"process": process, "state": "running", "statistics": _figures(control), "when": 1.0}
        (data / "crawl" / "status.json").write_bytes(msgspec.json.encode(left) if process < 2**63 else b"{torn")
        (data / "crawl" / ".supervisor.lock").write_text(str(process))
        (data / "crawl" / "control").write_text("pause")
        assert not control.status()["running"]
        with pytest.raises(BadInput, match="No crawl is running"):
            control.pause()
    crawler = Crawler(data, fast(pages=10))
    crawler.run()
    assert crawler.statistics().pages == 10


def _figures(control: CrawlControl) -> dict:
    return {k: v for k, v in control.status().items() if k not in ("running", "state", "when")}
