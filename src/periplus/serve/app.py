"""The application: which path is answered by what, and what happens when that fails."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from periplus.errors import BadInput, DataError, NothingHere, Overloaded, PeriplusError
from periplus.serve.accesslog import AccessLog
from periplus.serve.actions import Actions
from periplus.serve.admin import Admin
from periplus.serve.api import Api, failure
from periplus.serve.asked import ask_page, parameters
from periplus.serve.cache import AnswerCache
from periplus.serve.changes import Changes
from periplus.serve.doors import Doors
from periplus.serve.front import Desk, Faults, Front
from periplus.serve.gate import LATE, Gate
from periplus.serve.keys import Keys
from periplus.serve.limits import RateLimit
from periplus.serve.metrics import Metrics
from periplus.serve.render import STATIC, Pages, read_assets
from periplus.serve.searching import SearcherLike
from periplus.serve.sites import Sites
from periplus.serve.views import Views
from periplus.settings import ServeSettings

__all__ = ["Application", "make_app"]

_LOG: Final = logging.getLogger("periplus.serve")
_HINTS: Final = {404: "Check the address, or search instead.", 405: "See /api for what is answered here."}
_SHARE_SECONDS: Final = 1.0


class Application:
    """The ASGI application, and what has to be ended with it."""

    def __init__(self, front: Front, gate: Gate, log: AccessLog) -> None:
        self._front = front
        self._log = log
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._front(scope, receive, send)

    def close(self) -> None:
        """Refuse what waits, and write what is left of the log."""
        self.gate.close()
        self._log.flush()


def make_app(
    searcher: SearcherLike,
    settings: ServeSettings,
    actions: Actions | None = None,
    keys: Keys | None = None,
    figures: tuple[Path, int] | None = None,
    processes: int = 1,
) -> Application:
    """Build the application around a searcher.

    figures: the folder through which processes share what they count, and the number of this one; processes: how
    many there are, which share the rate that one client may ask at.
    """
    cache = AnswerCache(settings.cache_mb << 20)
    gate, assets = Gate(searcher, settings, cache.clear), read_assets()
    actions, keys = actions or Actions(), keys or Keys(None)
    limit = RateLimit(settings.rate / processes)
    doors, metrics, log = Doors(keys, limit), Metrics(*(figures or ())), AccessLog(settings.access_log)
    pages = Pages(assets)
    views, api = Views(gate, pages, assets), Api(gate, metrics, cache)
    sites = Sites(gate, pages, doors, actions, settings.submissions)
    admin = Admin(gate, pages, doors, actions, metrics, api.renew_figures)
    troubles = _Troubles(gate, views)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(gate.watch()), asyncio.create_task(_share(gate, api, log))]
        yield
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
        gate.close()

    inner = Starlette(
        routes=_routes(views, api, sites, admin, Changes(actions, doors, settings.submissions)),
        middleware=[Middleware(Faults, failed=troubles.failed)],
        exception_handlers={
            HTTPException: troubles.http,
            BadInput: troubles.bad_input,
            DataError: troubles.no_data,
            Overloaded: troubles.overloaded,
            PeriplusError: troubles.refused_by_system,
        },
        lifespan=lifespan,
    )
    inner.router.redirect_slashes = False  # it reads the query string as strict UTF-8, and anyone can send other bytes
    desk = Desk(settings, cache, metrics, log, limit, gate.full, troubles.refused)
    return Application(Front(inner, desk), gate, log)


async def _share(gate: Gate, api: Api, log: AccessLog) -> None:
    while True:
        with contextlib.suppress(Overloaded, DataError):
            await gate.statistics()
        await asyncio.sleep(_SHARE_SECONDS)
        await asyncio.to_thread(api.renew_figures)
        log.flush()


def _routes(views: Views, api: Api, sites: Sites, admin: Admin, changes: Changes) -> list[Route]:
    return [
        Route("/", views.landing),
        Route("/search", views.search),
        Route("/cached/{key}", views.cached),
        Route("/about", views.about),
        Route("/settings", views.settings),
        Route("/api", views.documentation),
        Route("/add", sites.add),
        Route("/add", sites.added, methods=["POST"]),
        Route("/why-not", sites.why_not),
        Route("/opensearch.xml", views.opensearch),
        Route("/favicon.svg", views.static),
        Route("/favicon.ico", views.static),
        Route("/robots.txt", views.robots),
        Route(STATIC + "{name}", views.static),
        Route("/api/search", api.search),
        Route("/api/statistics", api.statistics),
        Route("/suggest", api.suggest),
        Route("/healthz", api.health),
        Route("/readyz", api.ready),
        Route("/metrics", api.metrics),
        Route("/openapi.json", api.openapi),
        Route("/api/publish", changes.publish, methods=["POST"]),
        Route("/api/publish/{id}", changes.forget, methods=["DELETE"]),
        Route("/api/submit", changes.submit, methods=["POST"]),
        Route("/api/visits", changes.visits, methods=["POST"]),
        Route("/api/crawl", changes.crawl),
        Route("/api/crawl/{word}", changes.tell, methods=["POST"]),
        *admin.routes(),
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
        phrase, detail = HTTPStatus(status).phrase, str(getattr(error, "detail", ""))
        said = detail if detail and detail != phrase else "There is no page here." if status == 404 else f"{phrase}."
        return self._say(request, status, said, _HINTS.get(status, ""), headers)

    async def bad_input(self, request: Request, error: Exception) -> Response:
        """Answer for what the request got wrong."""
        assert isinstance(error, BadInput)
        return self._say(request, 400, error.message, error.hint, {})

    async def no_data(self, request: Request, error: Exception) -> Response:
        """Answer when there is no index, or it cannot be used; the message may name files, so it is not shown."""
        if isinstance(error, NothingHere):
            known = _failure(request, 503, "Nothing is indexed yet.", "Crawl first: see the page at /.", {})
            return known or self._views.first_run(request)
        _LOG.error("The index cannot be used: %s", error)
        return self._say(request, 503, "The index cannot be read now.", "See the server's log.", {"retry-after": "30"})

    async def refused_by_system(self, request: Request, error: Exception) -> Response:
        """Answer when a disk is full or its like; the message may name files, so it is not shown."""
        _LOG.error("Something cannot be done: %s", error)
        return self._say(request, 503, "That cannot be done now.", "See the server's log.", {"retry-after": "30"})

    async def overloaded(self, request: Request, error: Exception) -> Response:
        """Answer 429, or 503 when it would take too long, and say when to come back."""
        status = 503 if getattr(error, "message", "") == LATE else 429
        seconds = self._gate.retry_after()
        hint, headers = f"Try again in {seconds} s.", {"retry-after": str(seconds)}
        said = getattr(error, "message", "") or "Too many searches at once."
        known = _failure(request, status, said, hint, headers)
        asked = ask_page(parameters(request.scope["query_string"]))
        return known or self._views.overloaded(request, asked, seconds, status)

    def failed(self, path: str, name: str) -> Response:
        """Answer for a fault of ours."""
        known = failure(path, 500, "Something went wrong here.", "Give the id to whoever runs this.", {}, id=name)
        return known or self._views.failed(name)

    def refused(self, path: str, status: int, error: str, hint: str, headers: dict[str, str]) -> Response:
        """Answer a request that is not let in."""
        known = failure(path, status, error, hint, headers)
        return known or self._views.trouble(status, error, hint, headers)

    def _say(self, request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response:
        known = _failure(request, status, error, hint, headers)
        return known or self._views.trouble(status, error, hint, headers)


def _failure(request: Request, status: int, error: str, hint: str, headers: dict[str, str]) -> Response | None:
    """Give the JSON form of an error to a program: by its path, or by the format that it asks for."""
    asks = parameters(request.scope["query_string"]).get("format", "").lower() in ("json", "rss", "csv")
    path = "/api/search" if asks and request.scope["path"] == "/search" else request.scope["path"]
    return failure(path, status, error, hint, headers)
