"""Templates and static files: read once from the package, rendered with everything escaped."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2
from starlette.responses import Response

from periplus.fingerprint import fingerprint
from periplus.records import Query
from periplus.serve import phrases
from periplus.serve.links import link_to, require, safe_link

__all__ = ["STATIC", "Asset", "Pages", "read_assets"]

STATIC: Final = "/static/"
_HERE: Final = Path(__file__).parent
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


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
            link_to=link_to,
            require=require,
            phrases=phrases,
            foreign=_foreign,
        )

    def page(self, name: str, status: int = 200, headers: Mapping[str, str] | None = None, **given: Any) -> Response:
        """Render an HTML page; characters that have no UTF-8 form become question marks."""
        given.setdefault("query", Query(""))
        text = self._templates.get_template(name).render(now=time.time(), **given)
        kind = "text/html" if name.endswith(".html") else "application/opensearchdescription+xml"
        return Response(text.encode("utf-8", "replace"), status, headers, kind)


def _foreign(language: str) -> str:
    """Give the language of a text when it is worth saying, that is: known and not English."""
    return language if _LANGUAGE.fullmatch(language) and language != "en" else ""
