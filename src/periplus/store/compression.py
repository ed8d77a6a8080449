"""Bounded compression and decompression with zstd and gzip: no output is longer than the caller allows."""

import gzip
import io
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import zstandard

from periplus.errors import BadFile, BadInput, CorruptFile

__all__ = [
    "ENCODINGS",
    "MAX_LINE",
    "StreamDecoder",
    "compress",
    "decompress",
    "decompress_first",
    "gzip_member",
    "read_lines",
]

MAX_LINE: Final = 64 << 20
"""Longest line that `read_lines` returns; a longer one is an error."""
ENCODINGS: Final = ("identity", "gzip", "zstd")
_MAX_PIECE: Final = 1 << 20
_UPLOAD_WINDOW: Final = 8 << 20
_ZSTD_STEP: Final = 1 << 12
"""Bytes of zstd that are decoded at a time: of a decompression bomb, each expands to tens of MB at most."""
_BAD: Final = "The body is not in the encoding that it states, or damaged."
_WINDOW: Final = 128 << 20
_STEP: Final = 1 << 16

# zstd contexts are expensive to create and not safe to share between threads.
_local = threading.local()


def compress(
    data: bytes | bytearray | memoryview, level: int = 3, dictionary: zstandard.ZstdCompressionDict | None = None
) -> bytes:
    """Compress to one zstd frame that states its content size and ends with a checksum of its content."""
    cache: dict[tuple[int, int], zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    key = (level, 0) if dictionary is None else (level, dictionary.dict_id())
    if key not in cache:
        cache[key] = zstandard.ZstdCompressor(
            level=level, dict_data=dictionary, write_content_size=True, write_checksum=True
        )
    return cache[key].compress(data)


def decompress(data: bytes | bytearray | memoryview, max_size: int) -> bytes:
    """Decompress one zstd frame of at most `max_size` bytes; raise `CorruptFile` for anything else."""
    try:
        size = zstandard.frame_content_size(data)
        if size > max_size:
            raise CorruptFile(f"A zstd frame claims {size} bytes where {max_size} are allowed.")
        if size >= 0:
            return _decompressor().decompress(data, allow_extra_data=False)
        with _decompressor().stream_reader(data) as reader:
            plain = reader.read(max_size + 1)
        if len(plain) > max_size:
            raise CorruptFile(f"A zstd frame is longer than the {max_size} bytes allowed.")
        return plain
    except zstandard.ZstdError as error:
        raise CorruptFile(f"A zstd frame is damaged: {error}.") from error


def _decompressor() -> zstandard.ZstdDecompressor:
    engine = _local.__dict__.get("decompressor")
    if engine is None:
        engine = _local.decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    return cast(zstandard.ZstdDecompressor, engine)


def gzip_member(data: bytes, level: int) -> bytes:
    """Compress to one gzip member, deterministically."""
    return gzip.compress(data, compresslevel=min(level, 9), mtime=0)


def decompress_first(
    data: bytes | bytearray | memoryview,
    max_size: int,
    kind: str,
    dictionary: zstandard.ZstdCompressionDict | None = None,
) -> tuple[bytes, int]:
    """Decompress the first frame ('zstd') or member ('gzip') of `data`; return it and its compressed length.

    Raise `CorruptFile` if it is damaged, truncated or longer than `max_size`.
    """
    engine = zlib.decompressobj(wbits=31) if kind == "gzip" else _begin_sized_frame(data, max_size, dictionary)
    pieces: list[bytes] = []
    size = consumed = 0
    view = memoryview(data)
    try:
        while not engine.eof and consumed < len(view):
            piece = engine.decompress(view[consumed : consumed + _STEP])
            consumed += len(view[consumed : consumed + _STEP])
            size += len(piece)
            if size > max_size:
                raise CorruptFile(f"A {kind} record is longer than the {max_size} bytes allowed.")
            pieces.append(piece)
    except (zstandard.ZstdError, zlib.error) as error:
        raise CorruptFile(f"A {kind} record is damaged: {error}.") from error
    if not engine.eof:
        raise CorruptFile(f"A {kind} record is truncated.")
    return b"".join(pieces), consumed - len(engine.unused_data)


def _begin_sized_frame(
    data: bytes | bytearray | memoryview, max_size: int, dictionary: zstandard.ZstdCompressionDict | None
) -> "zstandard.ZstdDecompressionObj":
    """Begin a frame that declares its size. Without that, 64 kB of input may expand to gigabytes in one step."""
    try:
        size = zstandard.frame_content_size(data)
    except zstandard.ZstdError as error:
        raise CorruptFile(f"A zstd record is damaged: {error}.") from error
    if not 0 <= size <= max_size:
        raise CorruptFile(f"A zstd record declares no size, or more than the {max_size} bytes allowed.")
    if dictionary is None:
        return _decompressor().decompressobj()
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_WINDOW).decompressobj()


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain, gzip or zstd file, without line ends; the format is detected by the first bytes."""
    try:
        with path.open("rb") as file, _open_plain(file) as plain:
            number = 0
            while line := plain.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise BadFile(f"{path} has a line of more than {MAX_LINE >> 20} MB (line {number}).")
                yield line.rstrip(b"\r\n")
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadFile(f"{path} cannot be read: {reason}.") from error


def _open_plain(file: BinaryIO) -> BinaryIO:
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start == b"\x28\xb5\x2f\xfd" or (start[1:] == b"\x2a\x4d\x18" and start[:1] >= b"\x50" and start[:1] <= b"\x5f"):
        engine = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        return cast(BinaryIO, io.BufferedReader(_FrameReader(engine, file), _STEP))
    return file


class _FrameReader(io.RawIOBase):
    """Reads all zstd frames of a file, one after the other; raises `EOFError` if the last one is truncated."""

    def __init__(self, engine: zstandard.ZstdDecompressor, file: BinaryIO) -> None:
        self._engine = engine
        self._file = file
        self._frame = engine.decompressobj()
        self._at_frame_start = True
        self._input = b""
        self._output = b""
        self._output_read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill `buffer` and return the number of bytes read, 0 at the end."""
        target = memoryview(cast(bytearray, buffer)).cast("B")
        while self._output_read == len(self._output) and self._decompress_next():
            pass
        count = min(len(target), len(self._output) - self._output_read)
        target[:count] = memoryview(self._output)[self._output_read : self._output_read + count]
        self._output_read += count
        return count

    def _decompress_next(self) -> bool:
        """Decompress the next piece; return whether there may be more."""
        if not self._input:
            # Small reads: of a decompression bomb, each expands to tens of MB at most.
            self._input = self._file.read(1 << 12)
        if not self._input:
            if not self._at_frame_start:
                raise EOFError("the last zstd frame is truncated")
            return False
        self._output, self._output_read = self._frame.decompress(self._input), 0
        self._at_frame_start = self._frame.eof
        self._input = self._frame.unused_data
        if self._frame.eof:
            self._frame = self._engine.decompressobj()
        return True


