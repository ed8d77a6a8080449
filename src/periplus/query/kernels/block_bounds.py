"""What no score in a block can exceed, term by term, and the blocks that have all of some terms."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import popcount
from periplus.index.kernels.positions import skip_positions
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    BOUND_LEVELS,
    ESCAPED,
    LONG_BLOCK,
    SKIP_STEP,
    SPARSE,
    group_count,
    group_shift,
    long_length,
    skipped_blocks,
)
from periplus.index.kernels.postings_reader import GROUP_BLOCK, PostingsReader, block_bitset, block_span
from periplus.index.kernels.term_dictionary import (
    ENTRY_BEGIN,
    ENTRY_BITSET_ROW,
    ENTRY_ENCODING,
    ENTRY_FIRST_GROUP,
    ENTRY_FREQUENCY,
    ENTRY_HEADERS,
    ENTRY_POSITIONS,
)
from periplus.index.sparse_postings.kernels import enter_sparse, read_sparse
from periplus.query.kernels.first_blocks import count_headers
from periplus.query.kernels.plan import LEAF_DOCUMENTS, QUOTE, Plan, Scratch, place_of_leaf

__all__ = [
    "LEAP",
    "SLACK",
    "add_middling",
    "add_sparse",
    "add_within",
    "bound_of",
    "intersect",
    "set_levels",
    "unpack_sparse",
]

SLACK = np.float32(1 + 1e-5)
"""Bounds and scores are the same sums in another order: what rounding may make of that."""
LEAP = 12
"""A middling term with this many block bytes for each block that is still in question is leapt through by groups."""
_ONE = np.uint64(1)
_OFFSET = np.uint64(BLOCK - 1)


@njit(cache=True, nogil=True)
def unpack_sparse(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int
) -> None:  # pragma: no cover - compiled
    """Unpack a sparse term's postings."""
    stream, row = lists.stream, len(scratch.entry) + leaf
    frequency, position = plan.place[leaf, ENTRY_FREQUENCY], plan.place[leaf, ENTRY_POSITIONS]
    at, width = enter_sparse(plan.place[leaf, ENTRY_BEGIN], frequency, lists.plain_impact, lists.is_packed)
    phrases = len(plan.phrases) > 0
    positions, is_packed = lists.positions, lists.is_packed
    document = np.int64(-1)
    for n in range(frequency):
        step, code, mask, impact, at = read_sparse(stream, at, width)
        document += step
        if code != ESCAPED:
            impact = np.int64(lists.plain_impact[((document >> 6) * ESCAPED + code) * BLOCK + (document & (BLOCK - 1))])
        scratch.sparse[leaf, n] = document << 24 | mask << 16 | impact << 8 | code
        if phrases:
            scratch.sparse[row, n] = position
            position = skip_positions(positions, is_packed, position, code, mask)


@njit(cache=True, nogil=True)
def add_sparse(plan: Plan, scratch: Scratch, leaf: int, must: Any) -> None:  # pragma: no cover - compiled
    """Add the bounds of a sparse term to its blocks, those that have all of `must`."""
    bound, have, weight, bit = scratch.bound, scratch.have, plan.weight[leaf], _ONE << np.uint64(leaf)
    last, highest, counts, within = np.int64(-1), np.int64(0), False, plan.leaves[leaf, LEAF_DOCUMENTS]
    for n in range(plan.place[leaf, ENTRY_FREQUENCY]):
        posting = scratch.sparse[leaf, n]
        block, impact = posting >> 30, (posting >> 8) & 255
        if block != last:
            last, highest = block, impact
            counts = have[block] & must == must and (within < 0 or plan.given[within, block] != 0)
            if counts:
                bound[block] += weight * np.float32(impact)
                have[block] |= bit
                scratch.entry[leaf, block] = n
        elif impact > highest and counts:
            bound[block] += weight * np.float32(impact - highest)
            highest = impact


