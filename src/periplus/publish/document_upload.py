"""An upload of documents: its bytes to batches in the inbox, in bounded memory; what is wrong is named by its line.

Whoever reads the upload calls `feed` with each piece, which may wait until earlier batches are indexed: so what is
acknowledged is searchable soon after, however fast it is sent. So does `finish`, for an upload of several batches.
"""

import time
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

import numpy as np

from periplus.errors import BadInput, Overloaded
from periplus.publish import kernels
from periplus.publish.documents import DocumentConverter
from periplus.publish.inbox import Inbox
from periplus.records import FetchRecord

__all__ = ["DocumentUpload", "LineError", "UploadReport"]

_MAX_DOCUMENT: Final = 4 << 20
"""Bytes of one document as JSON."""
_MAX_ERRORS: Final = 100
"""Errors that are reported; further ones are counted."""
_BATCH_DOCUMENTS: Final = 1_024
_BATCH_BYTES: Final = 4 << 20
_SCAN_BYTES: Final = 1 << 18
_SPANS: Final = 4_096
_AHEAD_SECONDS: Final = 1.0
"""What may wait to be indexed before more is taken: as much as is indexed in this time."""
_LEAST_AHEAD, _MOST_BYTES_AHEAD = 16 << 20, 64 << 20
"""Bytes that may wait, however slow or fast they are indexed: a round that is being indexed counts, and the next one
has to be there when it ends."""
_PACE_SECONDS: Final = 0.25
"""How often the speed of the index is measured."""
_MOST_AHEAD: Final = 200_000
"""Documents that may wait where nothing is indexed at present, such as during a build."""
_PATIENCE: Final = 2.0
"""Seconds to wait for the index, for each batch."""
_POLL_SECONDS: Final = 0.02
_REST_SECONDS: Final = 0.4
"""What may be left to index when a large upload ends: as much as is indexed in this time."""
_REST_PATIENCE: Final = 5.0
"""Seconds to wait for that while nothing of the upload is indexed: on a busy machine, a round takes more than two."""


class LineError(NamedTuple):
    """What is wrong with one document of an upload."""

    line: int
    """Its line; in an array, its number from 1."""
    error: str


class UploadReport(NamedTuple):
    """What became of an upload."""

    taken: int
    failed: int
    errors: tuple[LineError, ...]
    task: str
    """Names what was taken: see `Inbox.task_pending`; '' if nothing was."""


class Room(Protocol):
    """Whether what is published fits into the disk limit."""

    def require(self, size: int) -> None:
        """Raise `StorageFull` unless so many bytes fit."""


