"""Small, bounded doors to zstd and gzip: bytes in, bytes out, never more than was allowed for."""

import gzip
import io
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import zstandard

from periplus.errors import BadFile, CorruptFile

__all__ = ["MAX_LINE", "compress", "decompress", "gzip_member", "read_lines", "unpack_first"]

MAX_LINE: Final = 64 << 20
"""Longest line `read_lines` gives; a longer one is an error, not a reason to fill memory."""
_WINDOW: Final = 128 << 20
_STEP: Final = 1 << 16

# zstd contexts are costly to make and not safe to share between threads.
_local = threading.local()


def compress(data: bytes | bytearray | memoryview, level: int = 3) -> bytes:
    """Compress to one zstd frame that states its content size."""
    cache: dict[int, zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    if level not in cache:
        cache[level] = zstandard.ZstdCompressor(level=level, write_content_size=True)
    return cache[level].compress(data)


def decompress(data: bytes | bytearray | memoryview, max_size: int) -> bytes:
    """Decompress one zstd frame of at most `max_size` bytes; raise `CorruptFile` for anything else."""
    try:
        size = zstandard.frame_content_size(data)
        if size > max_size:
            raise CorruptFile(f"A zstd frame claims {size} bytes where {max_size} are allowed.")
        if size >= 0:
            return _decompressor().decompress(data)
        with _decompressor().stream_reader(data) as reader:
            plain = reader.read(max_size + 1)
        if len(plain) > max_size:
            raise CorruptFile(f"A zstd frame is longer than the {max_size} bytes allowed.")
        return plain
    except zstandard.ZstdError as error:
        raise CorruptFile(f"A zstd frame is damaged: {error}.") from error


def _decompressor() -> zstandard.ZstdDecompressor:
    found = _local.__dict__.get("decompressor")
    if found is None:
        found = _local.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return cast(zstandard.ZstdDecompressor, found)


def gzip_member(data: bytes, level: int) -> bytes:
    """Compress to one gzip member, the same for the same input."""
    return gzip.compress(data, compresslevel=min(level, 9), mtime=0)


def unpack_first(data: bytes | bytearray | memoryview, max_size: int, kind: str) -> tuple[bytes, int]:
    """Decompress the first frame ('zstd') or member ('gzip') of `data`; give it and the length it took.

    Raise `CorruptFile` when it is damaged, not whole or longer than `max_size`.
    """
    engine = zlib.decompressobj(wbits=31) if kind == "gzip" else _stated_frame(data, max_size)
    whole: list[bytes] = []
    size = taken = 0
    view = memoryview(data)
    try:
        while not engine.eof and taken < len(view):
            piece = engine.decompress(view[taken : taken + _STEP])
            taken += len(view[taken : taken + _STEP])
            size += len(piece)
            if size > max_size:
                raise CorruptFile(f"A {kind} record is longer than the {max_size} bytes allowed.")
            whole.append(piece)
    except (zstandard.ZstdError, zlib.error) as error:
        raise CorruptFile(f"A {kind} record is damaged: {error}.") from error
    if not engine.eof:
        raise CorruptFile(f"A {kind} record is cut off.")
    return b"".join(whole), taken - len(engine.unused_data)


def _stated_frame(data: bytes | bytearray | memoryview, max_size: int) -> "zstandard.ZstdDecompressionObj":
    """Begin a frame that states its size. Without that, 64 kB of input may become gigabytes in one step."""
    try:
        size = zstandard.frame_content_size(data)
    except zstandard.ZstdError as error:
        raise CorruptFile(f"A zstd record is damaged: {error}.") from error
    if not 0 <= size <= max_size:
        raise CorruptFile(f"A zstd record states no size, or more than the {max_size} bytes allowed.")
    return _decompressor().decompressobj()


def read_lines(path: Path) -> Iterator[bytes]:
    """Give the lines of a plain, .gz or .zst file, without their ends; the kind is told by the first bytes."""
    try:
        with path.open("rb") as file, _plain(file) as plain:
            number = 0
            while line := plain.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise BadFile(f"{path} has a line of more than {MAX_LINE >> 20} MB (line {number}).")
                yield line.rstrip(b"\r\n")
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadFile(f"{path} cannot be read: {reason}.") from error


def _plain(file: BinaryIO) -> BinaryIO:
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start == b"\x28\xb5\x2f\xfd" or (start[1:] == b"\x2a\x4d\x18" and start[:1] >= b"\x50" and start[:1] <= b"\x5f"):
        engine = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        return cast(BinaryIO, io.BufferedReader(_WholeFrames(engine, file), _STEP))
    return file


class _WholeFrames(io.RawIOBase):
    """Read all zstd frames of a file, one after the other, and complain when the last one is cut off."""

    def __init__(self, engine: zstandard.ZstdDecompressor, file: BinaryIO) -> None:
        self._engine = engine
        self._file = file
        self._frame = engine.decompressobj()
        self._fresh = True
        self._input = b""
        self._output = b""
        self._given = 0

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill `buffer` with what comes next; 0 at the end."""
        target = memoryview(cast(bytearray, buffer)).cast("B")
        while self._given == len(self._output) and self._more():
            pass
        count = min(len(target), len(self._output) - self._given)
        target[:count] = memoryview(self._output)[self._given : self._given + count]
        self._given += count
        return count

    def _more(self) -> bool:
        """Decompress the next piece; say whether there may be more."""
        if not self._input:
            # Small bites: one bite of a bomb becomes at most some tens of MB.
            self._input = self._file.read(1 << 12)
        if not self._input:
            if not self._fresh:
                raise EOFError("the last zstd frame is cut off")
            return False
        self._output, self._given = self._frame.decompress(self._input), 0
        self._fresh = self._frame.eof
        self._input = self._frame.unused_data
        if self._frame.eof:
            self._frame = self._engine.decompressobj()
        return True
