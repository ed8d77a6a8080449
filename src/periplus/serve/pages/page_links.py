"""Links within the result page, and which links to the outside are safe to show."""

import re
from typing import Final
from urllib.parse import quote

import msgspec

from periplus.records import Hit, Query
from periplus.serve.search_request import Asked, address_of

__all__ = ["fragment_link", "page_numbers", "require", "safe_link", "shown_link", "without_one"]

_FEW: Final = 8
"""Longer queries get no links to drop a word."""
_AROUND: Final = 10
"""Most page links shown at once."""
_NOWHERE: Final = re.compile(r"https?://[^/]*\.invalid(?:[:/]|$)", re.IGNORECASE)
_ASCII: Final = {code: quote(chr(code), safe="") for code in range(128)} | {ord("-"): "%2D"}
_FEWEST: Final = 3
_MOST: Final = 8
"""Words of a snippet that a text fragment is made of."""


def safe_link(url: str) -> str:
    """Give `url` if it leads to a web page, else ''; an index may hold anything, such as javascript: links."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def shown_link(hit: Hit) -> str:
    """Give where a result leads: the page itself, or the kept copy of one that has no place on the web."""
    if _NOWHERE.match(hit.url):
        return f"/cached/{hit.key:016x}"
    return safe_link(hit.url)


def fragment_link(hit: Hit) -> str:
    """Give where a result leads, at the place its snippet shows: browsers find the words and mark them."""
    link = shown_link(hit)
    if hit.kind not in ("text/html", "text/plain") or not link.startswith("http") or "#" in link:
        return link
    words = _around_mark(hit)
    if len(words) < _FEWEST:
        return link
    return f"{link}#:~:text={_quoted(' '.join(words))}"


def _quoted(text: str) -> str:
    """Quote a text for a fragment, in which a hyphen has a meaning; one of ASCII in a single step."""
    return text.translate(_ASCII) if text.isascii() else quote(text, safe="").replace("-", "%2D")


def _around_mark(hit: Hit) -> list[str]:
    """Give a few words of the snippet from the first marked one on, as they stand on the page."""
    texts = [text for text, _ in hit.snippet]
    first = next((n for n, (_, marked) in enumerate(hit.snippet) if marked), None)
    if first is None:
        return []
    words = "".join(texts[first:]).replace("…", " ").encode("utf-8", "ignore").decode().split()
    return words[: min(_MOST, len(words) - 1)]


def require(asked: Asked, word: str) -> str:
    """Give the address of the same query with `word` required: 'old word' becomes 'old +word'."""
    parts = asked.query.words.split()
    place = next((i for i, part in enumerate(parts) if part.casefold() == word.casefold()), None)
    if place is None:
        parts.append("+" + word)
    else:
        parts[place] = "+" + parts[place]
    return address_of(asked, q=" ".join(parts), start=0)


def without_one(query: Query) -> list[tuple[str, Query]]:
    """List, for a query of a few words, each word with the query without it; one result is enough to know."""
    parts = query.words.split()
    if not 1 < len(parts) <= _FEW:
        return []
    rest = [" ".join(parts[:i] + parts[i + 1 :]) for i in range(len(parts))]
    return [
        (part, msgspec.structs.replace(query, words=words, size=1)) for part, words in zip(parts, rest, strict=True)
    ]


def page_numbers(query: Query, total: int, found: int, farthest: int) -> list[int]:
    """List the page numbers, from 1, to link to: around the current one, never past the last."""
    current = query.start // query.size + 1
    last = min(-(-total // query.size), farthest // query.size + 1)
    if found < query.size:
        last = current
    first = max(1, min(current - _AROUND // 2, last - _AROUND + 1))
    return list(range(first, min(first + _AROUND - 1, last) + 1))
