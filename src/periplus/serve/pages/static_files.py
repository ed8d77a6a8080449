"""Static files of the package: read once, without comments and indentation, compressed once."""

import gzip
import re
from pathlib import Path
from typing import Final, NamedTuple

from periplus.hashing import fingerprint

__all__ = ["Asset", "read_assets"]

_FOLDER: Final = Path(__file__).parents[1] / "static"
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_SPACE: Final = re.compile(r"\s+")
_AROUND: Final = re.compile(r" ?([{};,]) ?")


class Asset(NamedTuple):
    """One static file, in memory."""

    body: bytes
    type: str
    version: str
    """Changes with its content."""
    compressed: bytes
    """The body as gzip."""


def read_assets() -> dict[str, Asset]:
    """Return all static files of the package, by name."""
    return {path.name: _asset(path) for path in sorted(_FOLDER.iterdir()) if path.suffix in _TYPES}


def _asset(path: Path) -> Asset:
    text = path.read_text("utf-8")
    shorten = {".css": _shorten_style, ".js": _shorten_script}.get(path.suffix)
    body = (shorten(text) if shorten else text).encode()
    return Asset(body, _TYPES[path.suffix], f"{fingerprint(body):016x}", gzip.compress(body, 9, mtime=0))


def _shorten_style(text: str) -> str:
    """Return a style sheet without comments and superfluous white space. No string in ours has either."""
    text = _AROUND.sub(r"\1", _SPACE.sub(" ", _COMMENT.sub("", text)))
    return text.replace(": ", ":").replace(";}", "}").strip() + "\n"


def _shorten_script(text: str) -> str:
    """Return a script without indentation and lines of comment. No text of ours goes over several lines."""
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"
