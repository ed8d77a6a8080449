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
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np

from periplus.files import disk_errors, sync_folder
from periplus.fingerprint import fingerprint
from periplus.meaning.vectorfile import Vectors

__all__ = ["NAME", "EmbeddedLog"]

NAME: Final = "embedded.log"
_MAGIC: Final = b"PERIVEC1"
_HEAD: Final = struct.Struct("<8sII")
_BLOCK: Final = struct.Struct("<IQ")


class EmbeddedLog:
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
            if self._file.read(len(head)) != head:
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
        size, end = os.fstat(self._file.fileno()).st_size, at
        while at + _BLOCK.size <= size:
            self._file.seek(at)
            length, mark = _BLOCK.unpack(self._file.read(_BLOCK.size))
            start, at = at + _BLOCK.size, at + _BLOCK.size + length
            if length < 4 or at > size:
                break
            payload = self._file.read(length)
            if fingerprint(payload) == mark and self._take(payload, start):
                end = at
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
