"""A small HTTP/1.1 server for signed messages between shards, with bounds on everything a stranger controls.

It answers POST requests whose body is signed with the key of the cluster, in a signed response. Everything else is
refused before a handler sees it: other methods, chunked or oversized bodies, unsigned, repeated and outdated requests,
requests of another version. Heads and bodies that arrive slowly are cut off; connections and received bytes are
limited. A connection is that of a stranger until its first request is authentic: strangers have few connections and
little memory of their own, of which the oldest are closed first, so that they cannot keep peers out. Handlers run in
threads, since they wait for the disk.
"""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from periplus.cluster.crawling.mail_records import MAX_BODY
from periplus.cluster.wire.signing import SIGNATURE_HEADER, ClusterKey, ReplayGuard, read_header, sign_header
from periplus.errors import PeriplusError, PortInUse, Unauthenticated, WrongVersion

__all__ = ["Handler", "HttpAnswer", "MailboxServer", "request_purpose"]

_MAX_HEAD: Final = 16 << 10
_MAX_CONNECTIONS: Final = 512
_MAX_STRANGERS: Final = 64
"""Connections without an authentic request so far."""
_MAX_BUFFERED: Final = 128 << 20
"""Bytes of all bodies that peers have sent, and that are not handled yet."""
_MAX_STRANGER_BYTES: Final = 64 << 20
"""Bytes of all bodies that strangers have sent."""
_CHUNK: Final = 1 << 16
_MAX_WAIT: Final = 5.0
"""Seconds for which an authentic request may wait for a thread: the sender of a plan counts on it."""
_THREADS: Final = 8
_LINGER_SECONDS: Final = 1.0
_MAX_BODIES_DISCARDED: Final = 64
"""Reads, of `_MAX_HEAD` bytes each, of what a refused client still sends."""
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    426: "Upgrade Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class HttpAnswer(NamedTuple):
    """The response of a handler."""

    status: int
    body: bytes = b""
    retry_after: float = 0.0
    """Seconds after which the sender may try again, if positive."""


Handler = Callable[[bytes], HttpAnswer]


class _Refusal(Exception):
    """The end of a connection, with a last answer."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(status, text)
        self.answer = HttpAnswer(status, text.encode(), 1.0 if status == 503 else 0.0)


class _Connection:
    """What is known of a connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.is_peer = False
        self.received = 0
        """Bytes of the body that is being received or handled."""


class _Pool:
    """Connections, the one that was used longest ago first, and the bytes that they have sent."""

    def __init__(self, size: int, max_bytes: int) -> None:
        self._size, self._max_bytes = size, max_bytes
        self._connections: dict[_Connection, None] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: _Connection) -> int:
        """Enter a connection, or note that it is used; return how many others were closed for it."""
        self.remove(connection)
        surplus = len(self._connections) - self._size + 1
        for oldest in list(self._connections)[: max(0, surplus)]:
            self._close(oldest)
        self._connections[connection] = None
        self._bytes += connection.received
        return max(0, surplus)

    def remove(self, connection: _Connection) -> None:
        """Remove a connection with its bytes, if it is there."""
        if connection in self._connections:
            del self._connections[connection]
            self._bytes -= connection.received

    def count(self, connection: _Connection, size: int, *, may_close: bool) -> bool:
        """Count bytes that have come, or, if negative, are released; return whether there is room for them.

        With `may_close`, other connections with such bytes are closed for them, the oldest first.
        """
        if connection not in self._connections:  # closed for another one
            return False
        for other in list(self._connections) if may_close else ():
            if self._bytes + size <= self._max_bytes:
                break
            if other is not connection and other.received:
                self._close(other)
        if size > 0 and self._bytes + size > self._max_bytes:
            return False
        self._bytes += size
        connection.received += size
        return True

    def _close(self, connection: _Connection) -> None:
        self.remove(connection)
        connection.writer.transport.abort()


def request_purpose(number: int, path: str) -> str:
    """Return the purpose that a request to the mailbox of a shard is signed for."""
    return f"mailbox {number} POST {path}"


