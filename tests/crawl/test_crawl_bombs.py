"""A web with every bomb: all good pages are stored, every bomb is met once, and nothing exceeds its limit."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from bomb_files import nested_forms
from bomb_web import GOOD_HOST, BombWeb

from periplus.crawl import Crawler, CrawlStatistics, import_warc
from periplus.crawl.documents.parse_journal import ParseJournal, check_journal
from periplus.records import FetchRecord, Outcome
from periplus.settings import ParseSettings, Settings
from periplus.store import PageStore

PARSE = ParseSettings(processes=2, max_memory_mb=192, max_seconds=1.5)
PROGRAM = """
import pathlib, sys
import msgspec
from periplus.crawl import Crawler
from periplus.settings import Settings
settings = msgspec.json.decode(pathlib.Path(sys.argv[2]).read_bytes(), type=Settings)
Crawler(pathlib.Path(sys.argv[1]), settings, sys.argv[3:]).run()
"""


@pytest.fixture
def bomb_web() -> Iterator[Callable[..., BombWeb]]:
    with contextlib.ExitStack() as webs:

        def start(*names: str, pages: int = 4) -> BombWeb:
            web = BombWeb(pages, names)
            webs.callback(web.close)
            return web

        yield start


def crawl(folder: Path, settings: Settings) -> CrawlStatistics:
    return Crawler(folder / "data", settings, [f"http://{GOOD_HOST}/"]).run()


def start_crawl(folder: Path, settings: Settings, memory_gb: int = 0) -> "subprocess.Popen[bytes]":
    """Start a crawl in a process of its own, which may use only so much memory."""
    (folder / "settings.json").write_bytes(msgspec.json.encode(settings))
    limit = memory_gb << 30
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, folder / "data", folder / "settings.json", f"http://{GOOD_HOST}/"],
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) if limit else None,
    )


def missing(web: BombWeb, records: list[FetchRecord]) -> list[str]:
    stored = {record.url for record in records if record.page is not None or record.duplicate_of}
    return [url for url in web.good if url not in stored]


def test_a_small_pdf_that_means_gigabytes_does_not_end_a_crawl(bomb_web, tmp_path, read_stored) -> None:
    web = bomb_web("forms.pdf")
    settings = web.settings(tmp_path, ParseSettings(processes=1, max_memory_mb=128))
    # The limit keeps this machine safe from a crawl that parses it itself.
    assert start_crawl(tmp_path, settings, memory_gb=3).wait() == 0
    records = read_stored(tmp_path / "data", settings)
    assert missing(web, records) == []
    (bomb,) = (record for record in records if record.url in web.bombs)
    assert (bomb.outcome, bomb.page) == (Outcome.PARSE_FAILED, None)
    assert "memory" in bomb.fault


@pytest.mark.slow
def test_every_good_page_of_a_web_of_bombs_is_stored(bomb_web, tmp_path, read_stored) -> None:
    web = bomb_web()
    settings = web.settings(tmp_path, PARSE)
    crawl(tmp_path, settings)
    records = read_stored(tmp_path / "data", settings)
    assert missing(web, records) == []
    by_name = {web.bombs[record.url]: record for record in records if record.url in web.bombs}
    assert set(by_name) == set(web.bombs.values())
    assert by_name["forms.pdf"].outcome is Outcome.PARSE_FAILED
    assert "internal subset" in by_name["sitemap attributes.xml"].fault
    assert "internal subset" in by_name["sitemap attributes.xml.gz"].fault
    assert all(record.page is not None or record.outcome is not Outcome.OK for record in by_name.values())
    requests = Counter(web.web.requests)
    assert {url: requests[url] for url in web.bombs} == dict.fromkeys(web.bombs, 1)
    # What failed stays failed, without another request.
    crawl(tmp_path, settings)
    assert {url: Counter(web.web.requests)[url] for url in web.bombs} == dict.fromkeys(web.bombs, 1)


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def descendants(process: int) -> list[int]:
    try:
        children = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return [*children, *(below for child in children for below in descendants(child))]


def is_slow_recorded(journal: Path) -> bool:
    """Return whether the journal says of a document that it takes long."""
    data = journal.read_bytes() if journal.exists() else b""
    return any(data[offset] == 2 for offset in range(16, len(data) - 39, 40))


def test_a_bomb_that_was_being_parsed_when_all_was_killed_is_not_met_again(bomb_web, tmp_path, read_stored) -> None:
    web = bomb_web("forms.pdf")
    (bomb,) = web.bombs
    patient = web.settings(tmp_path, ParseSettings(processes=2, max_memory_mb=1024, max_seconds=60))
    process = start_crawl(tmp_path, patient)
    wait_until(lambda: is_slow_recorded(tmp_path / "data" / "crawl" / "parsing.journal"))
    children = descendants(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(children) >= 2
    wait_until(lambda: all(map(has_ended, children)))
    settings = web.settings(tmp_path, PARSE)
    crawl(tmp_path, settings)
    records = read_stored(tmp_path / "data", settings)
    assert missing(web, records) == []
    (failed,) = (record for record in records if record.url == bomb)
    assert (failed.outcome, failed.fault) == (Outcome.PARSE_FAILED, "was being parsed when the crawl ended")
    assert web.web.requests.count(bomb) == 1
    # The same bytes at another address are not parsed either.
    web.web.put(f"http://{GOOD_HOST}/copy.pdf", nested_forms(), "application/pdf")
    Crawler(tmp_path / "data", settings, [f"http://{GOOD_HOST}/copy.pdf"]).run()
    (copy,) = (record for record in read_stored(tmp_path / "data", settings) if record.url.endswith("copy.pdf"))
    assert copy.fault == "has the content of a document that failed before"


def test_the_time_of_a_crawl_ends_while_a_document_is_parsed(bomb_web, tmp_path, monkeypatch) -> None:
    web = bomb_web("forms.pdf", pages=1)
    settings = web.settings(tmp_path, ParseSettings(processes=1, max_memory_mb=2048, max_seconds=600), minutes=0.01)
    monkeypatch.setattr("periplus.crawl.crawler._GRACE", 0.1)
    assert crawl(tmp_path, settings).seconds < 30


def test_an_import_goes_on_after_a_bomb(bomb_web, tmp_path, read_stored) -> None:
    web = bomb_web("page.xml")
    settings = web.settings(tmp_path, PARSE)
    crawl(tmp_path, settings)
    bomb = nested_forms()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
    record = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1d8c1a9e-0000-4000-8000-000000000001>\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://bomb.test/forms.pdf\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head + bomb)}\r\n\r\n"
    )
    (tmp_path / "bomb.warc").write_bytes(record.encode() + head + bomb + b"\r\n\r\n")
    warcs = [tmp_path / "bomb.warc", *sorted((tmp_path / "data" / "store").rglob("*.warc*"))]
    with PageStore.open(tmp_path / "other", settings.store, write=True) as store:
        count = import_warc(store, warcs, settings)
        failed = [record for record in store.records(0) if record.outcome is Outcome.PARSE_FAILED]
    assert count.pages == len(web.good)
    assert [record.url for record in failed] == ["http://bomb.test/forms.pdf"]


def test_documents_that_were_begun_at_two_ends_are_not_parsed_again(tmp_path) -> None:
    path = tmp_path / "journal"
    for run in range(2):
        journal = ParseJournal(path)
        assert not journal.has_failed(7)
        assert journal.pop_interrupted(1, 0.0) is None
        journal.begin(1, 7, float(run))
        journal.begin(2, 8, float(run))
        journal.end(2, 8, float(run), failed=False)
        journal.close()
    journal = ParseJournal(path)
    assert journal.has_failed(7)
    assert not journal.has_failed(8)
    assert journal.pop_interrupted(1, 0.0) == 7
    assert journal.pop_interrupted(1, 0.0) is None
    journal.close()
    assert ParseJournal(path).pop_interrupted(1, 0.0) is None


def test_a_damaged_record_of_the_journal_costs_no_other(tmp_path) -> None:
    path = tmp_path / "journal"
    journal = ParseJournal(path)
    for content in range(10):
        journal.end(content, content, 0.0, failed=True)
    journal.close()
    data = bytearray(path.read_bytes())
    data[16 + 40 * 3 + 20] ^= 4
    path.write_bytes(bytes(data) + b"torn")
    journal = ParseJournal(path)
    assert journal.damaged == 1
    journal.close()
    path.write_bytes(bytes(data) + b"torn")
    assert [fault.torn for fault in check_journal(path)] == [False, True]
    data[9] ^= 1
    path.write_bytes(data)
    journal = ParseJournal(path)
    assert journal.damaged == 2
    assert [content for content in range(10) if not journal.has_failed(content)] == [3]
    journal.close()


def test_the_journal_is_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("periplus.crawl.documents.parse_journal._MAX_RECORDS", 50)
    monkeypatch.setattr("periplus.crawl.documents.parse_journal._MAX_FAILED", 20)
    journal = ParseJournal(tmp_path / "journal")
    for content in range(1, 1_000):
        journal.begin(content, content, 0.0)
        journal.end(content, content, 0.0, failed=content % 2 == 0)
    assert os.path.getsize(tmp_path / "journal") <= 16 + 40 * 80
    assert journal.has_failed(998)
    assert not journal.has_failed(2)
    journal.close()
