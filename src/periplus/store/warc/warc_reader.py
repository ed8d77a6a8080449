"""Reads pages from WARC files of any origin (plain, gzip, zstd), within bounds and tolerant of damage."""

import gzip
import io
import logging
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec
from fastwarc.stream_io import ZstdReader
from fastwarc.warc import ArchiveIterator, WarcRecordType

from periplus.errors import BadFile, CorruptFile
from periplus.store.warc.warc_dictionary import file_dictionary
from periplus.store.warc.warc_digests import verify_digests
from periplus.store.warc.warc_writer import INFO_START

__all__ = ["MAX_BODY", "WarcPage", "check_record", "parse_record", "read_warc"]

MAX_BODY: Final = 64 << 20
"""Longest body that is read; longer records are skipped."""
_MAX_HEADER: Final = 1 << 20
_MAX_GAP: Final = 2 << 20
"""Bytes that may be between two records, read-ahead and header included."""
_MAX_PLAIN: Final = 1 << 30
_MAX_RATIO: Final = 200
"""A file may decompress to this many times its length, plus `_MAX_PLAIN`."""
_TAIL: Final = 1 << 13
"""Bytes at the end of a file that are checked for an incomplete header."""
_BLANK: Final = re.compile(rb"\n\r?\n")
_CUT: Final = "Fetch or copy the file again."
_MARK: Final = b"WARC/"
_LOG: Final = logging.getLogger("periplus.store")
_RECORD_TYPES: Final = (WarcRecordType.response, WarcRecordType.resource)


class WarcPage(msgspec.Struct, frozen=True):
    """One stored response, with its body decoded."""

    url: str
    when: float
    """Seconds since 1970; 0 if the record has no valid date."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes

    def header(self, name: str) -> str:
        """Return the first header called `name` (lower case), or ''."""
        return next((value for key, value in self.headers if key == name), "")


def read_warc(path: Path, max_body: int = MAX_BODY) -> Iterator[WarcPage]:
    """Yield the responses and resources of a WARC file, in order.

    Records that cannot be decoded, or are longer than `max_body`, are skipped. So are those of Periplus with another
    digest than they state; in files of other programs, which may compute it otherwise, they are logged.
    `BadFile` is raised if the file is not a WARC file, or, after the readable part, if the rest of it is damaged or
    truncated.
    """
    try:
        with path.open("rb") as file:
            _check_dictionary(path)
            limit = _MAX_PLAIN + _MAX_RATIO * path.stat().st_size
            yield from _pages(_BoundedReader(_open_plain(file), limit), max_body, str(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}.") from error


def parse_record(record: bytes) -> WarcPage | None:
    """Return the response in one decompressed record that this program wrote; None if there is none.

    Raise `CorruptFile` if its body has another digest than its header states, or its header states none.
    """
    return next(_pages(_BoundedReader(io.BytesIO(record).read, _MAX_PLAIN), MAX_BODY, "the record", own=True), None)


def check_record(record: bytes) -> str:
    """Return what is wrong with one decompressed record that this program wrote, of any type; '' if nothing is."""
    file = _BoundedReader(io.BytesIO(record).read, _MAX_PLAIN)
    count = 0
    for parsed in _records(file, "the record"):
        count += 1
        file.allow(parsed.content_length)
        if not _is_complete(parsed, MAX_BODY):
            return "it is truncated"
        is_right = verify_digests(parsed, own=True)
        if is_right is False or (is_right is None and parsed.record_type in _RECORD_TYPES):
            return "it has another digest than its header states"
    return "" if count == 1 else f"it contains {count} records"


def _check_dictionary(path: Path) -> None:
    """Raise `BadFile` for a file that begins with a damaged dictionary, or one that needs much memory."""
    try:
        file_dictionary(path)
    except CorruptFile as error:
        raise BadFile(f"{path} is damaged: {error.message}", _CUT) from error


_Read = Callable[[int], bytes]


def _open_plain(file: BinaryIO) -> _Read:
    """Return a function that reads the decompressed content of the file."""
    start = file.read(4)
    file.seek(0)
    if start[:2] == b"\x1f\x8b":
        # Not fastwarc's reader: it mistakes the end of a truncated file for the end of its last member.
        return gzip.GzipFile(fileobj=file).read1
    if start == b"\x28\xb5\x2f\xfd" or start[1:] == b"\x2a\x4d\x18":
        return cast(_Read, ZstdReader(file).read)
    return file.read


class _BoundedReader:
    """A stream that ends after a maximum number of bytes: small files may decompress without end."""

    def __init__(self, read: _Read, limit: int) -> None:
        self._read = read
        self._limit = limit
        self._consumed = 0
        self._until = _MAX_GAP
        self._tail = b""
        self.exhausted = False
        self.fault: BaseException | None = None
        """Why the stream has ended, if that is not the end of the file."""

    def allow(self, length: int) -> None:
        """Allow the current record, of `length` bytes, and the gap after it to be read."""
        self._until = self._consumed + length + _MAX_GAP
        self.exhausted = self.exhausted or self._consumed + length > self._limit

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; none once the limit is exceeded."""
        if self.exhausted or self.fault:
            return b""
        try:
            data = self._read(min(size, 1 << 16) if size >= 0 else 1 << 16)
        except BaseException as error:
            if not _is_damage(error):
                raise
            # Records that were read ahead come first; then the reason is raised.
            self.fault = error
            return b""
        self._consumed += len(data)
        self.exhausted = self._consumed > min(self._until, self._limit)
        self._tail = (self._tail[-_TAIL:] + data[-_TAIL:])[-_TAIL:] if data else self._tail
        return data

    def ends_in_header(self) -> bool:
        """Return whether the last bytes are the beginning of a record whose header is incomplete."""
        if any(self._tail.endswith((b"\n\r\n" + _MARK[:n], b"\n\n" + _MARK[:n])) for n in range(1, len(_MARK))):
            return True
        begin = self._tail.rfind(_MARK)
        after_a_record = begin >= 0 and self._tail[:begin].endswith((b"\n\r\n", b"\n\n"))
        return after_a_record and not _BLANK.search(self._tail, begin)

    def tell(self) -> int:
        """Return the number of bytes read."""
        return self._consumed

    def seek(self, offset: int, whence: int = 0) -> int:
        """Raise unless the position stays the same: the stream is read once, forward."""
        if (offset, whence) not in ((self._consumed, 0), (0, 1)):
            raise io.UnsupportedOperation("this stream cannot seek")
        return self._consumed

    def close(self) -> None:
        """Do nothing: whoever opened the file closes it."""