@njit(cache=True, nogil=True)
def _meet_sparse(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, side: int, begun: bool
) -> int:  # pragma: no cover - compiled
    """Keep the documents that have this sparse term too; list and count their blocks."""
    n, number, count = np.int64(0), plan.place[leaf, ENTRY_FREQUENCY], 0
    while n < number and scratch.sparse[leaf, n] >> 30 < len(lists.live):
        block, first, documents = scratch.sparse[leaf, n] >> 30, n, np.uint64(0)
        while n < number and scratch.sparse[leaf, n] >> 30 == block:
            documents |= _ONE << np.uint64((scratch.sparse[leaf, n] >> 24) & (BLOCK - 1))
            n += 1
        documents &= scratch.common[side, block] if begun else lists.live[block]
        scratch.common[1 - side, block] = documents
        if documents:
            scratch.entry[leaf, block] = first
            scratch.order[0, count] = block
            count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def bound_of(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int
) -> Any:  # pragma: no cover - compiled
    """Return the most that a leaf can add to a score in a block that has it."""
    if plan.place[leaf, ENTRY_ENCODING] != SPARSE:
        return scratch.level[leaf, lists.stream[plan.place[leaf, ENTRY_BEGIN] + 2 + scratch.entry[leaf, block]] >> 4]
    highest, n = np.int64(0), np.int64(scratch.entry[leaf, block])
    while n < plan.place[leaf, ENTRY_FREQUENCY] and scratch.sparse[leaf, n] >> 30 == block:
        highest = max(highest, (scratch.sparse[leaf, n] >> 8) & 255)
        n += 1
    return plan.weight[leaf] * np.float32(highest)


@njit(cache=True, nogil=True)
def set_levels(lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int) -> None:  # pragma: no cover - compiled
    """Work out what each level of a middling term stands for."""
    low = np.float32(lists.stream[plan.place[leaf, ENTRY_BEGIN]])
    high = np.float32(lists.stream[plan.place[leaf, ENTRY_BEGIN] + 1])
    for level in range(BOUND_LEVELS):
        scratch.level[leaf, level] = plan.weight[leaf] * (low + (high - low) * np.float32(level / (BOUND_LEVELS - 1)))


@njit(cache=True, nogil=True)
def add_middling(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, must: Any
) -> None:  # pragma: no cover - compiled
    """Add the bounds of a middling term to its blocks, those that have all of `must`."""
    bound, have = scratch.bound, scratch.have
    bit = _ONE << np.uint64(leaf)
    begin = plan.place[leaf, ENTRY_BEGIN] + 2
    heads = lists.stream[begin : begin + count_headers(lists, plan, leaf)]
    block = np.uint64(np.int64(-1))
    for n in range(len(heads)):
        head = heads[n]
        step = np.uint64(head & np.uint8(15))
        block += step
        if step == SKIP_STEP:
            block += step * np.uint64(head >> np.uint8(4))
            continue
        block += _ONE
        if must and have[block] & must != must:
            continue
        bound[block] += scratch.level[leaf, head >> np.uint8(4)]
        have[block] |= bit
        scratch.entry[leaf, block] = n


@njit(cache=True, nogil=True)
def add_within(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, must: Any
) -> None:  # pragma: no cover - compiled
    """Do the same for a term that counts in some documents only: in blocks without any of these it does not."""
    allowed, bit = plan.given[plan.leaves[leaf, LEAF_DOCUMENTS]], _ONE << np.uint64(leaf)
    begin, row = plan.place[leaf, ENTRY_BEGIN] + 2, plan.place[leaf, ENTRY_BITSET_ROW]
    block = np.uint64(np.int64(-1))
    for n in range(count_headers(lists, plan, leaf)):
        head = lists.stream[begin + n]
        step = np.uint64(head & np.uint8(15))
        block += step
        if step == SKIP_STEP:
            block += step * np.uint64(head >> np.uint8(4))
            continue
        block += _ONE
        documents = allowed[block] & lists.bitsets[row, block] if row >= 0 else allowed[block]
        if documents and scratch.have[block] & must == must:
            scratch.bound[block] += scratch.level[leaf, head >> np.uint8(4)]
            scratch.have[block] |= bit
            scratch.entry[leaf, block] = n


