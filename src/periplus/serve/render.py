"""Templates and static files: read once from the package, rendered with everything escaped."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2
from starlette.requests import Request
from starlette.responses import Response

from periplus.fingerprint import fingerprint
from periplus.records import Query
from periplus.serve.asked import Asked, address_of, parameters
from periplus.serve.links import safe_link
from periplus.serve.tongues import TONGUES, Tongue, pick_tongue, tongue

__all__ = ["STATIC", "Asset", "Pages", "read_assets"]

STATIC: Final = "/static/"
_HERE: Final = Path(__file__).parent
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
    """Renders templates to responses."""

    def __init__(self, assets: Mapping[str, Asset]) -> None:
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        links = {name: f"{STATIC}{name}?v={asset.version}" for name, asset in assets.items()}
        self._templates.globals.update(
            static=links,
            safe_link=safe_link,
            address_of=address_of,
            tongues=TONGUES,
        )

    def page(
        self,
        name: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        request: Request | None = None,
        **given: Any,
    ) -> Response:
        """Render an HTML page in the language of whoever asks; what has no UTF-8 form becomes question marks."""
        spoken = self.tongue(request)
        given.setdefault("asked", Asked(Query("")))
        given.setdefault("query", given["asked"].query)
        known = {"say": spoken.say, "t": spoken}
        text = self._templates.get_template(name).render(now=time.time(), **known, **given)
        kind = "text/html" if name.endswith(".html") else "application/opensearchdescription+xml"
        return Response(text.encode("utf-8", "replace"), status, headers, kind)

    def tongue(self, request: Request | None) -> Tongue:
        """Choose the language of a page."""
        if request is None:
            return tongue("en")
        return pick_tongue(parameters(request.scope["query_string"]), request.headers.get("accept-language", ""))
