"""Builds beside steady publishing: each gets its turn, and what is published meanwhile is found afterwards."""

import threading
import time
from pathlib import Path

import pytest

from conditions import wait_until
from periplus.app import build_graph_and_index
from periplus.app.observer import SilentObserver
from periplus.errors import FolderInUse
from periplus.files import lock_folder
from periplus.publish import Inbox, background_publisher, make_published_record
from periplus.records import FetchRecord, Query
from periplus.search import Searcher
from periplus.settings import Settings


def _page(number: int) -> FetchRecord:
    """Return a page that is no duplicate of any other."""
    words = " ".join(f"word{number}x{count}" for count in range(20))
    return make_published_record(f"Tides {number}", f"High water. {words}", f"https://coast.test/{number}")


class _Messages(SilentObserver):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def test_builds_get_their_turn_beside_steady_publishing(tmp_path: Path) -> None:
    (tmp_path / "periplus.json").write_text('{"format": 1}')
    inbox, ended, numbers = Inbox(tmp_path), threading.Event(), iter(range(1_000_000))
    published: list[str] = []

    def publish() -> None:
        while not ended.wait(0.02):
            record = _page(next(numbers))
            inbox.add_record(record)
            published.append(record.url)

    thread = threading.Thread(target=publish)
    with background_publisher(tmp_path, Settings()):
        thread.start()
        wait_until((tmp_path / "store").exists)
        for _ in range(3):
            before = len(published)
            build_graph_and_index(tmp_path, Settings(), wait=120.0)
            wait_until(lambda: len(published) > before)  # noqa: B023
        ended.set()
        thread.join()
        wait_until(lambda: not list((tmp_path / "inbox").iterdir()))
    page = Searcher.open(tmp_path, Settings()).search(Query("water"))
    assert page.total == len(published)


def test_a_build_says_for_whom_it_waits_and_for_how_long(tmp_path: Path) -> None:
    (tmp_path / "periplus.json").write_text('{"format": 1}')
    (tmp_path / "store").mkdir()
    observer = _Messages()
    began = time.monotonic()
    with lock_folder(tmp_path, "index", "publishing"), pytest.raises(FolderInUse, match="publishing"):
        build_graph_and_index(tmp_path, Settings(), observer, wait=0.3)
    assert time.monotonic() - began >= 0.3
    assert any("Waiting" in line and "publishing" in line for line in observer.lines)
