"""Which pages a feed of their site lists, and the dates of publication that it states: those pages are news.

A feed may be read before or after a page that it lists, in this run or in an earlier one. So feed dates are stored in
the index folder, in `feeds.log`: records of a key u64, a day i32 (-1: the key is that of a feed which a page links to)
and a checksum u32. The last record of a key counts; an incomplete one at the end is dropped.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.checksums import FileFault
from periplus.files import disk_errors, read_file, write_atomically
from periplus.hashing import fingerprint_text
from periplus.index.document_fields import Document
from periplus.records import LIST_KIND, FetchRecord

__all__ = ["FeedDates", "feed_log_faults", "feed_log_path", "repair_feed_log"]

_MAX_ENTRIES: Final = 500_000
"""Entries that are stored; the oldest are dropped first."""
_MAX_FEEDS_PER_PAGE: Final = 8
"""Feeds of one page that are followed."""
_DAY: Final = 86_400
_MAX_DAY: Final = 200_000
"""Later days are cut to this one, some five hundred years from now."""
_LINKED_FEED: Final = -1
_RECORD: Final = np.dtype([("key", "<u8"), ("day", "<i4"), ("check", "<u4")])
_MAX_LOG_GROWTH: Final = 4
"""A log with this many times the records of its entries is written anew."""

Keys = npt.NDArray[np.uint64]
Days = npt.NDArray[np.int32]


def feed_log_path(folder: Path) -> Path:
    """Return the path of the log in an index folder."""
    return folder / "feeds.log"


class FeedDates:
    """The dates that feeds state, by page."""

    def __init__(self, path: Path | None = None, max_entries: int = _MAX_ENTRIES) -> None:
        self._path = path
        self._max_entries = max_entries
        self._linked_feeds: dict[int, None] = {}
        self._days: dict[int, int] = {}
        self._unsaved: deque[tuple[int, int]] = deque(maxlen=2 * max_entries)
        self._log_length = 0
        if path is not None:
            self._read(path)

    def read_record(self, record: FetchRecord) -> None:
        """Add the feeds that a page links to, or the pages that a feed lists. A sitemap does not list news."""
        page = record.page
        if page is None:
            return
        if page.kind != LIST_KIND:
            for url in page.feeds[:_MAX_FEEDS_PER_PAGE]:
                self._set(fingerprint_text(url), _LINKED_FEED)
        elif page.title or record.key in self._linked_feeds:
            for link, when in zip(page.links, page.changed, strict=False):
                if when > 0:
                    self._set(fingerprint_text(_strip_tracking(link.url)), min(_MAX_DAY, int(when // _DAY)))

    def _set(self, key: int, day: int) -> None:
        if day == _LINKED_FEED:
            if key in self._linked_feeds:
                return
            self._linked_feeds[key] = None
            _drop_oldest(self._linked_feeds, self._max_entries)
        else:
            if self._days.get(key) == day:
                return
            self._days[key] = day
            _drop_oldest(self._days, self._max_entries)
        if self._path is not None:
            self._unsaved.append((key, day))

    def date_document(self, document: Document) -> Document:
        """Return a document as news of its day, if a feed has listed it."""
        day = self._days.get(document.key)
        return document if day is None else document._replace(news=True, day=day)

    def date_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents as `date_document` does."""
        return list(map(self.date_document, documents) if self._days else documents)

    def dated_pages(self) -> tuple[Keys, Days]:
        """Return the keys of all pages that feeds have listed, ascending, and their days."""
        return _sort_by_key(self._days)

    @property
    def has_unsaved(self) -> bool:
        """Whether there are entries that are not in the log yet."""
        return bool(self._unsaved)

    def append_log(self) -> tuple[Keys, Days]:
        """Append new entries to the log; return the pages among them: keys, ascending, and days."""
        if self._unsaved and self._path is not None:
            if self._log_length + len(self._unsaved) > _MAX_LOG_GROWTH * self._max_entries:
                self._write_all(self._path)
            else:
                with disk_errors(self._path), self._path.open("ab") as log:
                    log.write(_encode(self._unsaved))
                self._log_length += len(self._unsaved)
        pages = _sort_by_key({key: day for key, day in self._unsaved if day != _LINKED_FEED})
        self._unsaved.clear()
        return pages

    def update(self, other: "FeedDates") -> None:
        """Add all entries of another."""
        for key in other._linked_feeds:
            self._set(key, _LINKED_FEED)
        for key, day in other._days.items():
            self._set(key, day)

    def rewrite_log(self, path: Path) -> None:
        """Replace the log at `path` by all entries."""
        self._path = path
        self._unsaved.clear()
        if self._days or self._linked_feeds or path.exists():
            self._write_all(path)

    def _write_all(self, path: Path) -> None:
        entries = [*((key, _LINKED_FEED) for key in self._linked_feeds), *self._days.items()]
        write_atomically(path, _encode(entries))
        self._log_length = len(entries)

    def _read(self, path: Path) -> None:
        """Read the log; records with a wrong checksum are dropped."""
        try:
            raw = read_file(path)
        except FileNotFoundError:
            return
        count = len(raw) // _RECORD.itemsize
        if len(raw) % _RECORD.itemsize:
            with disk_errors(path), path.open("r+b") as log:
                log.truncate(count * _RECORD.itemsize)
        rows = np.frombuffer(raw, _RECORD, count)
        rows = rows[rows["check"] == _checksum(rows["key"], rows["day"])]
        self._log_length = count
        is_feed = rows["day"] == _LINKED_FEED
        self._linked_feeds = dict.fromkeys(rows["key"][is_feed][-self._max_entries :].tolist())
        dated_pages = rows[~is_feed & (rows["day"] >= 0) & (rows["day"] <= _MAX_DAY)][-self._max_entries :]
        self._days = dict(zip(dated_pages["key"].tolist(), dated_pages["day"].tolist(), strict=True))


