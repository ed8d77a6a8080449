"""The body of a response while it arrives: up to a limit or, of a list, up to a larger one in little memory."""

import zlib
from typing import Final

from periplus.fetch.content_decoding import DecodedBody, decode_body

__all__ = ["BodyBuffer", "announces_more", "decode_list", "is_readable_in_part", "pack"]

_GZIP_WINDOW: Final = 31
_LEVEL: Final = 1


def pack(body: bytes) -> bytes:
    """Return a body as gzip."""
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP_WINDOW)
    return packer.compress(body) + packer.flush()


def decode_list(raw: bytes, encodings: list[str], max_bytes: int, max_list: int, *, whole: bool) -> DecodedBody:
    """Return the body of a list without its content encodings: as gzip if it is longer than `max_bytes`."""
    if encodings in (["gzip"], ["x-gzip"]):
        return DecodedBody(raw)  # a list that is gzip is unpacked when it is parsed, piece by piece
    decoded = decode_body(raw, encodings, max_list, whole=whole)
    return decoded._replace(body=pack(decoded.body), ordinary=False) if len(decoded.body) > max_bytes else decoded


class BodyBuffer:
    """Collects the parts of a body. A long list is packed as gzip while it arrives: sitemaps shrink to a tenth."""

    def __init__(self, max_bytes: int) -> None:
        """Open a buffer that never holds more than about `max_bytes`."""
        self._max_bytes = self._limit = max_bytes
        self._packer: zlib._Compress | None = None
        self._first = b""
        """The body, as long as it is one part: most bodies are, and need not be copied."""
        self._body = bytearray()
        self._received = 0

    def clear(self, limit: int = 0) -> None:
        """Empty the buffer for a body of up to `limit` bytes, which is packed where it is longer than the buffer."""
        self._limit = max(limit, self._max_bytes)
        self._packer, self._received = None, 0
        self._first = b""
        if self._body:
            self._body = bytearray()

    def __len__(self) -> int:
        return self._received

    @property
    def limit(self) -> int:
        """The number of bytes that are accepted."""
        return self._limit

    def add(self, part: bytes) -> bool:
        """Add what has arrived; return False if there is more of it than is accepted, which is left out."""
        if not self._received and len(part) <= self._max_bytes:
            self._first, self._received = part, len(part)
            return True
        if self._first:
            self._body, self._first = bytearray(self._first), b""
        room = self._limit - self._received
        fits = len(part) <= room
        part = part if fits else part[:room]
        self._received += len(part)
        if self._packer is None and self._received > self._max_bytes:
            self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP_WINDOW)
            self._body = bytearray(self._packer.compress(self._body))
        self._body += part if self._packer is None else self._packer.compress(part)
        return fits and len(self._body) <= self._max_bytes

    def take(self) -> bytes:
        """Return the body, as gzip if it is longer than the buffer."""
        if self._first:
            return self._first
        if self._packer is not None:
            self._body += self._packer.flush()
            self._packer = None
        return bytes(self._body)


def announces_more(length: str, max_bytes: int) -> bool:
    """Return whether a Content-Length states more bytes than are accepted."""
    return length.isascii() and length.isdigit() and (len(length) > 18 or int(length) > max_bytes)


def is_readable_in_part(kind: str) -> bool:
    """Return whether the beginning of a body of this content type can be read without its end."""
    kind = kind.partition(";")[0].strip().lower()
    return not kind or kind.startswith("text/") or kind.endswith(("xml", "unknown"))
