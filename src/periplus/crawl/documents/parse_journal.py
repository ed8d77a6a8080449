"""The journal of parsing attempts: which document was being parsed when everything ended, and which ones never worked.

magic 8 bytes | version u32 | lower half of the xxh3 of these 12 u32, then records of 40 bytes:
kind u8 | reserved 7 bytes | URL key u64 | fingerprint of the body u64 | seconds since 1970 f64 | xxh3 of these 32 u64

A record is with the operating system before its document reaches a parser, so that it survives the end of the crawl by
whatever means; it is on the disk with the next commit, or at once if the document takes long. A document that took long
when the crawl ended, or that was being parsed at two such ends, is not parsed again.
"""

import errno
import os
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from periplus.checksums import FileFault
from periplus.errors import NewerFormat
from periplus.files import disk_errors, write_atomically
from periplus.hashing import fingerprint

__all__ = ["ParseJournal", "check_journal"]

_HEADER: Final = struct.Struct("<8sII")
_CHECKED: Final = 12
"""Bytes of the header before its checksum."""
_RECORD: Final = struct.Struct("<B7xQQd")
_CHECKSUM: Final = struct.Struct("<Q")
_RECORD_SIZE: Final = _RECORD.size + _CHECKSUM.size
_MAGIC: Final = b"PERIPARS"
_VERSION: Final = 1
_BEGUN, _SLOW, _ENDED, _FAILED = 1, 2, 3, 4
_MAX_FAILED: Final = 100_000
"""Documents that are remembered as failed, the latest ones."""
_MAX_RECORDS: Final = 200_000
"""After which the file is written anew, without what has ended."""
_MAX_INTERRUPTIONS: Final = 2


