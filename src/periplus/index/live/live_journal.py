"""The journal of a live index: what was taken and is not in a segment yet. It survives the end of the process.

    magic 8 bytes | version u32 | then frames:  length u32 | fingerprint u64 | a change, as msgpack

A frame that is cut off or damaged, and all that follow it, were never acknowledged as a whole: reading ends there.
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

__all__ = ["Change", "Journal", "journal_path", "read_journal"]

_MAGIC: Final = b"PERIJRNL"
_VERSION: Final = 1
_FILE: Final = struct.Struct("<8sI")
_HEAD: Final = struct.Struct("<IQ")


class Change(msgspec.Struct, frozen=True, array_like=True):
    """One thing that a live index was told: a visit to take, or the key of a page to forget."""

    visit: FetchRecord | None = None
    forget: int = 0


def journal_path(folder: Path, number: int) -> Path:
    """Say which file the journal with this number is."""
    return folder / f"journal-{number:06}.log"


def read_journal(path: Path) -> tuple[list[Change], int]:
    """Read every whole change; give them and where the last one ends."""
    raw = path.read_bytes()
    if len(raw) < _FILE.size:
        return [], 0
    magic, version = _FILE.unpack_from(raw)
    if magic != _MAGIC or version < 1:
        raise CorruptFile(f"{path} is no journal.", "Move it away; the index without it is whole.")
    if version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    changes: list[Change] = []
    at = _FILE.size
    while at + _HEAD.size <= len(raw):
        length, mark = _HEAD.unpack_from(raw, at)
        frame = raw[at + _HEAD.size : at + _HEAD.size + length]
        if len(frame) < length or fingerprint(frame) != mark:
            break
        changes.append(msgspec.msgpack.decode(frame, type=Change))
        at += _HEAD.size + length
    return changes, at


class Journal:
    """One journal, opened for reading what is there and appending to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with disk_errors(path):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self.changes, self._length = read_journal(path)
            with disk_errors(path):
                os.ftruncate(self._file, self._length)
                if not self._length:
                    self._write(_FILE.pack(_MAGIC, _VERSION))
                    os.fsync(self._file)
                    sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, change: Change) -> None:
        """Hand a change to the operating system: from now on, it survives the end of this process."""
        frame = _encode(change)
        with disk_errors(self.path):
            self._write(_HEAD.pack(len(frame), fingerprint(frame)) + frame)

    def _write(self, data: bytes) -> None:
        """Write all of it or nothing: what a full disk cut off must not stand before the next frame."""
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._length + done)
        except OSError:
            os.ftruncate(self._file, self._length)
            raise
        self._length += len(data)

    def sync(self) -> None:
        """Make every change survive a power cut."""
        with disk_errors(self.path):
            os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def _encode(change: Change) -> bytes:
    try:
        return msgspec.msgpack.encode(change)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_scrub(msgspec.to_builtins(change)))


def _scrub(value: Any) -> Any:
    """Replace lone surrogates, which UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {name: _scrub(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(inner) for inner in value]
    return value
