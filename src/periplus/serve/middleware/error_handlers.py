"""Responses to requests that failed: JSON for programs, a page for people."""

import logging
import secrets
from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from periplus.errors import BadInput, DataError, NothingHere, NotOwner, Overloaded, PeriplusError, StorageFull
from periplus.serve.middleware.request_filter import Refusal
from periplus.serve.middleware.response_headers import HEADERS
from periplus.serve.pages.locales import choose_locale
from periplus.serve.pages.page_handlers import PageHandlers
from periplus.serve.pages.result_pages import CacheKey
from periplus.serve.request_bodies import encode_json, json_response
from periplus.serve.response_cache import CachedResponse
from periplus.serve.routing import is_api_path
from periplus.serve.search_executor import FULL, LATE, STOPPING, STUCK, TIMED_OUT, SearchExecutor
from periplus.serve.search_request import MAX_QUERY_LENGTH, parse_parameters

__all__ = ["ErrorHandlers"]

_LOG: Final = logging.getLogger("periplus.serve")
_HINTS: Final = {404: "Check the address, or search instead.", 405: "See /api for the methods of each path."}
_LATE: Final = frozenset({LATE, TIMED_OUT, STUCK, STOPPING})
"""Messages of refusals that are no fault of the client, who may have sent one request only."""
_PROGRAM_FORMATS: Final = ("json", "rss", "csv")


class ErrorHandlers:
    """Makes the response to every kind of failure."""

    def __init__(self, executor: SearchExecutor, pages: PageHandlers) -> None:
        self._executor = executor
        self._pages = pages
        self._overload_responses: dict[tuple[bool, str, str, int], CachedResponse] = {}

    async def handle(self, request: Request, error: Exception) -> Response:
        """Answer a request that raised an expected error. Messages that name files are logged, not sent."""
        if isinstance(error, HTTPException):
            return self._http(request, error)
        if isinstance(error, BadInput):
            return self._respond(request, 403 if isinstance(error, NotOwner) else 400, error.message, error.hint, {})
        if isinstance(error, NothingHere):
            failure = _program_error(request, 503, "The index is empty.", "Crawl first: see the page at /.", {})
            return failure or self._pages.first_run(request)
        if isinstance(error, StorageFull):
            return self._respond(request, 507, error.message, "Try again later.", {"retry-after": "300"})
        if isinstance(error, Overloaded):
            seconds = str(self._executor.retry_after())
            hint, headers = f"Try again in {seconds} s.", {"retry-after": seconds}
            return self._respond(request, 503 if error.message in _LATE else 429, error.message, hint, headers)
        _LOG.error("Request failed: %s", error)
        message = "The index cannot be read at the moment." if isinstance(error, DataError) else "This failed."
        return self._respond(request, 503, message, "See the log of the server.", {"retry-after": "30"})

    def _http(self, request: Request, error: HTTPException) -> Response:
        """Answer with a status such as 404 or 405."""
        status, phrase, detail = error.status_code, HTTPStatus(error.status_code).phrase, str(error.detail)
        default = "There is no page at this address." if status == 404 else f"{phrase}."
        message = detail if detail and detail != phrase else default
        return self._respond(request, status, message, _HINTS.get(status, ""), dict(error.headers or {}))

    async def handle_search(self, scope: Scope, error: Exception) -> Response:
        """Answer a search that failed, whatever the reason."""
        if isinstance(error, (PeriplusError, HTTPException)):
            return await self.handle(Request(scope), error)
        error_id = secrets.token_hex(4)
        _LOG.error("Request %s failed", error_id, exc_info=error)
        return self.internal_error(scope["path"], error_id)

    def internal_error(self, path: str, error_id: str) -> Response:
        """Answer a request that raised an unexpected exception; the log has it under this id."""
        hint = "Report the id to the operator of this server."
        failure = _json_error(path, 500, "Something went wrong on this server.", hint, {}, id=error_id)
        return failure or self._pages.internal_error(error_id)

    def refusal(self, path: str, refusal: Refusal) -> Response:
        """Answer a request that is not admitted."""
        return _json_error(path, *refusal) or self._pages.message(*refusal)

    def overload(self, key: CacheKey, message: str) -> CachedResponse:
        """Answer a search that there is no room for, with Retry-After: 429, or 503 if it would wait too long.

        Under load the same few responses are sent again and again, so they are made once.
        """
        parameters = parse_parameters(key.query)
        format_name = parameters.get("format", "").lower() or key.format
        program = key.path != "/search" or format_name in _PROGRAM_FORMATS
        locale = "" if program else choose_locale(parameters, key.locale).code
        message, seconds = message or self._executor.refusal_reason(), self._executor.retry_after()
        response = self._overload_responses.get((program, locale, message, seconds))
        if response is None:
            response = self._make_overload(program, locale, message, seconds)
            self._overload_responses[program, locale, message, seconds] = response
        return response if program else _with_query(response, parameters.get("q", ""))

    def _make_overload(self, program: bool, locale: str, message: str, seconds: int) -> CachedResponse:
        media_type = b"application/json" if program else b"text/html; charset=utf-8"
        retry = (b"retry-after", b"%d" % seconds)
        headers = ((b"content-type", media_type), retry, (b"cache-control", b"no-store"), *HEADERS)
        error = {"error": message, "hint": f"Try again in {seconds} s."}
        body = encode_json(error) if program else self._pages.overload(locale, seconds)
        return CachedResponse(429 if message == FULL else 503, headers, body)

    def _respond(self, request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response:
        failure = _program_error(request, status, error, hint, headers)
        return failure or self._pages.message(status, error, hint, headers, request)


def _with_query(response: CachedResponse, words: str) -> CachedResponse:
    """Return the page with the query in its search field, so that it can be sent again."""
    field = b'value="%s"' % escape(words[:MAX_QUERY_LENGTH]).encode("utf-8", "replace")
    return CachedResponse(response.status, response.base_headers, response.body.replace(b'value=""', field, 1))


def _program_error(request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response | None:
    """Return an error as JSON if the path or the requested format is one for programs, else None."""
    format_name = parse_parameters(request.scope["query_string"]).get("format", "").lower()
    path = request.scope["path"]
    if path == "/search" and format_name in _PROGRAM_FORMATS:
        path = "/api/search"
    return _json_error(path, status, error, hint, headers)


def _json_error(
    path: str, status: int, error: str, hint: str, headers: Mapping[str, str], **more: str
) -> Response | None:
    """Return an error as JSON if programs call this path, else None."""
    if not is_api_path(path):
        return None
    return json_response({"error": error, "hint": hint, **more}, status, headers)
