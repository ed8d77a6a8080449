"""What is made from the route table: the routes of the framework with their permission checks, and metric labels."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as FrameworkRoute

from periplus.serve.route_records import Access, Route
from periplus.serve.routes import ROUTES

__all__ = [
    "JSON_PATHS",
    "SEARCH_FORM_PATHS",
    "SEARCH_PATHS",
    "UNLIMITED_PATHS",
    "Authorizer",
    "is_api_path",
    "is_streamed",
    "make_routes",
    "metric_label",
]

Handler = Callable[[Request], Awaitable[Response]]

SEARCH_PATHS: Final = frozenset(route.path for route in ROUTES if route.direct)
"""Answered by `SearchMiddleware`: the response is the same for everybody, and so it can be cached."""
SEARCH_FORM_PATHS: Final = frozenset(route.path for route in ROUTES if route.direct and route.method == "POST")
"""The same, for searches that are posted as a form."""
UNLIMITED_PATHS: Final = frozenset(route.path for route in ROUTES if not route.rate_limited)
_STREAMED_ENDS: Final = tuple({route.path.rpartition("/")[2] for route in ROUTES if route.streamed})
"""How paths end whose bodies are read as they arrive."""
JSON_PATHS: Final = frozenset(route.path for route in ROUTES if "text/html" not in route.media_types and route.tags)
"""Errors on these paths are JSON."""
_API_PREFIX: Final = "/api/"
_LABELS: Final = {route.path: route.metric_label for route in ROUTES}
_PREFIXES: Final = tuple((route.path.partition("{")[0], route.metric_label) for route in ROUTES if "{" in route.path)
_OTHER: Final = "other"
"""The label of all paths that are not in the table."""


class Authorizer(Protocol):
    """Decides who may call a route."""

    def authorize(self, request: Request, route: Route) -> None:
        """Raise `HTTPException` if the caller may not call the route."""

    def session(self, request: Request, permission: str) -> str:
        """Return the session of a request, or ''."""


def metric_label(path: str) -> str:
    """Return the label under which a request is counted."""
    label = _LABELS.get(path)
    if label is not None:
        return label
    return next((label for prefix, label in _PREFIXES if path.startswith(prefix)), _OTHER)


def is_api_path(path: str) -> bool:
    """Return whether programs call this path, so that errors are JSON."""
    return path.startswith(_API_PREFIX) or path in JSON_PATHS


def is_streamed(path: str) -> bool:
    """Return whether the body of a request is read as it arrives, however long that takes."""
    return path.endswith(_STREAMED_ENDS)


def make_routes(
    groups: Mapping[str, Any], authorizer: Authorizer, login_form: Callable[[Request], Response]
) -> list[FrameworkRoute]:
    """Return the framework's routes for the whole table; a route with a permission is guarded.

    groups: the handlers, by the first part of `Route.handler`.
    """
    # The framework matches in order: what most clients request comes first, searches last, as they bypass it.
    ordered = sorted(ROUTES, key=lambda route: (route.direct, bool(route.permission)))
    guarded = [(route, _guarded(route, _handler(groups, route), authorizer, login_form)) for route in ordered]
    return [FrameworkRoute(_framework_path(route), handler, methods=[route.method]) for route, handler in guarded]


def _framework_path(route: Route) -> str:
    return route.path.removesuffix("}") + ":path}" if route.deep else route.path


def _handler(groups: Mapping[str, Any], route: Route) -> Handler:
    group, _, name = route.handler.partition(".")
    handler: Handler = getattr(groups[group], name)
    return handler


def _guarded(
    route: Route, handler: Handler, authorizer: Authorizer, login_form: Callable[[Request], Response]
) -> Handler:
    if not route.permission:
        return handler

    async def guarded(request: Request) -> Response:
        if route.access is Access.LOGIN_PAGE and not authorizer.session(request, route.permission):
            return login_form(request)
        authorizer.authorize(request, route)
        return await handler(request)

    return guarded
