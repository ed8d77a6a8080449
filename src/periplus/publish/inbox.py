"""Published pages, from their acknowledgement until they are in the store and the index.

    inbox/<nanoseconds>-<key>.new       acknowledged: durable on disk
    inbox/<nanoseconds>-<key>.indexed   indexed, but not yet in the page store
    inbox/<nanoseconds>-<key>.damaged   its checksum is wrong: kept for the operator
    inbox/<nanoseconds>-<key>.replaced  it could not be read, and a later version of the page is indexed
    inbox/<nanoseconds>-batch<n>.new    n documents at once; the same states

Any process may add pages; only the one that holds the index removes them, and only what is durable in the page store.
A file that cannot be read is neither removed nor renamed: it is tried again, less often each time, and the others are
not held up.
"""

import contextlib
import errno
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadInput, CorruptFile, DataError, DiskFailed, FolderInUse, Overloaded
from periplus.files import disk_errors, disk_failure, make_folder, sweep_torn, write_atomically
from periplus.health import part
from periplus.publish.deletions import DeletionList
from periplus.publish.inbox_files import (
    InboxListing,
    batch_name,
    batch_number,
    batch_size,
    encode_batch,
    encode_page,
    read_pages,
)
from periplus.publish.inbox_queue import InboxQueue
from periplus.publish.publication_store import PublicationStore
from periplus.records import FetchRecord, Outcome
from periplus.settings import StoreSettings
from periplus.supervision import Backoff
from periplus.url import parse_address

__all__ = ["Inbox", "InboxStatistics"]

