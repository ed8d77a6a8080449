"""Pages out of WARC files, ours or others' (plain, gzip, zstd): bounded, and calm about damage."""

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecordType

from periplus.errors import BadFile

__all__ = ["MAX_BODY", "WarcPage", "parse_record", "read_warc"]

MAX_BODY: Final = 64 << 20
"""Longest body that is read; longer records are passed over."""
_MAX_HEADER: Final = 1 << 20
_MAX_SKIPPED: Final = 1 << 30
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
            size = path.stat().st_size
            yield from _pages(file, max_body, _MAX_SKIPPED + 64 * size, str(path))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror or error}.") from error


def parse_record(record: bytes) -> WarcPage | None:
    """Read the one response in the bytes of one plain record."""
    return next(_pages(io.BytesIO(record), MAX_BODY, _MAX_SKIPPED, "the record"), None)


def _pages(file: BinaryIO, max_body: int, budget: int, name: str) -> Iterator[WarcPage]:
    seen = 0
    records = _records(file, name)
    for record in records:
        seen += 1
        if record.content_length > max_body:
            # To pass over a record is to decompress it: a small file of huge records must not take for ever.
            budget -= record.content_length
            if budget < 0:
                raise BadFile(f"{name} claims records far longer than it is: it may be a decompression bomb.")
            continue
        if record.record_type in _WANTED and (page := _page(record, max_body)) is not None:
            yield page
    if not seen:
        raise BadFile(f"{name} holds no WARC records.", "ARC files and damaged archives cannot be imported.")


def _records(file: BinaryIO, name: str) -> Iterator[Any]:
    try:
        yield from ArchiveIterator(
            file,
            record_types=WarcRecordType.any_type,
            parse_http=False,
            quirks_mode=True,
            max_header_len=_MAX_HEADER,
        )
    except BadFile:
        raise
    except Exception as error:
        # The reader raises many kinds for damage: ValueError, OSError, EOFError, its own.
        raise BadFile(f"{name} is damaged: {str(error).strip() or type(error).__name__}.") from error


def _page(record: Any, max_body: int) -> WarcPage | None:
    """Decode one record; None when it holds no page, or one that cannot be decoded within bounds."""
    try:
        record.parse_http(auto_decode="all", max_header_len=_MAX_HEADER, quirks_mode=True)
        body = record.reader.read(max_body + 1)
        url = (record.headers.get("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
        if len(body) > max_body or not url:
            return None
        return WarcPage(url, _when(record), _status(record), _headers(record), body)
    except Exception:
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
