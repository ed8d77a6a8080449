"""A TCP proxy that makes a place on this machine as far away as one elsewhere: it delays all bytes, and can be cut.

Bytes are not held up one behind the other: what is sent together arrives together, one delay later.
"""

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Final, Self

__all__ = ["DistanceProxy"]

_CHUNK: Final = 64 << 10
_MAX_CHUNKS: Final = 1_024
"""Chunks on their way in one direction of a connection; above it, the sender waits."""
_START_SECONDS: Final = 10.0


class DistanceProxy:
    """Forwards connections to an address, each byte after `delay` seconds, until it is cut or closed.

    port: where it listens; 0 is any, see `port` after `start`. delay: one way, in seconds.
    """

    def __init__(self, target_host: str, target_port: int, delay: float, port: int = 0) -> None:
        self._target, self._listen = (target_host, target_port), ("127.0.0.1", port)
        self.delay = delay
        self.port = port
        self.forwarded_bytes = 0
        self._cut = False
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="periplus-distance", daemon=True)

    def start(self) -> Self:
        """Listen; return the proxy."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(_START_SECONDS)
        return self

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._accept, *self._listen)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End all connections without a word, and accept no more until `mend`."""
        self._cut = True
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result(_START_SECONDS)

    def mend(self) -> None:
        """Accept connections again."""
        self._cut = False

    async def _end_all(self) -> None:
        for task in list(self._connections):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        other: asyncio.StreamWriter | None = None
        try:
            if self._cut:
                return
            far, other = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, other))
                group.create_task(self._forward(far, writer))
        except (OSError, ExceptionGroup, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            for end in (writer, other):
                if end is not None:
                    end.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction: read at once, write when the time of each chunk has come."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_MAX_CHUNKS)
        sender = asyncio.create_task(self._write(chunks, writer))
        try:
            while data := await reader.read(_CHUNK):
                await chunks.put((self._loop.time() + self.delay, data))
            await chunks.put((self._loop.time() + self.delay, b""))
            await sender
        finally:
            sender.cancel()
        raise ConnectionResetError  # one side has ended: so does the other

    async def _write(self, chunks: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await chunks.get()
            await asyncio.sleep(due - self._loop.time())
            if not data:
                return
            self.forwarded_bytes += len(data)
            writer.write(data)
            await writer.drain()

    def close(self) -> None:
        """End everything."""
        self._cut = True
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_START_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_SECONDS)
        self._loop.close()

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._connections)
        await self._end_all()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
