"""The inbox under faults: nothing acknowledged is lost, one bad file holds up nobody, and failures are reported."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conditions import wait_until
from periplus.errors import BadInput, BadUrl, DiskFailed, Overloaded
from periplus.health import part
from periplus.index import LiveIndex
from periplus.index.index_manifest import read_manifest
from periplus.publish import Inbox, background_publisher, make_published_record, publish_pending
from periplus.records import FetchRecord
from periplus.settings import Settings
from periplus.store import PageStore


def page(number: int, version: str = "first") -> FetchRecord:
    return make_published_record(f"Page {number}", f"The {version} text.", f"https://coast.test/{number}")


def stored_urls(folder: Path) -> list[str]:
    with PageStore.open(folder / "store", Settings().store) as store:
        return [record.url for record in store.records()]


def stored_texts(folder: Path) -> list[str]:
    with PageStore.open(folder / "store", Settings().store) as store:
        return [record.page.text for record in store.records() if record.page is not None]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "inbox").iterdir())


class Disk:
    """Makes files of the inbox unreadable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error = 0
        self.part = ""
        before = Path.open

        def opened(path: Path, *arguments: Any, **named: Any) -> Any:
            if self.error and path.parent.name == "inbox" and self.part in path.name:
                raise OSError(self.error, os.strerror(self.error), str(path))
            return before(path, *arguments, **named)

        monkeypatch.setattr(Path, "open", opened)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.EIO, errno.EACCES])
def test_what_cannot_be_read_is_not_damaged_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr("periplus.publish.inbox._RETRY_SECONDS", 0.0)
    inbox, disk = Inbox(tmp_path), Disk(monkeypatch)
    for count in range(3):
        inbox.add_record(page(count))
    before = names(tmp_path)
    disk.error = number
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        try:
            assert publish_pending(live, inbox) == 0
        except DiskFailed:
            assert number in (errno.EMFILE, errno.ENOMEM)
        assert names(tmp_path) == before
        disk.error = 0
        assert publish_pending(live, inbox) == 3
    disk.error = number
    try:
        assert not inbox.move_to_store(Settings().store)
    except DiskFailed:
        assert number in (errno.EMFILE, errno.ENOMEM)
    assert len(names(tmp_path)) == 3
    disk.error = 0
    assert inbox.move_to_store(Settings().store)
    assert stored_urls(tmp_path) == [page(count).url for count in range(3)]


def test_one_unreadable_file_holds_up_nobody_and_is_reported(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(page(1))
    (tmp_path / "inbox" / f"{0:020d}-{page(2).key:016x}.new").mkdir()  # reading a folder fails
    inbox.add_record(page(3))
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        assert publish_pending(live, inbox) == 2
    assert inbox.statistics().pending == 1
    assert not inbox.has_pending(), "it is tried again later"
    assert part("inbox").health.is_failing()
    assert f"{page(2).key:016x}" in part("inbox").health.error
    (tmp_path / "inbox" / f"{0:020d}-{page(2).key:016x}.new").rmdir()
    assert list(inbox.pending_records()) == []
    assert not part("inbox").health.is_failing()


def test_an_earlier_version_that_becomes_readable_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("periplus.publish.inbox._RETRY_SECONDS", 0.0)
    inbox, disk = Inbox(tmp_path), Disk(monkeypatch)
    inbox.add_record(page(1, "first"))
    disk.part, disk.error = names(tmp_path)[0], errno.EIO
    inbox.add_record(page(1, "second"))
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        assert publish_pending(live, inbox) == 1
        disk.error = 0
        assert publish_pending(live, inbox) == 0
    assert inbox.move_to_store(Settings().store)
    assert stored_texts(tmp_path) == ["The second text."]
    assert [name[-9:] for name in names(tmp_path)] == [".replaced"]


def test_a_page_that_cannot_be_indexed_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(tmp_path)
    for count in range(3):
        inbox.add_record(page(count))
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        add = live.add

        def fail_for_one(record: FetchRecord, number: int = 0) -> None:
            if record.url == page(1).url:
                raise ZeroDivisionError("a defect")
            add(record, number)

        monkeypatch.setattr(live, "add", fail_for_one)
        assert publish_pending(live, inbox) == 2
    assert inbox.statistics() == (1, 2, 0)


_EXHAUSTED = """
import os, resource, sys, threading, time
from pathlib import Path
from periplus.health import part
from periplus.publish import Inbox, background_publisher, make_published_record
from periplus.settings import Settings

folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
inbox = Inbox(folder)
with background_publisher(folder, Settings()):
    inbox.add_record(make_published_record("Warm", "Warm."))
    while (folder / "inbox").exists() and any((folder / "inbox").iterdir()):
        time.sleep(0.01)
    for number in range(40):
        inbox.add_record(make_published_record(f"Page {number}", "Text.", f"https://coast.test/{number}"))
        if number == 20:
            hoard = []
            try:
                while True:
                    hoard.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                while not part("publisher").health.failures and not part("index-publish").health.failures:
                    time.sleep(0.01)
            for descriptor in hoard:
                os.close(descriptor)
    while inbox.statistics()[:2] != (0, 0):
        time.sleep(0.01)
"""


def test_nothing_is_lost_when_descriptors_run_out(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _EXHAUSTED, str(tmp_path)], check=True, timeout=300)
    urls = {page(number).url for number in range(40)}
    assert urls <= set(stored_urls(tmp_path))
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        assert all(live._has_document(page(number).key) for number in range(40))


