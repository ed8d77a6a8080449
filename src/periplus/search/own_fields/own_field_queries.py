"""Queries with own fields: a parsed query restricted by filters, and by all of its words where these are required."""

from collections.abc import Mapping

from periplus.query import And, BagOfWords, MatchAll, Node, ParsedQuery, Word, parse_filter
from periplus.records import Query
from periplus.settings import FieldSettings
from periplus.text import content_words

__all__ = ["restrict_query"]


def restrict_query(
    parsed: ParsedQuery, query: Query, own: Node | None, notes: tuple[str, ...], fields: Mapping[str, FieldSettings]
) -> ParsedQuery:
    """Return a query with the filters of its request, and those that it has in its words (`own`).

    A query without words matches all documents if it has a filter, an order or facets. Raise `BadInput` for a filter
    that cannot be read.
    """
    parts = [part for part in (own, parse_filter(query.filter, fields) if query.filter else None) if part is not None]
    tree = parsed.tree
    if tree is None and (parts or query.sort or query.facets):
        tree = MatchAll()
    elif isinstance(tree, BagOfWords) and (query.every_word or query.sort):
        words = content_words(tree.words, tree.compounds) or tree.words
        tree = And(tuple(map(Word, dict.fromkeys(words)))) if len(words) > 1 else Word(words[0])
    if tree is not None and parts:
        tree = parts[0] if isinstance(tree, MatchAll) and len(parts) == 1 else And((tree, *parts))
    return ParsedQuery(tree, parsed.notes + notes)
