"""Converts a fetch result to a WARC 1.1 record, which is compressed on its own, as other tools expect it."""

import base64
import datetime
import hashlib
import http
import ipaddress
import re
import uuid
from typing import Final

from periplus.records import FetchResult
from periplus.store.compression import compress, gzip_member

__all__ = ["INFO_START", "info_record", "pack_record", "response_record", "revisit_record"]

INFO_START: Final = b"software: Periplus\r\n"
"""What the first record of every file begins with."""
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]+")
_UNSAFE: Final = re.compile(r"[\r\n\x00]+")
_NOT_TOKEN: Final = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_RENAMED: Final = frozenset(("content-encoding", "transfer-encoding", "content-length"))
_LAST_SECOND: Final = 253_402_300_799.0
"""The end of the year 9999; dates beyond it cannot be written."""


def pack_record(record: bytes, compression: str, level: int) -> bytes:
    """Compress one record to one gzip member or zstd frame."""
    return gzip_member(record, level) if compression == "gzip" else compress(record, level)


def info_record(name: str, when: float) -> bytes:
    """Return the warcinfo record that opens a file."""
    block = INFO_START + b"format: WARC File Format 1.1\r\n"
    fields = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", _identity()),
        ("WARC-Date", _date(when)),
        ("WARC-Filename", name),
        ("Content-Type", "application/warc-fields"),
    ]
    return _record(fields, (block,))


def response_record(result: FetchResult) -> bytes:
    """Return the response record of a fetch result; its body is stored decompressed, and its headers say so.

    What was not fetched by HTTP is a resource record: only the body.
    """
    is_web = result.request.address.scheme in ("http", "https")
    head = _http_head(result) if is_web else b""
    block = hashlib.sha1(head, usedforsecurity=False)
    block.update(result.body)
    payload = hashlib.sha1(result.body, usedforsecurity=False)
    fields = [
        ("WARC-Type", "response" if is_web else "resource"),
        ("WARC-Record-ID", _identity()),
        ("WARC-Date", _date(result.when)),
        ("WARC-Target-URI", _CONTROL.sub("", result.request.address.url)),
        ("WARC-Payload-Digest", _digest(payload.digest())),
        ("WARC-Block-Digest", _digest(block.digest())),
        ("Content-Type", "application/http; msgtype=response" if is_web else _type(result)),
    ]
    if address := _ip(result.ip):
        fields.insert(4, ("WARC-IP-Address", address))
    return _record(fields, (head, result.body))


def revisit_record(result: FetchResult) -> bytes:
    """Return the revisit record of a page that the server reports as not modified: its headers, no body."""
    fields = [
        ("WARC-Type", "revisit"),
        ("WARC-Record-ID", _identity()),
        ("WARC-Date", _date(result.when)),
        ("WARC-Target-URI", _CONTROL.sub("", result.request.address.url)),
        ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/server-not-modified"),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    if address := _ip(result.ip):
        fields.insert(4, ("WARC-IP-Address", address))
    return _record(fields, (_http_head(result),))


def _record(fields: list[tuple[str, str]], block: tuple[bytes, ...]) -> bytes:
    lines = ["WARC/1.1", *(f"{name}: {value}" for name, value in fields)]
    lines.append(f"Content-Length: {sum(len(piece) for piece in block)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return b"".join((_bytes(head), *block, b"\r\n\r\n"))


def _http_head(result: FetchResult) -> bytes:
    try:
        reason = http.HTTPStatus(result.status).phrase
    except ValueError:
        reason = "Unknown"
    # HTTP/2 and HTTP/3 have no status line; by convention they are stored as 1.1.
    version = result.version if result.version in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    lines = [f"{version} {result.status:03d} {reason}"]
    for name, value in result.headers:
        clean = _NOT_TOKEN.sub("", name)
        if clean:
            lines.append(f"{_stored_name(clean)}: {_UNSAFE.sub(' ', value).strip()}")
    lines.append(f"content-length: {len(result.body)}")
    return _bytes("\r\n".join(lines) + "\r\n\r\n")


def _type(result: FetchResult) -> str:
    return _UNSAFE.sub(" ", result.header("content-type")).strip() or "application/octet-stream"


def _stored_name(name: str) -> str:
    return f"x-crawler-{name}" if name.lower() in _RENAMED else name


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _identity() -> str:
    return f"<urn:uuid:{uuid.uuid4()}>"


def _date(when: float) -> str:
    seconds = min(max(when, 0.0), _LAST_SECOND)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _digest(raw: bytes) -> str:
    return "sha1:" + base64.b32encode(raw).decode("ascii")


def _ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        return ""
