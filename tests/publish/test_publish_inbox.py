"""Published pages: acknowledged on disk, found soon, in the store when it is free, never lost."""

import time
from pathlib import Path
from typing import Any

import pytest

from index.made_pages import visit
from periplus.errors import BadUrl, Overloaded
from periplus.files import lock_folder
from periplus.index import Index, LiveIndex, build_index
from periplus.index.live import live_index
from periplus.publish import (
    DocumentConverter,
    Inbox,
    background_publisher,
    make_published_record,
    publish_all,
    publish_pending,
)
from periplus.records import FetchRecord, Outcome, Query
from periplus.search import Searcher
from periplus.settings import Settings
from periplus.store import PUBLICATION_SHARD, PageStore, shard_folder
from periplus.writer_queue import queue_for_lock

TIDES = make_published_record("Tides", "High water at noon.", "https://coast.test/tides?utm_source=x#y", tags=("moon",))


def found(folder: Path, words: str) -> list[str]:
    return [hit.url for hit in Searcher.open(folder, Settings(), may_be_empty=True).search(Query(words)).hits]


def test_a_page_becomes_a_visit() -> None:
    assert (TIDES.url, TIDES.outcome) == ("https://coast.test/tides", Outcome.OK)
    own = make_published_record("Ours", "Said here only.")
    assert own.url.startswith("https://published.invalid/")
    assert own.url == make_published_record("Ours", "Said here only.").url
    assert own.key != make_published_record("Ours", "Said here, too.").key
    with pytest.raises(BadUrl):
        make_published_record("x", "y", "javascript:alert(1)")


def test_pages_go_from_the_inbox_into_index_and_store(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(TIDES)
    assert inbox.has_pending()
    assert inbox.find_record(TIDES.key) == TIDES
    with LiveIndex(tmp_path / "index", Settings().index) as live:
        assert publish_pending(live, inbox) == 1
        assert publish_pending(live, inbox) == 0
    assert found(tmp_path, "moon noon") == [TIDES.url]
    assert inbox.move_to_store(Settings().store)
    assert list((tmp_path / "inbox").iterdir()) == []
    with PageStore.open(tmp_path / "store", Settings().store) as store:
        assert [one.url for one in store.records()] == [TIDES.url]


def test_a_page_taken_back_is_gone(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(TIDES)
    inbox.withdraw_page("https://coast.test/tides")
    with LiveIndex(tmp_path / "index", Settings().index) as live:
        assert publish_pending(live, inbox) == 2
    assert found(tmp_path, "noon") == []


def test_pages_wait_for_the_store_and_survive_a_new_index(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(TIDES)
    with LiveIndex(tmp_path / "index", Settings().index) as live:
        publish_pending(live, inbox)
    with PageStore.open(shard_folder(tmp_path / "store", PUBLICATION_SHARD), Settings().store, write=True):
        assert not inbox.move_to_store(Settings().store)
    build_index([visit("https://a.test/", "Amber", "x")], tmp_path / "index", Settings().index)
    assert found(tmp_path, "noon") == []
    inbox.requeue_indexed()
    with LiveIndex(tmp_path / "index", Settings().index) as live:
        publish_pending(live, inbox)
    assert found(tmp_path, "noon") == [TIDES.url]


def test_damaged_files_are_put_aside_and_stop_nobody(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(TIDES)
    path = next((tmp_path / "inbox").iterdir())
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    (tmp_path / "inbox" / "0-short.new").write_bytes(b"x")
    good = make_published_record("Whole", "This one is whole.")
    inbox.add_record(good)
    assert [one.url for _, records in inbox.pending_records() for one in records] == [good.url]
    assert len(list((tmp_path / "inbox").glob("*.damaged"))) == 2


def test_an_inbox_that_nobody_empties_is_full_one_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.publish.inbox._MOST", 2)
    inbox = Inbox(tmp_path)
    inbox.add_record(TIDES)
    inbox.add_record(TIDES)
    with pytest.raises(Overloaded):
        inbox.add_record(TIDES)


def wait_for(folder: Path, words: str) -> list[str]:
    for _ in range(6000):
        if urls := found(folder, words):
            return urls
        time.sleep(0.01)
    return []


def test_a_server_publishes_by_itself_and_lets_go_of_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.publish.publisher._IDLE_SECONDS", 0.2)
    inbox = Inbox(tmp_path)
    with background_publisher(tmp_path, Settings()):
        inbox.add_record(TIDES)
        assert wait_for(tmp_path, "noon") == [TIDES.url]
        for _ in range(6000):
            if not list((tmp_path / "inbox").iterdir()):
                break
            time.sleep(0.01)
        with queue_for_lock(tmp_path, "index", 60.0):
            inbox.add_record(make_published_record("Later", "Said during a build."))
            time.sleep(0.1)
            assert found(tmp_path, "during") == []
        assert wait_for(tmp_path, "during") != []
    with lock_folder(tmp_path, "index"):
        pass


def test_a_document_that_cannot_be_indexed_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = live_index.document_from_record

    def poisoned(record: FetchRecord, *rest: Any) -> Any:
        if record.url.endswith("/7"):
            raise ZeroDivisionError("poison")
        return real(record, *rest)

    monkeypatch.setattr(live_index, "document_from_record", poisoned)
    convert, inbox = DocumentConverter({}).convert, Inbox(tmp_path)
    inbox.add_batch([convert(b'{"id": %d, "title": "Tide %d"}' % (n, n)) for n in range(5)])
    inbox.add_batch([convert(b'{"id": %d, "title": "Tide %d"}' % (n, n)) for n in range(5, 10)])
    publish_all(tmp_path, Settings(), inbox)
    assert Index.open(tmp_path / "index").documents == 9
    assert inbox.pending_documents() == 0
    assert [path.name.partition("-")[2] for path in (tmp_path / "inbox").glob("*.damaged")] == ["batch1.damaged"]
