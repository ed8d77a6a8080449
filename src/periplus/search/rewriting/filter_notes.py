"""Notes on filters: those of a request that are not valid, and those that leave no page."""

from collections.abc import Callable, Iterator
from typing import Final

from periplus.query import (
    And,
    AndNot,
    ContentType,
    DateRange,
    Language,
    Node,
    Site,
)
from periplus.search.answering.search_backend import NamedFilter
from periplus.text import language_name

__all__ = ["explain_filters", "name_filter"]

_MAX_QUOTED: Final = 4


def explain_filters(has_pages: Callable[[NamedFilter], bool], tree: Node, *, has_words: bool) -> tuple[str, ...]:
    """Return why the filters of a query that matches nothing leave no page.

    has_pages: whether any page passes a filter; has_words: whether some page has some of the words of the query.
    """
    filters = list(_required_filters(tree))[:_MAX_QUOTED]
    empty = tuple(_note_empty(part) for part in filters if not has_pages(part))
    if empty or not filters or not has_words:
        return empty
    return (f"None of the pages that pass {', '.join(map(name_filter, filters))} has these words.",)


def _required_filters(node: Node) -> Iterator[NamedFilter]:
    """Yield the filters that every match must pass."""
    if isinstance(node, AndNot):
        yield from _required_filters(node.part)
    elif isinstance(node, And):
        for part in node.parts:
            yield from _required_filters(part)
    elif isinstance(node, NamedFilter):
        yield node


def name_filter(part: NamedFilter) -> str:
    """Return a filter as it is typed."""
    if isinstance(part, Site):
        return f"site:{part.host}{part.path}"[:80]
    if isinstance(part, Language):
        return f"lang:{part.code}"
    if isinstance(part, ContentType):
        return f"filetype:{part.name}"[:80]
    return "the time range" if isinstance(part, DateRange) else f"link:{part.target}"[:80]


def _note_empty(part: NamedFilter) -> str:
    if isinstance(part, Site):
        return f"The index has no pages of {part.host}{part.path}."
    if isinstance(part, Language):
        return f"The index has no pages in the language {part.code} ({language_name(part.code)})."
    if isinstance(part, ContentType):
        return f"The index has no documents of the type {part.name}."
    if isinstance(part, DateRange):
        return "The index has no pages of that time."
    return f"No page of the index links to {part.target}."
