"""A plan to all documents that match it, by segment: sets of one 64-bit word for each block."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.query.filter_sets import given_sets
from periplus.query.kernels import matching_sets
from periplus.query.matcher import ScratchPool, plan_segment
from periplus.query.query_budget import QueryBudget
from periplus.query.query_plan import QueryPlan

__all__ = ["MatchedSets", "match_sets"]

_SCRATCH = ScratchPool()


class MatchedSets(NamedTuple):
    """The matching documents of each segment."""

    sets: list[npt.NDArray[np.uint64]]
    complete: bool
    """Whether these are all of them, and not only those that were reached within a budget."""


def match_sets(index: Index, plan: QueryPlan, budget: QueryBudget | None = None) -> MatchedSets:
    """Return the matching documents of each segment; those only that are reached within the budget."""
    budget = budget or QueryBudget()
    found = [np.zeros(len(segment.live), np.uint64) for segment in index.segments]
    complete = True
    for segment, sets in zip(index.segments, found, strict=True):
        given = given_sets(segment, plan.filters, budget)
        lists = segment.pinned_postings if plan.rules is None else plan.rules.postings(segment, budget.late)
        if given is None or lists is None or budget.late():
            complete = False
            break
        laid_out = plan_segment(segment, plan, given)
        scratch = _SCRATCH.get(len(segment.live), laid_out, 1)
        most = max(1, budget.work_left)
        addresses = lists.addresses, laid_out.addresses, scratch.addresses
        work, whole = matching_sets.mark_matching(*addresses, most, sets)
        budget.charge(work)
        complete &= bool(whole)
        sets &= lists.arrays.live
    return MatchedSets(found, complete)