class DocumentUpload:
    """One upload. lines: whether it is JSON lines, and not an array or objects one after the other."""

    def __init__(self, inbox: Inbox, converter: DocumentConverter, room: Room, *, lines: bool) -> None:
        self._inbox = inbox
        self._converter = converter
        self._room = room
        self._lines = lines
        self._buffer = bytearray()
        self._next_scan = _SCAN_BYTES
        self._where = kernels.BEFORE
        self._spans = np.zeros((_SPANS, 2), np.int64)
        self._line = 0
        self._skipping = False
        self._batch: dict[int, FetchRecord] = {}
        self._batch_bytes = 0
        self._taken = self._failed = 0
        self._errors: list[LineError] = []
        self._names: list[int] = []
        self._sent, self._began = 0, time.monotonic()
        """Bytes that are in the inbox, or were, and since when."""
        self._pace = _Pace()
        self._deleted = inbox.deletions.keys()
        """Read again with every batch; the publisher applies what is deleted later."""

    def feed(self, data: bytes) -> None:
        """Read the next piece. Raise `Overloaded` or `StorageFull`; what was taken before stays taken."""
        self._buffer += data
        if len(self._buffer) >= self._next_scan:
            self._scan(final=False)
            self._next_scan = max(_SCAN_BYTES, 2 * len(self._buffer))

    def finish(self) -> UploadReport:
        """Read what is left; all that was taken is durable when this returns."""
        self._scan(final=True)
        self._flush()
        if len(self._names) > 1:
            self._settle()
        return self.report()

    def report(self) -> UploadReport:
        """Return what became of the upload so far."""
        task = f"{self._names[0]:016x}-{self._names[-1]:016x}" if self._names else ""
        return UploadReport(self._taken, self._failed, tuple(self._errors), task)

    def _scan(self, *, final: bool) -> None:
        for raw in self._read_lines(final) if self._lines else self._read_elements(final):
            self._take(raw)

    def _read_lines(self, final: bool) -> Iterator[bytes]:
        """Yield the complete lines of the buffer that are not blank; of a line that is too long, nothing is kept."""
        *lines, rest = bytes(self._buffer).split(b"\n")
        if final:
            lines.append(rest)
            rest = b""
        self._buffer = bytearray(rest)
        for line in lines:
            self._line += 1
            if self._skipping:
                self._skipping = False
            elif line.strip():
                yield line
        if len(self._buffer) > _MAX_DOCUMENT:
            if not self._skipping:
                self._fail(f"It has more than {_MAX_DOCUMENT:,} bytes.", self._line + 1)
            self._skipping = True
            self._buffer.clear()

    def _read_elements(self, final: bool) -> Iterator[bytes]:
        """Yield the complete elements of the buffer."""
        data, count = bytes(self._buffer) + b"\n" * final, _SPANS
        raw = np.frombuffer(data, np.uint8)
        at = 0
        while count == _SPANS:
            count, done, self._where = kernels.scan_elements(raw[at:], self._where, self._spans)
            for begin, end in self._spans[:count].tolist():
                self._line += 1
                yield data[at + begin : at + end]
            at += done
        self._buffer = bytearray(data[at:])
        if final and self._buffer.strip():
            self._line += 1
            self._fail("The body ends within this document.", self._line)
        elif len(self._buffer) > _MAX_DOCUMENT:
            hint = "Send JSON lines: others are taken then."
            raise BadInput(f"A document has more than {_MAX_DOCUMENT:,} bytes.", hint)

    def _take(self, raw: bytes) -> None:
        """Convert one document."""
        if len(raw) > _MAX_DOCUMENT:
            self._fail(f"It has more than {_MAX_DOCUMENT:,} bytes.", self._line)
            return
        try:
            record = self._converter.convert(raw)
            if record.key in self._deleted:
                self._inbox.check_deleted(record)
        except BadInput as error:
            self._fail(error.message, self._line)
            return
        self._batch[record.key] = record
        self._batch_bytes += len(raw)
        self._taken += 1
        if len(self._batch) >= _BATCH_DOCUMENTS or self._batch_bytes >= _BATCH_BYTES:
            self._flush()

    def _fail(self, message: str, line: int) -> None:
        self._failed += 1
        if len(self._errors) < _MAX_ERRORS:
            self._errors.append(LineError(line, message))

    def _flush(self) -> None:
        """Put a batch into the inbox, once there is room."""
        if not self._batch:
            return
        batch, size = list(self._batch.values()), self._batch_bytes
        try:
            self._room.require(size)
            self._wait()
            self._names.append(self._inbox.add_batch(batch))
            self._sent += size
            self._pace.add(size)
        except BaseException:
            self._taken -= len(batch)
            raise
        finally:
            self._batch, self._batch_bytes = {}, 0
            self._deleted = self._inbox.deletions.keys()

    def _wait(self) -> None:
        """Wait until earlier batches are indexed; raise `Overloaded` if they are not, and very many wait."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            documents, size = self._inbox.pending_load()
            now = time.monotonic()
            if size <= self._pace.limit(now, size):
                return
            if now > deadline:
                if documents > _MOST_AHEAD:
                    raise Overloaded("Too many documents are waiting to be indexed.", "Try again later.")
                return
            time.sleep(_POLL_SECONDS)

    def _settle(self) -> None:
        """Wait until little of this upload is left to index, as long as any of it is."""
        least, deadline = float("inf"), 0.0
        while True:
            _, size = self._inbox.pending_load(self._names[0], self._names[-1])
            now = time.monotonic()
            if size < least:
                least, deadline = size, now + _REST_PATIENCE
            # The mean of all time: what is indexed disappears in large pieces.
            rate = (self._sent - size) / max(1e-3, now - self._began)
            if size <= rate * _REST_SECONDS or now > deadline:
                return
            time.sleep(_POLL_SECONDS)


class _Pace:
    """How many bytes of batches may wait, by how fast they were indexed so far. It is told the time."""

    def __init__(self) -> None:
        self._rate = 0.0
        self._since = self._size = self._added = 0.0

    def add(self, size: int) -> None:
        """Note that a batch was added."""
        self._added += size

    def limit(self, now: float, waiting: int) -> float:
        """Return how many bytes may wait, given how many do."""
        elapsed = now - self._since
        if elapsed > _PACE_SECONDS:
            if self._since:
                rate = max(0.0, self._size + self._added - waiting) / elapsed
                self._rate = (self._rate + rate) / 2 if self._rate else rate
            self._since, self._size, self._added = now, waiting, 0.0
        return min(_MOST_BYTES_AHEAD, max(_LEAST_AHEAD, self._rate * _AHEAD_SECONDS))
