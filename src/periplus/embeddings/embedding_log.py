"""Vectors that were made and are not in a segment's file yet: appended and synced, so that no end loses them.

    magic 8 bytes | width u32 | recipe length u32 | recipe | fingerprint u64 of all that
    block: length u32 | fingerprint u64 of what follows | documents u32 | prints u64 (documents)
           | passages u32 (documents) | scales f32 (all passages) | vectors i8 (all passages, width)

A block that a crash has cut off is the last one; the writer cuts it away, a reader ignores it. Vectors are found by the
print of what was embedded, so they are of use to any segment that has the same text.
"""

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Self

import numpy as np

from periplus.embeddings.vector_file import Vectors
from periplus.files import check_format, disk_errors, sync_folder
from periplus.hashing import fingerprint

__all__ = ["NAME", "EmbeddingLog", "log_faults", "mend_log"]

NAME: Final = "embedded.log"
_MAGIC: Final = b"PERIVEC1"
"""Its last digit is the number of the format."""
_HEAD: Final = struct.Struct("<8sII")
_BLOCK: Final = struct.Struct("<IQ")
_LONGEST_RECIPE: Final = 4_096


class EmbeddingLog:
    """The log of one index folder. One writer at a time: who holds the lock of its folder."""

    def __init__(self, path: Path, recipe: str, width: int) -> None:
        self._path, self._width = path, width
        self._places: dict[int, tuple[int, int, int]] = {}
        head = _HEAD.pack(_MAGIC, width, len(recipe.encode())) + recipe.encode()
        head += struct.pack("<Q", fingerprint(head))
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a+b", buffering=0)
            self._file.seek(0)
            present = self._file.read(len(head))
            _check_number(path, present)
            if present != head:
                # Another model, or nothing yet: what it has is of no use.
                self._file.truncate(0)
                self._write(head)
                sync_folder(path.parent)
            self._end = self._read(len(head))
            self._file.truncate(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self._file.close()

    def __contains__(self, mark: int) -> bool:
        return mark in self._places

    def __len__(self) -> int:
        return len(self._places)

    def _read(self, at: int) -> int:
        """Find all whole blocks from `at` on, passing over damaged ones; give where the last whole one ends."""
        end = at
        for start, payload in _blocks(self._file, at):
            if payload and self._take(payload, start):
                end = start + len(payload)
        return end

    def _take(self, payload: bytes, at: int) -> bool:
        """Remember where the vectors of a block are; False if its parts do not add up."""
        count = int.from_bytes(payload[:4], "little")
        if 4 + 12 * count > len(payload):
            return False
        prints = np.frombuffer(payload, "<u8", count, 4)
        passages = np.frombuffer(payload, "<u4", count, 4 + 8 * count).astype(np.int64)
        total, scales = int(passages.sum()), 4 + 12 * count
        if scales + total * (4 + self._width) != len(payload):
            return False
        first = 0
        for mark, number in zip(prints.tolist(), passages.tolist(), strict=True):
            here = at + scales + 4 * first
            self._places[mark] = (here, at + scales + 4 * total + self._width * first, number)
            first += number
        return True

    def append(self, prints: Sequence[int], parts: Sequence[Vectors]) -> None:
        """Add the vectors of some documents; when this returns they are on the disk."""
        if not prints:
            return
        payload = b"".join(
            [
                len(prints).to_bytes(4, "little"),
                np.array(prints, "<u8").tobytes(),
                np.array([len(part.scales) for part in parts], "<u4").tobytes(),
                *(part.scales.astype("<f4").tobytes() for part in parts),
                *(part.vectors.tobytes() for part in parts),
            ]
        )
        with disk_errors(self._path):
            try:
                self._write(_BLOCK.pack(len(payload), fingerprint(payload)) + payload)
            except OSError:
                # What comes next must not stand behind half a block.
                with contextlib.suppress(OSError):
                    self._file.truncate(self._end)
                raise
        self._take(payload, self._end + _BLOCK.size)
        self._end += _BLOCK.size + len(payload)

    def _write(self, data: bytes) -> None:
        """Write all of it, to the disk; a file without a buffer may take only a part at once."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())

    def get(self, mark: int) -> Vectors | None:
        """Give the vectors of a print."""
        place = self._places.get(mark)
        if place is None:
            return None
        scales, vectors, count = place
        descriptor = self._file.fileno()
        return Vectors(
            np.frombuffer(os.pread(descriptor, count * self._width, vectors), np.int8).reshape(count, self._width),
            np.frombuffer(os.pread(descriptor, 4 * count, scales), "<f4"),
        )

    def clear(self) -> None:
        """Forget everything: all of it is in files of segments now."""
        with disk_errors(self._path):
            self._path.unlink(missing_ok=True)
            sync_folder(self._path.parent)


def _blocks(file: BinaryIO, at: int) -> Iterator[tuple[int, bytes]]:
    """Give where the payload of each block begins, and the payload; nothing of it where it is damaged."""
    size = os.fstat(file.fileno()).st_size
    while at + _BLOCK.size <= size:
        file.seek(at)
        length, mark = _BLOCK.unpack(file.read(_BLOCK.size))
        start, at = at + _BLOCK.size, at + _BLOCK.size + length
        if length < 4 or at > size:
            return
        payload = file.read(length)
        yield start, payload if fingerprint(payload) == mark else b""


def _check_number(path: Path, head: bytes) -> None:
    """Raise `NewerFormat` for a log of a later version, whose magic ends in another digit."""
    if head[:7] == _MAGIC[:7] and head[7:8].isdigit():
        check_format(path, int(head[7:8]), int(_MAGIC[7:]))


def _first_block(path: Path, file: BinaryIO) -> int:
    """Return where the first block begins; -1 if the head of the log is damaged."""
    head = file.read(_HEAD.size)
    _check_number(path, head)
    if len(head) < _HEAD.size:
        return -1
    head += file.read(min(_HEAD.unpack(head)[2], _LONGEST_RECIPE))
    mark = file.read(8)
    return len(head) + 8 if head.startswith(_MAGIC) and mark == struct.pack("<Q", fingerprint(head)) else -1


def log_faults(path: Path) -> list[str]:
    """Read all of a log; give a line for each fault. A tail that was cut off is none: it was never told of."""
    try:
        with path.open("rb") as file:
            at = _first_block(path, file)
            if at < 0:
                return [f"{path} has a damaged head."]
            damaged = sum(not payload for _, payload in _blocks(file, at))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}."]
    return [f"{path} has damaged blocks: {damaged}."] if damaged else []


def mend_log(path: Path) -> None:
    """Write a log anew with the blocks that are whole; one without a head is removed. For who holds its lock."""
    with disk_errors(path), path.open("rb") as file:
        at = _first_block(path, file)
        if at < 0:
            path.unlink()
        else:
            fresh = path.with_name(f".{path.name}.new")
            with fresh.open("wb") as out:
                file.seek(0)
                out.write(file.read(at))
                for _, payload in _blocks(file, at):
                    if payload:
                        out.write(_BLOCK.pack(len(payload), fingerprint(payload)) + payload)
                out.flush()
                os.fsync(out.fileno())
            os.replace(fresh, path)
        sync_folder(path.parent)