class MailboxServer:
    """Serves `handlers`, by path, at an address of this machine until `close`."""

    def __init__(
        self,
        number: int,
        key: ClusterKey,
        handlers: Mapping[str, Handler],
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        head_seconds: float = 10.0,
        body_seconds: float = 30.0,
        idle_seconds: float = 120.0,
        max_connections: int = _MAX_CONNECTIONS,
        max_strangers: int = _MAX_STRANGERS,
    ) -> None:
        self._number, self._key, self._handlers = number, key, dict(handlers)
        self._guard = ReplayGuard()
        self._head_seconds, self._body_seconds, self._idle_seconds = head_seconds, body_seconds, idle_seconds
        self._peers = _Pool(max_connections, _MAX_BUFFERED)
        self._strangers = _Pool(max_strangers, _MAX_STRANGER_BYTES)
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused = 0
        """Requests that were refused."""
        self.received_bytes = 0
        try:
            self._socket = socket.create_server((host, port), backlog=256, family=_family(host))
        except OSError as error:
            raise PortInUse(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from error
        self.port: int = self._socket.getsockname()[1]
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        self._threads = ThreadPoolExecutor(_THREADS, f"mailbox-{number}")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"mailbox-{number}", daemon=True)
        self._started = threading.Event()
        self._thread.start()
        self._started.wait()

    def close(self) -> None:
        """Stop listening, and end all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self._threads.shutdown(wait=True)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accept, sock=self._socket, limit=_MAX_HEAD)
        self._started.set()
        async with server:
            await self._stop.wait()
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(writer)
        self.refused += self._strangers.add(connection)
        task = self._loop.create_task(self._converse(reader, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, connection: _Connection) -> None:
        """Answer the requests of one connection, one after the other."""
        writer = connection.writer
        try:
            while not self._stop.is_set() and await self._answer_next(reader, connection):
                pass
        except _Refusal as refusal:
            self.refused += 1
            with contextlib.suppress(OSError):
                await self._send(writer, refusal.answer, {}, last=True)
                async with asyncio.timeout(_LINGER_SECONDS):
                    await _discard(reader)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._peers.remove(connection)
            self._strangers.remove(connection)
            writer.transport.abort()

    async def _answer_next(self, reader: asyncio.StreamReader, connection: _Connection) -> bool:
        """Answer one request; return whether another may follow."""
        try:
            seconds = self._idle_seconds if connection.is_peer else self._head_seconds
            async with asyncio.timeout(seconds):
                first = await reader.readline()
            if not first:
                return False
            async with asyncio.timeout(self._head_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except (ValueError, asyncio.LimitOverrunError):
            raise _Refusal(431, "The head is too long.") from None
        except TimeoutError:
            return False
        path, headers = _parse_head(first, head)
        length = self._content_length(path, headers)
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await self._read_body(reader, connection, length)
        except TimeoutError:
            raise _Refusal(408, "The body arrives too slowly.") from None
        arrived, purpose, run = time.monotonic(), request_purpose(self._number, path), self._loop.run_in_executor
        nonce = await run(self._threads, self._authenticate, purpose, headers, body)
        self._admit(connection)
        answer = await run(self._threads, self._handle, path, body, arrived)
        self.received_bytes += len(first) + len(head) + length
        signature = sign_header(self._key, f"answer to {purpose} {answer.status}", answer.body, context=nonce)
        await self._send(connection.writer, answer, {SIGNATURE_HEADER: signature})
        self._peers.count(connection, -connection.received, may_close=False)
        return True

    def _admit(self, connection: _Connection) -> None:
        """Enter the connection as that of a peer, used just now; it had an authentic request."""
        self._strangers.remove(connection)
        connection.is_peer = True
        self.refused += self._peers.add(connection)

    def _content_length(self, path: str, headers: dict[str, str]) -> int:
        """Return the length of the body; refuse a request before its body is read wherever that is possible."""
        if path not in self._handlers:
            raise _Refusal(404)
        if SIGNATURE_HEADER.lower() not in headers:
            raise _Refusal(401, "A message has no signature of the cluster.")
        text = headers.get("content-length", "")
        if "transfer-encoding" in headers or not text.isascii() or not text.isdigit():
            raise _Refusal(411)
        if len(text) > 10 or int(text) > MAX_BODY:
            raise _Refusal(413, f"A message may have {MAX_BODY:,} bytes.")
        return int(text)

    async def _read_body(self, reader: asyncio.StreamReader, connection: _Connection, length: int) -> bytes:
        pool = self._peers if connection.is_peer else self._strangers
        parts = []
        while length:
            part = await reader.read(min(length, _CHUNK))
            if not part:
                raise asyncio.IncompleteReadError(b"", length)
            if not pool.count(connection, len(part), may_close=not connection.is_peer):
                raise _Refusal(503, "Too many messages arrive at once.")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _authenticate(self, purpose: str, headers: dict[str, str], body: bytes) -> bytes:
        """Check the signature, in a thread; return the nonce of the request."""
        try:
            signature = read_header(self._key, purpose, headers.get(SIGNATURE_HEADER.lower()), body, self._guard)
        except WrongVersion as error:
            raise _Refusal(426, str(error)) from None
        except Unauthenticated as error:
            raise _Refusal(401, str(error)) from None
        return signature.nonce

    def _handle(self, path: str, body: bytes, arrived: float) -> HttpAnswer:
        """Return the answer of the handler, in a thread."""
        if time.monotonic() - arrived > _MAX_WAIT:
            return HttpAnswer(503, b"The request has waited too long.", 1.0)
        try:
            return self._handlers[path](body)
        except PeriplusError as error:
            return HttpAnswer(503, str(error).encode(), 1.0)
        except Exception as error:  # the fault of one request must not end the connection without an answer
            return HttpAnswer(500, type(error).__name__.encode())

    async def _send(
        self, writer: asyncio.StreamWriter, answer: HttpAnswer, headers: dict[str, str], last: bool = False
    ) -> None:
        lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}"]
        lines.append(f"Content-Length: {len(answer.body)}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if answer.retry_after > 0:
            lines.append(f"Retry-After: {max(1, round(answer.retry_after))}")
        if last:
            lines.append("Connection: close")
        writer.write("\r\n".join((*lines, "", "")).encode("latin-1") + answer.body)
        async with asyncio.timeout(self._body_seconds):
            await writer.drain()


async def _discard(reader: asyncio.StreamReader) -> None:
    """Read what a refused client still sends, within bounds: otherwise it might not see the answer."""
    for _ in range(_MAX_BODIES_DISCARDED):
        if not await reader.read(_MAX_HEAD):
            return


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _parse_head(first: bytes, head: bytes) -> tuple[str, dict[str, str]]:
    """Return path and headers of a POST request; refuse anything else."""
    parts = first.decode("latin-1").split()
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise _Refusal(400)
    if parts[0] != "POST":
        raise _Refusal(405)
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n"):
        name, mark, value = line.partition(":")
        name = name.lower()
        if line and (not mark or not name or name != name.strip() or name in headers):
            raise _Refusal(400, "A header is malformed or repeated.")
        if line:
            headers[name] = value.strip()
    return parts[1], headers
