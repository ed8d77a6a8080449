"""Pages out of WARC files, ours or others' (plain, gzip, zstd): bounded, and calm about damage."""

import gzip
import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec
from fastwarc.stream_io import ZstdReader
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
_TAIL: Final = 1 << 13
"""Bytes at the end of a file that are looked at for half a header."""
_BLANK: Final = re.compile(rb"\n\r?\n")
_CUT: Final = "Fetch or copy the file again."
_MARK: Final = b"WARC/"
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
    is no WARC file at all, or after the readable part, when the rest of it is damaged or cut off.
    """
    try:
        with path.open("rb") as file:
            limit = _MAX_PLAIN + _MAX_RATIO * path.stat().st_size
            yield from _pages(_Metered(_plain(file), limit), max_body, str(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}.") from error


def parse_record(record: bytes) -> WarcPage | None:
    """Read the one response in the bytes of one plain record."""
    return next(_pages(_Metered(io.BytesIO(record).read, _MAX_PLAIN), MAX_BODY, "the record"), None)


_Read = Callable[[int], bytes]


def _plain(file: BinaryIO) -> _Read:
    """Give a function that reads on in what the file holds, decompressed."""
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        # Not fastwarc's reader: that one takes the end of a file that was cut off for the end of its last member.
        return gzip.GzipFile(fileobj=file).read1
    if start == b"\x28\xb5\x2f\xfd" or start[1:] == b"\x2a\x4d\x18":
        return cast(_Read, ZstdReader(file).read)
    return file.read


class _Metered:
    """A stream that stops when it has given more than it was allowed: small files may decompress for ever."""

    def __init__(self, read: _Read, limit: int) -> None:
        self._read = read
        self._limit = limit
        self._given = 0
        self._until = _MAX_GAP
        self._tail = b""
        self.spent = False
        self.fault: BaseException | None = None
        """Why there is no more to read, when that is not the end of the file."""

    def allow(self, length: int) -> None:
        """Let the record at hand, of `length` bytes, and what lies behind it be read."""
        self._until = self._given + length + _MAX_GAP
        self.spent = self.spent or self._given + length > self._limit

    def read(self, size: int = -1) -> bytes:
        """Give up to `size` bytes; none once the allowance is spent."""
        if self.spent or self.fault:
            return b""
        try:
            data = self._read(min(size, 1 << 16) if size >= 0 else 1 << 16)
        except BaseException as error:
            if not _is_damage(error):
                raise
            # Records that were read ahead come first; then the reason is told.
            self.fault = error
            return b""
        self._given += len(data)
        self.spent = self._given > min(self._until, self._limit)
        self._tail = (self._tail[-_TAIL:] + data[-_TAIL:])[-_TAIL:] if data else self._tail
        return data

    def ends_in_a_header(self) -> bool:
        """Say whether the last bytes given are the beginning of a record whose header never ends."""
        if any(self._tail.endswith((b"\n\r\n" + _MARK[:n], b"\n\n" + _MARK[:n])) for n in range(1, len(_MARK))):
            return True
        begin = self._tail.rfind(_MARK)
        after_a_record = begin >= 0 and self._tail[:begin].endswith((b"\n\r\n", b"\n\n"))
        return after_a_record and not _BLANK.search(self._tail, begin)

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
        if not _is_whole(record, max_body):
            raise _damaged(name, file.fault) if file.fault else BadFile(f"{name} is cut off in record {seen:,}.", _CUT)
        if wanted and (page := _page(record, max_body)) is not None:
            yield page
    if file.spent:
        raise BadFile(f"{name} decompresses to far more than its records: it may be a decompression bomb.")
    if file.fault:
        raise _damaged(name, file.fault)
    if not seen:
        raise BadFile(f"{name} holds no WARC records.", "ARC files and damaged archives cannot be imported.")
    if file.ends_in_a_header():
        raise BadFile(f"{name} is cut off after record {seen:,}.", _CUT)


def _is_whole(record: Any, max_body: int) -> bool:
    """Read a record to its end and say whether all of what its header claims is there."""
    claimed = record.content_length
    if claimed <= max_body:
        record.freeze()
        return bool(record.content_length == claimed)
    while piece := record.reader.read(1 << 16):
        claimed -= len(piece)
    return bool(claimed <= 0)


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
        raise _damaged(name, error) from error


def _damaged(name: str, error: BaseException) -> BadFile:
    return BadFile(f"{name} is damaged or cut off: {str(error).strip(' .') or type(error).__name__}.", _CUT)


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
