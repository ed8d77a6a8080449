"""Pages out of WARC files, ours or others' (plain, gzip, zstd): bounded, and calm about damage."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import msgspec
from fastwarc.stream_io import GzipReader, ZstdReader
from fastwarc.warc import ArchiveIterator, WarcRecordType

from periplus.errors import BadFile

__all__ = ["MAX_BODY", "WarcPage", "parse_record", "read_warc"]

MAX_BODY: Final = 64 << 20
"""Longest body that is read; longer records are passed over."""
_MAX_HEADER: Final = 1 << 20
_MAX_GAP: Final = 2 << 20
"""Bytes that may lie between two records, read-ahead and header included."""
_MAX_PLAIN: Final = 1 << 30
_MAX_RATIO: Final = 200
"""A file may decompress to this many times its length, plus `_MAX_PLAIN`."""
_WANTED: Final = (WarcRecordType.response, WarcRecordType.resource)


class WarcPage(msgspec.Struct, frozen=True):
    """One stored response: what a server said, body decoded."""

    url: str
    when: float
    """Seconds since 1970; 0 when the record has no readable date."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes

    def header(self, name: str) -> str:
        """Give the first header called `name` (lower case), or ''."""
        return next((value for key, value in self.headers if key == name), "")


def read_warc(path: Path, max_body: int = MAX_BODY) -> Iterator[WarcPage]:
    """Give the responses and resources of a WARC file, in order.

    Records that cannot be decoded, or are longer than `max_body`, are passed over. `BadFile` is raised when the file
    is no WARC file at all, or after the readable part, when the rest of it is damaged.
    """
    try:
        with path.open("rb") as file:
            limit = _MAX_PLAIN + _MAX_RATIO * path.stat().st_size
            yield from _pages(_Metered(_plain(file), limit), max_body, str(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}.") from error


def parse_record(record: bytes) -> WarcPage | None:
    """Read the one response in the bytes of one plain record."""
    return next(_pages(_Metered(io.BytesIO(record), _MAX_PLAIN), MAX_BODY, "the record"), None)


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


def _plain(file: BinaryIO) -> _Readable:
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        return GzipReader(file)
    if start == b"\x28\xb5\x2f\xfd" or start[1:] == b"\x2a\x4d\x18":
        return ZstdReader(file)
    return file


class _Metered:
    """A stream that stops when it has given more than it was allowed: small files may decompress for ever."""

    def __init__(self, stream: _Readable, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._given = 0
        self._until = _MAX_GAP
        self.spent = False

    def allow(self, length: int) -> None:
        """Let the record at hand, of `length` bytes, and what lies behind it be read."""
        self._until = self._given + length + _MAX_GAP
        self.spent = self.spent or self._given + length > self._limit

    def read(self, size: int = -1) -> bytes:
        """Give up to `size` bytes; none once the allowance is spent."""
        if self.spent:
            return b""
        data = self._stream.read(min(size, 1 << 16) if size >= 0 else 1 << 16)
        self._given += len(data)
        self.spent = self._given > min(self._until, self._limit)
        return data

    def tell(self) -> int:
        """Give the number of bytes read."""
        return self._given

    def seek(self, offset: int, whence: int = 0) -> int:
        """Refuse to move: the stream is read once, forward."""
        if (offset, whence) not in ((self._given, 0), (0, 1)):
            raise io.UnsupportedOperation("cannot move in this stream")
        return self._given

    def close(self) -> None:
        """Do nothing: whoever opened the file closes it."""


def _pages(file: _Metered, max_body: int, name: str) -> Iterator[WarcPage]:
    seen = 0
    for record in _records(file, name):
        seen += 1
        # What is asked of the stream from here on is this record, to its end, even when it is passed over.
        file.allow(record.content_length)
        if file.spent:
            break
        wanted = record.record_type in _WANTED and record.content_length <= max_body
        if wanted and (page := _page(record, max_body)) is not None:
            yield page
    if file.spent:
        raise BadFile(f"{name} decompresses to far more than its records: it may be a decompression bomb.")
    if not seen:
        raise BadFile(f"{name} holds no WARC records.", "ARC files and damaged archives cannot be imported.")


def _records(file: _Metered, name: str) -> Iterator[Any]:
    try:
        yield from ArchiveIterator(
            file,
            record_types=WarcRecordType.any_type,
            parse_http=False,
            quirks_mode=True,
            max_header_len=_MAX_HEADER,
            stream_detect=False,
        )
    except BaseException as error:
        if not _is_damage(error):
            raise
        raise BadFile(f"{name} is damaged: {str(error).strip(' .') or type(error).__name__}.") from error


def _is_damage(error: BaseException) -> bool:
    """Say whether this is how the reader complains of damage: many kinds, and panics, which are no `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _page(record: Any, max_body: int) -> WarcPage | None:
    """Decode one record; None when it holds no page, or one that cannot be decoded within bounds."""
    try:
        record.parse_http(auto_decode="all", max_header_len=_MAX_HEADER, quirks_mode=True)
        body = record.reader.read(max_body + 1)
        url = (record.headers.get("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
        if len(body) > max_body or not url:
            return None
        return WarcPage(url, _when(record), _status(record), _headers(record), body)
    except BaseException as error:
        if not _is_damage(error):
            raise
        return None


def _status(record: Any) -> int:
    if record.http_headers is None:
        return 200 if record.record_type == WarcRecordType.resource else 0
    return int(record.http_headers.status_code or 0)


def _headers(record: Any) -> tuple[tuple[str, str], ...]:
    if record.http_headers is None:
        return (("content-type", record.headers.get("Content-Type") or ""),)
    return tuple((name.lower(), value) for name, value in record.http_headers.to_tuples())


def _when(record: Any) -> float:
    moment = record.record_date
    return min(float(moment.timestamp()), time.time() + 86_400) if moment else 0.0
