"""Answers on their way out: the headers that every answer has, and faults turned into answers."""

import logging
import secrets
from collections.abc import Callable
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from periplus.serve.response_cache import Kept

__all__ = ["HEADERS", "Faults", "Outgoing"]

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


class Outgoing:
    """Watches one answer on its way out, and adds the headers that it lacks."""

    __slots__ = ("_send", "size", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.size = 0

    async def send(self, message: Message) -> None:
        """Pass a part of an answer on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", ()))
            names = {name for name, _ in own}
            own += [(name, value) for name, value in HEADERS if name not in names]
            message = {**message, "headers": own}
        else:
            self.size += len(message.get("body", b""))
        await self._send(message)

    async def send_kept(self, kept: Kept, bare: bool, packs: bool, known: bytes) -> None:
        """Send a finished answer; bare: without the body; packs: the client takes gzip; known: what it has already."""
        headers, body = kept.packed() if packs else (kept.headers, kept.body)
        self.status = kept.status
        if known and known == kept.tag and kept.status == 200:
            self.status, body = 304, b""
            headers = [pair for pair in headers if pair[0] not in (b"content-length", b"content-encoding")]
        self.size = len(body)
        await self._send({"type": "http.response.start", "status": self.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": b"" if bare else body})


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
