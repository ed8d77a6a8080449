"""Spill files: chunks of queues on disk, in append-only files that are removed when they are used up.

    file    chunk after chunk, as long as SPILL_BYTES or one snapshot
    chunk   zlib of msgpack of a list of entries, worst ranks first to go; its place and checksum are in the snapshot

A file is removed two snapshots after its last chunk was read back, so that every snapshot on disk finds its chunks.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Set
from heapq import heapify
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.checksums import FileFault
from periplus.errors import CorruptFile
from periplus.files import disk_errors, make_folder
from periplus.frontier.host import Entry, Host, SpilledChunk
from periplus.hashing import fingerprint, fingerprint_text
from periplus.typed_decoding import msgpack_decoder

__all__ = ["SpillFolder", "check_spill_files"]

_SPILL_BYTES: Final = 64 << 20
_MAX_CHUNK: Final = 64 << 20
_MAX_KNOWN_KEYS: Final = 4_000_000
_entries: Final = msgpack_decoder(list[Entry])


class SpillFolder:
    """Writes chunks of entries to files, reads them back, and removes files that are no longer needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._chunks: dict[int, int] = {}
        """Chunks still needed, by file number."""
        self._obsolete: list[list[int]] = [[], []]
        self._descriptor = -1
        self._size = 0
        self._keys: dict[tuple[int, int], npt.NDArray[np.uint64]] = {}
        self._known_keys = 0
        """Keys of the URLs in chunks that were asked for, and how many there are."""
        with disk_errors(folder):
            make_folder(folder)
        self._number = max((_number_of(path) for path in folder.glob("*.spill")), default=0)
        # `check` keeps those that a snapshot names.
        self._obsolete[1] = [_number_of(path) for path in folder.glob("*.spill")]

    def spill(self, host: Host, keep: int) -> int:
        """Write all but the best `keep` entries of a queue to disk; return their number."""
        host.queue.sort()
        moved = len(host.queue) - keep
        host.spilled.append(self.put(host.queue[keep:]))
        host.spilled.sort(key=lambda chunk: chunk.falling)
        del host.queue[keep:]
        return moved

    def read_back(self, host: Host) -> int:
        """Return the best chunk of a host to its queue; return the number of its entries."""
        entries = self.take(host.spilled.pop(0))
        host.queue = [*host.queue, *entries]
        heapify(host.queue)
        return len(entries)

    def put(self, entries: list[Entry]) -> SpilledChunk:
        """Write entries to disk; return where they are."""
        data = zlib.compress(msgspec.msgpack.encode(entries), 1)
        with disk_errors(self._folder):
            if self._descriptor < 0 or self._size >= _SPILL_BYTES:
                self._open_next()
            offset = self._size
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:], offset + done)
        self._size = offset + len(data)
        self._chunks[self._number] = self._chunks.get(self._number, 0) + 1
        best = min(entry.falling for entry in entries)
        return SpilledChunk(self._number, offset, len(data), fingerprint(data), len(entries), best)

    def take(self, chunk: SpilledChunk) -> list[Entry]:
        """Read entries back; raise `CorruptFile` if they are not what was written."""
        entries = self.peek(chunk)
        if (known := self._keys.pop((chunk.file, chunk.offset), None)) is not None:
            self._known_keys -= len(known)
        self._chunks[chunk.file] = self._chunks.get(chunk.file, 1) - 1
        return entries

    def peek(self, chunk: SpilledChunk) -> list[Entry]:
        """Return entries that stay on disk; raise `CorruptFile` if they are not what was written."""
        return _entries.decode(zlib.decompressobj().decompress(self._read(chunk), _MAX_CHUNK))

    def holds_any(self, chunk: SpilledChunk, keys: Set[int]) -> bool:
        """Return whether an entry on disk has one of these keys of URLs, mostly without reading it."""
        place = (chunk.file, chunk.offset)
        known = self._keys.get(place)
        if known is None:
            known = np.array([fingerprint_text(entry.url) for entry in self.peek(chunk)], np.uint64)
            if self._known_keys > _MAX_KNOWN_KEYS:
                self._keys.clear()
                self._known_keys = 0
            self._keys[place] = known
            self._known_keys += len(known)
        return not keys.isdisjoint(known.tolist())

    def check(self, hosts: Iterable[Host]) -> None:
        """Register the chunks that a snapshot names; raise `CorruptFile` if one is not what was written."""
        for host in hosts:
            for chunk in host.chunks():
                self._read(chunk)
                self._chunks[chunk.file] = self._chunks.get(chunk.file, 0) + 1
        self._obsolete[1] = [number for number in self._obsolete[1] if number not in self._chunks]

    def _read(self, chunk: SpilledChunk) -> bytes:
        path = self._path(chunk.file)
        try:
            with path.open("rb") as file:
                file.seek(chunk.offset)
                data = file.read(chunk.length)
        except OSError as error:
            raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from error
        if len(data) != chunk.length or fingerprint(data) != chunk.checksum:
            raise CorruptFile(f"{path} is damaged at byte {chunk.offset}.")
        return data

    def sync(self) -> None:
        """Make all chunks durable, as a snapshot is about to name them; remove files of two snapshots ago."""
        with disk_errors(self._folder):
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)
        for number in self._obsolete.pop(0):
            with contextlib.suppress(OSError):
                self._path(number).unlink()
        gone = [number for number, chunks in self._chunks.items() if chunks <= 0 and number != self._number]
        for number in gone:
            del self._chunks[number]
        self._obsolete.append(gone)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open_next(self) -> None:
        if self._descriptor >= 0:
            os.fdatasync(self._descriptor)
        self.close()
        self._number += 1
        self._size = 0
        self._descriptor = os.open(self._path(self._number), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:08d}.spill"


def check_spill_files(folder: Path, hosts: Iterable[Host]) -> Iterator[FileFault]:
    """Read all spill files; yield those that lack a chunk of `hosts`, or contain anything but chunks."""
    for chunk in (chunk for host in hosts for chunk in host.chunks()):
        path = folder / f"{chunk.file:08d}.spill"
        try:
            with path.open("rb") as file:
                file.seek(chunk.offset)
                data = file.read(chunk.length)
        except OSError as error:
            yield FileFault(path, f"cannot be read: {error.strerror}")
            continue
        if len(data) != chunk.length or fingerprint(data) != chunk.checksum:
            yield FileFault(path, f"is damaged at byte {chunk.offset}")
    for path in sorted(folder.glob("*.spill")):
        rest, size = path.read_bytes(), path.stat().st_size
        while rest:
            engine = zlib.decompressobj()
            try:
                engine.decompress(rest, _MAX_CHUNK)
            except zlib.error as error:
                yield FileFault(path, f"is damaged at byte {size - len(rest)}: {error}")
                break
            if not engine.eof:
                yield FileFault(path, f"was cut short at byte {size - len(rest)}", torn=True)
                break
            rest = engine.unused_data


def _number_of(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0
