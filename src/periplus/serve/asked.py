"""What a request asks for. Any query string is answered: what cannot be used is cleaned, cut or named."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from periplus.errors import BadInput
from periplus.records import Query

__all__ = ["FARTHEST", "LONGEST", "MOST", "PAGE", "Asked", "ask_api", "ask_page", "parameters"]

LONGEST: Final = 2_000
"""Characters of a query that are looked at; the rest is cut, and the page says so."""
FARTHEST: Final = 10_000
"""The highest `start`."""
MOST: Final = 100
"""The highest `size`."""
PAGE: Final = 10
"""Results on one page for people."""

_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")


class Asked(msgspec.Struct, frozen=True):
    """One request, understood."""

    query: Query
    cut: bool = False
    """Whether the words were too long and were cut."""
    opened: int = 0
    """The result, counted from 1, whose explanation is open; 0 for none."""


def parameters(query_string: bytes) -> dict[str, str]:
    """Read a query string; bytes that are no UTF-8 become replacement characters, a name given twice counts last."""
    text = query_string.decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, errors="replace"))


def ask_page(given: Mapping[str, str]) -> Asked:
    """Understand a person's request; numbers that make no sense are taken as the nearest that do."""
    words, cut = _words(given.get("q", ""))
    start = min(_digits(given.get("start", "")) or 0, FARTHEST) // PAGE * PAGE
    opened = min(_digits(given.get("explain", "")) or 0, PAGE)
    return Asked(Query(words=words, start=start, size=PAGE, explain=opened > 0), cut, opened)


def ask_api(given: Mapping[str, str]) -> Asked:
    """Understand a program's request; raise `BadInput` for what makes no sense."""
    words, cut = _words(given.get("q", ""))
    if not words:
        raise BadInput("There is no query.", "Add q, for example /api/search?q=lighthouse.")
    start = _within("start", given.get("start", "0"), 0, FARTHEST)
    size = _within("size", given.get("size", str(PAGE)), 1, MOST)
    explain = _within("explain", given.get("explain", "0"), 0, 1)
    return Asked(Query(words=words, start=start, size=size, explain=explain == 1), cut)


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
