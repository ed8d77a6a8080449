"""Handlers for relevance feedback: grades by raters, and clicks if the operator wants them counted."""

import functools
from collections.abc import Callable
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus.serve.actions import Actions, ClickEvent, JudgementRequest
from periplus.serve.middleware.auth import Authenticator
from periplus.serve.middleware.reporter_hashes import ReporterHasher
from periplus.serve.request_bodies import json_response, read_form, read_json
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["LOGIN", "RatingHandlers"]

LOGIN: Final = "rate"
"""The purpose of the token in the form with which raters sign in."""
_NO_STORE: Final = {"cache-control": "no-store"}


class RatingHandlers:
    """Handlers of the group 'ratings' in the route table."""

    def __init__(self, auth: Authenticator, actions: Actions, clicks: bool, reporters: ReporterHasher) -> None:
        self._auth = auth
        self._actions = actions
        self._clicks = clicks
        self._reporters = reporters

    async def login(self, request: Request) -> Response:
        """Start the session of a rater."""
        form = await read_form(request)
        self._auth.check_form(request, LOGIN, form.get("token", ""))
        response = RedirectResponse("/settings#rating", 303, _NO_STORE)
        if not self._auth.start_session(request, form.get("key", ""), response, "judge"):
            raise HTTPException(403, "This is not a key with the role judge.")
        return response

    async def logout(self, request: Request) -> Response:
        """End the session of a rater."""
        form = await read_form(request)
        self._auth.check_form(request, request.state.session, form.get("token", ""))
        response = RedirectResponse("/settings", 303, _NO_STORE)
        self._auth.end_session(response, "judge")
        return response

    async def form_token(self, request: Request) -> Response:
        """Return the token with which the result page of a rater sends grades."""
        return json_response({"token": self._auth.form_token(request.state.session)}, headers=_NO_STORE)

    async def judge(self, request: Request) -> Response:
        """Store the grade of a page as the answer to a query."""
        return await _store(self._actions.judge, await read_json(request, JudgementRequest))

    async def click(self, request: Request) -> Response:
        """Count a result that was opened."""
        if not self._clicks:
            raise HTTPException(501, "Clicks are not counted on this server: see serve.clicks.")
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise HTTPException(403, "Clicks are accepted only from pages of this site.")
        event = await read_json(request, ClickEvent)
        source = self._reporters.source(request, f"{event.url} {event.query}")
        store = self._actions.click
        return await _store(functools.partial(store, source=source) if store else None, event)


async def _store(store: Callable[[Any], bool] | None, record: JudgementRequest | ClickEvent) -> Response:
    if store is None:
        raise HTTPException(501, "This is not available on this server.")
    if not await call_in_thread(store, record):
        raise HTTPException(503, "The store is full.")
    return Response(status_code=204, headers=_NO_STORE)
