"""The response cache: admission by request frequency, eviction by bytes.

Admission follows TinyLFU: a small sketch approximates how often each request came recently, and when the cache is full
a new response is admitted only if it was requested more often than the one it would replace. A flood of requests that
come once therefore does not evict the frequent ones. A new commit of the index clears the cache.
"""

import gzip
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from periplus.hashing import fingerprint

__all__ = ["CachedResponse", "FrequencySketch", "ResponseCache"]

_ROWS: Final = 4
_MAX_AGE_SECONDS: Final = 600.0
"""Responses contain relative times ('2 minutes ago'), so they expire."""
_HALVED: Final = bytes(n >> 1 for n in range(256))
_MULTIPLIER: Final = 0x9E3779B97F4A7C15
_ENTRY_BYTES: Final = 600
"""Memory of an entry besides its body."""
_MIN_COMPRESSED_BYTES: Final = 1_000
_COMPRESSION_LEVEL: Final = 5
"""Of gzip. A page of ten real results takes 0.2 ms longer than at level 1, and is a tenth smaller; higher levels gain
nothing."""
_COMPRESSION_RATIO: Final = 3
"""A compressed page takes at most this fraction of its size."""
_LARGEST_SHARE: Final = 16
"""A response may take at most this fraction of the cache."""


class CachedResponse:
    """A complete response; its compressed form is made on first use."""

    __slots__ = ("_compressed", "base_headers", "body", "etag", "expires", "headers", "status")

    def __init__(
        self, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes, expires: float = 0.0
    ) -> None:
        self.status = status
        self.etag = b'W/"%016x"' % fingerprint(body)
        self.base_headers = headers
        self.headers = [*headers, (b"etag", self.etag), (b"content-length", b"%d" % len(body))]
        self.body = body
        self.expires = expires
        self._compressed: tuple[list[tuple[bytes, bytes]], bytes] | None = None

    def compressed(self) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """Return headers and body for a client that accepts gzip; a short body is not compressed."""
        if self._compressed is None:
            body = (
                gzip.compress(self.body, _COMPRESSION_LEVEL, mtime=0)
                if len(self.body) > _MIN_COMPRESSED_BYTES
                else self.body
            )
            headers = self.headers
            if body is not self.body:
                headers = [*headers[:-1], (b"content-length", b"%d" % len(body)), (b"content-encoding", b"gzip")]
            self._compressed = (headers, body)
        return self._compressed

    @property
    def size(self) -> int:
        """Bytes of memory, including the compressed form whether or not it exists yet."""
        return len(self.body) + len(self.body) // _COMPRESSION_RATIO + _ENTRY_BYTES


class FrequencySketch:
    """A count-min sketch of recent requests, in a fixed amount of memory."""

    def __init__(self, width: int) -> None:
        self._width = 1 << max(8, (width - 1).bit_length())
        self._rows = [bytearray(self._width) for _ in range(_ROWS)]
        self._sample = 10 * self._width
        self._additions = 0

    def add(self, number: int) -> None:
        """Count one occurrence; after enough of them all counts are halved, so that old ones fade."""
        for row, column in zip(self._rows, self._columns(number), strict=True):
            if row[column] < 255:
                row[column] += 1
        self._additions += 1
        if self._additions >= self._sample:
            self._rows = [row.translate(_HALVED) for row in self._rows]
            self._additions //= 2

    def count(self, number: int) -> int:
        """Return an estimate of the count, never too low."""
        return min(row[column] for row, column in zip(self._rows, self._columns(number), strict=True))

    def _columns(self, number: int) -> list[int]:
        mask = self._width - 1
        number = (number * _MULTIPLIER) & 0xFFFFFFFFFFFFFFFF
        step = (number >> 32) | 1
        return [((number >> 8) + n * step) & mask for n in range(_ROWS)]


class ResponseCache:
    """Responses by key, limited in bytes. Used from one event loop."""

    def __init__(self, max_bytes: int, seconds: float = _MAX_AGE_SECONDS) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._entries: OrderedDict[Hashable, CachedResponse] = OrderedDict()
        self._sketch = FrequencySketch(max(256, max_bytes // 2048))
        self.bytes = 0
        self.epoch = 0
        """Number of times the cache was cleared; a response that was begun in an earlier epoch is not cached."""
        self.hits = self.misses = self.refused = self.evicted = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> CachedResponse | None:
        """Return the response to a request, if it is cached and has not expired."""
        self._sketch.add(hash(key) & 0xFFFFFFFFFFFFFFFF)
        entry = self._entries.get(key)
        if entry is not None and entry.expires < time.monotonic():
            self._drop(key)
            entry = None
        if entry is None:
            self.misses += 1
            return None
        self._entries.move_to_end(key)
        self.hits += 1
        return entry

    def put(
        self, key: Hashable, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes, epoch: int
    ) -> CachedResponse:
        """Cache a response if it is admitted and the index has not changed since `epoch`; return it in any case."""
        response = CachedResponse(status, headers, body, time.monotonic() + self._seconds)
        if epoch == self.epoch and self._admit(key, response.size):
            self._entries[key] = response
            self.bytes += response.size
        return response

    def _admit(self, key: Hashable, size: int) -> bool:
        """Return whether a response is admitted, after evicting what it replaces."""
        if size * _LARGEST_SHARE > self._max_bytes:
            return False
        self._drop(key)
        frequency = self._sketch.count(hash(key) & 0xFFFFFFFFFFFFFFFF)
        while self.bytes + size > self._max_bytes:
            oldest = next(iter(self._entries))
            if self._sketch.count(hash(oldest) & 0xFFFFFFFFFFFFFFFF) >= frequency:
                self._entries.move_to_end(oldest)
                self.refused += 1
                return False
            self._drop(oldest)
            self.evicted += 1
        return True

    def clear(self) -> None:
        """Remove everything, and do not cache responses that are being rendered: the index has changed."""
        self._entries.clear()
        self.bytes = 0
        self.epoch += 1

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry.size
