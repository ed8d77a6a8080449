"""Sending responses: security headers for all of them, and a last layer that turns exceptions into responses."""

import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.serve.response_cache import CachedResponse

__all__ = ["HEADERS", "ResponseSender", "UnhandledErrorMiddleware"]

_LOG: Final = logging.getLogger("periplus.serve")
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(self), microphone=(self)"),
)


class ResponseSender:
    """Sends one response, adds the headers that it lacks, and records its status and size.

    more: headers that it has instead of others with the same name; `vary` is added to.
    """

    __slots__ = ("_more", "_send", "size", "status")

    def __init__(self, send: Send, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._send = send
        self._more = more
        self.status = 0
        self.size = 0

    async def send(self, message: Message) -> None:
        """Send one ASGI message."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name for name, _ in headers}
            headers += [(name, value) for name, value in HEADERS if name not in names]
            message = {**message, "headers": self._with_more(headers)}
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    def _with_more(self, headers: Sequence[tuple[bytes, bytes]]) -> Sequence[tuple[bytes, bytes]]:
        if not self._more:
            return headers
        replaced = {name for name, _ in self._more} - {b"vary"}
        return [*(pair for pair in headers if pair[0] not in replaced), *self._more]

    async def send_cached(self, response: CachedResponse, head: bool, gzip: bool, etag: bytes) -> None:
        """Send a complete response.

        head: omit the body; gzip: the client accepts gzip; etag: of the copy that the client has, or empty.
        """
        headers, body = response.compressed() if gzip else (response.headers, response.body)
        self.status = response.status
        if etag and etag == response.etag and response.status == 200:
            self.status, body = 304, b""
            headers = [pair for pair in headers if pair[0] not in (b"content-length", b"content-encoding")]
        self.size = len(body)
        await self._send({"type": "http.response.start", "status": self.status, "headers": self._with_more(headers)})
        await self._send({"type": "http.response.body", "body": b"" if head else body})


class UnhandledErrorMiddleware:
    """The innermost layer: answers an unexpected exception with an id, before the framework does in its own way."""

    def __init__(self, app: ASGIApp, internal_error: Callable[[str, str], Response]) -> None:
        self._app = app
        self._internal_error = internal_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception:
            if scope["type"] != "http":
                raise
            error_id = secrets.token_hex(4)
            _LOG.exception("Request %s failed", error_id)
            if not started:
                await self._internal_error(scope["path"], error_id)(scope, receive, send)
