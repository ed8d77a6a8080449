"""Header lines of HTTP: read from bytes, and written so that a value cannot become two lines."""

from functools import lru_cache
from typing import Final

from periplus.records import Address

__all__ = ["header_line", "parse_header", "parse_status", "request_headers"]

_MAX_CACHED: Final = 128
"""Bytes of a line that is remembered: a host sends most of its lines with every response."""


def parse_status(line: bytes) -> int:
    """Return the status code in a status line, 0 if there is none."""
    words = line.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() and len(words[1]) == 3 else 0


def header_line(name: str, value: str) -> bytes:
    """Return one header line; a value received from a peer must not become two lines."""
    return f"{name}: {''.join(char for char in value if char.isprintable())}".encode()


def parse_header(line: bytes) -> tuple[str, str] | None:
    """Return name, in lower case, and value of a header line, None if it is none."""
    return _cached_header(line) if len(line) <= _MAX_CACHED else _split_header(line)


def _split_header(line: bytes) -> tuple[str, str] | None:
    name, colon, value = line.partition(b":")
    return (_decode(name).strip().lower(), _decode(value).strip()) if colon else None


_cached_header: Final = lru_cache(4_096)(_split_header)


def _decode(raw: bytes) -> str:
    """Return a name or value as text: UTF-8 if it is that, otherwise Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def request_headers(
    address: Address, agent: str, lines: tuple[str, ...], more: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request, as an archive stores them."""
    standard = {"http": 80, "https": 443}.get(address.scheme)
    host = address.host if address.port == standard else f"{address.host}:{address.port}"
    fixed = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return (("Host", host), ("User-Agent", agent), *fixed, *more)
