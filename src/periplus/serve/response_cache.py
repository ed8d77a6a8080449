"""Answers that are kept ready: admitted by how often they are asked for, evicted by their bytes.

The admission is TinyLFU's: a small sketch remembers roughly how often each request came lately, and when room is
needed a newcomer gets in only if it came more often than what would have to go. So a flood of requests that come once
does not wash out those that come again and again. A new commit of the index empties the cache at once.
"""

import gzip
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from periplus.hashing import fingerprint

__all__ = ["Kept", "ResponseCache", "Sketch"]

_ROWS: Final = 4
_SECONDS: Final = 600.0
"""How long an answer is kept at most: it says how long ago pages were fetched."""
_HALVED: Final = bytes(n >> 1 for n in range(256))
_SPREAD: Final = 0x9E3779B97F4A7C15
_EACH: Final = 600
"""What an entry takes beside its body, in bytes."""
_WORTH_PACKING: Final = 1_000
_PACKS_TO: Final = 3
"""A page takes at most this part of its size when compressed."""
_LARGEST_SHARE: Final = 16
"""An answer may take this part of the cache at most."""


class Kept:
    """One answer as it goes over the wire; compressed too, once somebody asked for that."""

    __slots__ = ("_packed", "body", "headers", "own", "status", "tag", "until")

    def __init__(self, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes, until: float = 0.0) -> None:
        self.status = status
        self.tag = b'W/"%016x"' % fingerprint(body)
        """Names these very bytes."""
        self.own = headers
        self.headers = [*headers, (b"etag", self.tag), (b"content-length", b"%d" % len(body))]
        self.body = body
        self.until = until
        self._packed: tuple[list[tuple[bytes, bytes]], bytes] | None = None

    def packed(self) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """Give headers and body for a client that takes gzip: compressed once, if it is worth it."""
        if self._packed is None:
            body = gzip.compress(self.body, 1, mtime=0) if len(self.body) > _WORTH_PACKING else self.body
            headers = self.headers
            if body is not self.body:
                headers = [*headers[:-1], (b"content-length", b"%d" % len(body)), (b"content-encoding", b"gzip")]
            self._packed = (headers, body)
        return self._packed

    @property
    def size(self) -> int:
        """Bytes of memory that it takes, compressed or not yet: room for both is kept free."""
        return len(self.body) + len(self.body) // _PACKS_TO + _EACH


class Sketch:
    """Counts roughly how often each of very many things came lately, in a fixed amount of memory."""

    def __init__(self, width: int) -> None:
        self._width = 1 << max(8, (width - 1).bit_length())
        self._rows = [bytearray(self._width) for _ in range(_ROWS)]
        self._sample = 10 * self._width
        self._seen = 0

    def add(self, number: int) -> None:
        """Count one more; when enough were counted all counts are halved, so that the past fades."""
        for row, place in zip(self._rows, self._places(number), strict=True):
            if row[place] < 255:
                row[place] += 1
        self._seen += 1
        if self._seen >= self._sample:
            self._rows = [row.translate(_HALVED) for row in self._rows]
            self._seen //= 2

    def count(self, number: int) -> int:
        """Give about how often it came: never too few, sometimes too many."""
        return min(row[place] for row, place in zip(self._rows, self._places(number), strict=True))

    def _places(self, number: int) -> list[int]:
        mask = self._width - 1
        number = (number * _SPREAD) & 0xFFFFFFFFFFFFFFFF
        step = (number >> 32) | 1
        return [((number >> 8) + n * step) & mask for n in range(_ROWS)]


class ResponseCache:
    """Keeps answers within a number of bytes. Used from one event loop."""

    def __init__(self, most_bytes: int, seconds: float = _SECONDS) -> None:
        self._most = most_bytes
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._sketch = Sketch(max(256, most_bytes // 2048))
        self.bytes = 0
        self.epoch = 0
        """Counts the times that everything was forgotten; an answer begun before is not kept."""
        self.hits = self.misses = self.refused = self.evicted = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Kept | None:
        """Give the kept answer to a request, if there is one and it is not stale."""
        self._sketch.add(hash(key) & 0xFFFFFFFFFFFFFFFF)
        found = self._kept.get(key)
        if found is not None and found.until < time.monotonic():
            self._drop(key)
            found = None
        if found is None:
            self.misses += 1
            return None
        self._kept.move_to_end(key)
        self.hits += 1
        return found

    def put(
        self, key: Hashable, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes, epoch: int
    ) -> Kept:
        """Keep an answer if it is worth its room and its index has not changed since; give it in any case."""
        answer = Kept(status, headers, body, time.monotonic() + self._seconds)
        if epoch == self.epoch and self._makes_room(key, answer.size):
            self._kept[key] = answer
            self.bytes += answer.size
        return answer

    def _makes_room(self, key: Hashable, size: int) -> bool:
        """Make room for an answer if it is worth it; say whether there is."""
        if size * _LARGEST_SHARE > self._most:
            return False
        self._drop(key)
        own = self._sketch.count(hash(key) & 0xFFFFFFFFFFFFFFFF)
        while self.bytes + size > self._most:
            oldest = next(iter(self._kept))
            if self._sketch.count(hash(oldest) & 0xFFFFFFFFFFFFFFFF) >= own:
                self._kept.move_to_end(oldest)
                self.refused += 1
                return False
            self._drop(oldest)
            self.evicted += 1
        return True

    def clear(self) -> None:
        """Forget everything, also what is being made now: the index has changed."""
        self._kept.clear()
        self.bytes = 0
        self.epoch += 1

    def _drop(self, key: Hashable) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self.bytes -= found.size
