"""Handlers for programs that only read: statistics, health, metrics, the OpenAPI document."""

from collections.abc import Callable
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import Overloaded
from periplus.serve.actions import HealthReport
from periplus.serve.api.openapi import openapi_document
from periplus.serve.connections.connection_guard import ConnectionGuard
from periplus.serve.middleware.body_deadlines import BodyDeadlines
from periplus.serve.request_bodies import json_response
from periplus.serve.response_cache import ResponseCache
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.server_metrics import Metrics, health_text, prometheus_text

__all__ = ["ApiHandlers"]

_RESTARTS: Final = ("worker_restarts", "stuck_workers", "stuck_threads")
_RETRY: Final = {"retry-after": "5"}


class ApiHandlers:
    """Handlers of the group 'api' in the route table."""

    def __init__(
        self,
        executor: SearchExecutor,
        metrics: Metrics,
        cache: ResponseCache,
        bodies: BodyDeadlines,
        health: Callable[[], HealthReport] | None = None,
        crawl_metrics: Callable[[], str] | None = None,
    ) -> None:
        self._crawl_metrics = crawl_metrics
        self._read_health = health or HealthReport
        self._health = HealthReport()
        self._executor = executor
        self._bodies = bodies
        self._connections: ConnectionGuard | None = None
        self._metrics = metrics
        self._cache = cache
        self._document = msgspec.json.encode(openapi_document())

    async def statistics(self, _: Request) -> Response:
        """Return the size of the index."""
        statistics = await self._executor.statistics()
        names = ("documents", "hosts", "newest", "bytes")
        return json_response({name: getattr(statistics, name) for name in names})

    async def health(self, _: Request) -> Response:
        """Return that the server is running, without touching the index: it answers under load too."""
        return json_response({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        """Return whether there is something to search, and room to search it; no thread of a search is waited for."""
        problem = self._executor.problem()
        if problem:
            return json_response({"status": "stuck", "reason": problem}, 503, _RETRY)
        try:
            statistics = await self._executor.statistics()
        except Overloaded as error:
            return json_response({"status": "busy", "reason": error.message}, 503, _RETRY)
        if not statistics.documents:
            return json_response({"status": "empty", "reason": "The index is empty."}, 503, _RETRY)
        counts = self._metrics.total().values
        restarts = {name: int(counts[name]) for name in _RESTARTS if counts.get(name)}
        failing = [{"part": part.name, "since": round(part.failing_since)} for part in self._health.failing()]
        if failing:  # searches are answered all the same
            answer = {"status": "degraded", "documents": statistics.documents, "failing": failing, **restarts}
            return json_response(answer)
        return json_response({"status": "ready", "documents": statistics.documents, **restarts})

    async def metrics(self, _: Request) -> Response:
        """Return the metrics for Prometheus."""
        self.update_metrics()
        text = prometheus_text(self._metrics.total()) + health_text(self._health)
        text += self._crawl_metrics() if self._crawl_metrics is not None else ""
        return Response(text, media_type="text/plain; version=0.0.4")

    def update_metrics(self) -> None:
        """Update the metrics that are not counted by request, and the health of all parts."""
        self._health = self._read_health()
        cache, values = self._cache, self._metrics.values
        for name in ("hits", "misses", "refused", "evicted", "bytes"):
            values[f"cache_{name}"] = getattr(cache, name)
        values["cache_entries"] = len(cache)
        values["waiting"] = self._executor.waiting
        values["documents"] = self._executor.documents
        values["refreshes"] = cache.epoch
        values["stuck_threads"] = self._executor.replaced_threads
        values["slow_bodies"] = self._bodies.timeouts
        if self._connections is not None:
            values["connections"] = len(self._connections)
            for name in ("closed_slow", "closed_excess", "closed_idle"):
                values[f"connections_{name}"] = getattr(self._connections, name)
        self._metrics.share()

    def watch_connections(self, guard: ConnectionGuard) -> None:
        """Report the figures of a connection guard in the metrics."""
        self._connections = guard

    async def openapi(self, _: Request) -> Response:
        """Return the OpenAPI document."""
        return Response(self._document, media_type="application/json")
