"""The journal of a live index: changes that are not in a segment yet. It survives the end of the process.

    magic 8 bytes | version u32 | then frames:  length u32 | fingerprint u64 | an entry, as msgpack

A crash may leave an incomplete frame at the end, and a power failure a part that was never written, which reads as
zeros: reading ends there, since neither that frame nor those after it were acknowledged. Any other frame with a wrong
fingerprint was damaged afterwards, and an error: what it had must not be left out silently.
"""

import os
import struct
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors, read_file, sync_folder, write_atomically, write_range_again
from periplus.hashing import fingerprint
from periplus.records import FetchRecord
from periplus.typed_decoding import parse_msgpack

__all__ = ["Journal", "JournalEntry", "JournalScan", "journal_path", "read_journal", "repair_journal", "scan_journal"]

_MAGIC: Final = b"PERIJRNL"
_VERSION: Final = 1
_FILE_HEADER: Final = struct.Struct("<8sI")
_FRAME_HEADER: Final = struct.Struct("<IQ")
_SECTOR: Final = 512
"""Bytes that a disk writes whole or not at all."""
_MAX_SEARCH: Final = 64
"""Times the length of a journal that are read, at most, to find the frame after a damaged one."""


class JournalEntry(msgspec.Struct, frozen=True, array_like=True):
    """One change of a live index: a fetch record that was added, or the key of a document that was deleted."""

    record: FetchRecord | None = None
    deleted_key: int = 0


def journal_path(folder: Path, number: int) -> Path:
    """Return the path of the journal with this number."""
    return folder / f"journal-{number:06}.log"


class JournalScan(NamedTuple):
    """What a journal has."""

    entries: list[JournalEntry]
    """Those of all intact frames, also after damaged ones."""
    frames: list[tuple[int, int]]
    """Begin and end of each intact frame."""
    end: int
    """The end of the last intact frame; what follows was cut short by a crash."""
    damage: list[int]
    """Where damaged frames begin."""


def read_journal(path: Path) -> tuple[list[JournalEntry], int]:
    """Return every entry, and where the last one ends; raise `CorruptFile` if one of them is damaged."""
    scan = scan_journal(path)
    if scan.damage:
        raise CorruptFile(f"{path} is damaged at byte {scan.damage[0]}.", "Run: periplus repair.")
    return scan.entries, scan.end


def scan_journal(path: Path) -> JournalScan:
    """Read a journal as far as it can be read, passing over damaged frames."""
    raw = read_file(path)
    if len(raw) < _FILE_HEADER.size:
        return JournalScan([], [], 0, [])
    magic, version = _FILE_HEADER.unpack_from(raw)
    if magic != _MAGIC or version < 1:
        raise CorruptFile(f"{path} is not a journal.", "Run: periplus repair.")
    if version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    scan = JournalScan([], [], _FILE_HEADER.size, [])
    at = _FILE_HEADER.size
    while at < len(raw):
        entry, end = _read_frame(raw, at)
        if entry is None:
            following = _find_frame(raw, at + 1)
            if _was_never_written(raw, at, following or len(raw)):
                break
            if following is None and _is_cut_short(raw, at, end):
                break
            scan.damage.append(at)
            if following is None:
                break
            at = following
            continue
        scan.entries.append(entry)
        scan.frames.append((at, end))
        scan, at = scan._replace(end=end), end
    return scan


def _read_frame(raw: bytes, at: int) -> tuple[JournalEntry | None, int]:
    """Return the entry of the frame at `at`, None if it is not intact, and where the frame ends."""
    if at + _FRAME_HEADER.size > len(raw):
        return None, len(raw)
    length, checksum = _FRAME_HEADER.unpack_from(raw, at)
    begin = at + _FRAME_HEADER.size
    end = begin + length
    if end > len(raw) or length == 0 or fingerprint(raw[begin:end]) != checksum:
        return None, end
    try:
        return parse_msgpack(raw[begin:end], JournalEntry), end
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None, end


def _is_cut_short(raw: bytes, at: int, end: int) -> bool:
    """Return whether the last frame is incomplete, and not merely its length wrong."""
    begin = at + _FRAME_HEADER.size
    if begin > len(raw):
        return True
    return end > len(raw) and fingerprint(raw[begin:]) != _FRAME_HEADER.unpack_from(raw, at)[1]


def _find_frame(raw: bytes, at: int) -> int | None:
    """Return where the next intact frame begins; a wrong length hides where the damaged one ends."""
    view = np.frombuffer(raw, np.uint8)[at:].astype(np.int64)
    count = len(view) - _FRAME_HEADER.size
    if count <= 0:
        return None
    lengths = view[:count] | view[1 : count + 1] << 8 | view[2 : count + 2] << 16 | view[3 : count + 3] << 24
    fitting = np.flatnonzero((lengths > 0) & (lengths <= count - np.arange(count)))
    budget = _MAX_SEARCH * len(raw)
    for begin in fitting.tolist():
        budget -= int(lengths[begin])
        if budget < 0:
            return None
        if _read_frame(raw, at + begin)[0] is not None:
            return int(at + begin)
    return None


def _was_never_written(raw: bytes, at: int, end: int) -> bool:
    """Return whether a frame is missing wholly, or from a sector on: a power failure leaves zeros, not flipped bits."""
    if not any(raw[at : at + _FRAME_HEADER.size]):
        return True
    first = at + -at % _SECTOR
    return any(not any(raw[begin : begin + _SECTOR]) for begin in range(first, end, _SECTOR))


class Journal:
    """One journal, opened for appending; `entries` are those that it has at opening."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sync_failed = False
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
            if self._sync_failed:
                write_range_again(self._file, 0, self._length)
            self._sync_failed = True
            os.fsync(self._file)
        self._sync_failed = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def repair_journal(path: Path) -> int:
    """Rewrite a journal with its intact frames; return their number. The caller holds the lock and a copy of it."""
    raw = path.read_bytes()
    frames = scan_journal(path).frames
    write_atomically(path, _FILE_HEADER.pack(_MAGIC, _VERSION) + b"".join(raw[begin:end] for begin, end in frames))
    return len(frames)


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
