"""Pages for owners of web sites: submit a site, and find out why a page is not in the index."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadUrl
from periplus.records import VisitReport
from periplus.serve.actions import Actions
from periplus.serve.api.why_api import WhyHandlers
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import read_form
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_page_request, parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["SiteHandlers"]

_MAX_URL_LENGTH: Final = 2_048
_PURPOSE: Final = "add"
"""The purpose of the token in the form."""
_REASONS: Final = {
    "indexed": "This page is in the index.",
    "noindex": "This page asks search engines not to index it (robots meta tag or header).",
    "copy": "This page is a duplicate of another page, which is indexed instead.",
    "canonical": "This page names another address as its canonical one, which is indexed instead.",
    "empty": "This page was fetched, but contains no readable text.",
    "deleted": "The operator of this search engine removed this page from the index.",
    "waiting": "This page was fetched and will be indexed soon.",
    "unknown": "This page has never been fetched successfully: no indexed page links to it, robots.txt excludes it, "
    "it failed, or the crawl has not reached it yet.",
}
"""By the reason of a `PageStatus`."""


class SiteHandlers:
    """Handlers of the group 'sites' in the route table."""

    def __init__(
        self,
        executor: SearchExecutor,
        renderer: PageRenderer,
        auth: Authenticator,
        actions: Actions,
        submissions: bool,
        why: WhyHandlers,
    ) -> None:
        self._why = why
        self._executor = executor
        self._renderer = renderer
        self._auth = auth
        self._actions = actions
        self._open = submissions and actions.report is not None

    async def add(self, request: Request) -> Response:
        """Show the form to submit a site, or what to do instead if submissions are not open to anyone."""
        return self._form(request)

    def _form(
        self, request: Request, status: int = 200, url: str = "", submitted: str = "", error: str = ""
    ) -> Response:
        token = self._auth.form_token(_PURPOSE) if self._open else ""
        variables = {"open": self._open, "token": token, "url": url, "submitted": submitted, "error": error}
        return self._renderer.response("add.html", status, {"cache-control": "no-store"}, request, **variables)

    async def submit(self, request: Request) -> Response:
        """Queue a submitted site for the crawl."""
        report = self._actions.report
        if not self._open or report is None:
            raise HTTPException(403, "Submitting sites to this server needs a key.")
        form = await read_form(request)
        self._auth.check_form(request, _PURPOSE, form.get("token", ""))
        text = form.get("url", "").strip()[:_MAX_URL_LENGTH]
        url = text if "://" in text else f"https://{text}"
        accepted, _ = await call_in_thread(report, [VisitReport(url)])
        if not accepted:
            return self._form(request, 400, text, error="This address cannot be crawled.")
        return self._form(request, submitted=url)

    async def why_not(self, request: Request) -> Response:
        """Show whether a page is in the index, and if not, why; with a query, what became of the page in it."""
        parameters = parse_parameters(request.scope["query_string"])
        url = parameters.get("url", "").strip()[:_MAX_URL_LENGTH]
        asked = parse_page_request(parameters)
        status, found, error = None, None, ""
        if url:
            address = url if "://" in url else f"https://{url}"
            try:
                status = await self._executor.page_status(address)
                if asked.query.words and self._actions.why is not None:
                    found = await self._why.diagnose(asked.query, address)
            except BadUrl:
                error = "This is not the address of a web page."
        variables = {"url": url, "page": status, "error": error, "asked": asked, "found": found}
        reason = _REASONS.get(status.reason, "") if status else ""
        http_status = 400 if error else 200
        return self._renderer.response("why_not.html", http_status, None, request, reason=reason, **variables)
