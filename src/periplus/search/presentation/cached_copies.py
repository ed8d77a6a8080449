"""Cached copies with headings, lists and tables: the stored response of a page, parsed into blocks of text."""

from periplus.errors import BadUrl
from periplus.parse import TextBlock, structure_html
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.search.presentation.cards import CardReader
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["read_blocks"]


def read_blocks(reader: CardReader, key: int, settings: ParseSettings) -> tuple[TextBlock, ...]:
    """Return the main content of a page from its stored response; nothing if that is not stored, or is not HTML."""
    response = reader.response(key)
    if response is None:
        return ()
    try:
        request = FetchRequest(parse_address(response.url))
    except BadUrl:
        return ()
    result = FetchResult(request, Outcome.OK, response.when, response.status, response.headers, response.body)
    return structure_html(result, settings)
