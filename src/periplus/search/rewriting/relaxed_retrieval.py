"""Retrieval outside of a server: a query that matches nothing is relaxed, as `Searcher` relaxes it."""

from typing import NamedTuple

from periplus.query import Node, QueryPlan
from periplus.rank import Ranker
from periplus.search.retrieve import RetrievedCandidates, retrieve
from periplus.search.rewriting.query_relaxation import relax_query

__all__ = ["PlannedCandidates", "retrieve_relaxed"]


class PlannedCandidates(NamedTuple):
    """Candidates, and the plan that they match."""

    plan: QueryPlan
    retrieved: RetrievedCandidates


def retrieve_relaxed(ranker: Ranker, tree: Node, limit: int) -> PlannedCandidates:
    """Return the `limit` best candidates of a query; where it matches nothing, those of the query relaxed."""
    strict = _retrieve(ranker, tree, limit)
    if len(strict.retrieved.documents):
        return strict
    unknown = frozenset(word.word for word in strict.plan.words if not word.weight)
    for relaxed in relax_query(tree, unknown):
        other = _retrieve(ranker, relaxed.tree, limit)
        if len(other.retrieved.documents):
            return other
    return strict


def _retrieve(ranker: Ranker, tree: Node, limit: int) -> PlannedCandidates:
    plan = ranker.plan(tree)
    return PlannedCandidates(plan, retrieve(ranker, plan, limit))
