"""Answers for programs: JSON, documented in docs/api.md."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import NothingHere
from periplus.records import Hit, ResultPage
from periplus.serve.asked import ask_api, parameters
from periplus.serve.cache import AnswerCache
from periplus.serve.gate import Gate
from periplus.serve.metrics import Metrics, as_text
from periplus.serve.openapi import document

__all__ = ["Api", "answer", "failure", "json_response"]

_PREFIX: Final = "/api/"
_SUGGESTIONS: Final = 8
_JSON_PATHS: Final = frozenset({"/suggest", "/openapi.json", "/readyz", "/healthz", "/metrics"})


class Api:
    """The JSON views."""

    def __init__(self, gate: Gate, metrics: Metrics, cache: AnswerCache) -> None:
        self._gate = gate
        self._metrics = metrics
        self._cache = cache
        self._document = msgspec.json.encode(document())

    async def search(self, request: Request) -> Response:
        """Answer /api/search."""
        asked = ask_api(parameters(request.scope["query_string"]))
        found = await self._gate.search(asked.query)
        if not found.documents:
            raise NothingHere("Nothing is indexed yet.")
        return json_response(answer(found, asked.cut))

    async def suggest(self, request: Request) -> Response:
        """Answer /suggest, in the form that browsers read."""
        words = parameters(request.scope["query_string"]).get("q", "")[:200]
        found = await self._gate.suggest(words, _SUGGESTIONS)
        relevance = {"google:suggestrelevance": [round(1000 * worth) for _, worth in found]}
        body = [words, [text for text, _ in found], [], [], relevance]
        answered = json_response(body)
        answered.headers["content-type"] = "application/x-suggestions+json"
        return answered

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


def answer(page: ResultPage, cut: bool = False) -> dict[str, Any]:
    """Give a result page as programs see it: plain values, as docs/api.md lists them."""
    query = page.query
    notes = [*page.notes, "The query was too long and was cut."] if cut else list(page.notes)
    return {
        "query": query.words,
        "start": query.start,
        "size": query.size,
        "total": page.total,
        "exact": page.exact,
        "partial": page.partial,
        "seconds": page.seconds,
        "documents": page.documents,
        "notes": notes,
        "results": [_hit(hit) for hit in page.hits],
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title,
        "content": "".join(text for text, _ in hit.snippet),
        "snippet": [{"text": text, "marked": marked} for text, marked in hit.snippet],
        "trail": hit.trail,
        "score": hit.score,
        "key": f"{hit.key:016x}",
        "cached": f"/cached/{hit.key:016x}",
        "language": hit.language,
        "fetched": hit.fetched,
        "kind": hit.kind,
        "missing": hit.missing,
        "reasons": [{"name": name, "value": value} for name, value in hit.reasons],
    }


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Give a value as JSON; a number that JSON has no word for becomes null."""
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate that came in with a page: escaped, it does no harm
        body = json.dumps(value).encode()
    return Response(body, status, headers, "application/json")
