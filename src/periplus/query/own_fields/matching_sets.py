"""A plan to all documents that match it, by segment: sets of one 64-bit word for each block."""

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.query.filter_sets import given_sets
from periplus.query.kernels import matching_sets
from periplus.query.matcher import ScratchPool, plan_segment
from periplus.query.query_budget import QueryBudget
from periplus.query.query_plan import QueryPlan

__all__ = ["match_sets"]

_SCRATCH = ScratchPool()


def match_sets(index: Index, plan: QueryPlan, budget: QueryBudget | None = None) -> list[npt.NDArray[np.uint64]]:
    """Return the matching documents of each segment; of those that are not reached within the budget, none."""
    budget = budget or QueryBudget()
    found = [np.zeros(len(segment.live), np.uint64) for segment in index.segments]
    for segment, sets in zip(index.segments, found, strict=True):
        given = given_sets(segment, plan.filters, budget)
        lists = segment.pinned_postings if plan.rules is None else plan.rules.postings(segment, budget.late)
        if given is None or lists is None or budget.late():
            break
        laid_out = plan_segment(segment, plan, given)
        scratch = _SCRATCH.get(len(segment.live), laid_out, 1)
        most = max(1, budget.work_left)
        addresses = lists.addresses, laid_out.addresses, scratch.addresses
        work, _ = matching_sets.mark_matching(*addresses, most, sets)
        budget.charge(work)
        sets &= lists.arrays.live
    return found
