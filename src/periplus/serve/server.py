"""The HTTP server: granian around the application, in this process. It stops cleanly on Ctrl-C."""

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.net import SocketHolder
from granian.server.embed import Server as Granian

from periplus.errors import PortInUse
from periplus.serve.actions import Actions
from periplus.serve.api_keys import ApiKeys
from periplus.serve.application import Application, make_app
from periplus.serve.connections.connection_guard import ConnectionGuard, ConnectionLimits
from periplus.serve.connections.descriptor_limit import connection_capacity, raise_descriptor_limit
from periplus.serve.connections.listening_socket import open_listening_socket
from periplus.serve.middleware.client_address import ClientAddresses, client_network, is_local
from periplus.serve.protocols import SearcherLike
from periplus.settings import ServeSettings

__all__ = ["HttpServer", "background_server", "free_address", "run"]

_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 1.5
"""Time for requests in progress when the server stops."""
_THREADS_SECONDS: Final = 10.0
"""Time for the server's own threads to end once it has stopped."""
_PROMPT_SECONDS: Final = 0.1
"""Most end as soon as this."""
_FOREIGN_SECONDS: Final = 0.3
"""The same for threads of unknown origin, such as those of a library that was first used meanwhile."""
_NOT_HTTP: Final = b"?\r\n\r\n"
"""Refused by the HTTP server itself; it reaches neither the application nor its metrics."""
_BACKLOG: Final = 1024
_SWITCH_SECONDS: Final = 0.0005
"""How long a search may hold the interpreter while a finished response waits to be sent."""
_HEADER_BYTES: Final = 128 << 10
"""Memory for the request line and headers; what is longer is refused (414 or 431)."""


