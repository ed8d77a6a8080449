"""Frames: length, number, deadline, method, status; then the body, encrypted.

    bytes  0 to 3    length of the body
           4 to 7    number of the request; its response has the same
           8 to 11   milliseconds left for the answer, of a request; 0 in a response
           12        method, of a request; 0 in a response
           13        status, of a response; 0 in a request
           14 on     the body, encrypted; then an authentication code of 16 bytes

All numbers are little-endian. Encryption and code are AES-256-GCM with the key of this connection and direction
(`wire.handshake`). Its nonce is how many frames came before in this direction, and the code covers the first 14 bytes,
too. So a frame that was changed, repeated, left out or put elsewhere ends the connection. The length is checked before
anything is allocated. Processors have instructions for it: it takes less time than a BLAKE2b, which does not encrypt.
"""

import enum
import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from periplus.errors import MissingPart, PeerFailed

__all__ = ["HEADER_BYTES", "MAX_BODY_BYTES", "Frame", "FrameReader", "FrameWriter", "Status", "make_cipher"]

_FIELDS: Final = struct.Struct("<IIIBB")
_NONCE: Final = struct.Struct("<Q4x")
_CODE_BYTES: Final = 16
HEADER_BYTES: Final = _FIELDS.size
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
        self._cipher = make_cipher(key)
        self._sequence = 0

    def encode(self, number: int, body: bytes, *, method: int = 0, status: int = 0, deadline_ms: int = 0) -> bytes:
        """Return the next frame as bytes."""
        if not 0 <= deadline_ms <= _MAX_DEADLINE_MS:
            deadline_ms = 0 if deadline_ms < 0 else _MAX_DEADLINE_MS
        fields = _FIELDS.pack(len(body), number & 0xFFFFFFFF, deadline_ms, method, status)
        sealed: bytes = self._cipher.encrypt(_NONCE.pack(self._sequence), body, fields)
        self._sequence += 1
        return fields + sealed


class FrameReader:
    """Decodes the frames of one direction of a connection, from bytes as they come."""

    def __init__(self, key: bytes, max_body: int = MAX_BODY_BYTES) -> None:
        self._cipher = make_cipher(key)
        self._invalid: type[Exception] = import_module("cryptography.exceptions").InvalidTag
        self._sequence = 0
        self._max_body = max_body
        self._buffer = bytearray()

    @property
    def unfinished(self) -> bool:
        """Whether part of a frame has come."""
        return bool(self._buffer)

    def chunk(self, least: int, most: int) -> int:
        """Return how many bytes to receive at once: of a long frame that has begun, as many as it lacks."""
        if len(self._buffer) < HEADER_BYTES:
            return least
        missing = HEADER_BYTES + int(_FIELDS.unpack_from(self._buffer)[0]) + _CODE_BYTES - len(self._buffer)
        return max(least, min(missing, most))

    def feed(self, data: bytes) -> Sequence[Frame]:
        """Return the frames that these bytes complete; raise `PeerFailed` for one too long, or not authentic."""
        if not self._buffer and len(data) >= HEADER_BYTES:
            size = _FIELDS.unpack_from(data)[0]
            if len(data) == HEADER_BYTES + size + _CODE_BYTES and size <= self._max_body:
                return (self._open(data),)  # one whole frame, as nearly always
        self._buffer += data
        frames: list[Frame] = []
        while len(self._buffer) >= HEADER_BYTES:
            size = _FIELDS.unpack_from(self._buffer)[0]
            if size > self._max_body:
                raise PeerFailed(f"A peer sent a message of {size:,} bytes; at most {self._max_body:,} are accepted.")
            end = HEADER_BYTES + size + _CODE_BYTES
            if len(self._buffer) < end:
                break
            frames.append(self._open(bytes(memoryview(self._buffer)[:end])))
            del self._buffer[:end]
        return frames

    def _open(self, data: bytes) -> Frame:
        """Return a frame that has come whole."""
        _, number, deadline_ms, method, status = _FIELDS.unpack_from(data)
        view = memoryview(data)
        try:
            body = self._cipher.decrypt(_NONCE.pack(self._sequence), view[HEADER_BYTES:], view[:HEADER_BYTES])
        except self._invalid:
            raise PeerFailed(
                "A message has a wrong authentication code: it was changed or repeated, or is not a message."
            ) from None
        self._sequence += 1
        return Frame(number, method, status, deadline_ms, body)


def make_cipher(key: bytes) -> Any:
    """Return what encrypts with a key; raise `MissingPart` where the library for it is not installed."""
    try:
        return import_module("cryptography.hazmat.primitives.ciphers.aead").AESGCM(key)
    except ImportError:
        message = "A cluster needs the package cryptography, which is not installed."
        raise MissingPart(message, "pip install 'periplus[cluster]'") from None
