"""What many have asked for, as far as it may be told: titles, link texts and hosts only, shared by all processes.

A query is counted only if it is, word for word, a text that the index offers anyway, and raises it only once so many
visitors have asked for it on one day (`search.popular_after`, at least three; 0 is off). What is kept, in `popular`:

    salt-DAY      32 random bytes, thrown away with the day
    seen-DAY.log  for each visitor of a text 16 bytes: text and, of another one for every text, visitor, hashed with
                  the salt
    asked.json    texts that so many asked for, and how many: no less, nothing else

So whose address it was cannot be found out, nor what else was asked from there; and after the day, when salt and log
are gone, not even that a text was asked for by fewer.
"""

import bisect
import contextlib
import hashlib
import math
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile, FolderInUse, PeriplusError
from periplus.files import decode_json, lock_folder, write_atomically

__all__ = ["FEWEST", "PopularQueries"]

FEWEST: Final = 3
"""Fewer visitors than this never make a text popular."""
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""
_MOST: Final = 10_000
"""Texts that are kept; the least asked for are let go."""
_MOST_SEEN: Final = 200_000
"""Visitors of texts that are counted in a day, all together."""
_NEAR: Final = 256
"""Texts with one beginning that are looked at."""
_FULL: Final = 1_000
"""Asked by so many, a text is worth as much as can be."""
_DAY: Final = 86_400
_HALF: Final = 30.0
"""Days in which a count falls to half."""
_WIDTH: Final = 8


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    """How many have asked for a text."""

    before: float
    """Up to `day`."""
    day: int
    count: int
    """Visitors of `day`."""

    def worth(self, day: int) -> float:
        """Give how many that is on a day, as it fades."""
        return (self.before + self.count) * float(0.5 ** (max(0, day - self.day) / _HALF))


class _Texts(msgspec.Struct, frozen=True):
    """What `asked.json` holds."""

    texts: dict[str, _Asked]
    format: int = _FORMAT


