"""The third stage of a search: reranked candidates as the results that people see.

Runs where the documents are. Selection (safe search, near-duplicates, host diversity) is its first step, because it
reads stored fields: flags and hosts of all candidates, and texts of those only that come up for a place on the page,
since reading all of them would take longer than the search. `select_results` itself sees no index, only these fields:
a broker over several shards fetches them from the shards, selects, and passes its `Selection` on, so that each shard
builds the hits of its own documents.
"""

import numpy as np
import numpy.typing as npt

from periplus.query import QueryBudget, QueryPlan
from periplus.records import Query
from periplus.search.index_session import IndexSession
from periplus.search.navigational import explain_home_page
from periplus.search.presentation.hits import HitBuilder, Reasons
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.presentation.result_selection import (
    CandidateFields,
    Selection,
    SelectionRules,
    add_related,
    excluded_flags,
    is_home_page,
    related_rows,
    select_results,
)
from periplus.search.presentation.verticals import add_media
from periplus.search.request_filters import is_site_search
from periplus.search.rerank import RerankedCandidates
from periplus.settings import SearchSettings

__all__ = ["explain_rows", "present", "select_page", "selection_rules"]


def present(
    session: IndexSession,
    plan: QueryPlan,
    candidates: RerankedCandidates,
    query: Query,
    settings: SearchSettings,
    selection: Selection | None = None,
    budget: QueryBudget | None = None,
) -> PresentedResults:
    """Return the page of results that a query asks for, in the order of the candidates.

    selection: which candidates become results, where a broker has decided that; budget: once it is used up, further
    near-duplicates are not folded, and further scores not explained.
    """
    budget = budget or QueryBudget()
    builder = HitBuilder(session.index, plan, candidates, session.cache)
    if selection is None:
        selection = select_page(builder.flags(), builder.fields(), query, settings, budget)
    start = max(0, query.start)
    rows = selection.rows[start:]
    reasons = explain_rows(session, plan, candidates, rows, budget) if query.explain else [()] * len(rows)
    hits = builder.hits(rows, settings.snippet_chars, reasons)
    host, count = builder.fields().host, len(candidates.documents)
    related = related_rows(selection, rows, host, count, with_site=bool(hits) and is_home_page(hits[0]))
    titles = dict(zip(related, builder.titles(related), strict=True))
    hits = add_related(hits, selection, rows, host, count, titles)
    if query.having == "media":
        hits = add_media(hits, rows, candidates, session.index)
    if candidates.home_page and query.explain and hits and not query.start:
        hits[0] = explain_home_page(hits[0], candidates.home_page)
    return PresentedResults(tuple(hits), selection.hidden, selection.examined)


def select_page(
    flags: npt.NDArray[np.int64], fields: CandidateFields, query: Query, settings: SearchSettings, budget: QueryBudget
) -> Selection:
    """Return which candidates become results, up to the end of the page; flags, fields: those of the candidates."""
    return select_results(flags, fields, *selection_rules(query, settings), lambda: budget.skips("near-duplicates"))


def selection_rules(query: Query, settings: SearchSettings) -> SelectionRules:
    """Return how the results of a query are selected, up to the end of the page."""
    size = max(0, min(query.size, settings.max_results))
    end = min(max(0, query.start) + size, settings.max_results)
    bits = settings.near_duplicate_bits if query.folded and settings.near_duplicate_bits else -1
    per_host = settings.per_host if query.folded and not is_site_search(query) else 0
    return SelectionRules(end, excluded_flags(query.safe), per_host, bits)


def explain_rows(
    session: IndexSession,
    plan: QueryPlan,
    candidates: RerankedCandidates,
    rows: list[int],
    budget: QueryBudget,
    today: float | None = None,
) -> list[Reasons]:
    """Return the parts of the score of each row, as long as there is time; today: by the clock of a broker."""
    points = candidates.embedding_points
    return [
        ()
        if budget.skips("explanations")
        else session.ranker.explain(
            plan,
            int(candidates.segments[row]),
            int(candidates.documents[row]),
            float(points[row]) if points is not None else None,
            today,
        )
        for row in rows
    ]
