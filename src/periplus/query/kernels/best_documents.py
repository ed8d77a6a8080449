"""The best documents of a query so far: what matches in an open block is offered to a heap of them."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit
from periplus.index.kernels.postings_format import BLOCK
from periplus.index.kernels.postings_reader import PostingsReader
from periplus.index.kernels.topk_heap import push, sort_best_first
from periplus.query.kernels.plan import LEAF_GROUP, Plan, Scratch

__all__ = ["all_words", "offer", "put_in_order"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def all_words(plan: Plan, sets: Any) -> Any:  # pragma: no cover - compiled
    """Return the set of documents that have every word of the query."""
    result = ~np.uint64(0)
    for group in range(plan.groups):
        either = np.uint64(0)
        for leaf in range(len(plan.leaves)):
            if plan.leaves[leaf, LEAF_GROUP] == group:
                either |= sets[0, leaf]
        result &= either
    return result


@njit(cache=True, nogil=True, forceinline=True)
def offer(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, matched: Any, kept: int, k: int
) -> int:  # pragma: no cover - compiled
    """Offer what matches in the open block to the heap of the best.

    Parameters
        lists, plan, scratch: the segment, the query, and its arrays, which have the heap
        block, matched: the open block, and the set of its documents that match
        kept, k: how many the heap has, and may have
    Returns
        how many it has now
    """
    full = all_words(plan, scratch.sets) if plan.groups > 0 else np.uint64(0)
    static, bonus = np.float32(plan.static_weight), np.float32(plan.bonus)
    best_scores, best = scratch.scores[BLOCK : BLOCK + k], scratch.best[:k]
    while matched:
        offset = lowest_bit(matched)
        matched &= matched - _ONE
        document = block * BLOCK + offset
        score = scratch.scores[offset]
        if len(lists.static):
            score += static * lists.static[document]
        if (full >> np.uint64(offset)) & _ONE:
            score += bonus
        if len(lists.factor):
            score *= lists.factor[document]
        kept = push(best_scores, best, kept, score, document)
    return kept


@njit(cache=True, nogil=True, forceinline=True)
def put_in_order(scratch: Scratch, kept: int) -> None:  # pragma: no cover - compiled
    """Sort the best, and their scores.

    Parameters
        scratch: has the heap
        kept: how many it has
    """
    sort_best_first(scratch.scores[BLOCK:], scratch.best, kept)