class ParseJournal:
    """The journal of one shard of a crawl, open for appending."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._failed: dict[int, None] = {}
        """Fingerprints of documents that failed."""
        self._interrupted: dict[int, int] = {}
        """Fingerprints of documents that are not to be parsed again, by the key of their URL."""
        self._unclear: Counter[tuple[int, int]] = Counter()
        """Key and fingerprint of documents that were being parsed at an earlier end, and how often."""
        self._open: dict[tuple[int, int], float] = {}
        """Documents that are being parsed, and since when."""
        self.damaged = self._read()
        """Number of records that could not be read."""
        self._records = 0
        self._unsynced = False
        self._descriptor = -1
        self._rewrite()

    def begin(self, key: int, content: int, now: float) -> None:
        """Record that a document is about to be parsed."""
        self._open[key, content] = now
        self._append(_BEGUN, key, content, now)

    def mark_slow(self, key: int, content: int, now: float) -> None:
        """Record, on the disk, that a document takes long."""
        self._append(_SLOW, key, content, now)
        self.sync()

    def end(self, key: int, content: int, now: float, failed: bool) -> None:
        """Record that a document was parsed, or that it failed and is not to be parsed again."""
        self._open.pop((key, content), None)
        self._unclear.pop((key, content), None)
        if failed:
            self._remember(content)
        self._append(_FAILED if failed else _ENDED, key, content, now)
        if self._records >= _MAX_RECORDS:
            self._rewrite()

    def has_failed(self, content: int) -> bool:
        """Return whether a body with this fingerprint failed before."""
        return content in self._failed

    def pop_interrupted(self, key: int, now: float) -> int | None:
        """Return the fingerprint of the document that took long at this URL when the crawl ended, once."""
        content = self._interrupted.pop(key, None)
        if content is not None:
            self.end(key, content, now, failed=True)
        return content

    def sync(self) -> None:
        """Bring all records to the disk."""
        if self._unsynced:
            with disk_errors(self._path):
                os.fdatasync(self._descriptor)
            self._unsynced = False

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _remember(self, content: int) -> None:
        self._failed.pop(content, None)
        self._failed[content] = None
        while len(self._failed) > _MAX_FAILED:
            del self._failed[next(iter(self._failed))]

    def _append(self, kind: int, key: int, content: int, now: float) -> None:
        record = _pack(kind, key, content, now)
        with disk_errors(self._path):
            if os.write(self._descriptor, record) < len(record):
                self._remove_part()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._records += 1
        self._unsynced = True

    def _remove_part(self) -> None:
        """Remove a part of a record from the end: those after it would all be misaligned."""
        size = os.fstat(self._descriptor).st_size
        os.ftruncate(self._descriptor, size - (size - _HEADER.size) % _RECORD_SIZE)

    def _read(self) -> int:
        """Read what earlier runs have left; return the number of records that are damaged.

        Records have a fixed size, so that a damaged one costs no other. An incomplete one at the end is none.
        """
        if not self._path.exists():
            return 0
        with disk_errors(self._path):
            data = self._path.read_bytes()
        damaged = int(not _is_header_whole(data))
        if not damaged and _HEADER.unpack_from(data)[1] > _VERSION:
            raise NewerFormat(f"{self._path} was written by a later version of Periplus.", "Upgrade Periplus.")
        begun: Counter[tuple[int, int]] = Counter()
        slow: set[tuple[int, int]] = set()
        for body in _read_records(data):
            if body is None:
                damaged += 1
                continue
            kind, key, content, _ = _RECORD.unpack(body)
            if kind == _BEGUN:
                begun[key, content] += 1
            elif kind == _SLOW:
                slow.add((key, content))
            else:
                begun.pop((key, content), None)
                slow.discard((key, content))
                if kind == _FAILED:
                    self._remember(content)
        for (key, content), times in begun.items():
            if (key, content) in slow or times >= _MAX_INTERRUPTIONS:
                self._interrupted[key] = content
                self._remember(content)
            else:
                self._unclear[key, content] = times
        return damaged

    def _rewrite(self) -> None:
        """Replace the file by one with what still matters."""
        records = [_pack(_FAILED, 0, content, 0.0) for content in self._failed]
        for key, content in self._interrupted.items():
            records += [_pack(_BEGUN, key, content, 0.0), _pack(_SLOW, key, content, 0.0)]
        for (key, content), times in self._unclear.items():
            records += [_pack(_BEGUN, key, content, 0.0)] * times
        records += [_pack(_BEGUN, key, content, since) for (key, content), since in self._open.items()]
        self.close()
        write_atomically(self._path, _pack_header() + b"".join(records))
        with disk_errors(self._path):
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._records = len(records) - len(self._failed)
        self._unsynced = False


def check_journal(path: Path) -> Iterator[FileFault]:
    """Yield the faults of a journal."""
    data = path.read_bytes()
    if not _is_header_whole(data):
        yield FileFault(path, "is damaged at byte 0")
    damaged = sum(body is None for body in _read_records(data))
    if damaged:
        yield FileFault(path, f"has damaged records: {damaged}")
    if (len(data) - _HEADER.size) % _RECORD_SIZE:
        yield FileFault(path, "was cut short", torn=True)


def _is_header_whole(data: bytes) -> bool:
    if len(data) < _HEADER.size:
        return False
    magic, _, checksum = _HEADER.unpack_from(data)
    return bool(magic == _MAGIC and checksum == fingerprint(data[:_CHECKED]) & 0xFFFFFFFF)


def _pack_header() -> bytes:
    start = _HEADER.pack(_MAGIC, _VERSION, 0)[:_CHECKED]
    return start + (fingerprint(start) & 0xFFFFFFFF).to_bytes(4, "little")


def _read_records(data: bytes) -> Iterator[bytes | None]:
    """Yield each complete record without its checksum, None if it is damaged."""
    for offset in range(_HEADER.size, len(data) - _RECORD_SIZE + 1, _RECORD_SIZE):
        body = data[offset : offset + _RECORD.size]
        whole = _CHECKSUM.unpack_from(data, offset + _RECORD.size)[0] == fingerprint(body)
        yield body if whole else None


def _pack(kind: int, key: int, content: int, when: float) -> bytes:
    body = _RECORD.pack(kind, key, content, when)
    return body + _CHECKSUM.pack(fingerprint(body))
