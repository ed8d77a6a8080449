"""The application: which path is answered by what."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from periplus.errors import DataError, Overloaded, PeriplusError
from periplus.serve.actions import Actions
from periplus.serve.admin.admin_pages import Admin
from periplus.serve.api.query_counter import Queries
from periplus.serve.api.ratings import Rating
from periplus.serve.api.search_api import Api
from periplus.serve.api.write_api import Changes
from periplus.serve.api_keys import ApiKeys
from periplus.serve.instant.weather import WeatherDesk
from periplus.serve.middleware.access_log import AccessLog
from periplus.serve.middleware.auth import Doors
from periplus.serve.middleware.error_handlers import Troubles
from periplus.serve.middleware.front import Desk, Front
from periplus.serve.middleware.rate_limit import RateLimit
from periplus.serve.middleware.reporters import Reporters
from periplus.serve.middleware.response_headers import Faults
from periplus.serve.middleware.visitors import Visitors
from periplus.serve.pages.page_templates import STATIC, Pages, read_assets
from periplus.serve.pages.result_pages import PATHS, About, Results
from periplus.serve.pages.site_pages import Sites
from periplus.serve.pages.trending_pages import Trending
from periplus.serve.pages.views import Views
from periplus.serve.protocols import SearcherLike
from periplus.serve.response_cache import ResponseCache
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.server_metrics import Metrics
from periplus.settings import ServeSettings

__all__ = ["Application", "make_app"]

_SHARE_SECONDS: Final = 1.0


class Application:
    """The ASGI application, and what has to be ended with it."""

    def __init__(self, front: Front, gate: SearchExecutor, log: AccessLog) -> None:
        self._front = front
        self._log = log
        self.gate = gate

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a request."""
        return self._front(scope, receive, send)

    def close(self) -> None:
        """Refuse what waits, and write what is left of the log."""
        self.gate.close()
        self._log.flush()


def make_app(
    searcher: SearcherLike,
    settings: ServeSettings,
    actions: Actions | None = None,
    keys: ApiKeys | None = None,
    figures: tuple[Path, int] | None = None,
    processes: int = 1,
) -> Application:
    """Build the application around a searcher.

    figures: the folder through which processes share what they count, and the number of this one; processes: how
    many there are, which share the rate that one client may ask at.
    """
    cache = ResponseCache(settings.cache_mb << 20)
    gate, assets = SearchExecutor(searcher, settings, cache.clear), read_assets()
    actions, keys = actions or Actions(), keys or ApiKeys(None)
    limit = RateLimit(settings.rate / processes)
    doors, metrics, log = Doors(keys, limit), Metrics(*(figures or ())), AccessLog(settings.access_log)
    pages, reporters = Pages(assets), Reporters(keys, settings.proxied)
    views, api = Views(gate, pages, assets, doors), Api(gate, metrics, cache)
    weather = WeatherDesk(settings, actions.fetch, pages)
    trending, queries = Trending(searcher, actions.trending), Queries(searcher)
    about = About(lambda: trending.shown, settings.clicks, weather.open)
    results = Results(searcher, pages, gate.busy, about)
    rating = Rating(doors, actions, settings.clicks, reporters)
    sites = Sites(gate, pages, doors, actions, settings.submissions)
    admin = Admin(gate, pages, doors, actions, metrics, api.renew_figures)
    troubles = Troubles(gate, views)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(gate.watch()), asyncio.create_task(_share(gate, api, log, trending, queries))]
        yield
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
        gate.close()

    inner = Starlette(
        routes=[
            *_routes(views, api, sites, Changes(actions, doors, settings.submissions, reporters)),
            *rating.routes(),
            *admin.routes(),
            Route("/api/weather", weather.answer),
            Route("/weather", weather.page),
        ],
        middleware=[Middleware(Faults, failed=troubles.failed)],
        exception_handlers={HTTPException: troubles.answer, PeriplusError: troubles.answer},
        lifespan=lifespan,
    )
    inner.router.redirect_slashes = False  # it reads the query string as strict UTF-8, and anyone can send other bytes
    desk = Desk(
        visitors=Visitors(settings, limit),
        cache=cache,
        metrics=metrics,
        log=log,
        full=gate.full,
        make=lambda asking, began: gate.run(lambda: results.make(asking), began),
        refused=troubles.refused,
        failed=troubles.search,
        busy=troubles.busy,
        asked=queries.add,
    )
    return Application(Front(inner, desk), gate, log)


async def _share(gate: SearchExecutor, api: Api, log: AccessLog, trending: Trending, queries: Queries) -> None:
    while True:
        with contextlib.suppress(Overloaded, DataError):
            await gate.statistics()
        await asyncio.sleep(_SHARE_SECONDS)
        await asyncio.to_thread(api.renew_figures)
        await asyncio.to_thread(trending.renew)
        with contextlib.suppress(DataError):
            await asyncio.to_thread(queries.count)
        log.flush()


def _routes(views: Views, api: Api, sites: Sites, changes: Changes) -> list[Route]:
    return [
        Route("/", views.landing),
        *(Route(path, views.never) for path in sorted(PATHS)),
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
        Route("/api/statistics", api.statistics),
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
    ]
