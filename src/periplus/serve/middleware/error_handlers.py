"""What is answered when an answer cannot be given: JSON where programs ask, a page elsewhere."""

import logging
import secrets
from html import escape
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from periplus.errors import BadInput, DataError, NothingHere, Overloaded, PeriplusError
from periplus.serve.api.search_api import failure
from periplus.serve.middleware.response_headers import HEADERS
from periplus.serve.middleware.visitors import Refusal
from periplus.serve.pages.locales import pick_tongue
from periplus.serve.pages.result_pages import Asking
from periplus.serve.pages.views import Views
from periplus.serve.request_bodies import encode_json
from periplus.serve.response_cache import Kept
from periplus.serve.search_executor import FULL, SearchExecutor
from periplus.serve.search_request import LONGEST, parameters

__all__ = ["Troubles"]

_LOG: Final = logging.getLogger("periplus.serve")
_HINTS: Final = {404: "Check the address, or search instead.", 405: "See /api for what is answered here."}
_FOR_PROGRAMS: Final = ("json", "rss", "csv")


class Troubles:
    """Answers for whatever went wrong."""

    def __init__(self, gate: SearchExecutor, views: Views) -> None:
        self._gate = gate
        self._views = views
        self._ready: dict[tuple[bool, str, str, int], Kept] = {}

    async def answer(self, request: Request, error: Exception) -> Response:
        """Answer for an error that a request ended in; what names files is not shown."""
        if isinstance(error, HTTPException):
            return self._http(request, error)
        if isinstance(error, BadInput):
            return self._say(request, 400, error.message, error.hint, {})
        if isinstance(error, NothingHere):
            known = _failure(request, 503, "Nothing is indexed yet.", "Crawl first: see the page at /.", {})
            return known or self._views.first_run(request)
        if isinstance(error, Overloaded):
            seconds = str(self._gate.retry_after())
            hint, headers = f"Try again in {seconds} s.", {"retry-after": seconds}
            return self._say(request, 429, error.message, hint, headers)
        _LOG.error("Something cannot be done: %s", error)
        said = "The index cannot be read now." if isinstance(error, DataError) else "That cannot be done now."
        return self._say(request, 503, said, "See the server's log.", {"retry-after": "30"})

    def _http(self, request: Request, error: HTTPException) -> Response:
        """Answer for 404, 405 and their like."""
        status, phrase, detail = error.status_code, HTTPStatus(error.status_code).phrase, str(error.detail)
        said = detail if detail and detail != phrase else "There is no page here." if status == 404 else f"{phrase}."
        return self._say(request, status, said, _HINTS.get(status, ""), dict(error.headers or {}))

    async def search(self, scope: Scope, error: Exception) -> Response:
        """Answer for a search that failed."""
        if isinstance(error, PeriplusError):
            return await self.answer(Request(scope), error)
        name = secrets.token_hex(4)
        _LOG.error("Request %s failed", name, exc_info=error)
        return self.failed(scope["path"], name)

    def failed(self, path: str, name: str) -> Response:
        """Answer for a fault of ours."""
        known = failure(path, 500, "Something went wrong here.", "Give the id to whoever runs this.", {}, id=name)
        return known or self._views.failed(name)

    def refused(self, path: str, refusal: Refusal) -> Response:
        """Answer a request that is not let in."""
        known = failure(path, *refusal)
        return known or self._views.trouble(*refusal)

    def busy(self, asking: Asking, said: str) -> Kept:
        """Answer a search that there is no room for, and say when to come back: 429, or 503 if it would take too long.

        A crowd gets the same few answers again and again, so they are finished bytes.
        """
        given = parameters(asking.query)
        form = given.get("format", "").lower() or asking.form
        program = asking.path != "/search" or form in _FOR_PROGRAMS
        tongue = "" if program else pick_tongue(given, asking.tongue).code
        said, seconds = said or self._gate.reason(), self._gate.retry_after()
        found = self._ready.get((program, tongue, said, seconds))
        if found is None:
            found = self._ready[program, tongue, said, seconds] = self._busy(program, tongue, said, seconds)
        return found if program else _filled(found, given.get("q", ""))

    def _busy(self, program: bool, tongue: str, said: str, seconds: int) -> Kept:
        kind = b"application/json" if program else b"text/html; charset=utf-8"
        again = (b"retry-after", b"%d" % seconds)
        headers = ((b"content-type", kind), again, (b"cache-control", b"no-store"), *HEADERS)
        error = {"error": said, "hint": f"Try again in {seconds} s."}
        body = encode_json(error) if program else self._views.overloaded(tongue, seconds)
        return Kept(429 if said == FULL else 503, headers, body)

    def _say(self, request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response:
        known = _failure(request, status, error, hint, headers)
        return known or self._views.trouble(status, error, hint, headers)


def _filled(kept: Kept, words: str) -> Kept:
    """Put the words that were asked for into the field of a page, for whoever does not want to wait."""
    field = b'value="%s"' % escape(words[:LONGEST]).encode("utf-8", "replace")
    return Kept(kept.status, kept.own, kept.body.replace(b'value=""', field, 1))


def _failure(request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response | None:
    """Give the JSON form of an error to a program: by its path, or by the format that it asks for."""
    asks = parameters(request.scope["query_string"]).get("format", "").lower() in _FOR_PROGRAMS
    path = "/api/search" if asks and request.scope["path"] == "/search" else request.scope["path"]
    return failure(path, status, error, hint, headers)
