"""Filters of a request as parts of the query's tree: language, site, dates, content types."""

import time
from typing import Final

from periplus.query import And, ContentType, DateRange, Language, Node, Or, QueryPlan, Site, Vertical
from periplus.records import Query
from periplus.result_rules import RuleStore
from periplus.text import is_language

__all__ = ["add_filters", "filter_notes", "is_site_search", "with_enough", "with_rules"]

_NO_END: Final = 1 << 30
_DAY: Final = 86_400


def add_filters(tree: Node, query: Query) -> Node:
    """Return a tree with the filters of a request added to it."""
    parts: list[Node] = [tree]
    if is_language(query.language):
        parts.append(Language(query.language))
    if query.site:
        parts.append(Site(query.site))
    if query.days > 0:
        parts.append(DateRange((query.today or int(time.time() // _DAY)) - query.days, _NO_END))
    if query.kinds:
        kinds = tuple(ContentType(kind) for kind in query.kinds)
        parts.append(kinds[0] if len(kinds) == 1 else Or(kinds))
    if query.having:
        parts.append(Vertical(query.having))
    return tree if len(parts) == 1 else And(tuple(parts))


def filter_notes(query: Query) -> tuple[str, ...]:
    """Return notes on the filters of a request that are not valid and therefore ignored."""
    if not query.language or is_language(query.language):
        return ()
    return (f"lang:{query.language[:20]} was ignored: it is not a language code that Periplus knows.",)


def with_rules(plan: QueryPlan, query: Query, store: RuleStore | None, *, blocks_only: bool = False) -> QueryPlan:
    """Return a plan with the rules of its query and those of the server; unknown ones are noted."""
    if store is None:
        unknown, rules = len(query.rules), None
    else:
        rules, unknown = store.activate(query.rules, blocks_only=blocks_only)
    if unknown:
        plan = plan._replace(notes=(*plan.notes, "The rules of this search are not on this server: they do not count."))
    return plan if rules is None else plan._replace(rules=rules)


def with_enough(plan: QueryPlan, query: Query, default: int) -> QueryPlan:
    """Return a plan that is content with the first tier where it has enough good pages.

    default: how many these are, unless the query says so. News is searched as a whole, since new pages have few links,
    and so is what is counted or sorted.
    """
    enough = default if query.enough < 0 else query.enough
    needs_all = query.having == "news" or query.facets or query.sort
    return plan._replace(enough=enough) if enough and not needs_all else plan


def is_site_search(query: Query) -> bool:
    """Return whether a query is about one site, so that many results of one host are expected."""
    return bool(query.site) or "site:" in query.words.lower()
