"""Which reader takes which bytes: the table that a new format is added to."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from periplus.parse.html import read_html
from periplus.parse.plain import read_plain
from periplus.records import Fetched, Page
from periplus.settings import ParseSettings

__all__ = ["READERS", "parse", "readable"]

Reader = Callable[[Fetched, ParseSettings], Page]

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "text/html": read_html,
        "application/xhtml+xml": read_html,
        "text/plain": read_plain,
    }
)

_BINARY: Final = (
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"\x7fELF",
)
_MARKUP: Final = (
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<body",
    b"<title",
    b"<meta",
    b"<script",
    b"<h1",
    b"<div",
    b"<p>",
)
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_LOOK: Final = 1_024
_UNTYPED: Final = frozenset({"", "*/*", "application/octet-stream", "application/x-unknown", "unknown/unknown"})


def readable(content_type: str) -> bool:
    """Tell whether some reader takes this content type, or might, as it says nothing."""
    kind = _kind(content_type)
    return kind in READERS or kind in _UNTYPED


def parse(fetched: Fetched, settings: ParseSettings) -> Page | None:
    """Read what was fetched into a Page; None when there is nothing in it that a reader takes. Never raises."""
    start = fetched.body[:_LOOK]
    kind = _kind(fetched.header("content-type"))
    if not fetched.body or _is_binary(start):
        return None
    if kind in _UNTYPED:
        kind = "text/html" if _looks_like_markup(start) else "text/plain"
    reader = READERS.get(kind)
    return reader(fetched, settings) if reader else None


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_binary(start: bytes) -> bool:
    """Tell bytes of a binary format from text, whatever the header says."""
    if start.startswith(_BINARY):
        return True
    return not start.startswith(_WIDE) and start.count(b"\0") > len(start) // 16


def _looks_like_markup(start: bytes) -> bool:
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return bare.startswith(_MARKUP) or (bare.startswith((b"<!--", b"<?xml")) and b"<html" in bare)
