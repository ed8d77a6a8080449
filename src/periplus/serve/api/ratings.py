"""What people think of results: grades that raters give by one key, and clicks if the operator wants them counted."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from periplus.serve.actions import Actions, ClickEvent, JudgementRequest
from periplus.serve.middleware.auth import Doors
from periplus.serve.middleware.reporters import Reporters
from periplus.serve.request_bodies import json_response, read_form, read_json

__all__ = ["LOGIN", "Rating"]

LOGIN: Final = "rate"
"""What the token of the form is for with which raters sign in."""
_NO_STORE: Final = {"cache-control": "no-store"}


class Rating:
    """The views with which results are rated. A rater has a key with the role judge, or a session begun with one."""

    def __init__(self, doors: Doors, actions: Actions, clicks: bool, reporters: Reporters) -> None:
        self._doors = doors
        self._actions = actions
        self._clicks = clicks
        self._reporters = reporters

    def routes(self) -> list[Route]:
        """List what is answered here."""
        return [
            Route("/rate/login", self.login, methods=["POST"]),
            Route("/rate/logout", self.logout, methods=["POST"]),
            Route("/api/rater", self.rater),
            Route("/api/judge", self.judge, methods=["POST"]),
            Route("/api/click", self.click, methods=["POST"]),
        ]

    async def login(self, request: Request) -> Response:
        """Let a rater in."""
        form = await read_form(request)
        self._doors.check_form(request, LOGIN, form.get("token", ""))
        answer = RedirectResponse("/settings#rating", 303, _NO_STORE)
        if not self._doors.begin(request, form.get("key", ""), answer, "judge"):
            raise HTTPException(403, "That is no key with the role judge.")
        return answer

    async def logout(self, request: Request) -> Response:
        """Let a rater go."""
        form = await read_form(request)
        self._doors.check_form(request, self._session(request), form.get("token", ""))
        answer = RedirectResponse("/settings", 303, _NO_STORE)
        self._doors.end(answer, "judge")
        return answer

    async def rater(self, request: Request) -> Response:
        """Give the token with which the pages of a rater send grades."""
        return json_response({"token": self._doors.token(self._session(request))}, headers=_NO_STORE)

    async def judge(self, request: Request) -> Response:
        """Keep how well a page answers a query."""
        if "authorization" in request.headers or "x-api-key" in request.headers:
            self._doors.need(request, "judge")
        else:
            self._doors.check_form(request, self._session(request), request.headers.get("x-token", ""))
        return await self._keep(self._actions.judge, await read_json(request, JudgementRequest))

    async def click(self, request: Request) -> Response:
        """Count a result that was opened."""
        if not self._clicks:
            raise HTTPException(501, "Clicks are not counted here: see serve.clicks.")
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HTTPException(403, "Only our own pages tell of clicks.")
        given = await read_json(request, ClickEvent)
        source = self._reporters.source(request, f"{given.url} {given.query}")
        keep = self._actions.click
        return await self._keep(functools.partial(keep, source=source) if keep else None, given)

    def _session(self, request: Request) -> str:
        session = self._doors.session(request, "judge")
        if not session:
            headers = {"www-authenticate": 'Bearer realm="periplus"'}
            raise HTTPException(401, "This needs a key with the role judge, or a rater who signed in.", headers)
        return session

    async def _keep(self, keep: Callable[[Any], bool] | None, given: JudgementRequest | ClickEvent) -> Response:
        if keep is None:
            raise HTTPException(501, "This server was started without that.")
        if not await asyncio.to_thread(keep, given):
            raise HTTPException(503, "There is no room for more.")
        return Response(status_code=204, headers=_NO_STORE)
