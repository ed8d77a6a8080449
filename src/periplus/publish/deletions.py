"""Pages that were deleted from the index permanently: a list in the data folder that every build applies.

    deleted.json     {"format": 2, "pages": {URL: seconds since 1970}, "checksum": xxh3}

Whoever indexes fetch records passes them through `apply_to_records`, which gives those of deleted pages the outcome
`gone`; whoever holds a live index calls `apply_to_index` from time to time. The file is replaced atomically, so a crash
leaves the old list or the new one. It is not part of `index`, which can be removed and built again at any time.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from periplus.errors import BadInput
from periplus.files import decode_json, disk_errors, encode_json, write_atomically
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Outcome
from periplus.url import parse_address
from periplus.writer_queue import queue_for_lock

if TYPE_CHECKING:
    from periplus.index import LiveIndex

__all__ = ["DeletionList"]

_FILE: Final = "deleted.json"
_FORMAT: Final = 2
"""Since 2, the file has a checksum."""
_MAX_PAGES: Final = 1_000_000
_LOCK_SECONDS: Final = 30.0
"""Seconds to wait for another process that changes the list."""


class _DeletionFile(msgspec.Struct, frozen=True):
    format: int
    pages: dict[str, float] = {}


class DeletionList:
    """The deleted pages of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _FILE
        self._read_stamp = (0, 0, 0)
        self._applied_stamp = (0, 0, 0)
        self._pages: dict[str, float] = {}
        self._keys: frozenset[int] = frozenset()

    def pages(self) -> dict[str, float]:
        """Return the deleted URLs, and when each was deleted."""
        self._refresh()
        return self._pages

    def contains(self, key: int) -> bool:
        """Return whether the page with this key is deleted."""
        self._refresh()
        return key in self._keys

    def keys(self) -> frozenset[int]:
        """Return the keys of all deleted pages."""
        self._refresh()
        return self._keys

    def _stamp(self) -> tuple[int, int, int]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _refresh(self) -> None:
        """Read the file again if it was replaced."""
        stamp = self._stamp()
        if stamp == self._read_stamp:
            return
        self._pages = self._read() if any(stamp) else {}
        self._keys = frozenset(map(fingerprint_text, self._pages))
        self._read_stamp = stamp

    def _read(self) -> dict[str, float]:
        with disk_errors(self._path):
            raw = self._path.read_bytes()
        # Continuing without it would show deleted pages again.
        return decode_json(self._path, raw, _DeletionFile, _FORMAT, "Run: periplus repair.", checksum_since=2).pages

    def add(self, urls: Iterable[str]) -> list[str]:
        """Add pages, and return their URLs in canonical form. Raise `BadUrl` for the first that is invalid."""
        canonical = [parse_address(url).url for url in urls]
        with self._locked():
            pages = {**dict.fromkeys(canonical, time.time()), **self.pages()}
            if len(pages) > _MAX_PAGES:
                raise BadInput(
                    f"More than {_MAX_PAGES:,} pages cannot be deleted one by one.", "Exclude them from crawls."
                )
            self._write(pages)
        return canonical

    def remove(self, urls: Iterable[str]) -> list[str]:
        """Remove pages, and return the URLs of those that were deleted."""
        canonical = [parse_address(url).url for url in urls]
        with self._locked():
            pages = dict(self.pages())
            removed = [url for url in canonical if pages.pop(url, None) is not None]
            if removed:
                self._write(pages)
        return removed

    def _write(self, pages: dict[str, float]) -> None:
        write_atomically(self._path, encode_json(_DeletionFile(_FORMAT, pages)))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the list, so that no change of another process is lost, and read it again."""
        with queue_for_lock(self._folder, "deleted", _LOCK_SECONDS):
            self._read_stamp = (-1, -1, -1)
            yield

    def apply_to_records(self, records: Iterable[FetchRecord]) -> Iterator[FetchRecord]:
        """Yield the same records, those of deleted pages with the outcome `gone`."""
        self._refresh()
        for record in records:
            yield self.apply_to_record(record) if self._keys else record

    def apply_to_record(self, record: FetchRecord) -> FetchRecord:
        """Return a record as it is to be indexed."""
        if record.key not in self._keys:
            return record
        return FetchRecord(record.url, record.key, Outcome.GONE, record.when, 410, depth=record.depth)

    def has_changed(self) -> bool:
        """Return whether the list has changed since the last `apply_to_index`."""
        return self._stamp() != self._applied_stamp

    def apply_to_index(self, live: "LiveIndex") -> None:
        """Delete the pages of the list from an index, if the list has changed since the last call."""
        if self.has_changed():
            self._refresh()
            for url in self._pages:
                live.delete(url)
            self._applied_stamp = self._read_stamp
