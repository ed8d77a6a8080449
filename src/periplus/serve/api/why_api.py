"""Why a page is not found for a query: for programs as JSON."""

from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput
from periplus.records import Query
from periplus.serve.actions import Actions
from periplus.serve.request_bodies import json_response
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_api_request, parse_parameters

__all__ = ["MAX_URL_LENGTH", "WhyHandlers"]

MAX_URL_LENGTH: Final = 2_048


class WhyHandlers:
    """Handlers of the group 'why' in the route table."""

    def __init__(self, executor: SearchExecutor, actions: Actions) -> None:
        self._executor = executor
        self._actions = actions

    async def why(self, request: Request) -> Response:
        """Return what became of a page in a query, and what would change it."""
        parameters = parse_parameters(request.scope["query_string"])
        parsed = parse_api_request({**parameters, "count": "", "start": ""} | {"count": "10", "start": "0"})
        url = parameters.get("url", "").strip()
        if not url or len(url) > MAX_URL_LENGTH:
            raise BadInput("url is missing or too long.", "Add the URL of the page that you expected.")
        return json_response(msgspec.to_builtins(await self.diagnose(parsed.query, url)))

    async def diagnose(self, query: Query, url: str) -> Any:
        """Return what became of a page in a query; one at a time, as it may read much."""
        why = self._actions.why
        if why is None:
            raise HTTPException(501, "This server cannot explain results.")
        return await self._executor.run_alone(lambda: why(query, url))
