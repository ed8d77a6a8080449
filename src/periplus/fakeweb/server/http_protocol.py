"""A minimal HTTP/1.1 server protocol: GET and HEAD, sequential requests on persistent connections."""

import asyncio
import contextlib
import re
import socket
import struct
from typing import Final

from periplus.fakeweb.fake_web import FakeWeb
from periplus.fakeweb.server.fake_response import FakeResponse, html_response
from periplus.fakeweb.server.request_log import RequestLog

__all__ = ["FakeWebProtocol"]

_MAX_HEAD_BYTES: Final = 32_768
_CONTROL: Final = re.compile(r"[\x00-\x20\x7f]")
_BAD: Final = html_response(400, "Bad request", headers=(("Connection", "close"),))
_NO_METHOD: Final = html_response(405, "Method not allowed", headers=(("Allow", "GET, HEAD"), ("Connection", "close")))
_TOO_LARGE: Final = html_response(431, "Too many headers", headers=(("Connection", "close"),))


class FakeWebProtocol(asyncio.Protocol):
    """One connection to the fake web."""

    def __init__(self, web: FakeWeb, log: RequestLog) -> None:
        self._web = web
        self._log = log
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._script: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop a running script."""
        self._transport = None
        self._writable.set()
        if self._script is not None:
            self._script.cancel()

    def pause_writing(self) -> None:
        """Pause a script, because the peer is not reading."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume a script."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Buffer data and respond to every complete request."""
        self._buffer += data
        if len(self._buffer) > _MAX_HEAD_BYTES:
            self._refuse(_TOO_LARGE)
            return
        self._serve_buffer()

    def _serve_buffer(self) -> None:
        while self._script is None and self._transport is not None:
            head, mark, rest = self._buffer.partition(b"\r\n\r\n")
            if not mark:
                return
            self._buffer = rest
            self._serve(head)

    def _serve(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").lstrip("\r\n").split("\r\n")
        words = first.split(" ")
        headers = _parse_headers(lines)
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or headers is None or "host" not in headers:
            self._refuse(_BAD)
            return
        method, target, version = words
        if method not in ("GET", "HEAD") or headers.get("content-length", "0") != "0":
            self._refuse(_NO_METHOD if method.isalpha() else _BAD)
            return
        host, path = _parse_target(headers["host"], target)
        if not path.startswith("/") or _CONTROL.search(path):
            self._refuse(_BAD)
            return
        response = self._web.response(host, path, headers)
        self._log.record(host, path, response.status)
        wanted = headers.get("connection", "").lower()
        self._send(response, method, close=wanted == "close" or (version == "HTTP/1.0" and wanted != "keep-alive"))

    def _send(self, response: FakeResponse, method: str, *, close: bool) -> None:
        assert self._transport is not None
        if response.steps:
            self._script = asyncio.get_running_loop().create_task(self._play(response))
            return
        self._transport.write(response.head if method == "HEAD" else response.wire)
        if close or response.end != "keep":
            self._transport.close()

    def _refuse(self, response: FakeResponse) -> None:
        self._buffer = b""
        if self._transport is not None:
            self._transport.write(response.wire)
            self._transport.close()

    async def _play(self, response: FakeResponse) -> None:
        """Send a script step by step, no faster than the peer reads."""
        for step in response.steps:
            for _ in range(step.times):
                if step.pause:
                    await asyncio.sleep(step.pause)
                await self._writable.wait()
                if self._transport is None:
                    return
                self._transport.write(step.data)
        self._end_script(response.end)

    def _end_script(self, end: str) -> None:
        self._script = None
        if self._transport is None:
            return
        if end == "reset":
            _reset_on_close(self._transport)
            self._transport.abort()
        elif end == "close":
            self._transport.close()
        else:
            self._serve_buffer()


def _parse_headers(lines: list[str]) -> dict[str, str] | None:
    """Return headers by lower-case name; None if a line is malformed."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return None
        headers[name.lower()] = value.strip()
    return headers


def _parse_target(host: str, target: str) -> tuple[str, str]:
    """Return host and path of a request; an absolute target contains its own host."""
    if target.lower().startswith("http://"):
        host, slash, path = target[7:].partition("/")
        target = slash + path if slash else "/"
    return host.partition(":")[0].lower().rstrip("."), target.partition("#")[0]


def _reset_on_close(transport: asyncio.Transport) -> None:
    """Make closing the connection send a reset."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
