"""A server of framed messages: a thread for each connection, a few requests at once, and bounds for whoever connects.

A peer that has not proved itself gets two seconds and a place among a few; the oldest of them is closed for the next.
A peer that has may be idle, but a message that begins has to come whole within some seconds. As many requests run at
once as there are threads for; as many again as fit in the queue wait, and what is more is refused as busy, so that the
broker asks another replica. A request whose deadline has passed before its turn is not run.
"""

import contextlib
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from periplus.cluster.wire.handshake import HELLO_BYTES, PROOF_BYTES, ServerHandshake, SessionKeys
from periplus.cluster.wire.listening import address_family
from periplus.cluster.wire.message_frames import MAX_BODY_BYTES, Frame, FrameReader, FrameWriter, Status, make_cipher
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import ClusterError, PeerFailed, PeriplusError, PortInUse

__all__ = ["MessageServer", "PeerRequest", "ServerLimits", "ServerStatistics"]

_LOG: Final = logging.getLogger("periplus.cluster")
_CHUNK: Final = 1 << 16
_MAX_CHUNK: Final = 1 << 22
_BACKLOG: Final = 256
_STOP_SECONDS: Final = 5.0
_TIMEVAL: Final = struct.Struct("@ll")


class PeerRequest(NamedTuple):
    """A request of an authenticated peer."""

    method: int
    body: bytes
    deadline: float
    """Until when the peer waits for the answer (monotonic)."""


class ServerLimits(NamedTuple):
    """What peers may use."""

    threads: int = 0
    """Requests that run at once; 0 for as many as there are cores, at least 2."""
    waiting: int = 64
    """Requests that wait for their turn."""
    connections: int = 512
    """Authenticated connections."""
    strangers: int = 32
    """Connections of peers that have not proved themselves yet."""
    handshake_seconds: float = 2.0
    message_seconds: float = 10.0
    """Time in which a message that has begun has to be there, or a response has to be taken."""
    idle_seconds: float = 600.0
    max_body: int = MAX_BODY_BYTES


class ServerStatistics(NamedTuple):
    """What a server has done so far."""

    requests: int
    running: int
    waiting: int
    connections: int
    refused: int
    """Connections of peers without the key or of another version, and messages that are not authentic or too long."""
    busy: int
    """Requests for which there was no place in the queue."""


