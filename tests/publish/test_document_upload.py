"""Uploads of documents: when they end."""

import threading
import time
from pathlib import Path

import pytest

from periplus.publish import DocumentConverter, DocumentUpload, Inbox, document_upload


class Room:
    """There is always room."""

    def require(self, size: int) -> None:
        """Never raise."""


def upload_of(inbox: Inbox, documents: int) -> DocumentUpload:
    upload = DocumentUpload(inbox, DocumentConverter({}), Room(), lines=True)
    upload.feed(b"".join(b'{"id": "%d", "text": "some words"}\n' % number for number in range(documents)))
    return upload


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_upload, "_BATCH_DOCUMENTS", 100)


def test_a_large_upload_ends_when_little_of_it_is_left_to_index(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    upload = upload_of(inbox, 1_000)
    stopped = threading.Event()

    def index() -> None:
        own = Inbox(tmp_path)
        while not stopped.wait(0.05):
            for path, records in own.pending_records():
                own.mark_indexed(path, records)
                break

    indexer = threading.Thread(target=index)
    indexer.start()
    report = upload.finish()
    left = inbox.pending_documents(int(report.task[:16], 16), int(report.task[17:], 16))
    stopped.set()
    indexer.join()
    assert report.taken == 1_000
    assert left <= 100


def test_an_upload_does_not_wait_for_an_index_that_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_upload, "_REST_PATIENCE", 0.1)
    inbox = Inbox(tmp_path)
    assert upload_of(inbox, 1_000).finish().taken == 1_000
    assert inbox.pending_documents() == 1_000


def test_few_documents_wait_for_nothing(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path)
    upload_of(inbox, 1_000)
    upload = upload_of(inbox, 50)
    began = time.monotonic()
    assert upload.finish().taken == 50
    assert time.monotonic() - began < 1.0
