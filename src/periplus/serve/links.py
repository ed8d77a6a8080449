"""Links within the result page, and which links to the outside are safe to show."""

from functools import lru_cache
from typing import Final
from urllib.parse import quote_plus

from periplus.records import Query

__all__ = ["link_to", "page_numbers", "require", "safe_link", "without_one"]

_FEW: Final = 8
"""Longer queries get no links to drop a word."""
_AROUND: Final = 10
"""Most page links shown at once."""


def safe_link(url: str) -> str:
    """Give `url` if it leads to a web page, else ''; an index may hold anything, such as javascript: links."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def link_to(query: Query, start: int = 0, explain: int = 0) -> str:
    """Give the address of a page of results."""
    link = "/search?q=" + _quoted(query.words)
    link += f"&start={start}" if start else ""
    return link + (f"&explain={explain}" if explain else "")


@lru_cache(maxsize=64)
def _quoted(words: str) -> str:
    return quote_plus(words, errors="replace")  # kept, because one page has some twenty links with the same words


def require(query: Query, word: str) -> str:
    """Give the address of the same query with `word` required: 'old word' becomes 'old +word'."""
    parts = query.words.split()
    place = next((i for i, part in enumerate(parts) if part.casefold() == word.casefold()), None)
    if place is None:
        parts.append("+" + word)
    else:
        parts[place] = "+" + parts[place]
    return link_to(Query(" ".join(parts)))


def without_one(query: Query) -> list[tuple[str, Query]]:
    """List, for a query of a few words, each word with the query without it; one result is enough to know."""
    parts = query.words.split()
    if not 1 < len(parts) <= _FEW:
        return []
    return [(part, Query(" ".join(parts[:i] + parts[i + 1 :]), size=1)) for i, part in enumerate(parts)]


def page_numbers(query: Query, total: int, found: int, farthest: int) -> list[int]:
    """List the page numbers, from 1, to link to: around the current one, never past the last."""
    current = query.start // query.size + 1
    last = min(-(-total // query.size), farthest // query.size + 1)
    if found < query.size:
        last = current
    first = max(1, min(current - _AROUND // 2, last - _AROUND + 1))
    return list(range(first, min(first + _AROUND - 1, last) + 1))