class MessageServer:
    """Listens at an address and passes the requests of peers with the cluster's key to a function."""

    def __init__(
        self,
        address: tuple[str, int],
        key: ClusterKey,
        answer: Callable[[PeerRequest], bytes],
        limits: ServerLimits | None = None,
        handshake: Callable[[ClusterKey], ServerHandshake] = ServerHandshake,
    ) -> None:
        """Listen; `start` begins to answer. Port 0 is any free one."""
        make_cipher(key.secret)  # refused here, and not when a peer connects, where the library is missing
        self._key, self._answer = key, answer
        self._handshake = handshake
        self._limits = limits or ServerLimits()
        try:
            self._listener = socket.create_server(address, backlog=_BACKLOG, family=address_family(address[0]))
        except OSError as error:
            raise PortInUse(f"Cannot listen at {address[0]}:{address[1]}: {error.strerror}.") from None
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        self._threads = self._limits.threads or max(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._turns = threading.Condition(self._lock)
        self._strangers: dict[socket.socket, float] = {}
        self._peers: dict[socket.socket, float] = {}
        """Authenticated connections, and when each was last used."""
        self._closed = threading.Event()
        self._requests = self._running = self._waiting = self._refused = self._busy = 0
        self._acceptor = threading.Thread(target=self._accept, name="periplus-accept", daemon=True)

    def start(self) -> None:
        """Begin to answer, in threads."""
        self._acceptor.start()

    def statistics(self) -> ServerStatistics:
        """Return what was done so far."""
        with self._lock:
            return ServerStatistics(
                self._requests, self._running, self._waiting, len(self._peers), self._refused, self._busy
            )

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections = [*self._strangers, *self._peers]
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if self._acceptor.is_alive():
            self._acceptor.join(_STOP_SECONDS)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if self._closed.is_set():
                    return
                _LOG.warning("Cannot accept a connection: %s", error)
                self._closed.wait(0.05)  # no descriptors, perhaps: others may be closed meanwhile
                continue
            self._admit_stranger(connection)
            try:
                threading.Thread(target=self._serve, args=(connection,), name="periplus-peer", daemon=True).start()
            except RuntimeError:  # no more threads
                self._forget(connection)

    def _admit_stranger(self, connection: socket.socket) -> None:
        """Enter a connection; if there are too many that have not proved themselves, close the oldest."""
        with self._lock:
            if len(self._strangers) >= self._limits.strangers:
                oldest = min(self._strangers, key=self._strangers.__getitem__)
                del self._strangers[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
                self._refused += 1
            self._strangers[connection] = time.monotonic()

    def _admit_peer(self, connection: socket.socket) -> None:
        """Enter a connection as authenticated; if there are too many, close the one that was idle longest."""
        with self._lock:
            if self._strangers.pop(connection, None) is None:
                raise PeerFailed("Too many peers connect at once.")
            if len(self._peers) >= self._limits.connections:
                oldest = min(self._peers, key=self._peers.__getitem__)
                del self._peers[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._peers[connection] = time.monotonic()

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(connection, None)
            self._peers.pop(connection, None)
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        """Serve one connection until it ends."""
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keys = self._greet(connection)
            self._admit_peer(connection)
            _set_timeouts(connection, self._limits.idle_seconds, self._limits.message_seconds)
            reader, writer = FrameReader(keys.to_server, self._limits.max_body), FrameWriter(keys.to_client)
            while not self._closed.is_set():
                for frame in self._receive(connection, reader):
                    self._respond(connection, writer, frame)
        except ClusterError as error:
            with self._lock:
                self._refused += 1
            _LOG.warning("A connection is refused: %s", error)
        except (OSError, EOFError):
            _LOG.debug("A peer has gone, or was too slow.")
        finally:
            self._forget(connection)

    def _greet(self, connection: socket.socket) -> SessionKeys:
        """Return the keys of a connection; raise `WrongVersion` or `Unauthenticated`."""
        end = time.monotonic() + self._limits.handshake_seconds
        handshake = self._handshake(self._key)
        hello = _receive_exactly(connection, HELLO_BYTES, end)
        connection.sendall(handshake.answer(hello))
        handshake.check_version(hello)
        return handshake.finish(_receive_exactly(connection, PROOF_BYTES, end))

    def _receive(self, connection: socket.socket, reader: FrameReader) -> Sequence[Frame]:
        """Return the next frames; raise `TimeoutError` if none comes, or one that has begun does not end."""
        end = 0.0
        while True:
            data = connection.recv(reader.chunk(_CHUNK, _MAX_CHUNK))
            if not data:
                raise EOFError
            frames = reader.feed(data)
            if frames:
                if end:
                    _set_timeouts(connection, self._limits.idle_seconds, self._limits.message_seconds)
                return frames
            end = end or time.monotonic() + self._limits.message_seconds
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            _set_timeouts(connection, left, self._limits.message_seconds)

    def _respond(self, connection: socket.socket, writer: FrameWriter, frame: Frame) -> None:
        now = time.monotonic()
        request = PeerRequest(frame.method, frame.body, now + frame.deadline_ms / 1000)
        status, body = self._run(request, connection, now)
        response = writer.encode(frame.number, body, status=status)
        if connection.send(response) < len(response):  # it blocks until all is sent, or the time is over
            raise TimeoutError

    def _run(self, request: PeerRequest, connection: socket.socket, now: float) -> tuple[Status, bytes]:
        """Run a request that came now, when it is its turn; return status and body of the response."""
        with self._lock:
            if self._running >= self._threads:
                refusal, now = self._await_turn(request.deadline), time.monotonic()
                if refusal is not None:
                    return refusal, b""
            self._requests += 1
            self._running += 1
            if connection in self._peers:
                self._peers[connection] = now
        try:
            if now >= request.deadline:
                return Status.LATE, b""
            return self._call(request)
        finally:
            with self._lock:
                self._running -= 1
                if self._waiting:
                    self._turns.notify()

    def _await_turn(self, deadline: float) -> Status | None:
        """Wait until fewer requests run; return why this one is refused, if it is. Called with the lock."""
        if self._waiting >= self._limits.waiting:
            self._busy += 1
            return Status.BUSY
        self._waiting += 1
        in_time = self._turns.wait_for(
            lambda: self._running < self._threads, timeout=max(0.0, deadline - time.monotonic())
        )
        self._waiting -= 1
        return None if in_time else Status.LATE

    def _call(self, request: PeerRequest) -> tuple[Status, bytes]:
        try:
            return Status.OK, self._answer(request)
        except PeriplusError as error:
            return Status.REFUSED, msgspec.msgpack.encode((type(error).__name__, error.message, error.hint))
        except Exception:
            _LOG.exception("A request of method %d failed", request.method)
            return Status.FAILED, b""


def _set_timeouts(connection: socket.socket, receive: float, send: float) -> None:
    """Make calls that last longer raise `BlockingIOError`. The kernel watches the time: no further calls are needed."""
    connection.settimeout(None)
    for option, seconds in ((socket.SO_RCVTIMEO, receive), (socket.SO_SNDTIMEO, send)):
        micros = max(1, int(seconds * 1e6))
        connection.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(*divmod(micros, 1_000_000)))


def _receive_exactly(connection: socket.socket, size: int, end: float) -> bytes:
    """Return so many bytes; raise `TimeoutError` if they have not come by a time (monotonic)."""
    data = b""
    while len(data) < size:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data
