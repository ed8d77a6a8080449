"""Handlers of the pages for people, except results, sites and administration."""

import re
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.api.openapi import public_routes
from periplus.serve.api.ratings import LOGIN
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.middleware.content_encoding import accepts_gzip
from periplus.serve.middleware.request_filter import HOST
from periplus.serve.pages.cached_html import render_blocks
from periplus.serve.pages.locales import load_locale
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.pages.static_files import Asset
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_parameters

__all__ = ["PageHandlers"]

_KEY: Final = re.compile(r"[0-9a-f]{16}")
_ONE_YEAR: Final = "public, max-age=31536000, immutable"
_ONE_DAY: Final = "public, max-age=86400"
_ROBOTS: Final = "User-agent: *\nDisallow: /search\nDisallow: /cached/\nDisallow: /api/\nDisallow: /admin\n"
_COPY_POLICY: Final = (
    "sandbox allow-forms; default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


class PageHandlers:
    """Handlers of the group 'pages' in the route table, and the pages that report errors."""

    def __init__(
        self, executor: SearchExecutor, renderer: PageRenderer, assets: Mapping[str, Asset], auth: Authenticator
    ) -> None:
        self._executor = executor
        self._auth = auth
        self._renderer = renderer
        self._assets = assets

    async def landing(self, request: Request) -> Response:
        """Show the search field and the size of the index, or how to start if it is empty."""
        statistics = await self._executor.statistics()
        if not statistics.documents:
            return self.first_run(request)
        return self._renderer.response("landing.html", http_request=request, statistics=statistics)

    def first_run(self, request: Request) -> Response:
        """Show how to crawl and build an index."""
        headers = {"cache-control": "no-store"}
        return self._renderer.response("first_run.html", headers=headers, http_request=request)

    async def search(self, _: Request) -> Response:
        """Answer 404. `SearchMiddleware` answers searches; with this route, other methods get 405."""
        return self.not_found("There is no page at this address.", "")

    async def cached(self, request: Request) -> Response:
        """Show the cached copy of a page in a sandbox: its text, without its scripts, styles and images."""
        key = request.path_params["key"]
        copy = await self._executor.cached(int(key, 16)) if _KEY.fullmatch(key) else None
        if copy is None:
            hint = "The page may have been removed, or fetched again since."
            return self.not_found("There is no copy of this page.", hint, request)
        blocks = render_blocks(await self._executor.cached_blocks(int(key, 16)), copy.title)
        paragraphs = [line.strip() for line in copy.text.splitlines() if line.strip()]
        headers = {"content-security-policy": _COPY_POLICY}
        page = {"copy": copy, "blocks": blocks, "paragraphs": paragraphs}
        return self._renderer.response("cached.html", 200, headers, request, **page)

    async def about(self, request: Request) -> Response:
        """Show what this server is, its query syntax and its keys."""
        statistics = await self._executor.statistics()
        return self._renderer.response("about.html", http_request=request, statistics=statistics)

    async def settings(self, request: Request) -> Response:
        """Show the settings that are stored in the browser: language, safe search, rules for sites."""
        session = self._auth.session(request, "judge")
        token = self._auth.form_token(session or LOGIN)
        headers = {"cache-control": "no-store"}
        return self._renderer.response("settings.html", 200, headers, request, rater=bool(session), token=token)

    async def documentation(self, request: Request) -> Response:
        """Show the documentation of the API."""
        return self._renderer.response("api.html", http_request=request, routes=public_routes())

    async def opensearch(self, request: Request) -> Response:
        """Return the OpenSearch description for browsers."""
        headers = {"cache-control": _ONE_DAY}
        return self._renderer.response("opensearch.xml", 200, headers, request, base=_base_url(request))

    async def static(self, request: Request) -> Response:
        """Return a static file; one requested by its version may be cached for a year."""
        name = request.path_params.get("name", "favicon.svg")
        asset = self._assets.get(name)
        if asset is None:
            return self.not_found("There is no such file.", "", request)
        versioned = parse_parameters(request.scope["query_string"]).get("v") == asset.version
        etag = f'"{asset.version}"'
        # Cached copies are shown in a sandbox, for which even our own style sheet is cross-origin.
        headers = {"etag": etag, "vary": "accept-encoding", "cross-origin-resource-policy": "cross-origin"}
        headers["cache-control"] = _ONE_YEAR if versioned else _ONE_DAY
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request.headers.get("accept-encoding", "").encode("latin-1", "replace")):
            headers["content-encoding"] = "gzip"
            return Response(asset.compressed, 200, headers, asset.type)
        return Response(asset.body, 200, headers, asset.type)

    async def robots(self, _: Request) -> Response:
        """Ask other crawlers not to fetch result pages."""
        return Response(_ROBOTS, headers={"cache-control": _ONE_DAY}, media_type="text/plain")

    def not_found(self, error: str, hint: str, request: Request | None = None) -> Response:
        """Show that something does not exist."""
        return self.message(404, error, hint, request=request)

    def message(
        self,
        status: int,
        error: str,
        hint: str,
        headers: Mapping[str, str] | None = None,
        request: Request | None = None,
    ) -> Response:
        """Show an error in one sentence, and what to do about it."""
        return self._renderer.response("message.html", status, headers, request, error=error, hint=hint, error_id="")

    def internal_error(self, error_id: str) -> Response:
        """Show that the server failed, with the id under which the log has the error."""
        error, hint = (
            "Something went wrong on this server.",
            "Try again. If it fails again, report this id to the operator.",
        )
        return self._renderer.response("message.html", 500, error=error, hint=hint, error_id=error_id)

    def overload(self, locale: str, seconds: int) -> bytes:
        """Return the page that reports overload and reloads itself."""
        return self._renderer.render("overload.html", load_locale(locale), seconds=seconds)


def _base_url(request: Request) -> str:
    """Return scheme and host as sent by the client, or '' if they are invalid."""
    host = request.headers.get("host", "")
    return f"{request.scope['scheme']}://{host}" if HOST.fullmatch(host) else ""
