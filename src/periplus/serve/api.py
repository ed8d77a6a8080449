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
from periplus.serve.gate import Gate

__all__ = ["Api", "answer", "failure"]

_PREFIX: Final = "/api/"


class Api:
    """The JSON views."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def search(self, request: Request) -> Response:
        """Answer /api/search."""
        asked = ask_api(parameters(request.scope["query_string"]))
        found = await self._gate.search(asked.query)
        if not found.documents:
            raise NothingHere("Nothing is indexed yet.")
        return _json(answer(found, asked.cut))

    async def statistics(self, _: Request) -> Response:
        """Answer /api/statistics."""
        facts = await self._gate.statistics()
        names = ("documents", "hosts", "newest", "bytes")
        return _json({name: getattr(facts, name) for name in names})

    async def health(self, _: Request) -> Response:
        """Answer /healthz: the server is up. It asks nothing of the index, so that it answers under load."""
        return _json({"status": "ok"})


def failure(path: str, status: int, error: str, hint: str, headers: Mapping[str, str], **more: str) -> Response | None:
    """Give the JSON form of an error, when the path is one that programs ask; else None."""
    if not path.startswith(_PREFIX):
        return None
    return _json({"error": error, "hint": hint, **more}, status, headers)


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


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a lone surrogate that came in with a page: escaped, it does no harm
        body = json.dumps(value).encode()
    return Response(body, status, headers, "application/json")
