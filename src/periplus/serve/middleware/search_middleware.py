"""The outermost ASGI layer: admission, searches and their cached responses, metrics. All else goes to the framework.

A search never reaches the framework: its response is looked up by the raw request, or rendered completely in a thread.
A refusal under overload is a precomputed response.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final, NamedTuple

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from periplus.errors import Overloaded
from periplus.serve.middleware.access_log import AccessLog
from periplus.serve.middleware.body_deadlines import BodyDeadlines
from periplus.serve.middleware.client_address import forwarded_for
from periplus.serve.middleware.content_encoding import accepts_gzip
from periplus.serve.middleware.cross_origin import CrossOrigin
from periplus.serve.middleware.request_filter import Refusal, RequestFilter
from periplus.serve.middleware.response_headers import HEADERS, ResponseSender
from periplus.serve.middleware.search_forms import is_search_form, search_scope, with_form
from periplus.serve.pages.locales import preferred_locale
from periplus.serve.pages.result_pages import CacheKey, RenderedPage, preferred_format
from periplus.serve.response_cache import CachedResponse, ResponseCache
from periplus.serve.routing import SEARCH_PATHS, is_streamed, metric_label
from periplus.serve.search_request import OWN_RULES
from periplus.serve.server_metrics import Metrics

__all__ = ["Handlers", "SearchMiddleware"]

_CACHE_HEADERS: Final = (
    (b"vary", b"accept, accept-language, accept-encoding, cookie"),
    (b"cache-control", b"private, no-cache"),
)
_RULES_COOKIE: Final = re.compile(rb"(?:^|[; ])periplus_rules=([0-9a-f]{32})(?:;|$)")
_COMPLETION_PATHS: Final = frozenset({"/suggest", "/autocompleter"})
"""Their queries are unfinished, and not counted as searches."""
_REFUSAL_DELAY: Final = 0.25
"""Seconds before a search is refused. There may be room by then; and refused clients retry at once, so this delay
bounds the work of refusing them."""


class Handlers(NamedTuple):
    """What the middleware calls."""

    request_filter: RequestFilter
    cache: ResponseCache
    metrics: Metrics
    access_log: AccessLog
    is_full: Callable[[float], bool]
    """Whether a search that has already waited for some seconds would be refused."""
    render: Callable[[CacheKey, float], Awaitable[RenderedPage]]
    """Render a response; the time of arrival (monotonic) determines the deadline."""
    refusal: Callable[[str, Refusal], Response]
    """The response to a request that is not admitted, by its path."""
    search_error: Callable[[Scope, Exception], Awaitable[Response]]
    """The response to a search that failed."""
    overload: Callable[[CacheKey, str], CachedResponse]
    """The response to a search that there is no room for, with the message of the error."""
    bodies: BodyDeadlines
    """The deadlines of request bodies."""
    cross_origin: CrossOrigin
    """Which web pages may read the answers."""
    record_query: Callable[[bytes, str], None]
    """Record the query string of an answered search and the address of its client."""


class SearchMiddleware:
    """An ASGI application that answers searches and passes other requests on."""

    def __init__(self, app: ASGIApp, handlers: Handlers) -> None:
        self._app = app
        self._handlers = handlers
        self._pending: dict[CacheKey, asyncio.Future[CachedResponse | None]] = {}
        self._active: set[tuple[str, int]] = set()

    def active_connections(self) -> Collection[tuple[str, int]]:
        """Return address and port of the clients whose requests are being answered; any thread may call this."""
        return self._active.copy()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, scope = time.perf_counter(), search_scope(scope)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        cached, path = False, scope["path"]
        sender = ResponseSender(send, self._handlers.cross_origin.headers(path, headers.get(b"origin", b"")))
        client = tuple(scope["client"]) if scope.get("client") else ("", 0)
        self._active.add(client)
        try:
            cached = await self._answer(scope, headers, receive, sender)
        except Exception as error:
            if sender.status:
                raise  # the response has begun: all that is left is to close the connection
            failure = await self._handlers.search_error(scope, error)
            await failure(scope, receive, sender.send)
        finally:
            self._active.discard(client)
        seconds, label = time.perf_counter() - started, metric_label(path)
        self._handlers.metrics.count(label, sender.status, seconds)
        self._handlers.access_log.add(label, scope["method"], sender.status, seconds, sender.size, cached)

    async def _answer(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, sender: ResponseSender
    ) -> bool:
        """Answer a request; return whether the response was cached."""
        handlers, path = self._handlers, scope["path"]
        request_filter = handlers.request_filter
        host = headers.get(b"host", b"").decode("latin-1")
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded = forwarded_for(scope["headers"]) if request_filter.reads_forwarded else ""
        repeated = len(headers) != len(scope["headers"])
        refusal = request_filter.refusal(path, host, peer, forwarded, _repeats_host(scope) if repeated else False)
        if refusal is not None:
            await handlers.refusal(path, refusal)(scope, receive, sender.send)
            return False
        preflight = handlers.cross_origin.preflight(path, scope["method"], headers)
        if preflight:
            response = Response(None, 204, {name.decode(): value.decode("latin-1") for name, value in preflight})
            await response(scope, receive, sender.send)
            return False
        if is_search_form(scope):
            scope = await with_form(scope, handlers.bodies.receiver(receive))
        elif scope["method"] not in ("GET", "HEAD"):
            receive = handlers.bodies.receiver(receive, streamed=is_streamed(path))
        if path not in SEARCH_PATHS or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, sender.send)
            return False
        cached = await self._search(scope, headers, host, receive, sender)
        if sender.status == 200 and path not in _COMPLETION_PATHS:
            handlers.record_query(scope["query_string"], request_filter.client(peer, forwarded))
        return cached

    async def _search(
        self, scope: Scope, headers: dict[bytes, bytes], host: str, receive: Receive, sender: ResponseSender
    ) -> bool:
        """Send the cached response, or render and cache it; return whether it was cached."""
        key = CacheKey(
            scope["path"],
            _with_rules(scope["query_string"], headers.get(b"cookie", b"")),
            _requested_format(scope["path"], headers),
            preferred_locale(headers.get(b"accept-language", b"").decode("latin-1")),
            f"{scope['scheme']}://{host}",
        )
        response = self._handlers.cache.get(key)
        cached = response is not None
        if response is None:
            try:
                response = await self._respond(key)
            except Exception as error:
                failure = await self._handlers.search_error(scope, error)
                await failure(scope, receive, sender.send)
                return False
        gzip = accepts_gzip(headers.get(b"accept-encoding", b""))
        await sender.send_cached(response, scope["method"] == "HEAD", gzip, headers.get(b"if-none-match", b""))
        return cached

    async def _respond(self, key: CacheKey) -> CachedResponse:
        """Return a response that was not cached: rendered now or by a concurrent request, or a refusal."""
        started, handlers = time.monotonic(), self._handlers
        if handlers.is_full(0.0):
            await asyncio.sleep(_REFUSAL_DELAY)
            response = handlers.cache.get(key)
            if response is not None or handlers.is_full(time.monotonic() - started):
                return response or handlers.overload(key, "")
        pending = self._pending.get(key)  # concurrent requests for the same page share one rendering
        response = await asyncio.shield(pending) if pending is not None else None
        try:
            return response or await self._render(key, started)
        except Overloaded as error:
            return handlers.overload(key, error.message)

    async def _render(self, key: CacheKey, started: float) -> CachedResponse:
        """Render a response, also for concurrent requests with the same key; cache it if it is complete."""
        cache, epoch = self._handlers.cache, self._handlers.cache.epoch
        pending = self._pending[key] = asyncio.get_running_loop().create_future()
        response = None
        try:
            page = await self._handlers.render(key, started)
            own = {name for name, _ in page.headers}
            general = [pair for pair in (*HEADERS, *_CACHE_HEADERS) if pair[0] not in own]
            headers = ((b"content-type", page.media_type.encode()), *page.headers, *general)
            if page.status == 200 and page.cacheable:
                response = cache.put(key, page.status, headers, page.body, epoch)
            return response or CachedResponse(page.status, headers, page.body)
        finally:
            pending.set_result(response)
            if self._pending.get(key) is pending:
                del self._pending[key]


def _with_rules(query_string: bytes, cookies: bytes) -> bytes:
    """Return a query string with the rules of the browser, unless it has rules of its own."""
    cookie = _RULES_COOKIE.search(cookies) if cookies else None
    return query_string if cookie is None else b"%b&%b=%b" % (query_string, OWN_RULES.encode(), cookie[1])


def _requested_format(path: str, headers: dict[bytes, bytes]) -> str:
    """Return the format that the headers ask for; scripts of SearXNG's page get completions as a plain list."""
    if path == "/autocompleter":
        return "list" if headers.get(b"x-requested-with") == b"XMLHttpRequest" else ""
    return preferred_format(headers.get(b"accept", b"").decode("latin-1"))


def _repeats_host(scope: Scope) -> bool:
    """Return whether a request has more than one Host header, which another server may read differently."""
    return [name for name, _ in scope["headers"]].count(b"host") > 1
