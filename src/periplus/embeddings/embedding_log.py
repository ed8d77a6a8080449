"""The log of vectors that are not yet in a segment's file: appended and synced, so that a crash loses none.

    magic 8 bytes | width u32 | recipe length u32 | recipe | fingerprint u64 of all that
    block: length u32 | fingerprint u64 of what follows | documents u32 | prints u64 (documents)
           | passages u32 (documents) | scales f32 (all passages) | vectors i8 (all passages, width)

A block that a crash has truncated is the last one; the writer removes it, a reader ignores it. Vectors are found by the
fingerprint (`print` above) of the embedded text, so any segment with the same text can use them.
"""

import contextlib
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self

import numpy as np

from periplus.embeddings.vector_file import PassageVectors
from periplus.files import check_format, disk_errors, make_folder, sync_folder
from periplus.hashing import fingerprint

__all__ = ["LOG_NAME", "EmbeddingLog", "find_log_faults", "repair_log"]

LOG_NAME: Final = "embedded.log"
_MAGIC: Final = b"PERIVEC1"
"""The last digit is the format number."""
_HEADER: Final = struct.Struct("<8sII")
_BLOCK_HEADER: Final = struct.Struct("<IQ")
_MAX_RECIPE_BYTES: Final = 4_096


class _Location(NamedTuple):
    """Where the vectors of a text are in the log."""

    scales: int
    vectors: int
    passages: int


