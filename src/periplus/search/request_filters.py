"""What a request asks for beside its words, put into the query's tree: language, site, dates, types."""

import time
from typing import Final

from periplus.query import And, ContentType, DateRange, Language, Node, Or, Site, Vertical
from periplus.records import Query

__all__ = ["names_site", "narrow"]

_FAR: Final = 1 << 30
_DAY: Final = 86_400


def narrow(tree: Node, query: Query) -> Node:
    """Give `tree` with all that `query` asks for beside its words."""
    parts: list[Node] = [tree]
    if query.language:
        parts.append(Language(query.language))
    if query.site:
        parts.append(Site(query.site))
    if query.days > 0:
        parts.append(DateRange(int(time.time() // _DAY) - query.days, _FAR))
    if query.kinds:
        kinds = tuple(ContentType(kind) for kind in query.kinds)
        parts.append(kinds[0] if len(kinds) == 1 else Or(kinds))
    if query.having:
        parts.append(Vertical(query.having))
    return tree if len(parts) == 1 else And(tuple(parts))


def names_site(query: Query) -> bool:
    """Say whether the query is about one site, so that many results of one host are what was asked for."""
    return bool(query.site) or "site:" in query.words.lower()
