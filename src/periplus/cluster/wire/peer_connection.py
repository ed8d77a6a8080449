"""A connection to a peer that never blocks: it connects, greets, sends and receives as far as it can at once.

One thread uses it at a time, and waits for many of them together by `poll` on `fileno`, `events` and `advance`.
"""

import contextlib
import select
import socket
import time
from typing import Final

import msgspec

from periplus import errors
from periplus.cluster.wire.handshake import ClientHandshake
from periplus.cluster.wire.message_frames import Frame, FrameReader, FrameWriter, Status
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import Overloaded, PeerFailed, PeriplusError
from periplus.typed_decoding import parse_msgpack

__all__ = ["PeerAddress", "PeerConnection", "call_peer", "remote_error"]

PeerAddress = tuple[str, int]
"""Host and port."""
_CHUNK: Final = 1 << 16
_MAX_CHUNK: Final = 1 << 22
_MAX_ABANDONED: Final = 4
"""Requests without a response so far of which nobody waits for it; with more, a connection is closed."""


class PeerConnection:
    """One connection to one peer. Whatever goes wrong is raised as `ClusterError`, and closes it."""

    def __init__(self, address: PeerAddress, key: ClusterKey, handshake: ClientHandshake | None = None) -> None:
        """Begin to connect; `advance` goes on."""
        self.address = address
        self._handshake: ClientHandshake | None = handshake or ClientHandshake(key)
        self._reply = b""
        self._out = self._handshake.hello
        self._requests: list[tuple[int, int, float, bytes]] = []
        """Number, method, deadline and body of what is to be sent once the peer has proved itself."""
        self._reader: FrameReader | None = None
        self._writer: FrameWriter | None = None
        self._number = 0
        self._abandoned: set[int] = set()
        self._current = 0
        """The request whose response is awaited; 0 if none."""
        self.sent_bytes = self.received_bytes = 0
        self._connected = False
        try:
            family, _, _, _, target = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
            self._socket = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise PeerFailed(f"Cannot reach {address[0]}:{address[1]}: {error}") from None
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._socket.connect(target)
            self._connected = True
        except BlockingIOError:
            pass
        except OSError as error:
            raise self._failure(error) from None

    def fileno(self) -> int:
        """Return the descriptor to poll."""
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """What to poll for."""
        return select.POLLIN | (select.POLLOUT if self._out or not self._connected else 0)

    @property
    def is_new(self) -> bool:
        """Whether no request was sent on it so far."""
        return not self._number

    @property
    def is_idle(self) -> bool:
        """Whether no response is outstanding."""
        return not self._current and not self._abandoned

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent although responses of abandoned ones are outstanding."""
        return self._socket.fileno() >= 0 and len(self._abandoned) <= _MAX_ABANDONED

    def request(self, method: int, body: bytes, deadline: float) -> None:
        """Send a request, as far as that is possible at once. deadline: until when the answer counts (monotonic)."""
        assert not self._current
        self._number = self._current = (self._number + 1) & 0xFFFFFFFF or 1
        try:
            if self._writer is None:
                self._requests.append((self._number, method, deadline, body))
            else:
                self._out += _encode(self._writer, self._number, method, deadline, body)
            if self._connected:
                self._flush()
        except (OSError, PeriplusError) as error:
            raise self._failure(error) from None

    def abandon(self) -> None:
        """Wait no longer for the response to the last request; it is read and dropped when it comes."""
        if self._current:
            self._abandoned.add(self._current)
            self._current = 0

    def advance(self) -> Frame | None:
        """Connect, greet, send and receive what is possible now; return the awaited response if it has come."""
        try:
            if not self._connected:
                self._finish_connecting()
                if not self._connected:
                    return None
            if self._out:
                self._flush()
            return self._receive()
        except (OSError, PeriplusError) as error:
            raise self._failure(error) from None

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _finish_connecting(self) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        if poll.poll(0):
            error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, "cannot connect")
            self._connected = True

    def _encode_requests(self, writer: FrameWriter) -> None:
        for request in self._requests:
            self._out += _encode(writer, *request)
        self._requests.clear()

    def _flush(self) -> None:
        while self._out:
            try:
                count = self._socket.send(self._out)
            except BlockingIOError:
                return
            self.sent_bytes += count
            self._out = self._out[count:]

    def _receive(self) -> Frame | None:
        """Return the awaited response; it is the last thing that a peer sends unasked."""
        while True:
            reader = self._reader
            size = reader.chunk(_CHUNK, _MAX_CHUNK) if reader is not None else _CHUNK
            try:
                data = self._socket.recv(size)
            except BlockingIOError:
                return None
            if not data:
                raise PeerFailed(f"{self._name()} closed the connection.")
            self.received_bytes += len(data)
            if self._reader is None:
                data = self._greet(data)
            if self._reader is not None:
                for frame in self._reader.feed(data):
                    if self._accept(frame):
                        return frame

    def _greet(self, data: bytes) -> bytes:
        """Go on with the handshake; return what came after it."""
        assert self._handshake is not None
        self._reply += data
        size = self._handshake.REPLY_BYTES
        if len(self._reply) < size:
            return b""
        proof, keys = self._handshake.finish(self._reply[:size])
        rest, self._reply, self._handshake = self._reply[size:], b"", None
        self._reader, self._writer = FrameReader(keys.to_client), FrameWriter(keys.to_server)
        self._out += proof
        self._encode_requests(self._writer)
        self._flush()
        return rest

    def _accept(self, frame: Frame) -> bool:
        """Return whether a frame is the awaited response; raise `PeerFailed` for one that nobody asked for."""
        if frame.number in self._abandoned:
            self._abandoned.discard(frame.number)
            return False
        if frame.number != self._current:
            raise PeerFailed(f"{self._name()} answered a request that was not sent.")
        self._current = 0
        return True

    def _name(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def _failure(self, error: OSError | PeriplusError) -> PeriplusError:
        """Close the connection because something failed; return what is to be raised."""
        self._socket.close()
        return error if isinstance(error, PeriplusError) else PeerFailed(f"{self._name()}: {error.strerror or error}")


def _encode(writer: FrameWriter, number: int, method: int, deadline: float, body: bytes) -> bytes:
    """Return the frame of a request, with the time that is left for its answer."""
    left = int(1000 * (deadline - time.monotonic()))
    return writer.encode(number, body, method=method, deadline_ms=max(1, left))


def call_peer(connection: PeerConnection, method: int, body: bytes, deadline: float) -> bytes:
    """Send one request and wait for its response; raise `PeerFailed` if none comes in time, or its error."""
    connection.request(method, body, deadline)
    poll = select.poll()
    while True:
        poll.register(connection, connection.events)
        left = deadline - time.monotonic()
        if left <= 0:
            connection.close()
            raise PeerFailed(f"{connection.address[0]}:{connection.address[1]} did not answer in time.")
        poll.poll(left * 1000)
        frame = connection.advance()
        if frame is not None:
            break
    if frame.status != Status.OK:
        raise remote_error(connection.address, frame)
    return frame.body


def remote_error(address: PeerAddress, frame: Frame) -> PeriplusError:
    """Return the error that a response reports: of the same class if it is one of Periplus."""
    name = f"{address[0]}:{address[1]}"
    if frame.status == Status.BUSY:
        return Overloaded(f"{name} has too many requests waiting.", "Try again in a moment.")
    if frame.status == Status.LATE:
        return PeerFailed(f"{name} had no time left for a request.")
    if frame.status == Status.REFUSED:
        with contextlib.suppress(msgspec.MsgspecError):
            kind, message, hint = parse_msgpack(frame.body, tuple[str, str, str])
            error = getattr(errors, kind, None) if kind in errors.__all__ else None
            if error is not None:
                return error(message, hint)  # type: ignore[no-any-return]
    return PeerFailed(f"{name} could not answer a request; its log says why.")
