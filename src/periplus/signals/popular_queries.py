"""Popular queries, counted without revealing who searched; shared by all processes that serve a data folder.

A query is counted only if it equals a text that the index suggests anyway (a title, a link text or a host), and
affects suggestions only once enough visitors have entered it on one day (`search.popular_after`, at least three; 0
turns counting off). Files in `popular`:

    salt-DAY      magic "PERISALT", 32 random bytes and their xxh3, deleted with the day
    marks-DAY.log 20 bytes for each pair of text and visitor: a keyed hash of the text, one of text and visitor, and
                  four bytes of the xxh3 of both; `seen-DAY.log` of earlier versions has none of the latter
    asked.json    the texts that reached the threshold, with their counts; nothing below it, nothing else

A visitor's address therefore cannot be recovered, nor what else was searched for from it; and once the day's salt and
log are deleted, not even that a text was searched for by fewer visitors.
"""

import bisect
import contextlib
import fcntl
import hashlib
import math
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, FolderInUse, PeriplusError
from periplus.files import decode_json, encode_json, lock_folder, make_folder, read_file, write_atomically
from periplus.hashing import fingerprint
from periplus.typed_decoding import parse_json

__all__ = ["MIN_VISITORS", "PopularQueries", "count_damaged_marks", "is_damaged_salt", "read_popular_queries"]

MIN_VISITORS: Final = 3
"""A text with fewer visitors never becomes popular."""
_FORMAT: Final = 2
"""Version of the file format; raised with every change to it. Files without one are of format 0.
Since 2, the file has a checksum."""
_MAX_TEXTS: Final = 10_000
"""Texts in the file; the least popular are dropped."""
_MAX_VISITORS: Final = 200_000
"""Pairs of text and visitor that are counted in a day."""
_MAX_COMPLETIONS: Final = 256
"""Texts with a common prefix that are considered."""
_FULL_COUNT: Final = 1_000
"""Visitors at which the weight of a text reaches 1."""
_DAY: Final = 86_400
_HALF_LIFE: Final = 30.0
"""Days in which a count decays to half."""
_WIDTH: Final = 8
_RECORD_BYTES: Final = 2 * _WIDTH + 4
_SALT_BYTES: Final = 32
_SALT_MAGIC: Final = b"PERISALT"
"""Salts of earlier versions are bare."""
_OF_A_DAY: Final = ("salt-*", "seen-*.log", "marks-*.log")
"""Files that are deleted when their day is over."""


class _QueryCount(msgspec.Struct, frozen=True, array_like=True):
    """Number of visitors that searched for a text."""

    before: float
    """Decayed count of the days before `day`."""
    day: int
    count: int
    """Visitors of `day`."""

    def decayed_count(self, day: int) -> float:
        """Return the count as of a day, with exponential decay."""
        return (self.before + self.count) * float(0.5 ** (max(0, day - self.day) / _HALF_LIFE))


class _QueryFile(msgspec.Struct, frozen=True):
    """Contents of `asked.json`."""

    texts: dict[str, _QueryCount]
    format: int = _FORMAT