@njit(cache=True, nogil=True)
def _meet_middling(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, side: int, begun: bool
) -> int:  # pragma: no cover - compiled
    """Keep the documents that have this middling term too; list and count their blocks.

    Goes through all its postings, but decides without branches: which blocks are kept cannot be foreseen.
    """
    stream, common, found = lists.stream, scratch.common, scratch.order[0]
    number = plan.place[leaf, ENTRY_HEADERS]
    heads = np.uint64(plan.place[leaf, ENTRY_BEGIN] + 2)
    lengths = heads + np.uint64(number)
    at = lengths + np.uint64((number + 3) // 4)
    block, count = np.uint64(np.int64(-1)), np.uint64(0)
    for i in range(count_headers(lists, plan, leaf)):
        n = np.uint64(i)
        step = np.uint64(stream[heads + n] & np.uint8(15))
        block += step
        if step == SKIP_STEP:
            block += step * np.uint64(stream[heads + n] >> np.uint8(4))
            at += _ONE
            continue
        block += _ONE
        code = (np.uint64(stream[lengths + (n >> np.uint64(2))]) >> ((n & np.uint64(3)) << _ONE)) & np.uint64(3)
        if code == LONG_BLOCK:
            stop = at + np.uint64(1 + long_length(np.int64(stream[at]), lists.sized))
            documents = block_bitset(stream, np.int64(at) + 1, np.int64(stop))
        else:
            stop = at + code + _ONE
            first = np.uint64(stream[at])
            second, third = np.uint64(stream[at + _ONE]), np.uint64(stream[at + np.uint64(2)])
            plain = np.uint64(first < ESCAPED << 6)
            two, three = np.uint64(code > np.uint64(0)), np.uint64(code > _ONE)
            documents = _ONE << (first & _OFFSET)
            documents |= (two & plain) << (second & _OFFSET)
            # The third byte is a posting unless it is the impact of a fat second one.
            documents |= (three & ~(plain & np.uint64(second >= ESCAPED << 6)) & _ONE) << (third & _OFFSET)
        at = stop
        documents &= common[side, block] if begun else lists.live[block]
        common[1 - side, block] = documents
        scratch.entry[leaf, block] = i
        found[count] = block
        count += np.uint64(documents != 0)
    return np.int64(count)


@njit(cache=True, nogil=True)
def _leap(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, listed: int, side: int, kept: bool
) -> int:  # pragma: no cover - compiled
    """Go through the blocks listed only, passing over groups of block bytes that have none of them.

    Keeps the documents that have this term too; or, if they are `kept` already, only notes where it is in their blocks.
    """
    found, common = scratch.order[0], scratch.common
    begin, first, number = (
        plan.place[leaf, ENTRY_BEGIN] + 2,
        plan.place[leaf, ENTRY_FIRST_GROUP],
        plan.place[leaf, ENTRY_HEADERS],
    )
    shift = group_shift(plan.place[leaf, ENTRY_ENCODING])
    groups = group_count(number, plan.place[leaf, ENTRY_ENCODING])
    group, n, here, count, head, is_dense = np.int64(0), np.int64(0), np.int64(-1), 0, np.int64(0), False
    for i in range(listed):
        block = np.int64(found[i])
        jump = group
        while jump + 1 < groups and np.int64(lists.groups[first + jump + 1, GROUP_BLOCK]) <= block:
            jump += 1
        if jump > group and here < block:
            group, n, head = jump, jump << shift, np.int64(SKIP_STEP)
            here = np.int64(lists.groups[first + jump, GROUP_BLOCK]) - 1
            is_dense = jump + 1 < groups and (
                np.int64(lists.groups[first + jump + 1, GROUP_BLOCK]) == here + 1 + (1 << shift)
            )
        if is_dense and here < block:  # The term is in all blocks of the group: none has to be passed over.
            n, here = n + block - here - 1, block - 1
        while here < block and n < number:
            head = np.int64(lists.stream[begin + n])
            here += skipped_blocks(head) if head & 15 == SKIP_STEP else (head & 15) + 1
            n += 1
        scratch.entry[leaf, block] = n - 1
        if kept:
            continue
        documents = np.uint64(0)
        if here == block and head & 15 != SKIP_STEP:
            at, stop = block_span(lists, place_of_leaf(plan, leaf), n - 1)
            documents = block_bitset(lists.stream, at, stop) & common[side, block]
        common[side, block] = documents
        if documents:
            found[count] = block
            count += 1
    return count


@njit(cache=True, nogil=True)
def _meet_wide(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, listed: int, side: int, begun: bool
) -> int:  # pragma: no cover - compiled
    """Keep the documents that have this wide term too, whose sets are at hand; list and count their blocks."""
    common, found, row, count = scratch.common, scratch.order[0], plan.place[leaf, ENTRY_BITSET_ROW], np.uint64(0)
    for i in range(listed if begun else len(lists.live)):
        block = np.uint64(found[i]) if begun else np.uint64(i)
        documents = lists.bitsets[row, block] & (common[side, block] if begun else lists.live[block])
        common[side, block] = documents
        found[count] = block
        count += np.uint64(documents != 0)
    return np.int64(count)


@njit(cache=True, nogil=True)
def _is_scanned_next(plan: Plan, i: int) -> bool:  # pragma: no cover - compiled
    """Return whether all blocks of a further term may be gone through, also those that leaf `i` in order is not in."""
    most = LEAP * plan.place[plan.order[i], ENTRY_FREQUENCY]
    for n in range(i + 1, len(plan.order)):
        leaf = plan.order[n]
        kind = plan.place[leaf, ENTRY_ENCODING]
        is_scanned = kind == SPARSE or (kind != BITSET and plan.place[leaf, ENTRY_HEADERS] <= most)
        if is_scanned and plan.required & (_ONE << np.uint64(leaf)):
            return True
    return False


@njit(cache=True, nogil=True)
def _keep_pairs(plan: Plan, scratch: Scratch, listed: int) -> int:  # pragma: no cover - compiled
    """Keep the documents that may have a phrase, as far as pairs of its words tell; list and count their blocks."""
    common, found, count = scratch.common, scratch.order[0], np.uint64(0)
    for i in range(listed):
        block = np.uint64(found[i])
        documents = common[0, block]
        for word in range(plan.phrases[0, 0], plan.phrases[0, 1]):
            if plan.words[word, 2] >= 0:
                documents &= plan.pairs[plan.words[word, 2], block]
        common[0, block] = documents
        found[count] = block
        count += np.uint64(documents != 0)
    return np.int64(count)


@njit(cache=True, nogil=True)
def _meet(lists: PostingsReader, plan: Plan, scratch: Scratch) -> int:  # pragma: no cover - compiled
    """Put the documents that have all required leaves into `scratch.common`; list and count their blocks.

    Wide leaves come last in this: to them it does not matter how few blocks are left, but to the others it does.
    """
    blocks, listed, side, begun = len(lists.live), np.int64(0), 0, False
    for wide in range(2):
        for i in range(len(plan.order)):
            leaf = plan.order[i]
            kind = plan.place[leaf, ENTRY_ENCODING]
            if not plan.required & (_ONE << np.uint64(leaf)) or (kind == BITSET) != (wide == 1):
                continue
            if kind == BITSET:
                listed = _meet_wide(lists, plan, scratch, leaf, listed, side, begun)
            elif begun and kind != SPARSE and listed * LEAP < plan.place[leaf, ENTRY_HEADERS]:
                listed = _leap(lists, plan, scratch, leaf, listed, side, False)
            else:
                if _is_scanned_next(plan, i):
                    scratch.common[1 - side, :blocks] = 0
                if kind == SPARSE:
                    unpack_sparse(lists, plan, scratch, leaf)
                    listed = _meet_sparse(lists, plan, scratch, leaf, side, begun)
                else:
                    listed = _meet_middling(lists, plan, scratch, leaf, side, begun)
                side = 1 - side
            begun = True
            if listed == 0:
                return listed
    if side == 1:
        for i in range(listed):
            scratch.common[0, scratch.order[0, i]] = scratch.common[1, scratch.order[0, i]]
    return listed


@njit(cache=True, nogil=True)
def intersect(lists: PostingsReader, plan: Plan, scratch: Scratch) -> int:  # pragma: no cover - compiled
    """List the blocks with documents that have all required leaves, with the bounds of all leaves; count them."""
    bound, have, found = scratch.bound, scratch.have, scratch.order[0]
    listed = _meet(lists, plan, scratch)
    if plan.shape == QUOTE and plan.paired:
        listed = _keep_pairs(plan, scratch, listed)
    if popcount(plan.required) < len(plan.order):
        have[: len(lists.live)] = 0  # Optional leaves look at all their blocks, whether these are listed.
    for i in range(listed):
        bound[found[i]], have[found[i]] = 0, plan.required
    if listed == 0:
        return listed
    for i in range(len(plan.order)):
        leaf = plan.order[i]
        kind = plan.place[leaf, ENTRY_ENCODING]
        if kind != SPARSE:
            set_levels(lists, plan, scratch, leaf)
        if plan.required & (_ONE << np.uint64(leaf)):
            if kind == BITSET:
                _leap(lists, plan, scratch, leaf, listed, 0, True)
            for n in range(listed):
                bound[found[n]] += bound_of(lists, plan, scratch, leaf, np.int64(found[n]))
        elif kind == SPARSE:
            unpack_sparse(lists, plan, scratch, leaf)
            add_sparse(plan, scratch, leaf, plan.required)
        elif plan.leaves[leaf, LEAF_DOCUMENTS] >= 0:
            add_within(lists, plan, scratch, leaf, plan.required)
        else:
            add_middling(lists, plan, scratch, leaf, plan.required)
    return listed
