"""What a request asks for. Any query string is answered: what cannot be used is cleaned, cut or named."""

import functools
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote_plus

import msgspec

from periplus.errors import BadInput
from periplus.records import Query

__all__ = [
    "FARTHEST",
    "FORMATS",
    "LONGEST",
    "MOST",
    "PAGE",
    "SPANS",
    "TABS",
    "Asked",
    "address_of",
    "ask_page",
    "ask_program",
    "parameters",
]

LONGEST: Final = 2_000
"""Characters of a query that are looked at; the rest is cut, and the page says so."""
FARTHEST: Final = 10_000
"""The highest `start`."""
MOST: Final = 100
"""The highest `size`."""
PAGE: Final = 10
"""Results on one page for people."""
FORMATS: Final = ("html", "json", "rss", "csv")
SPANS: Final = {"day": 1, "week": 7, "month": 31, "year": 366}
"""What `time_range` may be, in days."""
_WORDS: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TABS: Final[dict[str, tuple[str, ...]]] = {
    "web": (),
    "media": (),
    "news": (),
    "documents": ("application/pdf", "application/epub+zip", _WORDS, "application/vnd.oasis.opendocument.text"),
    "services": ("application/json", "application/yaml", "application/wsdl+xml"),
}
"""Tabs, and the content types that each shows; the types of services are only given to descriptions of services."""
_HAVING: Final = frozenset({"media", "news"})
"""Tabs of pages that have something, whatever their type."""

_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")
_LANGUAGE: Final = re.compile(r"[a-z]{2}")
_SITE: Final = re.compile(r"[a-z0-9.\-]{1,253}")


class Asked(msgspec.Struct, frozen=True):
    """One request, understood."""

    query: Query
    cut: bool = False
    """Whether the words were too long and were cut."""
    opened: int = 0
    """The result, counted from 1, whose explanation is open; 0 for none."""
    format: str = "html"
    tab: str = "web"
    span: str = ""
    """A key of `SPANS`, or ''."""
    tongue: str = ""
    """The interface language that was asked for by name."""


def parameters(query_string: bytes) -> dict[str, str]:
    """Read a query string; bytes that are no UTF-8 become replacement characters, a name given twice counts last."""
    text = query_string.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, errors="replace"))


def ask_page(given: Mapping[str, str]) -> Asked:
    """Understand a person's request; what makes no sense is taken as the nearest that does."""
    words, cut = _words(given.get("q", ""))
    page = _digits(given.get("page", "") or given.get("pageno", "")) or 1
    start = _digits(given.get("start", ""))
    start = min((page - 1) * PAGE if start is None else start, FARTHEST) // PAGE * PAGE
    opened = min(_digits(given.get("explain", "")) or 0, PAGE)
    safe = min(_digits(given.get("safesearch", "")) or 0, 2)
    return _asked(given, Query(words, start, PAGE, opened > 0, safe=safe), cut, opened)


def ask_program(given: Mapping[str, str]) -> Asked:
    """Understand a program's request; raise `BadInput` for what makes no sense."""
    words, cut = _words(given.get("q", ""))
    if not words:
        raise BadInput("There is no query.", "Add q, for example /search?q=lighthouse&format=json.")
    many = "size" if "size" in given else "count"
    size = _within(many, given.get(many, str(PAGE)), 1, MOST)
    page = _within("page", given.get("page", "") or given.get("pageno", "") or "1", 1, FARTHEST // size + 1)
    start = _within("start", given.get("start", str((page - 1) * size)), 0, FARTHEST)
    safe = _within("safesearch", given.get("safesearch", "0"), 0, 2)
    explain = _within("explain", given.get("explain", "0"), 0, 1) == 1
    for name, text, known in (
        ("time_range", given.get("time_range", ""), SPANS),
        ("tab", given.get("tab", ""), TABS),
    ):
        if text and text not in known:
            raise BadInput(f"{name} is not usable.", f"Give one of {', '.join(known)}.")
    return _asked(given, Query(words, start, size, explain, safe=safe), cut, 0)


def _asked(given: Mapping[str, str], query: Query, cut: bool, opened: int) -> Asked:
    """Add what narrows the search; a language or a site that is none is left out."""
    language = (given.get("lang", "") or given.get("language", ""))[:2].lower()
    site = given.get("site", "").strip().lower()
    span = given.get("time_range", "") if given.get("time_range", "") in SPANS else ""
    tab = given.get("tab", "") if given.get("tab", "") in TABS else "web"
    tongue = given.get("hl", "").lower()
    query = msgspec.structs.replace(
        query,
        language=language if _LANGUAGE.fullmatch(language) else "",
        site=site if _SITE.fullmatch(site) else "",
        days=SPANS.get(span, 0),
        kinds=TABS[tab],
        having=tab if tab in _HAVING else "",
        folded=given.get("similar", "") != "1",
    )
    form = given.get("format", "").lower()
    return Asked(
        query,
        cut,
        opened,
        form if form in FORMATS else "html",
        tab,
        span,
        tongue if _LANGUAGE.fullmatch(tongue) else "",
    )


_NAMES: Final = ("q", "start", "explain", "lang", "site", "time_range", "safesearch", "tab", "similar", "hl")


def address_of(asked: Asked, **changes: str | int) -> str:
    """Give the address of the same request with some parameters changed; '' or 0 leaves one out."""
    query = asked.query
    values: tuple[str | int, ...] = (
        query.words,
        query.start,
        0,
        query.language,
        query.site,
        asked.span,
        query.safe,
        "" if asked.tab == "web" else asked.tab,
        "" if query.folded else 1,
        asked.tongue,
    )
    given = dict(zip(_NAMES, values, strict=True)) | changes
    return "/search?" + "&".join([f"{name}={_quoted(value)}" for name, value in given.items() if value])


@functools.lru_cache(4096)
def _quoted(value: str | int) -> str:
    """Quote a value for a query string; an answer has some dozen links that differ in a number."""
    return str(value) if isinstance(value, int) else quote_plus(value, errors="replace")


def _words(text: str) -> tuple[str, bool]:
    clean = _UNPRINTABLE.sub(" ", text).strip()
    return clean[:LONGEST].rstrip(), len(clean) > LONGEST


def _digits(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _within(name: str, text: str, least: int, most: int) -> int:
    value = _digits(text)
    if value is None or not least <= value <= most:
        raise BadInput(f"{name} is not usable.", f"Give a whole number from {least} to {most}.")
    return value