class StreamDecoder:
    """Decodes one body in one of `ENCODINGS`; several gzip members or zstd frames may follow each other."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ENCODINGS:
            raise BadInput(f"The encoding '{encoding[:40]}' is not supported.", f"Use {', '.join(ENCODINGS)}.")
        self._encoding = encoding
        self._engine: Any = self._begin()
        self._fresh = True

    def _begin(self) -> Any:
        if self._encoding == "gzip":
            return zlib.decompressobj(wbits=31)
        return zstandard.ZstdDecompressor(max_window_size=_UPLOAD_WINDOW).decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what some bytes decode to, in pieces; raise `BadInput` if they cannot be decoded."""
        if self._encoding == "identity":
            yield data
            return
        try:
            yield from self._gzip(data) if self._encoding == "gzip" else self._zstd(data)
        except (zlib.error, zstandard.ZstdError):
            raise BadInput(_BAD, "Send Content-Encoding: gzip or zstd with such a body.") from None

    def _gzip(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._engine.eof:
                self._engine = self._begin()
            piece = self._engine.decompress(data, _MAX_PIECE)
            data = self._engine.unconsumed_tail or self._engine.unused_data
            self._fresh = self._engine.eof
            yield piece

    def _zstd(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._engine.eof:
                self._engine = self._begin()
            piece = self._engine.decompress(data[:_ZSTD_STEP])
            data = self._engine.unused_data + data[_ZSTD_STEP:] if self._engine.eof else data[_ZSTD_STEP:]
            self._fresh = self._engine.eof
            for begin in range(0, len(piece), _MAX_PIECE):
                yield piece[begin : begin + _MAX_PIECE]

    def finish(self) -> None:
        """Raise `BadInput` if the body ended within a member or frame."""
        if self._encoding != "identity" and not self._fresh:
            raise BadInput("The compressed body is incomplete.", "Send all of it; what came first was taken.")