def test_the_publisher_survives_any_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [ZeroDivisionError("a defect"), OSError(errno.EMFILE, "Too many open files"), MemoryError()]

    def fail_at_first(live: LiveIndex, inbox: Inbox) -> int:
        if failures:
            raise failures.pop()
        return publish_pending(live, inbox)

    monkeypatch.setattr("periplus.publish.publisher.publish_pending", fail_at_first)
    restarts = part("publisher").health.restarts
    inbox = Inbox(tmp_path)
    inbox.add_record(page(1))
    with background_publisher(tmp_path, Settings()):
        wait_until(lambda: not names(tmp_path))
        wait_until(lambda: not part("publisher").health.is_failing())
    assert part("publisher").health.restarts == restarts + 3
    assert "a defect" in caplog.text
    assert "Traceback" in caplog.text
    assert stored_urls(tmp_path) == [page(1).url]


def test_publishing_never_ends_beside_a_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.publish.inbox._MOST", 40)
    inbox = Inbox(tmp_path)
    with PageStore.open(tmp_path / "store", Settings().store, write=True), background_publisher(tmp_path, Settings()):
        for number in range(120):
            wait_until(lambda: accepts(inbox, page(number)))  # noqa: B023
        wait_until(lambda: not names(tmp_path))
    assert stored_urls(tmp_path) == [page(number).url for number in range(120)]


def accepts(inbox: Inbox, record: FetchRecord) -> bool:
    try:
        inbox.add_record(record)
    except Overloaded:
        return False
    return True


def test_a_large_inbox_is_not_listed_at_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for number in range(2_000):
        (folder / f"{number:020d}-{number:016x}.indexed").touch()
    os.utime(folder, (time.time() - 10, time.time() - 10))
    monkeypatch.setattr("periplus.publish.inbox._COUNT_SECONDS", 1000.0)
    listings: list[Any] = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listings.append(path) or listdir(path))
    inbox = Inbox(tmp_path)
    for _ in range(100):
        inbox.has_pending()
    for number in range(20):
        inbox.add_record(page(number))
    assert len(listings) <= 3


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from periplus.publish import *\n"
        "os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Inbox(Path(sys.argv[1])).add_record(make_published_record('x', 'y'))\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    assert len(names(tmp_path)) == 1
    assert list(Inbox(tmp_path).pending_records()) == []
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "https://a.test/" + "a" * 1_000_000),
        ("title", "a" * 1_001),
        ("description", "a" * 2_001),
        ("author", "a" * 201),
        ("date", "a" * 41),
        ("language", "a" * 41),
        ("tags", ("a",) * 100_000),
        ("tag", ("a" * 101,)),
        ("title", "a\x00b"),
        ("content", "a\x00b"),
        ("author", "a\x1bb"),
        ("tags", ("a\x00b",)),
    ],
)
def test_a_field_beyond_its_bound_is_named(field: str, value: Any) -> None:
    fields = {"title": "Tides", "text": "High water."}
    fields[{"content": "text", "tag": "tags"}.get(field, field)] = value
    with pytest.raises(BadInput, match=field) as raised:
        make_published_record(**fields)
    assert not isinstance(raised.value, BadUrl)
    assert len(str(raised.value)) < 200


def test_pages_whose_publication_failed_at_the_end_are_searchable_without_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inbox is empty by then, so nothing else would open the index again."""
    monkeypatch.setattr("periplus.publish.publisher._IDLE_SECONDS", 0.1)
    publish, failures = LiveIndex.publish, [OSError(errno.EIO, "I/O error")] * 3

    def fail_at_first(live: LiveIndex) -> bool:
        if failures and live.folder == tmp_path / "index":
            raise failures.pop()
        return publish(live)

    monkeypatch.setattr(LiveIndex, "publish", fail_at_first)
    monkeypatch.setattr("periplus.index.live.live_index._RETRY_SECONDS", 0.01)
    Inbox(tmp_path).add_record(page(1))
    with background_publisher(tmp_path, Settings()):
        wait_until(lambda: not names(tmp_path))
        wait_until(lambda: not failures)
        wait_until(lambda: read_manifest(tmp_path / "index").segments)
        wait_until(lambda: not any(part(name).health.is_failing() for name in ("publisher", "index-publish")))
