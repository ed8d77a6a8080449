"""What an operator can see: a line for each request, the queue of a host, why nothing is fetched."""

import re
from pathlib import Path

import msgspec
import pytest
from scripted_web import ScriptedWeb

from periplus.app import queue_of_host
from periplus.cli.crawl_view import crawl_block, echo_queue, echo_status
from periplus.crawl import Crawler
from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.inspection.crawl_log import CrawlLog
from periplus.errors import NothingHere
from periplus.records import FetchRecord, FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address

LINE = re.compile(r"(\S+Z) +(\d+) +(\d+) (\S+) ([LRP]+|-) (\S+) (\S+) (\S+) (\d+)ms (\S+)")


def lines_of(path: Path) -> list[tuple[str, ...]]:
    matches = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
    assert all(matches), path.read_text()
    return [match.groups() for match in matches if match]


def test_every_request_has_its_line(scripted: ScriptedWeb, tmp_path: Path) -> None:
    scripted.put("http://a.test/", "<p>home<a href=/b>b</a><a href=/gone>g</a><a href=/old>o</a>")
    scripted.put("http://a.test/b", "<p>second page")
    scripted.put("http://a.test/old", "", status=301, Location="/new")
    scripted.put("http://a.test/new", "<p>moved here")
    Crawler(tmp_path / "data", scripted.settings(tmp_path, "a.test"), ["http://a.test/"]).run()
    lines = lines_of(tmp_path / "data" / "crawl" / "crawl.log")
    seen = {line[3]: (line[1], line[4], line[5], line[6], line[7]) for line in lines}
    home = "http://a.test/"
    assert seen == {
        "http://a.test/robots.txt": ("404", "P", "-", "-", "gone"),
        home: ("200", "-", "-", "text/html", "ok"),
        "http://a.test/b": ("200", "L", home, "text/html", "ok"),
        "http://a.test/gone": ("404", "L", home, "-", "gone"),
        "http://a.test/old": ("301", "L", home, "-", "redirect"),
        "http://a.test/new": ("200", "LR", "http://a.test/old", "text/html", "ok"),
    }


def test_the_end_of_a_run_is_saved_once(scripted: ScriptedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted.put("http://a.test/", "<p>home")
    saved: list[int] = []
    save = CrawlState.save
    monkeypatch.setattr(
        CrawlState, "save", lambda self, visits, *values: saved.append(visits) or save(self, visits, *values)
    )
    data, settings = tmp_path / "data", scripted.settings(tmp_path, "a.test")
    assert Crawler(data, settings, ["http://a.test/"]).run().pages == 1
    assert saved == [0, 1]
    with Crawler(data, settings) as crawler:  # without a run, closing saves what steps have done
        crawler.step()
    assert saved == [0, 1, 1, 1]


def test_the_log_is_bounded_and_survives_a_bad_disk(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, 1)
    request = FetchRequest(parse_address("http://a.test/" + "x" * 900), 900)
    record = FetchRecord(request.address.url, request.address.key, Outcome.TIMEOUT, 1e9)
    for _ in range(3_000):
        log.add(request, record)
        log.flush()
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert (len(sizes), sum(sizes) <= 1_000_000) == (2, True)
    log.note_links([FetchRequest(parse_address(f"http://a.test/{n}")) for n in range(1_000)], "http://a.test/")
    missing = CrawlLog(tmp_path / "not-there", 1)
    missing.add(request, record)
    missing.flush()
    CrawlLog(tmp_path / "off", 0).add(request, record)


def test_the_queue_and_what_is_waited_for(
    scripted: ScriptedWeb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted.put("http://a.test/robots.txt", "User-agent: *\nCrawl-delay: 500\n", "text/plain")
    settings = scripted.settings(tmp_path, "a.test")
    settings = msgspec.structs.replace(settings, frontier=FrontierSettings(delay=0, delay_factor=0))
    data = tmp_path / "data"
    with Crawler(data, settings, ["http://a.test/", "http://a.test/2"]) as crawler:
        while not crawler.statistics().idle:
            crawler.step()
        idle = crawler.statistics()
        crawler.checkpoint()
        queue = queue_of_host(data, settings, "A.test")
        status = crawler.statistics()
    assert re.fullmatch(r"2 URLs wait for a\.test, next in \d+ s, its Crawl-delay is 500 s", idle.idle)
    assert idle.idle[:20] in crawl_block(status)
    assert (queue.state, queue.waiting, queue.crawl_delay) == ("scheduled", 2, 500.0)
    assert {entry.url for entry in queue.urls} == {"http://a.test/", "http://a.test/2"}
    echo_queue(queue)
    echo_status(data, {"state": "running", "running": True, **msgspec.to_builtins(status)})
    shown = capsys.readouterr().out
    assert "a.test is scheduled: 2 URLs waiting, next in " in shown
    assert "Nothing is being fetched: 2 URLs wait for a.test" in shown
    with pytest.raises(NothingHere, match=r"nowhere\.test"):
        queue_of_host(data, settings, "nowhere.test")
