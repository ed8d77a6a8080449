"""Pages for people."""

import contextlib
import re
import time
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.errors import NothingHere, Overloaded
from periplus.records import ResultPage
from periplus.serve.api import json_response
from periplus.serve.asked import FARTHEST, FORMATS, PAGE, TABS, Asked, address_of, ask_page, ask_program, parameters
from periplus.serve.formats import as_csv, as_json, as_rss
from periplus.serve.front import HOST
from periplus.serve.gate import Gate
from periplus.serve.instant import Instant, instant_answer
from periplus.serve.links import page_numbers, without_one
from periplus.serve.openapi import OPERATIONS
from periplus.serve.render import Asset, Pages
from periplus.serve.searching import StatisticsLike
from periplus.serve.shown import show

__all__ = ["Views"]

_KEY: Final = re.compile(r"[0-9a-f]{16}")
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_A_DAY: Final = "public, max-age=86400"
_ROBOTS: Final = "User-agent: *\nDisallow: /search\nDisallow: /cached/\nDisallow: /api/\nDisallow: /admin\n"
_TOO_MANY_HIDDEN: Final = 0.2
"""Share of results left out by safe search beyond which the page says so."""
_TYPES: Final = {"application/json": "json", "application/rss+xml": "rss", "text/csv": "csv", "text/html": "html"}
_COPY_POLICY: Final = (
    "sandbox allow-forms; default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


class Views:
    """The HTML views, and the other forms of a result page."""

    def __init__(self, gate: Gate, pages: Pages, assets: Mapping[str, Asset]) -> None:
        self._gate = gate
        self._pages = pages
        self._assets = assets

    async def landing(self, request: Request) -> Response:
        """Show the field and the facts; on the first run, how to begin."""
        facts = await self._gate.statistics()
        if not facts.documents:
            return self.first_run(request)
        return self._pages.page("landing.html", request=request, facts=facts)

    def first_run(self, request: Request) -> Response:
        """Say how to begin: there is nothing to search yet."""
        return self._pages.page("first_run.html", request=request, headers={"cache-control": "no-store"})

    async def search(self, request: Request) -> Response:
        """Show results, as a page or in the form that a program asks for."""
        given = parameters(request.scope["query_string"])
        form = _form(given.get("format", ""), request.headers.get("accept", ""))
        if form != "html":
            return await self._for_program(request, ask_program(given), form)
        asked = ask_page(given)
        if not asked.query.words:
            return RedirectResponse("/", 303)
        found = await self._gate.search(asked.query)
        if not found.documents:
            return self.first_run(request)
        lost = not found.hits and not asked.query.start
        answer = instant_answer(asked.query.words) if not asked.query.start else None
        shorter = await self._shorter(asked) if lost else []
        return self._results(request, found, asked, shorter, answer, await self._gate.statistics())

    async def _for_program(self, request: Request, asked: Asked, form: str) -> Response:
        found = await self._gate.search(asked.query)
        if not found.documents:
            raise NothingHere("Nothing is indexed yet.")
        if form == "csv":
            headers = {"content-disposition": 'attachment; filename="results.csv"'}
            return Response(as_csv(found).encode("utf-8", "replace"), 200, headers, "text/csv")
        if form == "rss":
            text = as_rss(found, asked, _base(request))
            return Response(text.encode("utf-8", "replace"), media_type="application/rss+xml")
        answer = instant_answer(asked.query.words)
        return json_response(as_json(found, asked, [answer.text] if answer else []))

    async def _shorter(self, asked: Asked) -> list[tuple[str, str]]:
        """List the words without which something is found, each with the address of the query without it."""
        useful: list[tuple[str, str]] = []
        if self._gate.waiting:  # a busy server has better things to do
            return useful
        with contextlib.suppress(Overloaded):
            for word, rest in without_one(asked.query):
                if (await self._gate.search(rest)).hits:
                    useful.append((word, address_of(asked, q=rest.words)))
        return useful

    def _results(
        self,
        request: Request,
        found: ResultPage,
        asked: Asked,
        shorter: list[tuple[str, str]],
        answer: Instant | None,
        facts: StatisticsLike,
    ) -> Response:
        query = asked.query
        numbers = page_numbers(query, found.total, len(found.hits), FARTHEST)
        spoken = self._pages.tongue(request)
        return self._pages.page(
            "results.html",
            request=request,
            asked=asked,
            found=found,
            numbers=numbers,
            current=query.start // PAGE + 1,
            per_page=PAGE,
            hits=show(found.hits, asked, spoken, time.time()),
            unfolded=address_of(asked, similar=1),
            shorter=shorter,
            answer=answer,
            tabs=[tab for tab, kinds in TABS.items() if not kinds or tab == asked.tab or facts.kinds & set(kinds)],
            languages=list(dict.fromkeys((*facts.languages, *filter(None, (query.language,))))),
            much_hidden=found.hidden > _TOO_MANY_HIDDEN * max(1, found.looked),
        )

    async def cached(self, request: Request) -> Response:
        """Show the kept copy of a page as plain text, in a sandbox: none of its scripts, styles or images."""
        key = request.path_params["key"]
        kept = await self._gate.cached(int(key, 16)) if _KEY.fullmatch(key) else None
        if kept is None:
            return self.missing("There is no copy of this page.", "It may have been left out, or fetched again since.")
        paragraphs = [line.strip() for line in kept.text.splitlines() if line.strip()]
        headers = {"content-security-policy": _COPY_POLICY}
        return self._pages.page("cached.html", 200, headers, request, kept=kept, paragraphs=paragraphs)

    async def about(self, request: Request) -> Response:
        """Say what this is."""
        return self._pages.page("about.html", request=request, facts=await self._gate.statistics())

    async def settings(self, request: Request) -> Response:
        """Show what can be set in the browser: language, safe search, rules for sites."""
        return self._pages.page("settings.html", request=request)

    async def documentation(self, request: Request) -> Response:
        """Show the API to people."""
        return self._pages.page("api.html", request=request, operations=OPERATIONS)

    async def opensearch(self, request: Request) -> Response:
        """Describe the search to browsers."""
        headers = {"cache-control": _A_DAY}
        return self._pages.page("opensearch.xml", 200, headers, request, base=_base(request))

    async def static(self, request: Request) -> Response:
        """Give a static file; for ever when it was asked for by its version."""
        name = request.path_params.get("name", "favicon.svg")
        asset = self._assets.get(name)
        if asset is None:
            return self.missing("There is no such file.", "")
        versioned = parameters(request.scope["query_string"]).get("v") == asset.version
        tag = f'"{asset.version}"'
        # Kept copies are shown in a sandbox, to which even our own style sheet comes from elsewhere.
        headers = {"etag": tag, "cross-origin-resource-policy": "cross-origin"}
        headers["cache-control"] = _FOR_EVER if versioned else _A_DAY
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.body, 200, headers, asset.type)

    async def robots(self, _: Request) -> Response:
        """Ask other crawlers to leave result pages alone."""
        return Response(_ROBOTS, headers={"cache-control": _A_DAY}, media_type="text/plain")

    def missing(self, error: str, hint: str) -> Response:
        """Say that something is not here."""
        return self.trouble(404, error, hint)

    def trouble(
        self,
        status: int,
        error: str,
        hint: str,
        headers: Mapping[str, str] | None = None,
        request: Request | None = None,
    ) -> Response:
        """Say what went wrong in one sentence, and what to do."""
        return self._pages.page("message.html", status, headers, request, error=error, hint=hint, failure="")

    def failed(self, name: str) -> Response:
        """Say that it was our fault, with the id that the log has."""
        hint = "Trying again may help. If it does not, give this id to whoever runs this server."
        return self._pages.page("message.html", 500, error="Something went wrong here.", hint=hint, failure=name)

    def overloaded(self, request: Request, asked: Asked, seconds: int, status: int) -> Response:
        """Say that too many ask at once; the page tries again by itself."""
        headers = {"retry-after": str(seconds), "cache-control": "no-store"}
        return self._pages.page("overload.html", status, headers, request, asked=asked, seconds=seconds)


def _form(asked: str, accepted: str) -> str:
    """Choose the form of an answer: as asked for by name, else the first type of the Accept header that we have."""
    if asked:
        return asked.lower() if asked.lower() in FORMATS else "html"
    for part in accepted.split(",")[:20]:
        form = _TYPES.get(part.partition(";")[0].strip().lower())
        if form:
            return form
    return "html"


def _base(request: Request) -> str:
    """Give scheme and host as the client wrote them, '' if they make no sense."""
    host = request.headers.get("host", "")
    return f"{request.scope['scheme']}://{host}" if HOST.fullmatch(host) else ""
