"""The first half of matching: which blocks can hold a match, and what no score in each of them can exceed."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit, popcount
from periplus.index.kernels.postings_format import SPARSE
from periplus.index.kernels.postings_reader import PostingsReader
from periplus.index.kernels.term_dictionary import ENTRY_ENCODING, ENTRY_HEADERS
from periplus.query.kernels.block_bounds import (
    LEAP,
    add_middling,
    add_sparse,
    add_within,
    intersect,
    set_levels,
    unpack_sparse,
)
from periplus.query.kernels.plan import ALL, GIVEN, LEAF_DOCUMENTS, LEAF_GROUP, Plan, Scratch
from periplus.query.kernels.word_bounds import add_form, add_listed, begin_word

__all__ = ["find_blocks"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _add(lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int) -> None:  # pragma: no cover - compiled
    """Add the bounds of a term to all blocks that have it."""
    if plan.place[leaf, ENTRY_ENCODING] == SPARSE:
        unpack_sparse(lists, plan, scratch, leaf)
        add_sparse(plan, scratch, leaf, np.uint64(0))
        return
    set_levels(lists, plan, scratch, leaf)
    if plan.leaves[leaf, LEAF_DOCUMENTS] >= 0:
        add_within(lists, plan, scratch, leaf, np.uint64(0))
    else:
        add_middling(lists, plan, scratch, leaf, np.uint64(0))


@njit(cache=True, nogil=True)
def _has_forms(plan: Plan, leaves: Any) -> bool:  # pragma: no cover - compiled
    """Return whether some leaves, as a mask, are forms of a word of which some count in some documents only."""
    restricted, left = False, leaves
    while left:
        restricted |= plan.leaves[lowest_bit(left), LEAF_DOCUMENTS] >= 0
        left &= left - _ONE
    return restricted and popcount(leaves) > 1


@njit(cache=True, nogil=True)
def _meet_clauses(lists: PostingsReader, plan: Plan, scratch: Scratch) -> int:  # pragma: no cover - compiled
    """List the blocks that have a leaf of each clause, with the bounds of all leaves; count them.

    Blocks that are not listed may have bounds too: nothing looks at them.
    """
    have, found, added = scratch.have, scratch.order[0], np.uint64(0)
    listed = np.int64(len(lists.live))
    for number in range(len(plan.clauses) + 1):  # In the end, leaves of no clause.
        clause = plan.clauses[number] if number < len(plan.clauses) else ~np.uint64(0)
        shared = number < len(plan.clauses) and _has_forms(plan, clause & ~added)
        if shared:
            begin_word(scratch, len(lists.live))
        for i in range(len(plan.order)):
            leaf = plan.order[i]
            bit = _ONE << np.uint64(leaf)
            if not bit & clause & ~added:
                continue
            added |= bit
            few = number > 0 and listed * LEAP < plan.place[leaf, ENTRY_HEADERS]
            if few and plan.place[leaf, ENTRY_ENCODING] != SPARSE:
                set_levels(lists, plan, scratch, leaf)
                add_listed(lists, plan, scratch, leaf, listed, shared)
            elif shared:
                add_form(lists, plan, scratch, leaf)
            else:
                _add(lists, plan, scratch, leaf)
        if number == len(plan.clauses):
            break
        count = np.uint64(0)
        for i in range(listed):
            block = np.uint64(found[i]) if number else np.uint64(i)
            found[count] = block
            count += np.uint64(have[block] & clause != 0)
        listed = np.int64(count)
        if listed == 0:
            break
    return listed


@njit(cache=True, nogil=True)
def _add_words(lists: PostingsReader, plan: Plan, scratch: Scratch) -> None:  # pragma: no cover - compiled
    """Add the bounds of all leaves, those of the forms of a word together.

    Forms have the weight of their word. Other leaves that have it, too, are no harm: they are compared in vain.
    """
    added = np.uint64(0)
    for i in range(len(plan.order)):
        leaf, forms = plan.order[i], np.uint64(0)
        if (added >> np.uint64(leaf)) & _ONE:
            continue
        for other in range(len(plan.order)):
            forms |= np.uint64(plan.weight[other] == plan.weight[leaf]) << np.uint64(other)
        shared = _has_forms(plan, forms)
        if shared:
            begin_word(scratch, len(lists.live))
        added |= forms
        while forms:
            if shared:
                add_form(lists, plan, scratch, lowest_bit(forms))
            else:
                _add(lists, plan, scratch, lowest_bit(forms))
            forms &= forms - _ONE


@njit(cache=True, nogil=True)
def _unite(lists: PostingsReader, plan: Plan, scratch: Scratch) -> int:  # pragma: no cover - compiled
    """List the blocks that have any leaf (all blocks, where the program needs none), with their bounds; count them."""
    have, found = scratch.have, scratch.order[0]
    _add_words(lists, plan, scratch)
    everything = False
    for step in range(len(plan.program)):
        everything |= plan.program[step, 0] in (ALL, GIVEN)
    count = np.uint64(0)
    for block in range(len(lists.live)):
        found[count] = block
        count += np.uint64(everything or have[block] != 0)
    return np.int64(count)


@njit(cache=True, nogil=True)
def find_blocks(lists: PostingsReader, plan: Plan, scratch: Scratch) -> int:  # pragma: no cover - compiled
    """Write the blocks that can match to `scratch.order[0]`, ascending, and what they can score to `scratch.bound`."""
    blocks = len(lists.live)
    bound, have, found = scratch.bound, scratch.have, scratch.order[0]
    if len(plan.clauses):
        bound[:blocks] = 0
        have[:blocks] = 0
        count = _meet_clauses(lists, plan, scratch)
    elif plan.required:
        count = intersect(lists, plan, scratch)
    else:
        bound[:blocks] = 0
        have[:blocks] = 0
        count = _unite(lists, plan, scratch)
    static, bonus = np.float32(plan.static_weight), np.float32(plan.bonus)
    if len(lists.block_static) and static > 0:
        for i in range(count):
            bound[found[i]] += static * lists.block_static[found[i]]
    if plan.groups:
        words = np.zeros(plan.groups, np.uint64)
        for leaf in range(len(plan.leaves)):
            if plan.leaves[leaf, LEAF_GROUP] >= 0:
                words[plan.leaves[leaf, LEAF_GROUP]] |= _ONE << np.uint64(leaf)
        for i in range(count):
            every = True
            for word in words:
                every &= (have[found[i]] & word) != 0
            if every:
                bound[found[i]] += bonus
    if len(lists.block_factor):
        for i in range(count):
            bound[found[i]] *= lists.block_factor[found[i]]
    return count
