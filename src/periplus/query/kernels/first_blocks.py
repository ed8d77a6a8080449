"""Matching in the first blocks of a segment alone: as many are searched as there are sets of live documents."""

from typing import Final

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import FIELD_WIDTH, PinnedArrays
from periplus.index.kernels.postings_format import BLOCK, ESCAPED, SKIP_STEP, group_count, group_shift, skipped_blocks
from periplus.index.kernels.postings_reader import GROUP_BLOCK, PostingsReader
from periplus.index.kernels.term_dictionary import ENTRY_BEGIN, ENTRY_ENCODING, ENTRY_FIRST_GROUP, ENTRY_HEADERS
from periplus.query.kernels.plan import Plan

__all__ = ["count_headers", "limit_blocks"]

_LIVE: Final = PostingsReader._fields.index("live")
_ROWS: Final = 1


def limit_blocks(lists: PinnedArrays[PostingsReader], blocks: int) -> PinnedArrays[PostingsReader]:
    """Return the postings of the first blocks of a segment."""
    addresses = lists.addresses.copy()
    addresses[_LIVE * FIELD_WIDTH + _ROWS] = blocks
    return PinnedArrays(lists.arrays._replace(live=lists.arrays.live[:blocks]), addresses)


@njit(cache=True, nogil=True)
def count_headers(lists: PostingsReader, plan: Plan, leaf: int) -> int:  # pragma: no cover - compiled
    """Return how many block bytes of a leaf there are for the blocks that are searched, which may be the first ones."""
    number, blocks = plan.place[leaf, ENTRY_HEADERS], len(lists.live)
    if blocks * ESCAPED * BLOCK >= len(lists.plain_impact):
        return number
    begin, first = plan.place[leaf, ENTRY_BEGIN] + 2, plan.place[leaf, ENTRY_FIRST_GROUP]
    low, high = np.int64(0), group_count(number, plan.place[leaf, ENTRY_ENCODING])
    while high - low > 1:
        middle = (low + high) >> 1
        if np.int64(lists.groups[first + middle, GROUP_BLOCK]) < blocks:
            low = middle
        else:
            high = middle
    n = low << group_shift(plan.place[leaf, ENTRY_ENCODING])
    here = np.int64(lists.groups[first + low, GROUP_BLOCK]) - 1 if low else np.int64(-1)
    while n < number:
        head = np.int64(lists.stream[begin + n])
        here += skipped_blocks(head) if head & 15 == SKIP_STEP else (head & 15) + 1
        if here >= blocks:
            break
        n += 1
    return n
