"""Documents of a crawl that are parsed in other processes, while the crawl goes on fetching."""

import time
from pathlib import Path
from typing import Final, NamedTuple

from periplus.crawl.documents.parse_journal import ParseJournal
from periplus.crawl.fetch_records import DuplicateTable
from periplus.hashing import fingerprint
from periplus.parse import ParsedDocument, ParseJob, ParserPool, needs_process
from periplus.records import Address, FetchResult
from periplus.settings import Settings

__all__ = ["DocumentParser", "PendingDocument"]

INTERRUPTED: Final = "was being parsed when the crawl ended"
_FAILED_BEFORE: Final = "has the content of a document that failed before"
_MAX_BYTES: Final = 64 << 20
_MAX_DOCUMENTS: Final = 256
"""Documents that wait, and their size, beyond which no request is started."""
_LONG: Final = 2.0
"""Seconds after which a document that is still being parsed at the end of a crawl counts as failed."""


class PendingDocument(NamedTuple):
    """A document that is being parsed, or was."""

    result: FetchResult
    as_list: bool
    content: int
    """Fingerprint of the body."""
    parsed: ParsedDocument | None = None


class DocumentParser:
    """The processes that parse for one crawl, and the journal of what they are given."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._settings = settings.parse
        self._forms = settings.crawl.forms > 0
        self._journal = ParseJournal(folder / "parsing.journal")
        self._pool = ParserPool(settings.parse, self)
        self._pending: dict[int, PendingDocument] = {}
        self._since: dict[int, float] = {}
        self._bytes = 0
        self._done: list[PendingDocument] = []

    def fileno(self) -> int:
        """Return a descriptor that is readable when a process has something to say."""
        return self._pool.fileno()

    def busy(self) -> int:
        """Return the number of documents under way."""
        return len(self._pending) + len(self._done)

    def is_full(self) -> bool:
        """Return whether so many documents wait that no more should be fetched."""
        return self._bytes > _MAX_BYTES or len(self._pending) > _MAX_DOCUMENTS

    def submit(self, result: FetchResult, as_list: bool, duplicates: DuplicateTable) -> bool:
        """Have a document parsed; return False for one that is parsed here, or is a duplicate of a stored one."""
        if not result.body or not needs_process(result, as_list):
            return False
        content = fingerprint(result.body)
        if not as_list and duplicates.find_duplicate(content, result.request.address.url):
            return False
        document = PendingDocument(result, as_list, content)
        if self._journal.has_failed(content):
            self._done.append(document._replace(parsed=ParsedDocument(0, None, _FAILED_BEFORE)))
            return True
        number = self._pool.submit(ParseJob(result, self._settings, as_list, self._forms))
        self._pending[number] = document
        self._bytes += len(result.body)
        return True

    def poll(self, timeout: float = 0.0) -> list[PendingDocument]:
        """Return the documents that are parsed, or failed; wait up to `timeout` seconds for one."""
        for parsed in self._pool.poll(0.0 if self._done else timeout) if self._pending else ():
            document = self._pending.pop(parsed.number)
            self._since.pop(parsed.number, None)
            self._bytes -= len(document.result.body)
            failed = parsed.page is None and parsed.fault != ""
            self._journal.end(document.result.request.address.key, document.content, time.time(), failed)
            self._done.append(document._replace(parsed=parsed))
        done, self._done = self._done, []
        return done

    def wait(self, timeout: float) -> None:
        """Wait until a document is parsed."""
        parsed = self.poll(timeout)
        self._done += parsed

    def pop_interrupted(self, address: Address) -> bool:
        """Return whether a document of this URL was being parsed when the crawl ended, and is not to be fetched now."""
        return self._journal.pop_interrupted(address.key, time.time()) is not None

    def started(self, number: int) -> None:
        """Record that a document is about to be parsed."""
        document = self._pending[number]
        self._since[number] = time.monotonic()
        self._journal.begin(document.result.request.address.key, document.content, time.time())

    def slow(self, number: int) -> None:
        """Record that a document takes long."""
        document = self._pending[number]
        self._journal.mark_slow(document.result.request.address.key, document.content, time.time())

    def sync(self) -> None:
        """Bring the journal to the disk."""
        self._journal.sync()

    def close(self) -> None:
        """End the processes. A document that has been parsed for long by now is not fetched again; others are."""
        now = time.monotonic()
        for number in self._pool.close():
            document = self._pending[number]
            if now - self._since.get(number, now) < _LONG:
                self._journal.end(document.result.request.address.key, document.content, time.time(), failed=False)
        self._journal.close()
