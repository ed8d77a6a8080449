"""The application: the handlers of the route table, and the middleware around them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import Receive, Scope, Send

from periplus.errors import DataError, Overloaded, PeriplusError
from periplus.health import part
from periplus.serve.actions import Actions
from periplus.serve.admin.admin_api import AdminApi
from periplus.serve.admin.admin_commands import AdminCommands
from periplus.serve.admin.admin_pages import AdminHandlers
from periplus.serve.admin.admin_sections import AdminSections
from periplus.serve.api.documents_api import DocumentHandlers
from periplus.serve.api.passages_api import PassageHandlers
from periplus.serve.api.query_counter import QueryCounter
from periplus.serve.api.ratings import RatingHandlers
from periplus.serve.api.searxng import SearxngHandlers
from periplus.serve.api.status_api import ApiHandlers
from periplus.serve.api.why_api import WhyHandlers
from periplus.serve.api.write_api import WriteHandlers
from periplus.serve.api_keys import ApiKeys
from periplus.serve.collections.collection_handlers import CollectionAccess, CollectionHandlers
from periplus.serve.connections.connection_guard import ConnectionGuard
from periplus.serve.instant.weather import WeatherService
from periplus.serve.middleware.access_log import AccessLog
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.middleware.body_deadlines import BodyDeadlines
from periplus.serve.middleware.client_address import ClientAddresses
from periplus.serve.middleware.cross_origin import CrossOrigin
from periplus.serve.middleware.error_handlers import ErrorHandlers
from periplus.serve.middleware.rate_limit import RateLimit
from periplus.serve.middleware.reporter_hashes import ReporterHasher
from periplus.serve.middleware.request_filter import RequestFilter
from periplus.serve.middleware.response_headers import UnhandledErrorMiddleware
from periplus.serve.middleware.search_middleware import Handlers, SearchMiddleware
from periplus.serve.middleware.slow_query_log import SlowQueryLog
from periplus.serve.pages.page_handlers import PageHandlers
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.pages.result_pages import PageExtras, ResultRenderer
from periplus.serve.pages.site_pages import SiteHandlers
from periplus.serve.pages.static_files import read_assets
from periplus.serve.pages.trending_pages import TrendingPages
from periplus.serve.protocols import SearcherLike
from periplus.serve.publishing.publish_pages import PublishHandlers
from periplus.serve.response_cache import ResponseCache
from periplus.serve.routes import ROUTES
from periplus.serve.routing import make_routes
from periplus.serve.rules.rule_pages import RuleHandlers
from periplus.serve.search_executor import STUCK, SearchExecutor
from periplus.serve.search_request import seems_expensive
from periplus.serve.server_metrics import Metrics
from periplus.serve.workers.blocking_calls import call_in_thread
from periplus.settings import ServeSettings
from periplus.supervision import supervise_once, supervise_task

__all__ = ["Application", "make_app"]

_HOUSEKEEPING_SECONDS: Final = 1.0
_WATCH_SECONDS: Final = 1.0


class Application:
    """The ASGI application, and what has to be closed with it."""

    def __init__(
        self,
        middleware: SearchMiddleware,
        framework: Starlette,
        executor: SearchExecutor,
        log: AccessLog,
        watch_connections: Callable[[ConnectionGuard], None],
    ) -> None:
        self._middleware = middleware
        self._log = log
        self.framework = framework
        self.executor = executor
        self.active_connections = middleware.active_connections
        """Return address and port of the clients whose requests are being answered."""
        self.watch_connections = watch_connections
        """Report the figures of a connection guard in the metrics."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a request."""
        return self._middleware(scope, receive, send)

    def close(self) -> None:
        """Refuse queued searches, and write what is left of the access log."""
        self.executor.close()
        self._log.flush()


