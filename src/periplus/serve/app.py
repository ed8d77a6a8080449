"""The application: which path is answered by what, and what happens when that fails."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from periplus.errors import BadInput, DataError, NothingHere, Overloaded
from periplus.serve.api import Api, failure
from periplus.serve.asked import ask_page, parameters
from periplus.serve.gate import Gate
from periplus.serve.guard import Guard
from periplus.serve.render import STATIC, Pages, read_assets
from periplus.serve.searching import SearcherLike
from periplus.serve.views import Views
from periplus.settings import ServeSettings

__all__ = ["make_app"]

_LOG: Final = logging.getLogger("periplus.serve")
_HINTS: Final = {404: "Check the address, or search instead.", 405: "Only GET and HEAD are answered here."}


def make_app(searcher: SearcherLike, settings: ServeSettings) -> Starlette:
    """Build the ASGI application around a searcher."""
    gate, assets = Gate(searcher, settings), read_assets()
    views, api = Views(gate, Pages(assets), assets), Api(gate)
    troubles = _Troubles(gate, views)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        gate.close()

    app = Starlette(
        routes=_routes(views, api),
        middleware=[Middleware(Guard, failed=troubles.failed)],
        exception_handlers={
            HTTPException: troubles.http,
            BadInput: troubles.bad_input,
            DataError: troubles.no_data,
            Overloaded: troubles.overloaded,
        },
        lifespan=lifespan,
    )
    app.state.gate = gate
    app.router.redirect_slashes = False  # it reads the query string as strict UTF-8, and anyone can send other bytes
    return app


def _routes(views: Views, api: Api) -> list[Route]:
    return [
        Route("/", views.landing),
        Route("/search", views.search),
        Route("/cached/{key}", views.cached),
        Route("/about", views.about),
        Route("/opensearch.xml", views.opensearch),
        Route("/favicon.svg", views.static),
        Route("/favicon.ico", views.static),
        Route("/robots.txt", views.robots),
        Route(STATIC + "{name}", views.static),
        Route("/api/search", api.search),
        Route("/api/statistics", api.statistics),
        Route("/healthz", api.health),
    ]


class _Troubles:
    """What is answered when an answer cannot be given: JSON where programs ask, a page elsewhere."""

    def __init__(self, gate: Gate, views: Views) -> None:
        self._gate = gate
        self._views = views

    async def http(self, request: Request, error: Exception) -> Response:
        """Answer for 404, 405 and their like."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(getattr(error, "headers", None) or {})
        phrase = "There is no page here." if status == 404 else f"{HTTPStatus(status).phrase}."
        return self._say(request, status, phrase, _HINTS.get(status, ""), headers)

    async def bad_input(self, request: Request, error: Exception) -> Response:
        """Answer for what the request got wrong."""
        assert isinstance(error, BadInput)
        return self._say(request, 400, error.message, error.hint, {})

    async def no_data(self, request: Request, error: Exception) -> Response:
        """Answer when there is no index, or it cannot be used; the message may name files, so it is not shown."""
        if isinstance(error, NothingHere):
            known = failure(
                request.scope["path"], 503, "Nothing is indexed yet.", "Crawl first: see the page at /.", {}
            )
            return known or self._views.first_run()
        _LOG.error("The index cannot be read: %s", error)
        return self._say(request, 503, "The index cannot be read now.", "See the server's log.", {"retry-after": "30"})

    async def overloaded(self, request: Request, _: Exception) -> Response:
        """Answer 429, and say when to come back."""
        seconds = self._gate.retry_after()
        hint = f"Try again in {seconds} s."
        known = failure(request.scope["path"], 429, "Too many searches at once.", hint, {"retry-after": str(seconds)})
        return known or self._views.overloaded(ask_page(parameters(request.scope["query_string"])), seconds)

    def failed(self, path: str, name: str) -> Response:
        """Answer for a fault of ours."""
        known = failure(path, 500, "Something went wrong here.", "Give the id to whoever runs this.", {}, id=name)
        return known or self._views.failed(name)

    def _say(self, request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response:
        known = failure(request.scope["path"], status, error, hint, headers)
        return known or self._views.trouble(status, error, hint, headers)
