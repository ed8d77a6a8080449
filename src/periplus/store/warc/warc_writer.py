"""Converts a fetch result to a WARC 1.1 record, which is compressed on its own, as other tools expect it."""

import datetime
import hashlib
import http
import ipaddress
import math
import os
import re
from functools import lru_cache
from typing import Final

import zstandard

from periplus.records import FetchResult, Outcome
from periplus.store.compression import compress, gzip_member

__all__ = ["INFO_START", "info_record", "pack_record", "request_record", "response_record", "revisit_record"]

INFO_START: Final = b"software: Periplus\r\n"
"""What the first record of every file begins with."""
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]+")
_UNSAFE: Final = re.compile(r"[\r\n\x00]+")
_NOT_TOKEN: Final = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_RECORD_ID: Final = re.compile(rb"^WARC-Record-ID: (<urn:uuid:[0-9a-f-]{36}>)\r$", re.MULTILINE)
_RENAMED: Final = frozenset(("content-encoding", "transfer-encoding", "content-length"))
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
_GAP: Final = bytes(12)
_HALVES: Final = tuple(
    (lower << bits, lower, room - bits)
    for bits, room in ((80, 128), (40, 64), (20, 32), (10, 16), (5, 8))
    for lower in (sum(((1 << bits) - 1) << at for at in range(0, 512, 2 * room)),)
)
"""For numbers of two times 160 bits, each in 256: masks of upper and lower halves, and how far the upper ones move."""
_BREAK: Final = "\r\n"
_TRUNCATED: Final = "WARC-Truncated: length\r\n"
_LAST_SECOND: Final = 253_402_300_799.0
"""The end of the year 9999; dates beyond it cannot be written."""
_FIXED_BITS: Final = 0xF << 76 | 3 << 62
_VERSION_4: Final = 4 << 76 | 2 << 62
_random: Final[list[bytes]] = []
"""Random bytes for the next identities: one call of the system is enough for many."""
os.register_at_fork(after_in_child=_random.clear)


def pack_record(
    record: bytes, compression: str, level: int, dictionary: zstandard.ZstdCompressionDict | None = None
) -> bytes:
    """Compress one record to one gzip member or zstd frame."""
    return gzip_member(record, level) if compression == "gzip" else compress(record, level, dictionary)


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
    """Return the response record of a fetch result; its body is stored as it was sent.

    Where that is not known it is stored decoded, and its headers say so. What was not fetched by HTTP is a resource
    record: only the body.
    """
    is_web = result.request.address.scheme in ("http", "https")
    head, body = _http_head(result) if is_web else b"", result.raw or result.body
    block = hashlib.sha1(head, usedforsecurity=False)
    block.update(body)
    payload = hashlib.sha1(body, usedforsecurity=False)
    of_payload, of_block = _digests(payload.digest(), block.digest())
    address = _ip(result.ip)
    # Written out, as there is one for every page.
    fields = (
        f"WARC/1.1\r\nWARC-Type: {'response' if is_web else 'resource'}\r\nWARC-Record-ID: {_identity()}\r\n"
        f"WARC-Date: {_date(result.when)}\r\nWARC-Target-URI: {_target(result)}\r\n"
        f"{f'WARC-IP-Address: {address}{_BREAK}' if address else ''}"
        f"WARC-Payload-Digest: sha1:{of_payload}\r\nWARC-Block-Digest: sha1:{of_block}\r\n"
        f"Content-Type: {'application/http; msgtype=response' if is_web else _type(result)}\r\n"
        f"{_TRUNCATED if result.outcome is Outcome.TOO_LARGE else ''}"
        f"Content-Length: {len(head) + len(body)}\r\n\r\n"
    )
    return b"".join((_bytes(fields), head, body, b"\r\n\r\n"))


