"""Calls of tools: arguments in, requests of the API, and an answer in Markdown with the same facts as data."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from periplus.agents.answer_texts import page_text, search_text, why_text
from periplus.agents.api_callers import ApiCaller
from periplus.agents.tool_schemas import TOOLS, ToolSchema, read_arguments
from periplus.errors import BadInput, PeriplusError

__all__ = ["ToolBox", "ToolResult"]

_HOST: Final = re.compile(r"[a-z0-9.\-]{1,253}")
_FACTS: Final = ("url", "title", "content", "key", "fetched", "language", "publishedDate")
"""Fields of a result that a model can use."""

Arguments = dict[str, str | int]


class ToolResult(NamedTuple):
    """The answer to a call of a tool."""

    text: str
    """Markdown, for a model to read."""
    data: dict[str, Any] | None = None
    """The same facts, and the evidence, for programs."""
    failed: bool = False


class ToolBox:
    """The tools over one API."""

    def __init__(self, api: ApiCaller) -> None:
        self._api = api
        self._calls = {
            "search": self._search,
            "find_in_site": self._search,
            "read_page": self._read_page,
            "why_not": self._why_not,
        }

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Return the answer of a tool; whatever is wrong with a call is an answer too, that says what."""
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            return ToolResult(
                "There is no such tool. Tools: " + ", ".join(tool.name for tool in TOOLS) + ".", None, True
            )
        try:
            return await self._calls[name](tool, read_arguments(tool, arguments))
        except PeriplusError as error:
            return ToolResult(str(error), None, True)

    async def _search(self, tool: ToolSchema, arguments: Arguments) -> ToolResult:
        """Return results and passages, of one site where that is asked for."""
        filters = {name: str(arguments[name]) for name in ("time_range",) if name in arguments}
        if "language" in arguments:
            filters["lang"] = str(arguments["language"])
        if "site" in arguments:
            filters["site"] = _host(str(arguments["site"]))
        asked = {"q": str(arguments["query"]), "count": str(arguments["count"]), "start": str(arguments["start"])}
        found = await self._get("/api/search", asked | filters)
        passages: dict[str, Any] = {"passages": []}
        if found["results"]:
            passages = await self._get("/api/passages", asked | filters | {"tokens": str(arguments["tokens"])})
        results = [{name: result.get(name) for name in _FACTS} for result in found["results"]]
        data = {
            "query": found["query"],
            "showing_for": found["showing_for"],
            "total": found["number_of_results"],
            "start": arguments["start"],
            "notes": found["notes"],
            "results": results,
            "passages": passages["passages"],
            "generation": found["generation"],
        }
        return ToolResult(search_text(data, filters.get("site", "")), data)

    async def _read_page(self, tool: ToolSchema, arguments: Arguments) -> ToolResult:
        """Return a part of a page as Markdown."""
        asked = {"url": str(arguments["url"]), "part": str(arguments["part"]), "format": "json"}
        page = await self._get("/api/page", asked)
        return ToolResult(page_text(page), page)

    async def _why_not(self, tool: ToolSchema, arguments: Arguments) -> ToolResult:
        """Return what became of a page in a query."""
        asked = {"q": str(arguments["query"]), "url": str(arguments["url"])}
        if "language" in arguments:
            asked["lang"] = str(arguments["language"])
        if "time_range" in arguments:
            asked["time_range"] = str(arguments["time_range"])
        found = await self._get("/api/why", asked)
        return ToolResult(why_text(found), found)

    async def _get(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        answer = await self._api.get(path, parameters)
        if answer.status != 200 or not isinstance(answer.value, dict):
            raise BadInput(answer.error)
        return answer.value


def _host(site: str) -> str:
    """Return the host of a site, given by its name or by a URL; raise `BadInput` for what is neither."""
    host = site.lower().partition("://")[2] or site.lower()
    host = re.split(r"[/?#]", host, maxsplit=1)[0].rpartition("@")[2]
    host = re.sub(r":[0-9]*$", "", host)
    try:
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        host = ""
    if not _HOST.fullmatch(host) or not re.search(r"[a-z0-9]", host):
        raise BadInput("site is invalid.", "Use a host such as docs.example.org.")
    return host
