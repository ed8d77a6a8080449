"""In front of everything: who may ask and how often, answers kept ready, headers that keep browsers safe, figures."""

import asyncio
import logging
import math
import re
import secrets
import time
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.serve.accesslog import AccessLog
from periplus.serve.cache import AnswerCache, Kept
from periplus.serve.limits import RateLimit, is_local, of_client
from periplus.serve.metrics import Metrics
from periplus.settings import ServeSettings

__all__ = ["HOST", "Desk", "Faults", "Front", "header"]

_LOG: Final = logging.getLogger("periplus.serve")
HOST: Final = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(self)"),
)
_VARIES: Final = ((b"vary", b"accept, accept-language"), (b"cache-control", b"private, no-cache"))
_KEPT: Final = frozenset({"/search", "/api/search", "/suggest"})
"""Paths whose answers are the same for everybody, and kept."""
_MOST_REFUSALS: Final = 2_000
_REST: Final = 0.1
"""Seconds that a request rests before it is refused; there may be room by then."""
_NEVER_LIMITED: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_PAGES: Final = ("", "search", "suggest", "about", "add", "why-not", "settings", "api", "robots.txt", "favicon.svg")
_PLAIN: Final = ("opensearch.xml", "healthz", "readyz", "metrics", "openapi.json")
_API: Final = ("api/search", "api/statistics", "api/submit", "api/publish", "api/visits", "api/crawl")
_ROUTES: Final = frozenset("/" + name for name in (*_PAGES, *_PLAIN, *_API))


class Desk(NamedTuple):
    """What the front works with."""

    settings: ServeSettings
    cache: AnswerCache
    metrics: Metrics
    log: AccessLog
    limit: RateLimit
    full: Callable[[], bool]
    """Whether one more search would be refused."""
    refused: Callable[[str, int, str, str, dict[str, str]], Response]
    """The answer to a request that is not let in, by path, status, message, hint and headers."""