def request_record(result: FetchResult, response: bytes) -> bytes:
    """Return the request record that belongs to the record of a response; HTTP/2 is written as 1.1, by convention."""
    head = ["GET " + _request_target(_target(result)) + " HTTP/1.1"]
    for name, value in result.sent:
        if token := _NOT_TOKEN.sub("", name):
            head.append(f"{token}: {_UNSAFE.sub(' ', value).strip()}")
    block = _bytes("\r\n".join(head) + "\r\n\r\n")
    digest = hashlib.sha1(block, usedforsecurity=False).digest()
    fields = [
        ("WARC-Type", "request"),
        ("WARC-Record-ID", _identity()),
        ("WARC-Date", _date(result.when)),
        ("WARC-Target-URI", _target(result)),
        ("WARC-Block-Digest", f"sha1:{_digests(digest, digest)[0]}"),
        ("Content-Type", "application/http; msgtype=request"),
    ]
    identity = _RECORD_ID.search(response)
    if identity is not None:
        fields.insert(3, ("WARC-Concurrent-To", identity[1].decode("ascii")))
    return _record(fields, (block,))


def _request_target(url: str) -> str:
    """Return the path and query of a URL, as the request line has it."""
    slash = url.find("/", url.find("://") + 3)
    return url[slash:] if slash >= 0 else "/"


def revisit_record(result: FetchResult) -> bytes:
    """Return the revisit record of a page that the server reports as not modified: its headers, no body."""
    fields = [
        ("WARC-Type", "revisit"),
        ("WARC-Record-ID", _identity()),
        ("WARC-Date", _date(result.when)),
        ("WARC-Target-URI", _target(result)),
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
    # HTTP/2 and HTTP/3 have no status line; by convention they are stored as 1.1.
    version = result.version if result.version in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    lines = [f"{version} {result.status:03d} {_reason(result.status)}"]
    is_encoded = bool(result.raw)
    for name, value in result.headers:
        if stored := _stored_name(name, is_encoded):
            lines.append(f"{stored}: {(value if value.isprintable() else _UNSAFE.sub(' ', value)).strip()}")
    lines.append(f"content-length: {len(result.raw or result.body)}")
    return _bytes("\r\n".join(lines) + "\r\n\r\n")


def _target(result: FetchResult) -> str:
    url = result.request.address.url
    return url if url.isascii() and url.isprintable() and " " not in url else _CONTROL.sub("", url)


def _type(result: FetchResult) -> str:
    return _UNSAFE.sub(" ", result.header("content-type")).strip() or "application/octet-stream"


@lru_cache(1_024)
def _reason(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


@lru_cache(1_024)
def _stored_name(name: str, is_encoded: bool) -> str:
    """Return the name under which a header is stored, '' if it is none."""
    name = _NOT_TOKEN.sub("", name)
    lowered = name.lower()
    is_renamed = lowered in _RENAMED and not (is_encoded and lowered == "content-encoding")
    return f"x-crawler-{name}" if is_renamed else name


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _identity() -> str:
    """Return a new random identity (UUID, version 4)."""
    if not _random:
        drawn = os.urandom(16 * 256)
        _random.extend(drawn[at : at + 16] for at in range(0, len(drawn), 16))
    number = int.from_bytes(_random.pop(), "big") & ~_FIXED_BITS | _VERSION_4
    text = f"{number:032x}"
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}>"


def _date(when: float) -> str:
    fraction, second = math.modf(min(max(when, 0.0), _LAST_SECOND))
    microseconds = round(fraction * 1e6)
    if microseconds >= 1_000_000:
        second, microseconds = second + 1, 0
    return f"{_second(int(second))}.{microseconds:06d}Z"


@lru_cache(64)
def _second(second: int) -> str:
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat()[:19]


def _digests(first: bytes, second: bytes) -> tuple[str, str]:
    """Return two digests of 20 bytes in base 32.

    Both are one number. Its upper halves are moved away from the lower ones until each byte has five bits.
    """
    number = int.from_bytes(first + _GAP + second, "big")
    for upper, lower, distance in _HALVES:
        number = (number & upper) << distance | number & lower
    text = number.to_bytes(64, "big").translate(_LETTERS).decode("ascii")
    return text[:32], text[32:]


@lru_cache(4_096)
def _ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        return ""
