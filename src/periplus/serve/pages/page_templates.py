"""Templates and static files: read once from the package, rendered with everything escaped."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer
from starlette.requests import Request
from starlette.responses import Response

from periplus.hashing import fingerprint
from periplus.records import Query
from periplus.serve.pages.locales import TONGUES, Tongue, pick_tongue, tongue
from periplus.serve.pages.page_links import safe_link
from periplus.serve.search_request import Asked, address_of, parameters

__all__ = ["STATIC", "Asset", "Pages", "read_assets"]

STATIC: Final = "/static/"
_HERE: Final = Path(__file__).parents[1]
_NOTHING: Final = Asked(Query(""))
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Asset(NamedTuple):
    """One static file, in memory."""

    body: bytes
    type: str
    version: str


def read_assets() -> dict[str, Asset]:
    """Read all static files of the package, by name."""
    return {path.name: _asset(path) for path in sorted((_HERE / "static").iterdir()) if path.suffix in _TYPES}


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, _TYPES[path.suffix], f"{fingerprint(body):016x}")


class Pages:
    """Renders templates to pages, in the language of whoever asks."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._links = {name: f"{STATIC}{name}?v={asset.version}" for name, asset in assets.items()}
        self._rooms: dict[str, jinja2.Environment] = {}

    def text(self, name: str, spoken: Tongue, **given: Any) -> bytes:
        """Render a template; what has no UTF-8 form becomes question marks."""
        given.setdefault("asked", _NOTHING)
        given.setdefault("query", given["asked"].query)
        rendered = self._templates(spoken).get_template(name).render(given, now=time.time())
        return rendered.encode("utf-8", "replace")

    def page(
        self,
        name: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        request: Request | None = None,
        **given: Any,
    ) -> Response:
        """Render a page as a response."""
        kind = "text/html" if name.endswith(".html") else "application/opensearchdescription+xml"
        return Response(self.text(name, self.tongue(request), **given), status, headers, kind)

    def tongue(self, request: Request | None) -> Tongue:
        """Choose the language of a page."""
        if request is None:
            return tongue("en")
        return pick_tongue(parameters(request.scope["query_string"]), request.headers.get("accept-language", ""))

    def _templates(self, spoken: Tongue) -> jinja2.Environment:
        """Give the templates in one language, which are compiled when they are first asked for."""
        found = self._rooms.get(spoken.code)
        if found is None:
            found = _Translated(spoken)
            found.globals.update(
                static=self._links,
                safe_link=safe_link,
                address_of=address_of,
                tongues=TONGUES,
                say=spoken.say,
                t=spoken,
            )
            self._rooms[spoken.code] = found
        return found


class _Translated(jinja2.Environment):
    """Templates of one language: texts without values are put in when a template is compiled, not at each page."""

    def __init__(self, spoken: Tongue) -> None:
        super().__init__(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._spoken = spoken

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _Texts(self._spoken).visit(tree)
        return tree


class _Texts(NodeTransformer):
    """Puts texts in the place of calls of `say` that have no values."""

    def __init__(self, spoken: Tongue) -> None:
        self._spoken = spoken

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 - the visitor's own spelling
        """Replace a call."""
        called, given = node.node, node.args
        if not isinstance(called, nodes.Name) or called.name != "say" or node.kwargs or len(given) != 1:
            return self.generic_visit(node)
        if not isinstance(given[0], nodes.Const):
            return self.generic_visit(node)
        return nodes.Const(self._spoken.say(given[0].value), lineno=node.lineno)
