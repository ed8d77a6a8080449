"""Frames: length, number, method, status, deadline, authentication code, body.

    bytes  0 to 3    length of the body
           4 to 7    number of the request; its response has the same
           8 to 11   milliseconds left for the answer, of a request; 0 in a response
           12        method, of a request; 0 in a response
           13        status, of a response; 0 in a request
           14 to 29  authentication code
           30 on     body

All numbers are little-endian. The code is a BLAKE2b of 16 bytes, keyed with the key of this connection and direction
(`wire.handshake`), over how many frames came before in this direction, the first 14 bytes, and the body. So a frame
that was changed, repeated, left out or put elsewhere ends the connection. The length is checked before anything is
allocated.
"""

import enum
import hashlib
import hmac
import struct
from typing import Final, NamedTuple

from periplus.errors import PeerFailed

__all__ = ["HEADER_BYTES", "MAX_BODY_BYTES", "Frame", "FrameReader", "FrameWriter", "Status"]

_FIELDS: Final = struct.Struct("<IIIBB")
_SEQUENCE: Final = struct.Struct("<Q")
_CODE_BYTES: Final = 16
HEADER_BYTES: Final = _FIELDS.size + _CODE_BYTES
MAX_BODY_BYTES: Final = 64 << 20
"""The largest body that either side accepts."""
_MAX_DEADLINE_MS: Final = (1 << 32) - 1


class Status(enum.IntEnum):
    """How a request ended. The numbers travel: new ones may be added, but none changed."""

    OK = 0
    BUSY = 1
    """Too many requests were waiting; another replica may answer."""
    LATE = 2
    """Its time was over before it was its turn."""
    REFUSED = 3
    """An error that Periplus raises on purpose: its name, message and hint are the body."""
    FAILED = 4
    """Anything else went wrong; the log of the peer has it."""


class Frame(NamedTuple):
    """One request or response."""

    number: int
    method: int
    status: int
    deadline_ms: int
    body: bytes


class FrameWriter:
    """Encodes the frames of one direction of a connection."""

    def __init__(self, key: bytes) -> None:
        self._code = hashlib.blake2b(key=key, digest_size=_CODE_BYTES)
        self._sequence = 0

    def encode(self, number: int, body: bytes, *, method: int = 0, status: int = 0, deadline_ms: int = 0) -> bytes:
        """Return the next frame as bytes."""
        deadline_ms = max(0, min(deadline_ms, _MAX_DEADLINE_MS))
        fields = _FIELDS.pack(len(body), number & 0xFFFFFFFF, deadline_ms, method, status)
        code = self._code.copy()
        code.update(_SEQUENCE.pack(self._sequence) + fields)
        code.update(body)
        self._sequence += 1
        return b"".join((fields, code.digest(), body))


class FrameReader:
    """Decodes the frames of one direction of a connection, from bytes as they come."""

    def __init__(self, key: bytes, max_body: int = MAX_BODY_BYTES) -> None:
        self._code = hashlib.blake2b(key=key, digest_size=_CODE_BYTES)
        self._sequence = 0
        self._max_body = max_body
        self._buffer = bytearray()

    @property
    def unfinished(self) -> bool:
        """Whether part of a frame has come."""
        return bool(self._buffer)

    @property
    def missing(self) -> int:
        """How many bytes the frame that has begun lacks, as far as its header is known."""
        if len(self._buffer) < HEADER_BYTES:
            return HEADER_BYTES - len(self._buffer)
        return HEADER_BYTES + int(_FIELDS.unpack_from(self._buffer)[0]) - len(self._buffer)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete; raise `PeerFailed` for one too long, or not authentic."""
        if not self._buffer and len(data) >= HEADER_BYTES:
            size, number, deadline_ms, method, status = _FIELDS.unpack_from(data)
            if len(data) == HEADER_BYTES + size and size <= self._max_body:  # one whole frame, as nearly always
                body = data[HEADER_BYTES:]
                self._check(data[: _FIELDS.size], body, data[_FIELDS.size : HEADER_BYTES])
                return [Frame(number, method, status, deadline_ms, body)]
        self._buffer += data
        frames: list[Frame] = []
        while len(self._buffer) >= HEADER_BYTES:
            size, number, deadline_ms, method, status = _FIELDS.unpack_from(self._buffer)
            if size > self._max_body:
                raise PeerFailed(f"A peer sent a message of {size:,} bytes; at most {self._max_body:,} are accepted.")
            end = HEADER_BYTES + size
            if len(self._buffer) < end:
                break
            view = memoryview(self._buffer)
            body, fields = bytes(view[HEADER_BYTES:end]), bytes(view[: _FIELDS.size])
            received = bytes(view[_FIELDS.size : HEADER_BYTES])
            view.release()
            self._check(fields, body, received)
            del self._buffer[:end]
            frames.append(Frame(number, method, status, deadline_ms, body))
        return frames

    def _check(self, fields: bytes, body: bytes, received: bytes) -> None:
        code = self._code.copy()
        code.update(_SEQUENCE.pack(self._sequence) + fields)
        code.update(body)
        if not hmac.compare_digest(code.digest(), received):
            raise PeerFailed(
                "A message has a wrong authentication code: it was changed or repeated, or is not a message."
            )
        self._sequence += 1
