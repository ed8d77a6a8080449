"""Pages for those who look after a web site: hand it in, and see why a page is not found."""

import asyncio
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadUrl
from periplus.records import VisitReport
from periplus.serve.actions import Actions
from periplus.serve.middleware.auth import Doors
from periplus.serve.pages.page_templates import Pages
from periplus.serve.request_bodies import read_form
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parameters

__all__ = ["Sites"]

_LONGEST: Final = 2_048
_PURPOSE: Final = "add"
_REASONS: Final = {
    "indexed": "This page is in the index and can be found.",
    "noindex": "This page asks search engines not to index it (a robots meta tag or header).",
    "copy": "This page has the very content of another one, which stands for both.",
    "canonical": "This page names another address as its own, which stands for it.",
    "empty": "This address was fetched, but held nothing that can be read.",
    "deleted": "Whoever runs this search engine took this page out of the index.",
    "waiting": "This page was fetched and waits to be indexed.",
    "unknown": "This address was never fetched successfully: nobody links to it here, the site's robots.txt "
    "keeps it out, it failed, or its turn has not come yet.",
}


class Sites:
    """The views for those who look after a web site."""

    def __init__(self, gate: SearchExecutor, pages: Pages, doors: Doors, actions: Actions, open_to_all: bool) -> None:
        self._gate = gate
        self._pages = pages
        self._doors = doors
        self._actions = actions
        self._open = open_to_all and actions.report is not None

    async def add(self, request: Request) -> Response:
        """Show the form to hand in a site, or how to do it where that is not open to all."""
        return self._add(request)

    def _add(self, request: Request, status: int = 200, url: str = "", said: str = "", wrong: str = "") -> Response:
        token = self._doors.token(_PURPOSE) if self._open else ""
        headers = {"cache-control": "no-store"}
        return self._pages.page(
            "add.html", status, headers, request, open=self._open, token=token, url=url, said=said, wrong=wrong
        )

    async def added(self, request: Request) -> Response:
        """Take a site that was handed in."""
        report = self._actions.report
        if not self._open or report is None:
            raise HTTPException(403, "Sites cannot be handed in here without a key.")
        form = await read_form(request)
        self._doors.check_form(request, _PURPOSE, form.get("token", ""))
        url = form.get("url", "").strip()[:_LONGEST]
        given = url if "://" in url else f"https://{url}"
        taken, _ = await asyncio.to_thread(report, [VisitReport(given)])
        if not taken:
            return self._add(request, 400, url, wrong="That is no address that can be crawled.")
        return self._add(request, said=given)

    async def why_not(self, request: Request) -> Response:
        """Say why a page is, or is not, found."""
        url = parameters(request.scope["query_string"]).get("url", "").strip()[:_LONGEST]
        found, wrong = None, ""
        if url:
            try:
                found = await self._gate.find(url if "://" in url else f"https://{url}")
            except BadUrl:
                wrong = "That is no address of a web page."
        reason = _REASONS.get(found.reason, "") if found else ""
        status = 400 if wrong else 200
        return self._pages.page(
            "why_not.html", status, request=request, url=url, page=found, reason=reason, wrong=wrong
        )