def run(
    searcher: SearcherLike,
    settings: ServeSettings,
    on_ready: Callable[[str], None],
    actions: Actions | None = None,
    keys: ApiKeys | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; call `on_ready` with the URL once it answers. Raise `PortInUse` if taken."""
    address, port = free_address(settings.host, settings.port)
    HttpServer(make_app(searcher, settings, actions, keys), settings, address, port).run(on_ready)


@contextlib.contextmanager
def background_server(
    searcher: SearcherLike, settings: ServeSettings, actions: Actions | None = None, keys: ApiKeys | None = None
) -> Iterator[str]:
    """Serve in a thread of this process for the duration of a `with` block, which receives the URL."""
    address, port = free_address(settings.host, settings.port)
    app, ready = make_app(searcher, settings, actions, keys), Future[str]()
    server = HttpServer(app, settings, address, port)

    def work() -> None:
        try:
            server.run(ready.set_result)
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=work, name="periplus-serve")
    thread.start()
    try:
        yield ready.result()
    finally:
        server.stop()
        thread.join()


def free_address(host: str, port: int) -> tuple[str, int]:
    """Return the numeric address and port to listen on, checked to be free; port 0 becomes a free one."""
    try:
        family, _, _, _, socket_address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As the server itself binds: lingering connections of the last run are not an obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(socket_address)
            probe.listen(1)
            bound = probe.getsockname()
            return str(bound[0]), int(bound[1])
    except (OSError, UnicodeError) as error:
        raise PortInUse(f"Cannot listen on {host}:{port}: {_reason(error)}.", _hint(error)) from None


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "not a host name"


def _hint(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return "Choose another with --port, or --port 0 for any free one."
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return "Ports below 1024 need privileges; choose a higher one with --port."
    return "Check serve.host and serve.port."


class HttpServer:
    """One HTTP server, from start to stop."""

    def __init__(self, app: Application, settings: ServeSettings, address: str, port: int) -> None:
        self._app = app
        self._settings = settings
        self._address = (address, port)
        limits = ConnectionLimits(
            connection_capacity(settings.max_connections, raise_descriptor_limit()),
            settings.connections_per_address,
            settings.write_seconds,
        )
        self._capacity = limits.capacity
        self._guard = ConnectionGuard(port, limits, _limited_client(settings), app.active_connections)
        app.watch_connections(self._guard)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Granian | None = None
        self._serving: asyncio.Task[None] | None = None
        self._stopping = False
        self._signal_numbers: tuple[int, ...] = ()
        self._initial_threads: set[int] = set()
        self._own_threads: set[int] = set()
        self._foreign_threads: set[int] = set()

    def run(self, on_ready: Callable[[str], None], numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)) -> None:
        """Serve until `stop` is called or one of the signals `numbers` arrives."""
        self._signal_numbers = numbers
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._guard.start()
        try:
            asyncio.run(self._serve(self._app, *self._address, on_ready))
        finally:
            self._guard.stop()
            self._app.close()
            _wait_for_end(self._own_threads, _PROMPT_SECONDS)
            if self._own_threads & _foreign_threads():
                # The thread for callbacks ends with the last object of any request. Some are in cycles, and those of
                # requests that came while kernels were loaded are exempt from collection.
                gc.unfreeze()
                gc.collect()
            _wait_for_end(self._own_threads, _THREADS_SECONDS)
            _wait_for_end(self._foreign_threads, _FOREIGN_SECONDS)

    def stop(self) -> None:
        """Stop serving; any thread may call it, also more than once."""
        self._stopping = True
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        """Stop in three steps: no more connections, then no more searches, then cancel what is left."""
        if self._server is None or self._serving is None:
            return
        self._foreign_threads = _foreign_threads() - self._initial_threads - self._own_threads
        self._server.stop()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)
        loop.call_later(_STOP_SECONDS, self._app.executor.close)
        loop.call_later(_STOP_SECONDS + 0.3, self._serving.cancel)

    async def _serve(self, app: Application, address: str, port: int, on_ready: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = _granian(app, address, port, self._settings, self._capacity)
        self._initial_threads = _foreign_threads()
        with self._signals():
            self._serving = serving = asyncio.create_task(self._server.serve())
            ready = await _wait_until_answering(address, port, serving)
            self._own_threads = _foreign_threads() - self._initial_threads
            if ready and not self._stopping:
                on_ready(f"http://{f'[{address}]' if ':' in address else address}:{port}/")
            if not ready or self._stopping:
                self._end()
            await asyncio.wait({serving})
        if not serving.cancelled():
            serving.result()
        if not ready and not self._stopping:
            raise PortInUse(f"Cannot listen on {address}:{port}.", "Check serve.host and serve.port.")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on the first signal; the second one ends the process the usual way."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = self._signal_numbers

        def first() -> None:
            for number in numbers:
                loop.remove_signal_handler(number)
            self._stopping = True
            self._end()

        for number in numbers:
            loop.add_signal_handler(number, first)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


class _Server(Granian):  # type: ignore[misc]
    """The HTTP server on a listening socket of ours, whose options its connections inherit."""

    def __init__(self, app: Application, listener: socket.socket, **options: Any) -> None:
        super().__init__(app, **options)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        # It closes the socket when it stops.
        self._ssp, self._shd = None, SocketHolder(self._listener.detach(), False, self.backlog)
        self._sfd = self._shd.get_fd()


def _granian(app: Application, address: str, port: int, settings: ServeSettings, capacity: int) -> Granian:
    return _Server(
        app,
        open_listening_socket(address, port, _BACKLOG, settings.write_seconds),
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        backlog=_BACKLOG,
        # Connections beyond this are not accepted. It is well above the queue, so that those beyond the queue get 429.
        backpressure=capacity,
        # HTTP/2 has no limits of resets, pings and idle time here; and to recognise it, the server waits for ever.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=round(1000 * settings.header_seconds), max_buffer_size=_HEADER_BYTES
        ),
        log_enabled=False,
    )


def _limited_client(settings: ServeSettings) -> Callable[[str], str]:
    """Return the function that identifies the client at an address, as '' if it may have any number of connections.

    Those are this machine itself, as for the rate limit, and proxies of ours.
    """
    addresses = ClientAddresses(settings)
    return lambda address: "" if is_local(address) or addresses.is_proxy(address) else client_network(address)


async def _wait_until_answering(address: str, port: int, task: "asyncio.Task[None]") -> bool:
    """Wait until the server answers, which is later than when it listens; return False if it ended instead."""
    deadline = asyncio.get_running_loop().time() + _READY_SECONDS
    while not task.done() and asyncio.get_running_loop().time() < deadline:
        try:
            async with asyncio.timeout_at(deadline):
                return await _responds(address, port)
        except OSError:  # includes timeouts
            await asyncio.sleep(0.01)
    return False


async def _responds(address: str, port: int) -> bool:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(_NOT_HTTP)
        return bool(await reader.read(1))
    finally:
        writer.close()


def _foreign_threads() -> set[int]:
    """Return the threads of this process that Python did not start; none if the system does not list them."""
    try:
        listed = {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()
    return listed - {thread.native_id for thread in threading.enumerate()}


def _wait_for_end(threads: set[int], seconds: float) -> None:
    """Wait until `threads` have ended: one that needs the interpreter during shutdown aborts the process."""
    deadline = time.monotonic() + seconds
    while threads & _foreign_threads() and time.monotonic() < deadline:
        time.sleep(0.002)
