"""What clients of SearXNG ask besides searches: the configuration of an instance, and its statistics."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from periplus import __version__
from periplus.serve.pages.locales import LOCALES
from periplus.serve.request_bodies import json_response
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import CATEGORIES

__all__ = ["SearxngHandlers"]

_ENGINE: Final = "periplus"
_TIMEOUT_SECONDS: Final = 3.0


class SearxngHandlers:
    """Handlers of the group 'searxng' in the route table."""

    def __init__(self, executor: SearchExecutor, limited: bool) -> None:
        self._executor = executor
        self._limited = limited

    async def config(self, _: Request) -> Response:
        """Return what this server offers, in the fields of SearXNG; its index is the one engine."""
        statistics = await self._executor.statistics()
        return json_response(_configuration(list(statistics.languages), self._limited))

    async def stats(self, _: Request) -> Response:
        """Lead to the page that shows the size of the index; SearXNG has a page of its engines here."""
        return RedirectResponse("/about", 302)

    async def errors(self, _: Request) -> Response:
        """Return the errors of engines: there are none that a search would hide."""
        return json_response({})

    async def checker(self, _: Request) -> Response:
        """Return the results of SearXNG's tests of its engines, which do not exist here."""
        return json_response({"status": "disabled"})


def _configuration(languages: list[str], limited: bool) -> dict[str, Any]:
    engine = {
        "name": _ENGINE,
        "categories": list(CATEGORIES),
        "shortcut": "pp",
        "enabled": True,
        "paging": True,
        "language_support": True,
        "languages": languages,
        "regions": [],
        "safesearch": True,
        "time_range_support": True,
        "timeout": _TIMEOUT_SECONDS,
    }
    return {
        "categories": list(CATEGORIES),
        "engines": [engine],
        "plugins": [],
        "instance_name": "Periplus",
        "locales": dict(LOCALES),
        "default_locale": "en",
        "autocomplete": _ENGINE,
        "safe_search": 0,
        "default_theme": "periplus",
        "version": __version__,
        "brand": {},
        "limiter": {"enabled": limited},
        "doi_resolvers": [],
        "default_doi_resolver": "",
        "public_instance": False,
    }
