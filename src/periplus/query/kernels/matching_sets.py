"""All documents of one segment that match a plan, as a set: for counts and orders that the best do not tell."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import pin
from periplus.index.kernels.postings_reader import get_postings, make_tiny_postings
from periplus.query.kernels.block_finder import find_blocks
from periplus.query.kernels.match import find_matching, make_scratch
from periplus.query.kernels.plan import LEAF, MIXED, WORK, WORK_LIMIT, Plan, get_plan, get_scratch, scan_work

__all__ = ["mark_matching"]


@njit(cache=True, nogil=True)
def mark_matching(
    lists_at: Any, plan_at: Any, desk_at: Any, most: int, sets: Any
) -> tuple[int, bool]:  # pragma: no cover - compiled
    """Write the matching documents to `sets`, a word for each block; return the work units, and whether it was all.

    most: work units after which no further block is opened.
    """
    lists, plan, scratch = get_postings(lists_at), get_plan(plan_at), get_scratch(desk_at)
    progress = scratch.progress
    progress[:] = 0
    progress[WORK_LIMIT] = most
    count = find_blocks(lists, plan, scratch)
    scratch.spots[:, 4] = scratch.spots[:, 6] = -1
    progress[WORK] = scan_work(plan, len(lists.live))
    for i in range(count):
        if progress[WORK] >= most:
            return progress[WORK], False
        block = scratch.order[0][i]
        matched, _ = find_matching(lists, plan, scratch, block, np.float32(-1), True, False)
        sets[block] = matched
    return progress[WORK], True


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    plan = Plan(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64),
        np.ones(1, np.float32),
        np.array([[255, 0, -1]], np.int32),
        np.array([[LEAF, 0]], np.int32),
        np.zeros((0, 4), np.int32),
        np.zeros((0, 3), np.int32),
        np.zeros(1, np.int32),
        np.zeros((0, 1), np.uint64),
        MIXED,
        1,
        np.uint64(1),
        0.5,
        0.5,
        np.ones(1, np.uint64),
        1,
        np.zeros((0, 1), np.uint64),
        0,
    )
    lists, laid_out, scratch = pin(make_tiny_postings()), pin(plan), pin(make_scratch(1, 1, 3, True, 10))
    mark_matching(lists.addresses, laid_out.addresses, scratch.addresses, 100, np.zeros(1, np.uint64))
