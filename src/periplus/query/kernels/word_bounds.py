"""What a word in several forms can add to a score in a block: no more than one of its forms, where none has two.

A word has a term for each language in which it has another stem, and each of these counts in pages of some languages.
The sum of all of them is a bound that no document comes near. So the documents that have a form, as far as sets tell,
are compared with those of the forms before it: where they are others, the higher bound of the two holds for all.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.index.kernels.postings_format import BLOCK, SKIP_STEP, SPARSE, group_count, group_shift, skipped_blocks
from periplus.index.kernels.postings_reader import GROUP_BLOCK, PostingsReader
from periplus.index.kernels.term_dictionary import (
    ENTRY_BEGIN,
    ENTRY_BITSET_ROW,
    ENTRY_ENCODING,
    ENTRY_FIRST_GROUP,
    ENTRY_FREQUENCY,
    ENTRY_HEADERS,
)
from periplus.query.kernels.block_bounds import set_levels, unpack_sparse
from periplus.query.kernels.plan import LEAF_DOCUMENTS, Plan, Scratch

__all__ = ["add_form", "add_listed", "begin_word"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def begin_word(scratch: Scratch, blocks: int) -> None:  # pragma: no cover - compiled
    """Forget the forms of the word before."""
    scratch.word_bound[:blocks] = 0
    scratch.word_set[:blocks] = 0


@njit(cache=True, nogil=True, forceinline=True)
def _raise_bound(
    scratch: Scratch, block: int, documents: Any, most: Any, shared: bool
) -> None:  # pragma: no cover - compiled
    """Raise the bound of a block by what a form of a word adds to it.

    Parameters
        scratch: arrays of the query
        block: number of the block
        documents: a set that has all of its documents with the form
        most: what this adds to the score of a document at most
        shared: whether the word has other forms
    """
    if not shared:
        scratch.bound[block] += most
        return
    before = scratch.word_bound[block]
    apart = scratch.word_set[block] & documents == 0
    after = max(before, most) if apart else before + most
    scratch.word_bound[block] = after
    scratch.word_set[block] |= documents
    scratch.bound[block] += after - before


@njit(cache=True, nogil=True)
def _add_sparse_form(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int
) -> None:  # pragma: no cover - compiled
    """Add the bounds of a sparse form to its blocks."""
    unpack_sparse(lists, plan, scratch, leaf)
    n, number, within = np.int64(0), plan.place[leaf, ENTRY_FREQUENCY], plan.leaves[leaf, LEAF_DOCUMENTS]
    while n < number:
        block, first, highest, documents = scratch.sparse[leaf, n] >> 30, n, np.int64(0), np.uint64(0)
        while n < number and scratch.sparse[leaf, n] >> 30 == block:
            documents |= _ONE << np.uint64((scratch.sparse[leaf, n] >> 24) & (BLOCK - 1))
            highest = max(highest, (scratch.sparse[leaf, n] >> 8) & 255)
            n += 1
        if within >= 0:
            documents &= plan.given[within, block]
        if documents:
            _raise_bound(scratch, block, documents, plan.weight[leaf] * np.float32(highest), True)
            scratch.have[block] |= _ONE << np.uint64(leaf)
            scratch.entry[leaf, block] = first


@njit(cache=True, nogil=True)
def add_form(lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int) -> None:  # pragma: no cover - compiled
    """Add the bounds of one of several forms of a word to its blocks.

    Parameters
        lists, plan, scratch: the segment, the query, and its arrays; `begin_word` was called before the first form
        leaf: number of the form's leaf
    """
    if plan.place[leaf, ENTRY_ENCODING] == SPARSE:
        _add_sparse_form(lists, plan, scratch, leaf)
        return
    set_levels(lists, plan, scratch, leaf)
    begin, row = plan.place[leaf, ENTRY_BEGIN] + 2, plan.place[leaf, ENTRY_BITSET_ROW]
    within, block = plan.leaves[leaf, LEAF_DOCUMENTS], np.uint64(np.int64(-1))
    for n in range(plan.place[leaf, ENTRY_HEADERS]):
        head = lists.stream[begin + n]
        step = np.uint64(head & np.uint8(15))
        block += step
        if step == SKIP_STEP:
            block += step * np.uint64(head >> np.uint8(4))
            continue
        block += _ONE
        documents = lists.bitsets[row, block] if row >= 0 else ~np.uint64(0)
        if within >= 0:
            documents &= plan.given[within, block]
        if documents:
            _raise_bound(scratch, np.int64(block), documents, scratch.level[leaf, head >> np.uint8(4)], True)
            scratch.have[block] |= _ONE << np.uint64(leaf)
            scratch.entry[leaf, block] = n


@njit(cache=True, nogil=True)
def add_listed(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, listed: int, shared: bool
) -> None:  # pragma: no cover - compiled
    """Add the bounds of a term to those of the blocks listed that have it.

    Parameters
        lists, plan, scratch: the segment, the query, and its arrays, which have the list
        leaf: number of a leaf that is not sparse
        listed: how many blocks are listed
        shared: whether it is one of several forms of a word, as for `add_form`
    """
    have, found, bit = scratch.have, scratch.order[0], _ONE << np.uint64(leaf)
    begin, number = plan.place[leaf, ENTRY_BEGIN] + 2, plan.place[leaf, ENTRY_HEADERS]
    first, row = plan.place[leaf, ENTRY_FIRST_GROUP], plan.place[leaf, ENTRY_BITSET_ROW]
    within, shift = plan.leaves[leaf, LEAF_DOCUMENTS], group_shift(plan.place[leaf, ENTRY_ENCODING])
    groups = group_count(number, plan.place[leaf, ENTRY_ENCODING])
    group, n, here, head = np.int64(0), np.int64(0), np.int64(-1), np.int64(SKIP_STEP)
    for i in range(listed):
        block = np.int64(found[i])
        documents = lists.bitsets[row, block] if row >= 0 else ~np.uint64(0)
        if within >= 0:
            documents &= plan.given[within, block]
        if documents == 0:
            continue
        jump = group
        while jump + 1 < groups and np.int64(lists.groups[first + jump + 1, GROUP_BLOCK]) <= block:
            jump += 1
        if jump > group and here < block:
            group, n, head = jump, jump << shift, np.int64(SKIP_STEP)
            here = np.int64(lists.groups[first + jump, GROUP_BLOCK]) - 1
        while here < block and n < number:
            head = np.int64(lists.stream[begin + n])
            here += skipped_blocks(head) if head & 15 == SKIP_STEP else (head & 15) + 1
            n += 1
        if here == block and head & 15 != SKIP_STEP:
            _raise_bound(scratch, block, documents, scratch.level[leaf, head >> 4], shared)
            have[block] |= bit
            scratch.entry[leaf, block] = n - 1
