"""The journal of a live index: changes that are not in a segment yet. It survives the end of the process.

    magic 8 bytes | version u32 | then frames:  length u32 | fingerprint u64 | an entry, as msgpack

Reading ends at a frame that is incomplete or damaged: neither it nor those after it were acknowledged.
"""

import os
import struct
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors, sync_folder
from periplus.hashing import fingerprint
from periplus.records import FetchRecord

__all__ = ["Journal", "JournalEntry", "journal_path", "read_journal"]

_MAGIC: Final = b"PERIJRNL"
_VERSION: Final = 1
_FILE_HEADER: Final = struct.Struct("<8sI")
_FRAME_HEADER: Final = struct.Struct("<IQ")


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """One change of a live index: a fetch record that was added, or the key of a document that was deleted."""

    record: FetchRecord | None = None
    deleted_key: int = 0


def journal_path(folder: Path, number: int) -> Path:
    """Return the path of the journal with this number."""
    return folder / f"journal-{number:06}.log"


def read_journal(path: Path) -> tuple[list[JournalEntry], int]:
    """Return every complete entry, and where the last one ends."""
    raw = path.read_bytes()
    if len(raw) < _FILE_HEADER.size:
        return [], 0
    magic, version = _FILE_HEADER.unpack_from(raw)
    if magic != _MAGIC or version < 1:
        raise CorruptFile(f"{path} is not a journal.", "Move it away; the index is complete without it.")
    if version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    entries: list[JournalEntry] = []
    at = _FILE_HEADER.size
    while at + _FRAME_HEADER.size <= len(raw):
        length, checksum = _FRAME_HEADER.unpack_from(raw, at)
        frame = raw[at + _FRAME_HEADER.size : at + _FRAME_HEADER.size + length]
        if len(frame) < length or fingerprint(frame) != checksum:
            break
        entries.append(msgspec.msgpack.decode(frame, type=JournalEntry))
        at += _FRAME_HEADER.size + length
    return entries, at


class Journal:
    """One journal, opened for appending; `entries` are those that it has at opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with disk_errors(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self.entries, self._length = read_journal(path)
            with disk_errors(path):
                os.ftruncate(self._file, self._length)
                if not self._length:
                    self._write(_FILE_HEADER.pack(_MAGIC, _VERSION))
                    os.fsync(self._file)
                    sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, entry: JournalEntry) -> None:
        """Append an entry. Once this returns, it survives the end of this process."""
        frame = _encode(entry)
        with disk_errors(self.path):
            self._write(_FRAME_HEADER.pack(len(frame), fingerprint(frame)) + frame)

    def _write(self, data: bytes) -> None:
        """Write all bytes or none: a partial frame must not precede the next one."""
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._length + done)
        except OSError:
            os.ftruncate(self._file, self._length)
            raise
        self._length += len(data)

    def sync(self) -> None:
        """Sync the file, so that every entry survives a power failure."""
        with disk_errors(self.path):
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _encode(entry: JournalEntry) -> bytes:
    try:
        return msgspec.msgpack.encode(entry)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_scrub(msgspec.to_builtins(entry)))


def _scrub(value: Any) -> Any:
    """Replace lone surrogates, which UTF-8 cannot represent."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {name: _scrub(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(inner) for inner in value]
    return value
