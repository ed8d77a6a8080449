"""Answers for programs: JSON, documented in docs/api.md."""

from collections.abc import Mapping
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.api.openapi import document
from periplus.serve.request_bodies import json_response
from periplus.serve.response_cache import ResponseCache
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.server_metrics import Metrics, as_text

__all__ = ["Api", "failure"]

_PREFIX: Final = "/api/"
_JSON_PATHS: Final = frozenset({"/suggest", "/openapi.json", "/readyz", "/healthz", "/metrics"})


class Api:
    """The JSON views."""

    def __init__(self, gate: SearchExecutor, metrics: Metrics, cache: ResponseCache) -> None:
        self._gate = gate
        self._metrics = metrics
        self._cache = cache
        self._document = msgspec.json.encode(document())

    async def statistics(self, _: Request) -> Response:
        """Answer /api/statistics."""
        facts = await self._gate.statistics()
        names = ("documents", "hosts", "newest", "bytes")
        return json_response({name: getattr(facts, name) for name in names})

    async def health(self, _: Request) -> Response:
        """Answer /healthz: the server is up. It asks nothing of the index, so that it answers under load."""
        return json_response({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        """Answer /readyz: there is something to search, and room to search it."""
        facts = await self._gate.statistics()
        if not facts.documents:
            return json_response({"status": "empty"}, 503, {"retry-after": "5"})
        return json_response({"status": "ready", "documents": facts.documents})

    async def metrics(self, _: Request) -> Response:
        """Answer /metrics, for Prometheus."""
        self.renew_figures()
        return Response(as_text(self._metrics.everybody()), media_type="text/plain; version=0.0.4")

    def renew_figures(self) -> None:
        """Bring the figures that are not counted by request up to date."""
        cache, values = self._cache, self._metrics.values
        for name in ("hits", "misses", "refused", "evicted", "bytes"):
            values[f"cache_{name}"] = getattr(cache, name)
        values["cache_entries"] = len(cache)
        values["waiting"] = self._gate.waiting
        values["documents"] = self._gate.documents
        values["refreshes"] = cache.epoch
        self._metrics.share()

    async def openapi(self, _: Request) -> Response:
        """Answer /openapi.json."""
        return Response(self._document, media_type="application/json")


def failure(path: str, status: int, error: str, hint: str, headers: Mapping[str, str], **more: str) -> Response | None:
    """Give the JSON form of an error, when the path is one that programs ask; else None."""
    if not path.startswith(_PREFIX) and path not in _JSON_PATHS:
        return None
    return json_response({"error": error, "hint": hint, **more}, status, headers)