def feed_log_faults(path: Path) -> list[FileFault]:
    """Return the faults of a log."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        return [FileFault(path, f"cannot be read: {error.strerror}")]
    count = len(raw) // _RECORD.itemsize
    rows = np.frombuffer(raw, _RECORD, count)
    damaged = np.flatnonzero(rows["check"] != _checksum(rows["key"], rows["day"]))
    faults = [FileFault(path, f"has damaged records: {len(damaged)}")] if len(damaged) else []
    return faults + ([FileFault(path, "was cut short", torn=True)] if len(raw) % _RECORD.itemsize else [])


def repair_feed_log(folder: Path) -> None:
    """Rewrite the log of an index folder without damaged records, if there are any."""
    path = feed_log_path(folder)
    if feed_log_faults(path):
        FeedDates(path).rewrite_log(path)


def _sort_by_key(days: dict[int, int]) -> tuple[Keys, Days]:
    keys, values = np.array(list(days), np.uint64), np.array(list(days.values()), np.int32)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def _encode(entries: Iterable[tuple[int, int]]) -> bytes:
    pairs = list(entries)
    rows = np.zeros(len(pairs), _RECORD)
    rows["key"] = np.array([key for key, _ in pairs], np.uint64)
    rows["day"] = [day for _, day in pairs]
    rows["check"] = _checksum(rows["key"], rows["day"])
    return rows.tobytes()


def _checksum(keys: npt.NDArray[Any], days: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    mixed = (keys ^ (keys >> np.uint64(29)) ^ days.astype(np.int64).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed >> np.uint64(32)).astype(np.uint32)


def _strip_tracking(url: str) -> str:
    """Return a URL without the parameters that feeds add to count their readers."""
    base, date_document, query = url.partition("?")
    if not date_document:
        return url
    rest = "&".join(part for part in query.split("&") if not part.startswith("utm_"))
    return f"{base}?{rest}" if rest else base


def _drop_oldest(table: dict[int, int] | dict[int, None], max_entries: int) -> None:
    while len(table) > max_entries:
        del table[next(iter(table))]
