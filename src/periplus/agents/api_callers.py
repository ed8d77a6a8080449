"""Who answers requests of the HTTP API: a server at a URL, or an application in this process."""

import asyncio
import contextlib
import http.client
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec

from periplus.errors import BadInput, NoNetwork

__all__ = ["ApiAnswer", "ApiCaller", "AsgiCaller", "UrlCaller"]

_SECONDS: Final = 30.0
"""Time for one request, between any two bytes of it."""
_MAX_BYTES: Final = 8 << 20
"""A longer answer is refused."""
_CALLS: Final = 8
"""Requests at a time; more wait."""

Message = MutableMapping[str, Any]
AsgiApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class ApiAnswer(NamedTuple):
    """The answer to a request of the API."""

    status: int
    value: Any
    """The JSON value of the body; None if it is something else."""

    @property
    def error(self) -> str:
        """What an answer with an error says, in a line."""
        value = self.value if isinstance(self.value, dict) else {}
        parts = [str(value.get(name, "")) for name in ("error", "hint") if value.get(name)]
        return " ".join(" ".join(parts).split())[:500] or f"The search engine answered with status {self.status}."


class ApiCaller(Protocol):
    """Answers requests of the API."""

    async def get(self, path: str, parameters: Mapping[str, str]) -> ApiAnswer:
        """Return the answer to a GET request; raise `NoNetwork` if there is none."""

    def running(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Return a context in which requests are answered."""


class UrlCaller:
    """Asks a running server. Redirects are not followed."""

    def __init__(self, url: str, key: str = "") -> None:
        """Raise `BadInput` unless this is the URL of a server: http or https, a host, and perhaps a path.

        key: an API key, for a server that asks for one.
        """
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            self._host = ""
        if not self._host or parts.scheme not in ("http", "https") or parts.query or parts.fragment or parts.username:
            raise BadInput("This is not the URL of a server.", "For example: http://127.0.0.1:8080")
        self._url, self._path = url, parts.path.rstrip("/")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._headers = {"accept": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._calls = asyncio.Semaphore(_CALLS)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Return a context; a server needs none."""
        yield

    async def get(self, path: str, parameters: Mapping[str, str]) -> ApiAnswer:
        """Return the answer of the server; raise `NoNetwork` if it is not reached."""
        async with self._calls:
            return await asyncio.to_thread(self._get, _target(self._path + path, parameters))

    def _get(self, target: str) -> ApiAnswer:
        connection = self._kind(self._host, self._port, timeout=_SECONDS)
        try:
            connection.request("GET", target, headers=self._headers)
            response = connection.getresponse()
            body = response.read(_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException, socket.gaierror, UnicodeError) as error:
            raise NoNetwork(
                f"No answer from {self._url}.", f"Is the server running? ({type(error).__name__})"
            ) from None
        finally:
            connection.close()
        return _answer(response.status, body)


class AsgiCaller:
    """Asks an ASGI application in this process, which takes part from `running` on."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._calls = asyncio.Semaphore(_CALLS)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start the application, and stop it in the end."""
        inbox: asyncio.Queue[Message] = asyncio.Queue()
        done: asyncio.Queue[Message] = asyncio.Queue()
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        task = asyncio.ensure_future(self._app(scope, inbox.get, done.put))
        await inbox.put({"type": "lifespan.startup"})
        await _first(task, done)
        try:
            yield
        finally:
            await inbox.put({"type": "lifespan.shutdown"})
            await asyncio.wait([task])

    async def get(self, path: str, parameters: Mapping[str, str]) -> ApiAnswer:
        """Return the answer of the application."""
        async with self._calls:
            return await self._get(_target(path, parameters))

    async def _get(self, target: str) -> ApiAnswer:
        path, _, query = target.partition("?")
        sent: list[Message] = []
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1"), (b"accept", b"application/json")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        return _answer(int(sent[0]["status"]), b"".join(message.get("body", b"") for message in sent[1:]))


async def _first(task: asyncio.Future[None], done: asyncio.Queue[Message]) -> None:
    """Wait until an application has started; raise what it failed with."""
    started = asyncio.ensure_future(done.get())
    waiting: list[asyncio.Future[Any]] = [task, started]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not started.done():
        started.cancel()
        await task


def _target(path: str, parameters: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(parameters, errors='replace')}"


def _answer(status: int, body: bytes) -> ApiAnswer:
    if len(body) > _MAX_BYTES:
        return ApiAnswer(502, {"error": "The answer of the search engine is too long."})
    try:
        return ApiAnswer(status, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ApiAnswer(status, None)
