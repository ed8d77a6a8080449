"""Pages for people, but for results."""

import re
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.api.openapi import OPERATIONS
from periplus.serve.api.ratings import LOGIN
from periplus.serve.middleware.auth import Doors
from periplus.serve.middleware.visitors import HOST
from periplus.serve.pages.locales import tongue as spoken
from periplus.serve.pages.page_templates import Asset, Pages
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parameters

__all__ = ["Views"]

_KEY: Final = re.compile(r"[0-9a-f]{16}")
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_A_DAY: Final = "public, max-age=86400"
_ROBOTS: Final = "User-agent: *\nDisallow: /search\nDisallow: /cached/\nDisallow: /api/\nDisallow: /admin\n"
_COPY_POLICY: Final = (
    "sandbox allow-forms; default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


class Views:
    """The HTML views."""

    def __init__(self, gate: SearchExecutor, pages: Pages, assets: Mapping[str, Asset], doors: Doors) -> None:
        self._gate = gate
        self._doors = doors
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
        session = self._doors.session(request, "judge")
        headers = {"cache-control": "no-store"}
        return self._pages.page(
            "settings.html", 200, headers, request, rater=bool(session), token=self._doors.token(session or LOGIN)
        )

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

    async def never(self, _: Request) -> Response:
        """Stand where searches are: the front answers them, and this only makes other methods be refused."""
        return self.missing("There is no page here.", "")

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

    def overloaded(self, tongue: str, seconds: int) -> bytes:
        """Say that too many ask at once; the page tries again by itself."""
        return self._pages.text("overload.html", spoken(tongue), seconds=seconds)


def _base(request: Request) -> str:
    """Give scheme and host as the client wrote them, '' if they make no sense."""
    host = request.headers.get("host", "")
    return f"{request.scope['scheme']}://{host}" if HOST.fullmatch(host) else ""