class EmbeddingLog:
    """The log of one index folder. Only the holder of the folder's lock may write it."""

    def __init__(self, path: Path, recipe: str, width: int) -> None:
        self._path, self._width = path, width
        self._locations: dict[int, _Location] = {}
        header = _HEADER.pack(_MAGIC, width, len(recipe.encode())) + recipe.encode()
        header += struct.pack("<Q", fingerprint(header))
        with disk_errors(path):
            make_folder(path.parent)
            self._file = path.open("a+b", buffering=0)
            self._file.seek(0)
            present = self._file.read(len(header))
            _check_format_number(path, present)
            if present != header:
                # A new log, or one of another model, which is useless.
                self._file.truncate(0)
                self._write(header)
                sync_folder(path.parent)
            self._end = self._read_blocks(len(header))
            self._file.truncate(self._end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def __contains__(self, source: int) -> bool:
        return source in self._locations

    def __len__(self) -> int:
        return len(self._locations)

    def _read_blocks(self, at: int) -> int:
        """Read all blocks from `at` on, skipping damaged ones; return the end of the last intact one."""
        end = at
        for start, payload in _blocks(self._file, at):
            if payload and self._register(payload, start):
                end = start + len(payload)
        return end

    def _register(self, payload: bytes, at: int) -> bool:
        """Record the locations of a block's vectors; return False if its sizes are inconsistent."""
        count = int.from_bytes(payload[:4], "little")
        if 4 + 12 * count > len(payload):
            return False
        sources = np.frombuffer(payload, "<u8", count, 4)
        passages = np.frombuffer(payload, "<u4", count, 4 + 8 * count).astype(np.int64)
        total, scales = int(passages.sum()), 4 + 12 * count
        if scales + total * (4 + self._width) != len(payload):
            return False
        first = 0
        for source, number in zip(sources.tolist(), passages.tolist(), strict=True):
            vectors = at + scales + 4 * total + self._width * first
            self._locations[source] = _Location(at + scales + 4 * first, vectors, number)
            first += number
        return True

    def append(self, sources: Sequence[int], parts: Sequence[PassageVectors]) -> None:
        """Append the vectors of texts, given by fingerprint; they are on disk when this returns."""
        if not sources:
            return
        payload = b"".join(
            [
                len(sources).to_bytes(4, "little"),
                np.array(sources, "<u8").tobytes(),
                np.array([len(part.scales) for part in parts], "<u4").tobytes(),
                *(part.scales.astype("<f4").tobytes() for part in parts),
                *(part.vectors.tobytes() for part in parts),
            ]
        )
        with disk_errors(self._path):
            try:
                self._write(_BLOCK_HEADER.pack(len(payload), fingerprint(payload)) + payload)
            except OSError:
                # The next block must not follow a partial one.
                with contextlib.suppress(OSError):
                    self._file.truncate(self._end)
                raise
        self._register(payload, self._end + _BLOCK_HEADER.size)
        self._end += _BLOCK_HEADER.size + len(payload)

    def _write(self, data: bytes) -> None:
        """Write and sync all of `data`; an unbuffered file may accept only a part at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())

    def get(self, source: int) -> PassageVectors | None:
        """Return the vectors of a text by its fingerprint."""
        location = self._locations.get(source)
        if location is None:
            return None
        scales, vectors, count = location
        descriptor = self._file.fileno()
        return PassageVectors(
            np.frombuffer(os.pread(descriptor, count * self._width, vectors), np.int8).reshape(count, self._width),
            np.frombuffer(os.pread(descriptor, 4 * count, scales), "<f4"),
        )

    def clear(self) -> None:
        """Remove the log, once its vectors are in the files of segments."""
        with disk_errors(self._path):
            self._path.unlink(missing_ok=True)
            sync_folder(self._path.parent)


def _blocks(file: BinaryIO, at: int) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the payload of each block; an empty payload where it is damaged or was cut short."""
    size = os.fstat(file.fileno()).st_size
    while at + _BLOCK_HEADER.size <= size:
        file.seek(at)
        length, checksum = _BLOCK_HEADER.unpack(file.read(_BLOCK_HEADER.size))
        start, at = at + _BLOCK_HEADER.size, at + _BLOCK_HEADER.size + length
        if length < 4 or at > size:
            yield start, b""
            return
        payload = file.read(length)
        yield start, payload if fingerprint(payload) == checksum else b""
    if at < size:
        yield at, b""


def _check_format_number(path: Path, header: bytes) -> None:
    """Raise `NewerFormat` for a log of a later version, whose magic ends in another digit."""
    if header[:7] == _MAGIC[:7] and header[7:8].isdigit():
        check_format(path, int(header[7:8]), int(_MAGIC[7:]))


def _find_first_block(path: Path, file: BinaryIO) -> int:
    """Return the offset of the first block; -1 if the header of the log is damaged."""
    header = file.read(_HEADER.size)
    _check_format_number(path, header)
    if len(header) < _HEADER.size:
        return -1
    _, _, recipe_bytes = _HEADER.unpack(header)
    header += file.read(min(recipe_bytes, _MAX_RECIPE_BYTES))
    checksum = file.read(8)
    return len(header) + 8 if header.startswith(_MAGIC) and checksum == struct.pack("<Q", fingerprint(header)) else -1


def find_log_faults(path: Path) -> list[str]:
    """Read all of a log; return a line for each fault, also where a crash has cut its last block short."""
    try:
        with path.open("rb") as file:
            at = _find_first_block(path, file)
            if at < 0:
                return [f"{path} has a damaged header."]
            damaged = sum(not payload for _, payload in _blocks(file, at))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}."]
    return [f"{path} has damaged blocks: {damaged}."] if damaged else []


def repair_log(path: Path) -> None:
    """Rewrite a log with its intact blocks, or remove it if its header is damaged. The caller holds the lock."""
    with disk_errors(path), path.open("rb") as file:
        at = _find_first_block(path, file)
        if at < 0:
            path.unlink()
        else:
            fresh = path.with_name(f".{path.name}.new")
            with fresh.open("wb") as out:
                file.seek(0)
                out.write(file.read(at))
                for _, payload in _blocks(file, at):
                    if payload:
                        out.write(_BLOCK_HEADER.pack(len(payload), fingerprint(payload)) + payload)
                out.flush()
                os.fsync(out.fileno())
            os.replace(fresh, path)
        sync_folder(path.parent)