def make_app(
    searcher: SearcherLike,
    settings: ServeSettings,
    actions: Actions | None = None,
    keys: ApiKeys | None = None,
    shared_metrics: tuple[Path, int] | None = None,
    processes: int = 1,
    heartbeat: Callable[[bool], None] = lambda _: None,
) -> Application:
    """Return the application around a searcher.

    shared_metrics: the folder through which processes share their metrics, and the number of this process; processes:
    how many there are, among which the rate limit is divided; heartbeat: called once a second from the event loop, with
    whether searches make progress.
    """
    actions, keys = actions or Actions(), keys or ApiKeys(None)
    cache, assets, limit = ResponseCache(settings.cache_mb << 20), read_assets(), RateLimit(settings.rate / processes)
    executor, bodies = SearchExecutor(searcher, settings, cache.clear), BodyDeadlines(settings)
    auth = Authenticator(keys, limit, _public_settings(settings))
    reporters = ReporterHasher(keys, ClientAddresses(settings))
    metrics, log = Metrics(*(shared_metrics or ())), AccessLog(settings.access_log)
    renderer, trending, queries = (
        PageRenderer(assets, lambda: actions.publish is not None and auth.allows_publishing()),
        TrendingPages(searcher, actions.trending),
        QueryCounter(searcher),
    )
    pages = PageHandlers(executor, renderer, assets, auth)
    api = ApiHandlers(executor, metrics, cache, bodies, actions.health, actions.crawl_metrics)
    weather = WeatherService(settings, actions.fetch, renderer)
    commands = AdminCommands(actions, keys)
    admin = AdminHandlers(executor, renderer, auth, commands, actions, metrics, api.update_metrics)
    has_thumbnail = actions.has_thumbnail or (lambda _: False)
    extras = PageExtras(lambda: trending.pages, settings.clicks, weather.available, has_thumbnail)
    results = ResultRenderer(searcher, renderer, executor.is_busy, extras, SlowQueryLog(settings))
    errors = ErrorHandlers(executor, pages)
    why, access = WhyHandlers(executor, actions), CollectionAccess(actions.collections, auth)
    groups = {
        "pages": pages,
        "api": api,
        "writes": WriteHandlers(actions, reporters, commands),
        "ratings": RatingHandlers(auth, actions, settings.clicks, reporters),
        "sites": SiteHandlers(executor, renderer, auth, actions, settings.submissions, why),
        "why": why,
        "publish": PublishHandlers(renderer, auth, actions, settings.upload_mb << 20),
        "weather": weather,
        "admin": admin,
        "sections": AdminSections(renderer, auth, commands, keys, actions.rules),
        "operations": AdminApi(commands, keys),
        "passages": PassageHandlers(searcher, executor),
        "documents": DocumentHandlers(actions.documents, executor, settings.documents_mb << 20, access),
        "collections": CollectionHandlers(access, executor, commands),
        "rules": RuleHandlers(actions.rules, renderer, auth, commands),
        "searxng": SearxngHandlers(executor, settings.rate > 0),
    }

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watching = {
            "index watch": executor.watch_index,
            "housekeeping": lambda: _housekeeping(executor, api, log, trending, queries, admin),
            "thread watch": lambda: _watch_threads(executor, heartbeat),
        }
        tasks = [asyncio.create_task(supervise_task(name, work)) for name, work in watching.items()]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        executor.close()

    framework = Starlette(
        routes=make_routes(groups, auth, admin.login_form),
        middleware=[Middleware(UnhandledErrorMiddleware, internal_error=errors.internal_error)],
        exception_handlers={HTTPException: errors.handle, PeriplusError: errors.handle},
        lifespan=lifespan,
    )
    framework.router.redirect_slashes = False  # it decodes the query string as strict UTF-8, and clients send any bytes
    handlers = Handlers(
        request_filter=RequestFilter(settings, limit),
        cache=cache,
        metrics=metrics,
        access_log=log,
        is_full=executor.is_full,
        render=lambda key, started: executor.run_search(
            lambda limits: results.render(key, limits), started, expensive=seems_expensive(key.query)
        ),
        refusal=errors.refusal,
        search_error=errors.handle_search,
        overload=errors.overload,
        bodies=bodies,
        cross_origin=CrossOrigin(settings.cors_origins),
        record_query=queries.add,
    )
    return Application(SearchMiddleware(framework, handlers), framework, executor, log, api.watch_connections)


def _public_settings(settings: ServeSettings) -> frozenset[str]:
    """Return the names of those settings that open a route of the table to anyone and are on."""
    names = {route.public_setting for route in ROUTES if route.public_setting}
    return frozenset(name for name in names if getattr(settings, name))


async def _housekeeping(
    executor: SearchExecutor,
    api: ApiHandlers,
    log: AccessLog,
    trending: TrendingPages,
    queries: QueryCounter,
    admin: AdminHandlers,
) -> None:
    """Do once a second what no request should wait for; what fails is reported, and tried again."""
    steps = [
        supervise_once("metrics", api.update_metrics),
        supervise_once("trending pages", trending.refresh),
        supervise_once("popular queries", queries.flush),
        supervise_once("access log", log.flush),
        supervise_once("admin samples", admin.sample),
    ]
    while True:
        with contextlib.suppress(Overloaded, DataError):
            await executor.statistics()
        await asyncio.sleep(_HOUSEKEEPING_SECONDS)
        for step in steps:
            with contextlib.suppress(Overloaded):
                await call_in_thread(step)


async def _watch_threads(executor: SearchExecutor, heartbeat: Callable[[bool], None]) -> None:
    """Replace search threads that are stuck, and report once a second that this event loop runs, and whether they do.

    Nothing is awaited but time, so this task stops only with the event loop.
    """
    reporter = part("search threads")
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        works = executor.check_threads()
        heartbeat(works)
        if works:
            reporter.recover()
        elif not reporter.health.is_failing():
            reporter.fail(STUCK)