_LOG: Final = logging.getLogger("periplus.publish")
_FOLDER: Final = "inbox"
_MOST: Final = 10_000
"""Pages that may be pending; with more, no process seems to index them."""
_BATCH: Final = 500
"""Files that are moved to the store at once."""
_MOST_INDEXED: Final = 64
"""Indexed files that may wait for the store as long as others wait for the index."""
_KEPT_BYTES: Final = 32 << 20
"""Bytes of documents that stay in memory between the index and the store."""
_STORE_RECORDS: Final = 4_000
"""Records after which no further file is moved to the store at once."""
_COUNT_SECONDS: Final = 1.0
_COUNT_SHARE: Final = 0.05
"""The share of time that counting the pending pages may take; between two counts, added pages are counted only."""
_SWEEP_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 0.5
_MAX_RETRY_SECONDS: Final = 60.0
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""The process or the system lacks something that has nothing to do with the file."""
_UNREADABLE: Final = (OSError, MemoryError, DataError, msgspec.MsgspecError)


class InboxStatistics(NamedTuple):
    """How many pages an inbox has, by state."""

    pending: int
    """Not indexed yet."""
    indexed: int
    """Indexed, not in the store yet."""
    damaged: int


class _Retry:
    """A file that could not be read, and when to try again."""

    def __init__(self) -> None:
        self._backoff = Backoff(_RETRY_SECONDS, _MAX_RETRY_SECONDS)
        self.due = 0.0

    def postpone(self) -> None:
        """Try again later than after the last failure."""
        self.due = time.monotonic() + self._backoff.next_seconds()


class Inbox:
    """The inbox of a data folder. `add_record` and `find_record` may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._data_folder = folder
        self._folder = folder / _FOLDER
        self.deletions = DeletionList(folder)
        """Pages that must not be indexed, whoever publishes them."""
        self._lock = threading.Lock()
        self._last_name = 0
        self._counter, self._counting = InboxListing(self._folder), threading.Lock()
        self._count, self._counted = 0, float("-inf")
        self._statistics = InboxStatistics(0, 0, 0)
        self._listing = InboxListing(self._folder)
        self._queue: deque[str] = deque()
        self.order = InboxQueue()
        """Which of them are next."""
        self._kept: dict[str, list[FetchRecord]] = {}
        """Records of files that are indexed, and not in the store yet, as long as there are few bytes of them."""
        self._kept_bytes = 0
        self._began = int(time.time() * 1e9)
        """Files from before may be in the index, and not in the store: a process that ended has left them."""
        self._retries: dict[str, _Retry] = {}
        self._swept = -_SWEEP_SECONDS

    def add_record(self, record: FetchRecord) -> None:
        """Add a page, or the deletion of one; it is durable when this returns. Raise `Overloaded` if it is full."""
        self.check_deleted(record)
        with disk_errors(self._folder):
            make_folder(self._folder)
            if self._is_full():
                raise Overloaded("Too many published pages are waiting to be indexed.", "Try again later.")
        write_atomically(self._folder / f"{self._next_name():020d}-{record.key:016x}.new", encode_page(record))

    def check_deleted(self, record: FetchRecord) -> None:
        """Raise `BadInput` for a page that was deleted permanently."""
        if record.outcome is Outcome.OK and self.deletions.contains(record.key):
            raise BadInput(f"{record.url} was deleted.", "Undo the deletion first: periplus index delete --undo URL.")

    def add_batch(self, records: Sequence[FetchRecord]) -> int:
        """Add documents at once; they are durable when this returns. Return the number of the batch."""
        with disk_errors(self._folder):
            make_folder(self._folder)
        number = self._next_name()
        write_atomically(self._folder / batch_name(number, len(records)), encode_batch(records))
        return number

    def pending_load(self, first: int = 0, last: int = 1 << 64) -> tuple[int, int]:
        """Return how many documents of batches in a range are not indexed yet, and the bytes of their files."""
        names = self._pending_batches(first, last)
        return sum(map(batch_size, names)), sum(map(self._size, names))

    def pending_documents(self, first: int = 0, last: int = 1 << 64) -> int:
        """Return how many documents of batches are not indexed yet, of those with numbers in a range."""
        return sum(map(batch_size, self._pending_batches(first, last)))

    def _pending_batches(self, first: int, last: int) -> list[str]:
        try:
            names = [name for name in os.listdir(self._folder) if name.endswith(".new") and batch_size(name)]
        except FileNotFoundError:
            return []
        return [name for name in names if first <= batch_number(name) <= last]

    def _next_name(self) -> int:
        """Return the time in nanoseconds, later than that of the last name."""
        with self._lock:
            self._last_name = max(self._last_name + 1, time.time_ns())
            return self._last_name

    def _is_full(self) -> bool:
        """Return whether there are too many pages; if not, count one more. Listing a large folder takes long."""
        with self._counting:
            age = time.monotonic() - self._counted
            needed = age >= _COUNT_SECONDS or self._count >= _MOST
            if needed and age >= self._counter.seconds / _COUNT_SHARE:
                self._count_files()
            if self._count >= _MOST:
                return True
            self._count += 1
            return False

    def _count_files(self) -> None:
        names = self._counter.names()
        self._statistics = InboxStatistics(len(names.pending), len(names.indexed), len(names.damaged))
        self._count = self._statistics.pending + self._statistics.indexed
        self._counted = time.monotonic()

    def withdraw_page(self, url: str) -> None:
        """Withdraw a page, by its URL in canonical form."""
        address = parse_address(url)
        self.add_record(FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410))

    def find_record(self, key: int) -> FetchRecord | None:
        """Return the latest record with a key, if it is still in the inbox."""
        names = InboxListing(self._folder).names()
        all_names = [*names.pending, *names.indexed]
        stems = sorted(name for name in all_names if _key(name) == f"{key:016x}" or batch_size(name))
        for name in reversed(stems):
            try:
                found = [record for record in read_pages(self._folder / name) if record.key == key]
            except FileNotFoundError:  # it was moved meanwhile
                continue
            except CorruptFile:
                return None
            except OSError as error:
                raise disk_failure(self._folder / name, error) from error
            if found:
                return found[-1]
        return None

    def statistics(self) -> InboxStatistics:
        """Return how many pages there are, by a count that is as old as a few listings take."""
        with self._counting:
            if time.monotonic() - self._counted >= self._counter.seconds / _COUNT_SHARE:
                self._count_files()
            return self._statistics

    def has_pending(self) -> bool:
        """Return whether there are pages to index now; those that could not be read are tried again later."""
        now = time.monotonic()
        return bool(self._queue) or any(self._is_due(name, now) for name in self._listing.names().pending)

    def has_indexed(self) -> bool:
        """Return whether there are pages to move to the store now."""
        now = time.monotonic()
        return any(self._is_due(name, now) for name in self._listing.names().indexed)

    def count_indexed(self) -> int:
        """Return how many files are indexed, and not in the store yet."""
        return len(self._listing.names().indexed)

    def _is_due(self, name: str, now: float) -> bool:
        retry = self._retries.get(name)
        return retry is None or retry.due <= now

    def pending_records(self) -> Iterator[tuple[Path, list[FetchRecord]]]:
        """Yield the files whose turn it is, the oldest first; `mark_indexed` once each is in the index.

        Raise `DiskFailed` if no file can be read at present, for lack of descriptors or memory.
        """
        if not self._queue:
            self._sweep()
            self._forget_retries()
            now = time.monotonic()
            due = [name for name in self._listing.names().pending if self._is_due(name, now)]
            self._queue.extend(self.order.next_round(due, self._size))
        while self._queue:
            name = self._queue.popleft()
            records = self._read(name)
            if records is not None:
                yield self._folder / name, records

    def _size(self, name: str) -> int:
        try:
            return os.stat(self._folder / name).st_size
        except OSError:
            return 0

    def _sweep(self) -> None:
        """Remove what processes that were killed have left unfinished."""
        if self._listing.names().unfinished and time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            sweep_torn(self._folder)

    def _read(self, name: str) -> list[FetchRecord] | None:
        """Return the records in a file; None if it is gone or damaged, or cannot be read now."""
        path = self._folder / name
        try:
            records = read_pages(path)
        except FileNotFoundError:
            self._retries.pop(name, None)
            return None
        except CorruptFile as error:
            self._set_aside(path, ".damaged", str(error))
            return None
        except _UNREADABLE as error:
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _EXHAUSTED):
                self._queue.clear()
                reason = str(error) or "not enough memory"
                raise DiskFailed(f"Published pages cannot be read now: {reason}.", "They are tried again.") from error
            self._postpone(name, f"{path} cannot be read: {error}")
            return None
        if self._retries.pop(name, None) is not None and not self._retries:
            part(_FOLDER).recover()
        return records

    def _forget_retries(self) -> None:
        """Forget files that are gone."""
        if self._retries:
            names = self._listing.names()
            self._retries = {
                name: self._retries[name] for name in self._retries.keys() & {*names.pending, *names.indexed}
            }
            if not self._retries:
                part(_FOLDER).recover()

    def postpone(self, path: Path, error: Exception) -> None:
        """Try a page that cannot be indexed again later."""
        self._postpone(path.name, f"{path} cannot be indexed: {type(error).__name__}: {error}")

    def _postpone(self, name: str, message: str) -> None:
        _LOG.warning("%s; it is tried again", message)
        self._retries.setdefault(name, _Retry()).postpone()
        part(_FOLDER).fail(message)

    def _set_aside(self, path: Path, suffix: str, message: str) -> None:
        _LOG.error("%s It is set aside as %s.", message, path.with_suffix(suffix).name)
        try:
            path.rename(path.with_suffix(suffix))
            self._retries.pop(path.name, None)
        except OSError as error:
            self._postpone(path.name, f"{path} cannot be renamed: {error}")

    def mark_indexed(self, path: Path, records: list[FetchRecord] | None = None) -> None:
        """Mark a file as indexed. records: what is in it, which need not be read again for the store."""
        indexed = path.with_suffix(".indexed")
        path.rename(indexed)
        self._replace_earlier(path.name)
        self.order.note_indexed(path.name, records or ())
        size = sum(record.bytes for record in records or ())
        if records and batch_size(path.name) and self._kept_bytes + size <= _KEPT_BYTES:
            self._kept[indexed.name] = records
            self._kept_bytes += size

    def should_move(self) -> bool:
        """Return whether it is time to move what is indexed to the store."""
        return not self.has_pending() or self.count_indexed() > _MOST_INDEXED or 4 * self._kept_bytes > _KEPT_BYTES

    def set_aside_documents(self, path: Path, records: Sequence[FetchRecord], error: Exception) -> None:
        """Write documents of a batch that cannot be indexed to a file that is kept for the operator."""
        name = batch_name(batch_number(path.name), len(records)).removesuffix(".new") + ".damaged"
        first = f"{records[0].url[:200]}: {type(error).__name__}: {error}"
        _LOG.error("%d documents cannot be indexed (%s). They are set aside as %s.", len(records), first, name)
        write_atomically(self._folder / name, encode_batch(records))

    def remove_unchanged(self, path: Path, records: list[FetchRecord]) -> None:
        """Remove a batch whose documents were indexed and stored before, all of them as they are.

        One from before this process had the index may be what they were indexed from: it still has to be stored. One
        that was read before an earlier file has to be stored after that.
        """
        if batch_number(path.name) < self._began or self.order.overtakes(path.name):
            self.mark_indexed(path, records)
        else:
            path.unlink(missing_ok=True)

    def _replace_earlier(self, name: str) -> None:
        """Set aside earlier versions of a page that could not be read: it would be older again if they were now."""
        same = [other for other in self._retries if other < name and _key(other) == _key(name)]
        for earlier in same if not batch_size(name) else ():
            self._set_aside(self._folder / earlier, ".replaced", f"{earlier} was not read before a later version.")

    def requeue_indexed(self) -> None:
        """Mark all pages that are not in the store as pending again: the index was rebuilt from the store."""
        self._began = int(time.time() * 1e9)
        self._kept, self._kept_bytes = {}, 0
        for name in self._listing.names().indexed:
            path = self._folder / name
            with contextlib.suppress(FileNotFoundError):  # it was moved meanwhile
                path.rename(path.with_suffix(".new"))

    def move_to_store(self, settings: StoreSettings) -> bool:
        """Move what is indexed into the page store; return whether nothing is left. False if the store is in use."""
        with PublicationStore(self._data_folder, settings) as store:
            while self.has_indexed():
                if not self.move_batch(store):
                    break
        return not self._listing.names().indexed

    def move_batch(self, store: PublicationStore) -> int:
        """Move pages that are indexed into a store; return how many: 0 if another process writes to it.

        Only what was read, appended and committed is removed.
        """
        now, names = time.monotonic(), self._listing.names()
        # In the order in which they came: what was indexed before an earlier file waits for it.
        oldest = min((batch_number(name) for name in names.pending if name not in self._retries), default=1 << 64)
        due = [name for name in names.indexed if self._is_due(name, now) and batch_number(name) < oldest]
        records: dict[str, list[FetchRecord]] = {}
        for name in due[:_BATCH]:
            if (read := self._kept.get(name) or self._read(name)) is not None:
                records[name] = read
            if sum(map(len, records.values())) >= _STORE_RECORDS:
                break
        if not records:
            return 0
        try:
            store.append_all(itertools.chain.from_iterable(records.values()))
        except FolderInUse:
            return 0
        for name in records:
            (self._folder / name).unlink(missing_ok=True)
            self._replace_earlier(name)
            self._kept_bytes -= sum(record.bytes for record in self._kept.pop(name, ()))
        return len(records)


def _key(name: str) -> str:
    return name.partition("-")[2].partition(".")[0]