def _pages(file: _BoundedReader, max_body: int, name: str, *, own: bool = False) -> Iterator[WarcPage]:
    seen = damaged = 0
    ours = False
    for record in _records(file, name):
        seen += 1
        # What is read from here on is this record, to its end, even if it is skipped.
        file.allow(record.content_length)
        if file.exhausted:
            break
        wanted = record.record_type in _RECORD_TYPES and record.content_length <= max_body
        if not _is_complete(record, max_body):
            raise (
                _damage_error(name, file.fault)
                if file.fault
                else BadFile(f"{name} is truncated in record {seen:,}.", _CUT)
            )
        if not wanted:
            ours = ours or _is_written_by_periplus(record)
            continue
        is_right = verify_digests(record, own=own)
        if is_right is False or (own and is_right is None):
            if own:
                raise CorruptFile(f"{name} has another digest than its header states.")
            damaged += 1
            if ours:
                continue
        if (page := _page(record, max_body)) is not None:
            yield page
    if damaged:
        _LOG.warning("%s: records with a wrong digest%s: %d.", name, ", left out" if ours else "", damaged)
    if file.exhausted:
        raise BadFile(f"{name} decompresses to far more than its records: it may be a decompression bomb.")
    if file.fault:
        raise _damage_error(name, file.fault)
    if not seen:
        raise BadFile(f"{name} contains no WARC records.", "ARC files and damaged archives cannot be imported.")
    if file.ends_in_header():
        raise BadFile(f"{name} is truncated after record {seen:,}.", _CUT)


def _is_written_by_periplus(record: Any) -> bool:
    """Return whether a record is the one that Periplus begins a file with."""
    if record.record_type != WarcRecordType.warcinfo or record.content_length > _MAX_HEADER:
        return False
    return bool(record.reader.read().startswith(INFO_START))


def _is_complete(record: Any, max_body: int) -> bool:
    """Read a record to its end and return whether it has the length that its header declares."""
    declared = record.content_length
    if declared <= max_body:
        record.freeze()
        return bool(record.content_length == declared)
    while piece := record.reader.read(1 << 16):
        declared -= len(piece)
    return bool(declared <= 0)


def _records(file: _BoundedReader, name: str) -> Iterator[Any]:
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
        raise _damage_error(name, error) from error


def _damage_error(name: str, error: BaseException) -> BadFile:
    return BadFile(f"{name} is damaged or truncated: {str(error).strip(' .') or type(error).__name__}.", _CUT)


def _is_damage(error: BaseException) -> bool:
    """Return whether the reader reports damage by this: many kinds, and panics, which are not an `Exception`."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _page(record: Any, max_body: int) -> WarcPage | None:
    """Return the page of one record; None if it has none, or one that cannot be decoded within bounds."""
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
