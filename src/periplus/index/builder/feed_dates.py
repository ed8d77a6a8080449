"""Which pages a feed of their site has named, and when it says they were published: those are news.

A feed may be read before a page that it names or after it, in this run or in one before. So what feeds say is kept in
the index folder, in `feeds.log`: records of a key u64, a day i32 (-1: the key is that of a feed which a page announces)
and a check u32. The last record of a key holds; a torn one at the end is left out.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, write_atomically
from periplus.hashing import fingerprint_text
from periplus.index.document_fields import Document
from periplus.records import LIST_KIND, FetchRecord

__all__ = ["Feeds", "feeds_path"]

_MOST: Final = 500_000
"""Entries that are remembered; the oldest are forgotten first."""
_MOST_ANNOUNCED: Final = 8
"""Feeds of one page."""
_DAY: Final = 86_400
_LATEST: Final = 200_000
"""No page is of a later day: some five hundred years from now."""
_ANNOUNCED: Final = -1
_RECORD: Final = np.dtype([("key", "<u8"), ("day", "<i4"), ("check", "<u4")])
_SLACK: Final = 4
"""A log of so many times the entries that are remembered is written anew."""

Keys = npt.NDArray[np.uint64]
Days = npt.NDArray[np.int32]


def feeds_path(folder: Path) -> Path:
    """Give the place of the log in an index folder."""
    return folder / "feeds.log"


class Feeds:
    """Learns from visits as they come, and marks documents."""

    def __init__(self, path: Path | None = None, most: int = _MOST) -> None:
        self._path = path
        self._most = most
        self._announced: dict[int, None] = {}
        self._days: dict[int, int] = {}
        self._fresh: deque[tuple[int, int]] = deque(maxlen=2 * most)
        self._records = 0
        if path is not None:
            self._read(path)

    def learn(self, visit: FetchRecord) -> None:
        """Remember which feeds a page announces, or what a feed names. A sitemap is a list too, but of no news."""
        page = visit.page
        if page is None:
            return
        if page.kind != LIST_KIND:
            for url in page.feeds[:_MOST_ANNOUNCED]:
                self._take(fingerprint_text(url), _ANNOUNCED)
        elif page.title or visit.key in self._announced:
            for link, when in zip(page.links, page.changed, strict=False):
                if when > 0:
                    self._take(fingerprint_text(_untracked(link.url)), min(_LATEST, int(when // _DAY)))

    def _take(self, key: int, day: int) -> None:
        if day == _ANNOUNCED:
            if key in self._announced:
                return
            self._announced[key] = None
            _forget(self._announced, self._most)
        else:
            if self._days.get(key) == day:
                return
            self._days[key] = day
            _forget(self._days, self._most)
        if self._path is not None:
            self._fresh.append((key, day))

    def mark(self, document: Document) -> Document:
        """Give a document as news, with its day, if a feed has named it."""
        day = self._days.get(document.key)
        return document if day is None else document._replace(news=True, day=day)

    def named(self) -> tuple[Keys, Days]:
        """Give the keys of all pages that feeds have named, rising, and their days."""
        return _sorted(self._days)

    @property
    def waiting(self) -> bool:
        """Whether something was learnt that is not kept yet."""
        return bool(self._fresh)

    def keep(self) -> tuple[Keys, Days]:
        """Write down what was learnt since the last time; give the pages among it: keys, rising, and days."""
        if self._fresh and self._path is not None:
            if self._records + len(self._fresh) > _SLACK * self._most:
                self._write_anew(self._path)
            else:
                with disk_errors(self._path), self._path.open("ab") as log:
                    log.write(_pack(self._fresh))
                self._records += len(self._fresh)
        learnt = _sorted({key: day for key, day in self._fresh if day != _ANNOUNCED})
        self._fresh.clear()
        return learnt

    def absorb(self, other: "Feeds") -> None:
        """Take over what another has learnt."""
        for key in other._announced:
            self._take(key, _ANNOUNCED)
        for key, day in other._days.items():
            self._take(key, day)

    def keep_only(self, path: Path) -> None:
        """Write all that is known in the place of what is there."""
        self._path = path
        self._fresh.clear()
        if self._days or self._announced or path.exists():
            self._write_anew(path)

    def _write_anew(self, path: Path) -> None:
        every = [*((key, _ANNOUNCED) for key in self._announced), *self._days.items()]
        write_atomically(path, _pack(every))
        self._records = len(every)

    def _read(self, path: Path) -> None:
        """Read the log; what is no record of ours is left out."""
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError:
            # What feeds said is of no use without the index, and comes again with them.
            return
        whole = len(raw) // _RECORD.itemsize
        if len(raw) % _RECORD.itemsize:
            with disk_errors(path), path.open("r+b") as log:
                log.truncate(whole * _RECORD.itemsize)
        rows = np.frombuffer(raw, _RECORD, whole)
        rows = rows[rows["check"] == _check(rows["key"], rows["day"])]
        self._records = whole
        announced = rows["day"] == _ANNOUNCED
        self._announced = dict.fromkeys(rows["key"][announced][-self._most :].tolist())
        named = rows[~announced & (rows["day"] >= 0) & (rows["day"] <= _LATEST)][-self._most :]
        self._days = dict(zip(named["key"].tolist(), named["day"].tolist(), strict=True))


def _sorted(days: dict[int, int]) -> tuple[Keys, Days]:
    keys, values = np.array(list(days), np.uint64), np.array(list(days.values()), np.int32)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def _pack(entries: Iterable[tuple[int, int]]) -> bytes:
    pairs = list(entries)
    rows = np.zeros(len(pairs), _RECORD)
    rows["key"] = np.array([key for key, _ in pairs], np.uint64)
    rows["day"] = [day for _, day in pairs]
    rows["check"] = _check(rows["key"], rows["day"])
    return rows.tobytes()


def _check(keys: npt.NDArray[Any], days: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    mixed = (keys ^ (keys >> np.uint64(29)) ^ days.astype(np.int64).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed >> np.uint64(32)).astype(np.uint32)


def _untracked(url: str) -> str:
    """Leave out of a link what feeds add to count their readers."""
    base, mark, query = url.partition("?")
    if not mark:
        return url
    kept = "&".join(part for part in query.split("&") if not part.startswith("utm_"))
    return f"{base}?{kept}" if kept else base


def _forget(table: dict[int, int] | dict[int, None], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]
