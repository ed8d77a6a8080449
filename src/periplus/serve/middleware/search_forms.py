"""Searches that arrive in other ways than GET /search: a query on the landing page, a form that was posted.

Clients of SearXNG ask '/' as well as '/search', and post as often as they get. Both become the same request, which is
then answered from the same cache.
"""

from typing import Final

from starlette.requests import Request
from starlette.types import Receive, Scope

from periplus.serve.request_bodies import read_form_bytes
from periplus.serve.routing import SEARCH_FORM_PATHS

__all__ = ["is_search_form", "search_scope", "with_form"]

_MAX_FORM_BYTES: Final = 1 << 16
"""A query has two thousand characters at most."""


def search_scope(scope: Scope) -> Scope:
    """Return the scope of the search that a request for the landing page with a query stands for; or the scope."""
    if scope["path"] == "/" and (scope["method"] == "POST" or _has_query(scope["query_string"])):
        return {**scope, "path": "/search"}
    return scope


def is_search_form(scope: Scope) -> bool:
    """Return whether a request is a search that was posted."""
    return bool(scope["method"] == "POST" and scope["path"] in SEARCH_FORM_PATHS)


async def with_form(scope: Scope, receive: Receive) -> Scope:
    """Return the scope of the GET request that a posted form stands for; fields of the form come last, so they count.

    Raise `HTTPException` for a body that is too long or of another type.
    """
    form = await read_form_bytes(Request(scope, receive), _MAX_FORM_BYTES)
    query = b"&".join(part for part in (scope["query_string"], form) if part)
    return {**scope, "method": "GET", "query_string": query}


def _has_query(query_string: bytes) -> bool:
    return query_string.startswith(b"q=") or b"&q=" in query_string
