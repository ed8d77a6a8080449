"""Listening sockets: one for each host's loopback address, all on one port, served by one event loop."""

import asyncio
import contextlib
import errno
import resource
import socket
from collections.abc import Callable
from typing import Final

from periplus.errors import MissingPart, PortInUse
from periplus.fakeweb.fake_web import FakeWeb
from periplus.fakeweb.server.http_protocol import FakeWebProtocol
from periplus.fakeweb.server.request_log import RequestLog

__all__ = ["bind_addresses", "serve", "serve_forever"]

_ATTEMPTS: Final = 50
_SPARE_FILES: Final = 512


def bind_addresses(addresses: list[str], port: int = 0) -> tuple[list[socket.socket], int]:
    """Listen on one port of every address (0: one that is free on all); return the sockets and the port."""
    _allow_files(len(addresses) + _SPARE_FILES)
    for attempt in range(_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
                sockets.append(_listen(address, chosen))
            return sockets, int(sockets[0].getsockname()[1])
        except OSError as error:
            for opened in sockets:
                opened.close()
            if port or error.errno != errno.EADDRINUSE or attempt == _ATTEMPTS - 1:
                raise _refusal(address, chosen, error) from error
    raise AssertionError


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _refusal(address: str, port: int, error: OSError) -> Exception:
    """Return the error that explains why the server cannot listen."""
    if error.errno == errno.EADDRINUSE:
        return PortInUse(f"Port {port} is in use at {address}.", "Choose another port, or 0 for any free one.")
    if error.errno == errno.EACCES:
        return PortInUse(f"Not allowed to listen on port {port}.", "Choose a port above 1023, or 0 for any free one.")
    if error.errno == errno.EADDRNOTAVAIL:
        return MissingPart(
            f"This system does not answer at the loopback address {address}.",
            "The fake web needs all of 127.0.0.0/8, as Linux has it.",
        )
    return MissingPart(f"Cannot listen at {address}:{port}: {error.strerror or error}.", "Ask for fewer hosts.")


def _allow_files(wanted: int) -> None:
    """Raise the limit of open files if there are more hosts than it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def serve(web: FakeWeb, sockets: list[socket.socket], log: RequestLog, stop: asyncio.Event) -> None:
    """Serve requests on `sockets` until `stop` is set."""
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(lambda: FakeWebProtocol(web, log), sock=each) for each in sockets]
    try:
        await stop.wait()
    finally:
        for server in servers:
            server.close()


def serve_forever(web: FakeWeb, port: int = 0, ready: Callable[[int], None] = lambda port: None) -> None:
    """Serve the web in this thread until interrupted; call `ready` with the port when it is listening."""
    sockets, actual_port = bind_addresses([address for _, address in web.hosts], port)
    ready(actual_port)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_always(web, sockets))


async def _serve_always(web: FakeWeb, sockets: list[socket.socket]) -> None:
    await serve(web, sockets, RequestLog(), asyncio.Event())