class PopularQueries:
    """Counts of texts that were asked for. May be used from many threads, and by many processes on one folder."""

    def __init__(self, folder: Path, after: int) -> None:
        self.after = max(after, FEWEST)
        self._folder = folder
        self._path = folder / "asked.json"
        self._lock = threading.Lock()
        self._day = -1
        self._salt = b""
        self._seen: dict[bytes, set[bytes]] = {}
        self._read_to = 0
        self._known: dict[str, _Asked] = {}
        self._changed: dict[str, int] = {}
        self._stamp = (0, 0)
        self._order: list[bytes] = []
        with contextlib.suppress(OSError):
            self._learn()

    def count(self, text: bytes, visitor: str, now: float) -> None:
        """Count a folded text of the index that somebody asked for; of many times by one, the first of a day counts."""
        with self._lock, contextlib.suppress(PeriplusError, OSError):  # not to know is no reason not to answer
            self._begin(int(now // _DAY))
            name = _hash(self._salt, text)
            seen = self._seen.setdefault(name, set())
            mark = _hash(self._salt, text + b"\0" + visitor.encode("utf-8", "replace"))
            if mark not in seen and self._read_to < _MOST_SEEN * 2 * _WIDTH:
                self._append(name + mark)
                seen.add(mark)
            if len(seen) >= self.after:
                self._changed[text.decode("utf-8", "replace")] = len(seen)

    def share(self, now: float) -> None:
        """Write down what has become popular, and learn what other processes have counted."""
        with self._lock, contextlib.suppress(PeriplusError, OSError):
            self._begin(int(now // _DAY))
            if self._changed:
                self._write()
            self._learn()

    def beginning(self, typed: bytes, size: int) -> list[tuple[bytes, float]]:
        """Give texts that begin so and have been asked for often enough, with what that is worth, up to 1."""
        with self._lock:
            at = bisect.bisect_left(self._order, typed)
            near = [text for text in self._order[at : at + _NEAR] if text.startswith(typed)]
            often = [(self._known[text.decode()].worth(self._day), text) for text in near]
        best = sorted(often, reverse=True)[:size]
        return [(text, min(1.0, 0.5 + 0.5 * math.log1p(count) / math.log1p(_FULL))) for count, text in best]

    def _begin(self, day: int) -> None:
        """Go on to a day: take its salt, read what was counted of it; throw the days before away."""
        if day != self._day:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._salt = _salt_of(self._folder / f"salt-{day}")
            self._day, self._read_to = day, 0
            self._seen.clear()
            for path in (*self._folder.glob("salt-*"), *self._folder.glob("seen-*.log")):
                if _day_of(path) < day:
                    path.unlink(missing_ok=True)
            self._learn()
        for name, mark in self._others():
            self._seen.setdefault(name, set()).add(mark)

    def _others(self) -> Iterator[tuple[bytes, bytes]]:
        """Read what the log has beyond what was read, by this process or another."""
        try:
            with self._log.open("rb") as log:
                log.seek(self._read_to)
                raw = log.read(max(0, _MOST_SEEN * 2 * _WIDTH - self._read_to))
        except FileNotFoundError:
            return
        for at in range(0, len(raw) - 2 * _WIDTH + 1, 2 * _WIDTH):
            self._read_to += 2 * _WIDTH
            yield raw[at : at + _WIDTH], raw[at + _WIDTH : at + 2 * _WIDTH]

    @property
    def _log(self) -> Path:
        return self._folder / f"seen-{self._day}.log"

    def _append(self, record: bytes) -> None:
        """Add a record whole: one write to the end of a file does not mix with those of other processes."""
        handle = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, record)
        finally:
            os.close(handle)

    def _write(self) -> None:
        """Put what has become popular into the file, beside what others put there; later if one is at it just now."""
        with contextlib.suppress(FolderInUse), lock_folder(self._folder, "asked"):
            known = _read(self._path)
            for text, count in self._changed.items():
                last = known.get(text)
                if last is None or last.day < self._day:
                    known[text] = _Asked(last.worth(self._day) if last else 0.0, self._day, count)
                else:
                    known[text] = _Asked(last.before, last.day, max(last.count, count))
            worth = {text: asked.worth(self._day) for text, asked in known.items()}
            best = sorted((text for text in known if worth[text] >= 1), key=lambda text: -worth[text])[:_MOST]
            write_atomically(self._path, msgspec.json.encode(_Texts({text: known[text] for text in best})))
            self._changed.clear()

    def _learn(self) -> None:
        """Read the file again if it is another one."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return
        if (found.st_mtime_ns, found.st_ino) != self._stamp:
            self._known = _read(self._path)
            self._order = sorted(text.encode() for text in self._known)
            self._stamp = (found.st_mtime_ns, found.st_ino)


def _hash(salt: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_WIDTH, key=salt).digest()


def _salt_of(path: Path) -> bytes:
    """Give the salt of a day; whichever process comes first makes it, whole or not at all."""
    with contextlib.suppress(FileExistsError):
        mine = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        handle = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, secrets.token_bytes(32))
            os.link(mine, path)
        finally:
            os.close(handle)
            mine.unlink()
    return path.read_bytes()[:32]


def _day_of(path: Path) -> int:
    part = path.stem.rpartition("-")[2]
    return int(part) if part.isdecimal() else 0


def _read(path: Path) -> dict[str, _Asked]:
    """Read the texts; none if somebody has damaged the file, as they come again."""
    try:
        data = path.read_bytes()
        try:
            known = msgspec.json.decode(data, type=dict[str, _Asked])  # format 0: the texts alone
        except (msgspec.MsgspecError, UnicodeDecodeError):
            known = decode_json(path, data, _Texts, _FORMAT).texts
    except (OSError, CorruptFile):
        return {}
    return {text: asked for text, asked in known.items() if asked.before >= 0 and asked.count >= 0}