class PopularQueries:
    """Counts of queries. Safe to use from many threads, and by many processes on one folder."""

    def __init__(self, folder: Path, after: int) -> None:
        self.after = max(after, MIN_VISITORS)
        self._folder = folder
        self._path = folder / "asked.json"
        self._lock = threading.Lock()
        self._day = -1
        self._salt = b""
        self._seen: dict[bytes, set[bytes]] = {}
        self._log_offset = 0
        self._counts: dict[str, _QueryCount] = {}
        self._pending: dict[str, int] = {}
        self._stamp = (0, 0)
        self._order: list[bytes] = []
        with contextlib.suppress(OSError):
            self._reload()

    def count(self, text: bytes, visitor: str, now: float) -> None:
        """Count a search for a folded text of the index, once a day for each visitor."""
        # A search is answered even if it cannot be counted.
        with self._lock, contextlib.suppress(PeriplusError, OSError):
            self._advance_to(int(now // _DAY))
            name = _hash(self._salt, text)
            seen = self._seen.setdefault(name, set())
            mark = _hash(self._salt, text + b"\0" + visitor.encode("utf-8", "replace"))
            if mark not in seen and self._log_offset < _MAX_VISITORS * _RECORD_BYTES:
                self._append(name + mark + _checksum(name + mark))
                seen.add(mark)
            if len(seen) >= self.after:
                self._pending[text.decode("utf-8", "replace")] = len(seen)

    def synchronize(self, now: float) -> None:
        """Write the texts that have become popular, and read what other processes have counted."""
        with self._lock, contextlib.suppress(PeriplusError, OSError):
            self._advance_to(int(now // _DAY))
            if self._pending:
                self._write_counts()
            self._reload()

    def complete(self, typed: bytes, size: int) -> list[tuple[bytes, float]]:
        """Return the most popular texts with a prefix, each with its weight, up to 1."""
        with self._lock:
            start = bisect.bisect_left(self._order, typed)
            matches = [text for text in self._order[start : start + _MAX_COMPLETIONS] if text.startswith(typed)]
            weighted = [(self._counts[text.decode()].decayed_count(self._day), text) for text in matches]
        best = sorted(weighted, reverse=True)[:size]
        return [(text, min(1.0, 0.5 + 0.5 * math.log1p(count) / math.log1p(_FULL_COUNT))) for count, text in best]

    def _advance_to(self, day: int) -> None:
        """Switch to a day if necessary, delete the files of earlier days, and read new entries of the log."""
        if day != self._day:
            make_folder(self._folder, 0o700)
            self._salt = _read_salt(self._folder / f"salt-{day}")
            self._day, self._log_offset = day, 0
            self._seen.clear()
            for name, mark in self._read_log_of_earlier_version():
                self._seen.setdefault(name, set()).add(mark)
            for path in (path for pattern in _OF_A_DAY for path in self._folder.glob(pattern)):
                if _day_of(path) < day:
                    path.unlink(missing_ok=True)
            self._reload()
        for name, mark in self._read_log():
            self._seen.setdefault(name, set()).add(mark)

    def _read_log(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the entries that were appended to the log, by any process, since the last call; damaged ones never."""
        try:
            with self._log.open("rb") as log:
                log.seek(self._log_offset)
                raw = log.read(max(0, _MAX_VISITORS * _RECORD_BYTES - self._log_offset))
        except FileNotFoundError:
            return
        for offset in range(0, len(raw) - _RECORD_BYTES + 1, _RECORD_BYTES):
            self._log_offset += _RECORD_BYTES
            pair = raw[offset : offset + 2 * _WIDTH]
            if _checksum(pair) == raw[offset + 2 * _WIDTH : offset + _RECORD_BYTES]:
                yield pair[:_WIDTH], pair[_WIDTH:]

    def _read_log_of_earlier_version(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the entries that an earlier version has counted on the same day."""
        try:
            raw = (self._folder / f"seen-{self._day}.log").read_bytes()[: _MAX_VISITORS * 2 * _WIDTH]
        except OSError:
            return
        for offset in range(0, len(raw) - 2 * _WIDTH + 1, 2 * _WIDTH):
            yield raw[offset : offset + _WIDTH], raw[offset + _WIDTH : offset + 2 * _WIDTH]

    @property
    def _log(self) -> Path:
        return self._folder / f"marks-{self._day}.log"

    def _append(self, record: bytes) -> None:
        """Append a record under a lock; one that was cut short is removed, since it would shift those after it."""
        handle = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size % _RECORD_BYTES:
                os.ftruncate(handle, size - size % _RECORD_BYTES)
            log.write(record)

    def _write_counts(self) -> None:
        """Merge new counts into the file; if another process is writing it, do so next time."""
        with contextlib.suppress(FolderInUse), lock_folder(self._folder, "asked"):
            counts = _read_counts(self._path)
            for text, count in self._pending.items():
                last = counts.get(text)
                if last is None or last.day < self._day:
                    counts[text] = _QueryCount(last.decayed_count(self._day) if last else 0.0, self._day, count)
                else:
                    counts[text] = _QueryCount(last.before, last.day, max(last.count, count))
            decayed = {text: entry.decayed_count(self._day) for text, entry in counts.items()}
            popular = sorted((text for text in counts if decayed[text] >= 1), key=lambda text: -decayed[text])
            best = popular[:_MAX_TEXTS]
            write_atomically(self._path, encode_json(_QueryFile({text: counts[text] for text in best})))
            self._pending.clear()

    def _reload(self) -> None:
        """Read the file again if it has been replaced."""
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return
        if (stat.st_mtime_ns, stat.st_ino) != self._stamp:
            self._counts = _read_counts(self._path)
            self._order = sorted(text.encode() for text in self._counts)
            self._stamp = (stat.st_mtime_ns, stat.st_ino)


def read_popular_queries(folder: Path, now: float | None = None) -> list[tuple[str, float]]:
    """Return the texts that enough visitors have entered, each with its decayed number of visitors; none if unknown."""
    day = int((time.time() if now is None else now) // _DAY)
    return [(text, entry.decayed_count(day)) for text, entry in sorted(_read_counts(folder / "asked.json").items())]


def _hash(salt: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_WIDTH, key=salt).digest()


def _read_salt(path: Path) -> bytes:
    """Return the salt of a day; the first process to ask for it creates it, atomically."""
    with contextlib.suppress(FileExistsError):
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                salt = secrets.token_bytes(_SALT_BYTES)
                file.write(_SALT_MAGIC + salt + fingerprint(salt).to_bytes(8, "little"))
                file.flush()
                os.fsync(handle)  # with its name but not its content, nothing could be counted on this day
            os.link(temporary, path)
        finally:
            temporary.unlink()
    data = path.read_bytes()
    if is_damaged_salt(data):
        raise CorruptFile(f"{path} is damaged.", "Remove it: queries of today are counted anew.")
    return data.removeprefix(_SALT_MAGIC)[:_SALT_BYTES]


def is_damaged_salt(data: bytes) -> bool:
    """Return whether a salt is damaged; those of earlier versions have no checksum."""
    if not data.startswith(_SALT_MAGIC):
        return len(data) != _SALT_BYTES
    salt, checksum = data[len(_SALT_MAGIC) :][:_SALT_BYTES], data[len(_SALT_MAGIC) + _SALT_BYTES :]
    return checksum != fingerprint(salt).to_bytes(8, "little")


def count_damaged_marks(data: bytes) -> tuple[int, bool]:
    """Return how many records of a log of marks are damaged, and whether the last one was cut short."""
    starts = range(0, len(data) - _RECORD_BYTES + 1, _RECORD_BYTES)
    wrong = sum(_checksum(data[at : at + 2 * _WIDTH]) != data[at + 2 * _WIDTH : at + _RECORD_BYTES] for at in starts)
    return wrong, len(data) % _RECORD_BYTES > 0


def _checksum(pair: bytes) -> bytes:
    return fingerprint(pair).to_bytes(8, "little")[:4]


def _day_of(path: Path) -> int:
    part = path.stem.rpartition("-")[2]
    return int(part) if part.isdecimal() else 0


def _read_counts(path: Path) -> dict[str, _QueryCount]:
    """Return the counts by text; empty if the file is missing or damaged."""
    try:
        data = read_file(path)
        try:
            counts = parse_json(data, dict[str, _QueryCount])  # format 0: the texts alone
        except (msgspec.MsgspecError, UnicodeDecodeError):
            counts = decode_json(path, data, _QueryFile, _FORMAT, checksum_since=2).texts
    except (FileNotFoundError, CorruptFile):
        return {}
    return {text: entry for text, entry in counts.items() if entry.before >= 0 and entry.count >= 0}
