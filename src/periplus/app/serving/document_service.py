"""The documents of one data folder that applications send: uploads, tasks, reading and deleting."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from periplus.app.disk_estimates import PublicationRoom
from periplus.errors import BadInput
from periplus.files import DataFolder
from periplus.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from periplus.publish import DocumentUpload, Inbox, UploadReport
    from periplus.records import FetchRecord
    from periplus.search import Searcher
    from periplus.store import StreamDecoder

__all__ = ["DocumentService"]

_DELETE_BATCH: Final = 2_000


class DocumentService:
    """What `/api/documents` does; methods may be called from any thread."""

    def __init__(
        self,
        folder: Path,
        searcher: "Searcher",
        settings: Settings,
        check: "Callable[[], None]" = lambda: None,
        *,
        inbox: "Inbox | None" = None,
        room: PublicationRoom | None = None,
    ) -> None:
        """check: raises `Overloaded` while documents cannot be indexed; inbox, room: not those of the folder itself."""
        from periplus.publish import Inbox

        self._folder = folder
        self._searcher = searcher
        self._settings = settings
        self._check = check
        self._inbox: Inbox = inbox or Inbox(folder)
        self._room = room or PublicationRoom(folder, settings)

    def begin_upload(self, encoding: str, lines: bool) -> "_Upload":
        """Begin an upload; raise `BadInput` for an unknown content encoding."""
        from periplus.index import read_schema
        from periplus.publish import DocumentConverter, DocumentUpload
        from periplus.store import StreamDecoder

        self._check()
        converter = DocumentConverter(read_schema(DataFolder(self._folder).index))
        upload = DocumentUpload(self._inbox, converter, self._room, lines=lines)
        return _Upload(upload, StreamDecoder(encoding), self._settings.serve.documents_mb << 20)

    def pending(self) -> int:
        """Return how many documents are not indexed yet."""
        return self._inbox.pending_documents()

    def task(self, name: str) -> dict[str, Any]:
        """Return how far the documents of an upload are."""
        first, _, last = name.partition("-")
        pending = self._inbox.pending_documents(int(first, 16), int(last, 16))
        return {"task": name, "status": "waiting" if pending else "indexed", "pending": pending}

    def _record(self, identifier: str) -> "FetchRecord | None":
        from periplus.publish import document_address

        address = document_address(identifier)
        return self._inbox.find_record(address.key) or self._searcher.fetch_record(address.key)

    def find(self, identifier: str) -> dict[str, Any] | None:
        """Return a document by its id or URL, also while it waits to be indexed."""
        from periplus.publish import document_object

        record = self._record(identifier)
        return document_object(record) if record is not None else None

    def delete(self, identifier: str) -> bool:
        """Delete a document by its id or URL; return whether there was one."""
        record = self._record(identifier)
        if record is None or record.page is None or not record.page.own_fields:
            return False
        self._inbox.add_batch([_gone(record.url, record.key)])
        return True

    def delete_matching(self, expression: str) -> dict[str, Any]:
        """Delete the documents of the index that a filter selects."""
        self._check()
        found = self._searcher.documents_matching(expression)
        numbers = []
        for begin in range(0, len(found), _DELETE_BATCH):
            batch = [_gone(url, key) for key, url in found[begin : begin + _DELETE_BATCH]]
            numbers.append(self._inbox.add_batch(batch))
        task = f"{numbers[0]:016x}-{numbers[-1]:016x}" if numbers else ""
        return {"deleted": len(found), "task": task}


class _Upload:
    """One upload: decoded, then split into documents."""

    def __init__(self, upload: "DocumentUpload", decoder: "StreamDecoder", most: int) -> None:
        self._upload = upload
        self._decoder = decoder
        self._left = most

    def feed(self, data: bytes) -> None:
        """Read the next bytes of the body."""
        for piece in self._decoder.feed(data):
            self._left -= len(piece)
            if self._left < 0:
                raise BadInput("The upload is too long once it is decompressed.", "Send it in several parts.")
            self._upload.feed(piece)

    def finish(self) -> dict[str, Any]:
        """Read what is left; return what became of the documents."""
        report = self._upload.finish()
        self._decoder.finish()  # last: what came before a body was cut off is taken
        return _as_answer(report)

    def report(self) -> dict[str, Any]:
        """Return what became of the documents so far."""
        return _as_answer(self._upload.report())


def _as_answer(report: "UploadReport") -> dict[str, Any]:
    return {
        "taken": report.taken,
        "failed": report.failed,
        "errors": [{"line": error.line, "error": error.error} for error in report.errors],
        "task": report.task,
        "complete": True,
    }


def _gone(url: str, key: int) -> "FetchRecord":
    from periplus.records import FetchRecord, Outcome

    return FetchRecord(url, key, Outcome.GONE, time.time(), 410)
