"""In front of everything: who may ask, searches and the answers kept of them, figures. All else is passed on.

A search never reaches the framework: its answer is looked up by the raw request or made whole in a thread, and while
there is no room for one more, a refusal of finished bytes is all that it costs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from periplus.errors import Overloaded
from periplus.serve.middleware.access_log import AccessLog
from periplus.serve.middleware.response_headers import HEADERS, Outgoing
from periplus.serve.middleware.visitors import Refusal, Visitors
from periplus.serve.pages.locales import preferred
from periplus.serve.pages.result_pages import PATHS, Asking, Made, form_of
from periplus.serve.response_cache import Kept, ResponseCache
from periplus.serve.server_metrics import Metrics

__all__ = ["Desk", "Front"]

_VARIES: Final = ((b"vary", b"accept, accept-language, accept-encoding"), (b"cache-control", b"private, no-cache"))
_REST: Final = 0.25
"""Seconds that a search rests before it is refused: there may be room by then, and a crowd that is refused asks again
at once, so that this is what bounds the work of refusing it."""
_PAGES: Final = (
    "",
    "search",
    "suggest",
    "about",
    "add",
    "why-not",
    "settings",
    "weather",
    "api",
    "robots.txt",
    "favicon.svg",
)
_PLAIN: Final = ("opensearch.xml", "healthz", "readyz", "metrics", "openapi.json")
_API: Final = (
    *("api/search", "api/statistics", "api/submit", "api/publish", "api/visits", "api/crawl"),
    *("api/judge", "api/click", "api/rater", "api/weather"),
)
_ROUTES: Final = frozenset("/" + name for name in (*_PAGES, *_PLAIN, *_API))


class Desk(NamedTuple):
    """What the front works with."""

    visitors: Visitors
    cache: ResponseCache
    metrics: Metrics
    log: AccessLog
    full: Callable[[float], bool]
    """Whether one more search would be refused, that has waited some seconds already."""
    make: Callable[[Asking, float], Awaitable[Made]]
    """Have an answer made; the moment at which it was asked for says how long it may take."""
    refused: Callable[[str, Refusal], Response]
    """The answer to a request that is not let in, by its path."""
    failed: Callable[[Scope, Exception], Awaitable[Response]]
    """The answer to a search that cannot be answered."""
    busy: Callable[[Asking, str], Kept]
    """The answer to a search that there is no room for, finished; and what the error said."""
    asked: Callable[[bytes, str], None]
    """Take note of a query string that was answered, and of the address it came from."""


class Front:
    """An ASGI layer around the application."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk
        self._making: dict[Asking, asyncio.Future[Kept | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        out, cached, path = Outgoing(send), False, scope["path"]
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        refusal = self._desk.visitors.refusal(path, host, peer, forwarded)
        if refusal is not None:
            await self._desk.refused(path, refusal)(scope, receive, out.send)
        elif path in PATHS and scope["method"] in ("GET", "HEAD"):
            cached = await self._search(scope, headers, host, receive, out)
            if out.status == 200 and path != "/suggest":
                self._desk.asked(scope["query_string"], self._desk.visitors.client(peer, forwarded))
        else:
            await self._app(scope, receive, out.send)
        seconds, route = time.perf_counter() - began, path if path in _ROUTES else _route(path)
        self._desk.metrics.count(route, out.status, seconds)
        self._desk.log.add(route, scope["method"], out.status, seconds, out.size, cached)

    async def _search(
        self, scope: Scope, headers: dict[bytes, bytes], host: str, receive: Receive, out: Outgoing
    ) -> bool:
        """Send the kept answer if there is one; else have it made, and keep it. Say whether it was kept."""
        asking = Asking(
            scope["path"],
            scope["query_string"],
            form_of(headers.get(b"accept", b"").decode("latin-1")),
            preferred(headers.get(b"accept-language", b"").decode("latin-1")),
            f"{scope['scheme']}://{host}",
        )
        kept = self._desk.cache.get(asking)
        cached = kept is not None
        if kept is None:
            try:
                kept = await self._made(asking)
            except Exception as error:
                response = await self._desk.failed(scope, error)
                await response(scope, receive, out.send)
                return False
        packs = b"gzip" in headers.get(b"accept-encoding", b"")
        await out.send_kept(kept, scope["method"] == "HEAD", packs, headers.get(b"if-none-match", b""))
        return cached

    async def _made(self, asking: Asking) -> Kept:
        """Give an answer that is not kept: made now, by somebody else just now, or a refusal."""
        began, desk = time.monotonic(), self._desk
        if desk.full(0.0):
            await asyncio.sleep(_REST)
            kept = desk.cache.get(asking)
            if kept is not None or desk.full(time.monotonic() - began):
                return kept or desk.busy(asking, "")
        told = self._making.get(asking)  # many ask the same at once: one answer is enough
        kept = await asyncio.shield(told) if told is not None else None
        try:
            return kept or await self._make(asking, began)
        except Overloaded as error:
            return desk.busy(asking, error.message)

    async def _make(self, asking: Asking, began: float) -> Kept:
        """Have an answer made, for whoever asks the same meanwhile too; keep it if it is good."""
        cache, epoch = self._desk.cache, self._desk.cache.epoch
        told = self._making[asking] = asyncio.get_running_loop().create_future()
        kept = None
        try:
            made = await self._desk.make(asking, began)
            own = {name for name, _ in made.headers}
            general = [pair for pair in (*HEADERS, *_VARIES) if pair[0] not in own]
            headers = ((b"content-type", made.kind.encode()), *made.headers, *general)
            if made.status == 200:
                kept = cache.put(asking, made.status, headers, made.body, epoch)
            return kept or Kept(made.status, headers, made.body)
        finally:
            told.set_result(kept)
            if self._making.get(asking) is told:
                del self._making[asking]


def _route(path: str) -> str:
    """Give the name under which a path is counted: never the path itself, which may be anything."""
    for start in ("/cached/", "/static/", "/api/crawl/", "/admin"):
        if path.startswith(start):
            return start.rstrip("/")
    return "other"