def header(scope: Scope, name: bytes) -> str:
    """Give the first header of a name, or ''."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


class Front:
    """An ASGI layer around the application."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk
        self._loopback = is_local(desk.settings.host)
        self._refusals: dict[Hashable, Kept] = {}
        self._making: dict[Hashable, asyncio.Future[Kept | None]] = {}
        self._names = frozenset(name.lower() for name in desk.settings.names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, scope["method"] == "HEAD")
        began = time.perf_counter()
        cached = False
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, answer.send)
        else:
            cached = await self._kept_or_made(scope, receive, answer)
        seconds, route = time.perf_counter() - began, _route(scope["path"])
        self._desk.metrics.count(route, answer.status, seconds)
        self._desk.log.add(route, scope["method"], answer.status, seconds, answer.size, cached)

    def _refusal(self, scope: Scope) -> Response | None:
        """Give the answer to a request that is not let in, or None."""
        path = scope["path"]
        if not self._knows(header(scope, b"host")):
            hint = "Add the name to serve.names if it is yours."
            return self._desk.refused(path, 421, "This server does not go by that name.", hint, {})
        client = self._client(scope)
        if path in _NEVER_LIMITED or is_local(client):
            return None
        wait = self._desk.limit.wait("address " + of_client(client))
        if not wait:
            return None
        seconds = str(max(1, math.ceil(wait)))
        return self._desk.refused(
            path, 429, "Too many requests from one place.", f"Try again in {seconds} s.", {"retry-after": seconds}
        )

    def _knows(self, host: str) -> bool:
        """Say whether we go by this name: against pages elsewhere that make a browser ask us under a name of theirs."""
        if not HOST.fullmatch(host):
            return False
        name = host.rpartition(":")[0] if re.search(r":[0-9]+$", host) else host
        name = name.lower()
        if name in self._names or name == self._desk.settings.host.lower():
            return True
        if not self._names and not self._loopback:
            return True
        return name == "localhost" or name.endswith(".localhost") or _is_number(name)

    def _client(self, scope: Scope) -> str:
        peer = scope["client"][0] if scope.get("client") else ""
        if self._desk.settings.proxied:
            return header(scope, b"x-forwarded-for").rpartition(",")[2].strip() or peer
        return str(peer)

    async def _kept_or_made(self, scope: Scope, receive: Receive, answer: "_Answer") -> bool:
        """Send the kept answer if there is one; else have it made, and keep it. Say whether it was kept."""
        cache = self._desk.cache
        path = scope["path"]
        if path not in _KEPT or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, answer.send)
            return False
        key = (path, scope["query_string"], header(scope, b"accept"), header(scope, b"accept-language"))
        kept = cache.get(key)
        if kept is None and self._desk.full():
            # Whoever is refused tends to ask again at once: a moment's rest leaves the processor to the answered.
            await asyncio.sleep(_REST)
            kept = cache.get(key) or (self._refusals.get(key) if self._desk.full() else None)
        if kept is None and key in self._making:
            kept = await asyncio.shield(self._making[key])  # many ask the same at once: one answer is enough
        if kept is not None:
            await answer.send_kept(kept)
            return True
        if scope["method"] == "GET":
            await self._make(key, scope, receive, answer)
        else:
            await self._app(scope, receive, answer.send)
        return False

    async def _make(self, key: Hashable, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        """Have an answer made, for whoever asks the same meanwhile too; keep it if it is good."""
        cache, epoch = self._desk.cache, self._desk.cache.epoch
        told = self._making[key] = asyncio.get_running_loop().create_future()
        answer.keeps, kept = True, None
        try:
            await self._app(scope, receive, answer.send)
            if answer.status in (429, 503):
                self._remember(key, answer)
            if answer.status == 200:
                kept = cache.put(key, answer.status, answer.headers, bytes(answer.body), epoch)
        finally:
            told.set_result(kept)
            if self._making.get(key) is told:
                del self._making[key]

    def _remember(self, key: Hashable, answer: "_Answer") -> None:
        """Keep a refusal: while there is no room it must cost next to nothing, or the refused crowd out the rest."""
        if len(self._refusals) >= _MOST_REFUSALS:
            self._refusals.clear()
        self._refusals[key] = Kept(answer.status, answer.headers, bytes(answer.body), 0.0)


class Faults:
    """The innermost layer: turns any exception into an answer with an id, before the framework has its own."""

    def __init__(self, app: ASGIApp, failed: Callable[[str, str], Response]) -> None:
        self._app = app
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if scope["type"] != "http":
                raise
            name = secrets.token_hex(4)
            _LOG.exception("Request %s failed", name)
            if not begun:
                await self._failed(scope["path"], name)(scope, receive, send)


class _Answer:
    """Watches one answer on its way out, and adds the headers that every answer has."""

    def __init__(self, send: Send, bare: bool) -> None:
        self._send = send
        self._bare = bare
        self.status = 0
        self.size = 0
        self.keeps = False
        self.headers: tuple[tuple[bytes, bytes], ...] = ()
        self.body = bytearray()

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = tuple(message.get("headers", ()))
            names = {name for name, _ in own}
            more = (*_HEADERS, *(_VARIES if self.keeps else ()))
            self.headers = (*own, *((name, value) for name, value in more if name not in names))
            message = {**message, "headers": list(self.headers)}
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            self.size += len(body)
            if self.keeps:
                self.body += body
        await self._send(message)

    async def send_kept(self, kept: Kept) -> None:
        """Send an answer that was kept."""
        self.status, self.size = kept.status, len(kept.body)
        await self._send({"type": "http.response.start", "status": kept.status, "headers": kept.headers})
        await self._send({"type": "http.response.body", "body": b"" if self._bare else kept.body})


def _route(path: str) -> str:
    """Give the name under which a path is counted: never the path itself, which may be anything."""
    if path in _ROUTES:
        return path
    for start in ("/cached/", "/static/", "/api/crawl/", "/admin"):
        if path.startswith(start):
            return start.rstrip("/")
    return "other"


def _is_number(name: str) -> bool:
    """Say whether a host is an address and no name: names can be made to lead anywhere, addresses cannot."""
    return name.startswith("[") or bool(re.fullmatch(r"[0-9.]+", name))
