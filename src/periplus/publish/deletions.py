"""Pages that somebody took out of the index, for good: a list in the data folder that every build honours.

    deleted.json     {"format": 1, "pages": {URL: seconds since 1970}}

Whoever indexes visits passes them through `screen`, which turns those of deleted pages into visits that found them
gone; whoever holds a live index calls `follow` now and then. The file is replaced whole, so a crash leaves the old list
or the new one. It is not part of `index`, which can be removed and built again at any time.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from periplus.errors import BadInput, FolderInUse
from periplus.files import decode_json, disk_errors, lock_folder, write_atomically
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Outcome
from periplus.url import parse_address

if TYPE_CHECKING:
    from periplus.index import LiveIndex

__all__ = ["DeletionList"]

_FILE: Final = "deleted.json"
_FORMAT: Final = 1
_MOST: Final = 1_000_000
_PATIENCE: Final = 30.0
"""Seconds to wait for somebody else who changes the list."""


class _List(msgspec.Struct, frozen=True):
    format: int
    pages: dict[str, float] = {}


class DeletionList:
    """The list of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _FILE
        self._known = (0, 0, 0)
        self._followed = (0, 0, 0)
        self._pages: dict[str, float] = {}
        self._keys: frozenset[int] = frozenset()

    def pages(self) -> dict[str, float]:
        """Give the URLs that are deleted, and when they were."""
        self._refresh()
        return self._pages

    def contains(self, key: int) -> bool:
        """Say whether the page with this key is deleted."""
        self._refresh()
        return key in self._keys

    def _stamp(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _refresh(self) -> None:
        """Read the file again if it is another one than before."""
        stamp = self._stamp()
        if stamp == self._known:
            return
        self._pages = self._read() if any(stamp) else {}
        self._keys = frozenset(map(fingerprint_text, self._pages))
        self._known = stamp

    def _read(self) -> dict[str, float]:
        with disk_errors(self._path):
            raw = self._path.read_bytes()
        # Going on without it would show pages that somebody wanted gone.
        return decode_json(self._path, raw, _List, _FORMAT, "Mend it, or remove it.").pages

    def add(self, urls: Iterable[str]) -> list[str]:
        """Put pages on the list; give their URLs in canonical form. Raise `BadUrl` for the first that is none."""
        wanted = [parse_address(url).url for url in urls]
        with self._changing():
            pages = {**dict.fromkeys(wanted, time.time()), **self.pages()}
            if len(pages) > _MOST:
                raise BadInput(f"More than {_MOST:,} pages cannot be deleted one by one.", "Exclude them from crawls.")
            self._write(pages)
        return wanted

    def remove(self, urls: Iterable[str]) -> list[str]:
        """Take pages off the list; give the URLs of those that were on it."""
        wanted = [parse_address(url).url for url in urls]
        with self._changing():
            pages = dict(self.pages())
            found = [url for url in wanted if pages.pop(url, None) is not None]
            if found:
                self._write(pages)
        return found

    def _write(self, pages: dict[str, float]) -> None:
        write_atomically(self._path, msgspec.json.encode(_List(_FORMAT, pages)))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        until = time.monotonic() + _PATIENCE
        while True:
            lock = lock_folder(self._folder, "deleted")
            try:
                lock.__enter__()
            except FolderInUse:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
                continue
            break
        try:
            yield
        finally:
            lock.__exit__(None, None, None)

    def apply_to_records(self, visits: Iterable[FetchRecord]) -> Iterator[FetchRecord]:
        """Give the same visits, those of deleted pages as if they were gone."""
        self._refresh()
        for visit in visits:
            yield self.apply_to_record(visit) if self._keys else visit

    def apply_to_record(self, visit: FetchRecord) -> FetchRecord:
        """Give a visit as it is to be indexed."""
        if visit.key not in self._keys:
            return visit
        return FetchRecord(visit.url, visit.key, Outcome.GONE, visit.when, 410, depth=visit.depth)

    def has_changed(self) -> bool:
        """Say whether there is something that `follow` has not done yet."""
        return self._stamp() != self._followed

    def apply_to_index(self, live: "LiveIndex") -> None:
        """Take the pages of the list out of an index, if it has changed since this was last done."""
        if self.has_changed():
            self._refresh()
            for url in self._pages:
                live.delete(url)
            self._followed = self._known
