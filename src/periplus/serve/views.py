"""Pages for people."""

import contextlib
import re
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.errors import Overloaded
from periplus.records import Query, ResultPage
from periplus.serve.asked import FARTHEST, PAGE, Asked, ask_page, parameters
from periplus.serve.gate import Gate
from periplus.serve.links import link_to, page_numbers, without_one
from periplus.serve.render import Asset, Pages

__all__ = ["Views"]

_KEY: Final = re.compile(r"[0-9a-f]{16}")
_HOST: Final = re.compile(r"[A-Za-z0-9.\-]{1,253}(:[0-9]{1,5})?|\[[0-9a-fA-F:.]{2,45}\](:[0-9]{1,5})?")
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_A_DAY: Final = "public, max-age=86400"
_ROBOTS: Final = "User-agent: *\nDisallow: /search\nDisallow: /cached/\nDisallow: /api/\n"


class Views:
    """The HTML views."""

    def __init__(self, gate: Gate, pages: Pages, assets: Mapping[str, Asset]) -> None:
        self._gate = gate
        self._pages = pages
        self._assets = assets

    async def landing(self, _: Request) -> Response:
        """Show the field and the facts; on the first run, how to begin."""
        facts = await self._gate.statistics()
        return self._pages.page("landing.html", facts=facts) if facts.documents else self.first_run()

    def first_run(self) -> Response:
        """Say how to begin: there is nothing to search yet."""
        return self._pages.page("first_run.html")

    async def search(self, request: Request) -> Response:
        """Show results."""
        asked = ask_page(parameters(request.scope["query_string"]))
        if not asked.query.words:
            return RedirectResponse("/", 303)
        found = await self._gate.search(asked.query)
        if not found.documents:
            return self.first_run()
        lost = not found.hits and not asked.query.start
        return self._results(found, asked, await self._shorter(asked.query) if lost else [])

    async def _shorter(self, query: Query) -> list[tuple[str, str]]:
        """List the words without which something is found, each with the address of the query without it."""
        useful = []
        with contextlib.suppress(Overloaded):  # a busy server has better things to do, and offers what it has
            for word, rest in without_one(query):
                if (await self._gate.search(rest)).hits:
                    useful.append((word, link_to(rest)))
        return useful

    def _results(self, found: ResultPage, asked: Asked, shorter: list[tuple[str, str]]) -> Response:
        query = asked.query
        numbers = page_numbers(query, found.total, len(found.hits), FARTHEST)
        top = max((abs(value) for hit in found.hits for _, value in hit.reasons), default=0.0)
        return self._pages.page(
            "results.html",
            query=query,
            found=found,
            asked=asked,
            numbers=numbers,
            current=query.start // PAGE + 1,
            per_page=PAGE,
            top=top or 1.0,
            shorter=shorter,
        )

    async def cached(self, request: Request) -> Response:
        """Show the kept copy of a page as plain text: none of its scripts, styles or images."""
        key = request.path_params["key"]
        kept = await self._gate.cached(int(key, 16)) if _KEY.fullmatch(key) else None
        if kept is None:
            return self.missing("There is no copy of this page.", "It may have been left out, or fetched again since.")
        paragraphs = [line.strip() for line in kept.text.splitlines() if line.strip()]
        return self._pages.page("cached.html", kept=kept, paragraphs=paragraphs)

    async def about(self, _: Request) -> Response:
        """Say what this is."""
        return self._pages.page("about.html", facts=await self._gate.statistics())

    async def opensearch(self, request: Request) -> Response:
        """Describe the search to browsers."""
        host = request.headers.get("host", "")
        base = f"{request.scope['scheme']}://{host}" if _HOST.fullmatch(host) else ""
        return self._pages.page("opensearch.xml", headers={"cache-control": _A_DAY}, base=base)

    async def static(self, request: Request) -> Response:
        """Give a static file; for ever when it was asked for by its version."""
        name = request.path_params.get("name", "favicon.svg")
        asset = self._assets.get(name)
        if asset is None:
            return self.missing("There is no such file.", "")
        versioned = parameters(request.scope["query_string"]).get("v") == asset.version
        tag = f'"{asset.version}"'
        headers = {"etag": tag, "cache-control": _FOR_EVER if versioned else _A_DAY}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.body, 200, headers, asset.type)

    async def robots(self, _: Request) -> Response:
        """Ask other crawlers to leave result pages alone."""
        return Response(_ROBOTS, headers={"cache-control": _A_DAY}, media_type="text/plain")

    def missing(self, error: str, hint: str) -> Response:
        """Say that something is not here."""
        return self.trouble(404, error, hint)

    def trouble(self, status: int, error: str, hint: str, headers: Mapping[str, str] | None = None) -> Response:
        """Say what went wrong in one sentence, and what to do."""
        return self._pages.page("message.html", status, headers, error=error, hint=hint, failure="")

    def failed(self, name: str) -> Response:
        """Say that it was our fault, with the id that the log has."""
        hint = "Trying again may help. If it does not, give this id to whoever runs this server."
        return self._pages.page("message.html", 500, error="Something went wrong here.", hint=hint, failure=name)

    def overloaded(self, asked: Asked, seconds: int) -> Response:
        """Say that too many ask at once; the page tries again by itself."""
        headers = {"retry-after": str(seconds), "cache-control": "no-store"}
        return self._pages.page("overload.html", 429, headers, query=asked.query, seconds=seconds)
