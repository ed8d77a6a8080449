"""The first half of matching: which blocks can hold a match, and what no score in each of them can exceed."""

from typing import Any

import numpy as np
from numba import njit

from periplus.kernels.lexicon import get_number
from periplus.kernels.lists import BODY, Lists, skip_positions
from periplus.kernels.pack import BLOCK, FAR, FAT, GROUP, IS_DENSE, IS_SPARSE, LEVEL_COUNT, count_groups
from periplus.kernels.plan import ALL, GIVEN, Desk, Plan

__all__ = ["SLACK", "find_blocks"]

SLACK = np.float32(1 + 1e-5)
"""Bounds and scores are the same sums in another order: what rounding may make of that."""
_LEAP = 8
"""A middling term with this many block bytes for each block that is still in question is leapt through by groups."""
_ONE = np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def _add_sparse(
    lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any
) -> int:  # pragma: no cover - compiled
    """Unpack a sparse term and add its bounds to blocks that have all of `must`; list and count these blocks."""
    bound, have, entry, found = desk.bound, desk.have, desk.entry[leaf], desk.order[0]
    stream, kept = lists.stream, desk.sparse[0, leaf]
    weight, bit = plan.weight[leaf], _ONE << np.uint64(leaf)
    at, position = plan.place[leaf, 1], plan.place[leaf, 3]
    phrases = len(plan.phrases) > 0
    document, last, count = np.int64(-1), np.int64(-1), 0
    highest, counts = np.int64(0), False
    for n in range(plan.place[leaf, 0]):
        step, at = get_number(stream, at)
        document += step >> 2
        code, mask = step & 3, np.int64(BODY)
        block = document // BLOCK
        if code == FAT:
            mask, impact = np.int64(stream[at]), np.int64(stream[at + 1])
            at += 2
        else:
            impact = np.int64(lists.plain_impact[(block * FAT + code) * BLOCK + (document & (BLOCK - 1))])
        kept[n] = document << 24 | mask << 16 | impact << 8 | code
        if phrases:
            desk.sparse[1, leaf, n] = position
            position = skip_positions(lists.positions, position, code, mask)
        if block != last:
            last, highest = block, impact
            counts = have[block] & must == must
            if counts:
                bound[block] += weight * np.float32(impact)
                have[block] |= bit
                entry[block] = n
                found[count] = block
                count += 1
        elif impact > highest and counts:
            bound[block] += weight * np.float32(impact - highest)
            highest = impact
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _set_levels(lists: Lists, plan: Plan, desk: Desk, leaf: int) -> None:  # pragma: no cover - compiled
    """Work out what each level of a middling term stands for."""
    low = np.float32(lists.stream[plan.place[leaf, 1]])
    high = np.float32(lists.stream[plan.place[leaf, 1] + 1])
    for level in range(LEVEL_COUNT):
        desk.level[leaf, level] = plan.weight[leaf] * (low + (high - low) * np.float32(level / (LEVEL_COUNT - 1)))


@njit(cache=True, nogil=True, forceinline=True)
def _add_everywhere(lists: Lists, plan: Plan, desk: Desk, leaf: int) -> None:  # pragma: no cover - compiled
    """Add the bounds of a middling term to all its blocks."""
    bound, have, entry, level = desk.bound, desk.have, desk.entry[leaf], desk.level[leaf]
    bit = _ONE << np.uint64(leaf)
    begin = plan.place[leaf, 1] + 2
    heads = lists.stream[begin : begin + plan.place[leaf, 6]]
    block = np.uint64(np.int64(-1))
    for n in range(len(heads)):
        head = heads[n]
        step = np.uint64(head & np.uint8(15))
        block += step
        if step == FAR:
            continue
        block += _ONE
        bound[block] += level[head >> np.uint8(4)]
        have[block] |= bit
        entry[block] = n


@njit(cache=True, nogil=True, forceinline=True)
def _add_middling(lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any) -> int:  # pragma: no cover - compiled
    """Add the bounds of a middling term to blocks that have all of `must`; list and count these blocks."""
    bound, have, entry, level = desk.bound, desk.have, desk.entry[leaf], desk.level[leaf]
    found, bit = desk.order[0], _ONE << np.uint64(leaf)
    begin = plan.place[leaf, 1] + 2
    heads = lists.stream[begin : begin + plan.place[leaf, 6]]
    block, count = np.int64(-1), 0
    for n in range(len(heads)):
        head = np.int64(heads[n])
        step = head & 15
        block += step
        if step == FAR:
            continue
        block += 1
        here = have[block] & must == must
        bound[block] += level[head >> 4] if here else np.float32(0)
        have[block] |= bit if here else np.uint64(0)
        entry[block] = n
        found[count] = block
        count += here
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _leap(lists: Lists, plan: Plan, desk: Desk, leaf: int, listed: int) -> int:  # pragma: no cover - compiled
    """Do for the few blocks listed what `_add_middling` does for all, passing over groups that have none of them."""
    entry, level, found = desk.entry[leaf], desk.level[leaf], desk.order[0]
    bit = _ONE << np.uint64(leaf)
    begin, first, number = plan.place[leaf, 1] + 2, plan.place[leaf, 5], plan.place[leaf, 6]
    groups = count_groups(number)
    group, n, here, count, head = np.int64(0), np.int64(0), np.int64(-1), 0, np.int64(0)
    for i in range(listed):
        block = np.int64(found[i])
        jump = group
        while jump + 1 < groups and np.int64(lists.groups[first + jump + 1, 0]) <= block:
            jump += 1
        if jump > group and here < block:
            group, n, here, head = jump, jump * GROUP, np.int64(lists.groups[first + jump, 0]) - 1, np.int64(FAR)
        while here < block and n < number:
            head = np.int64(lists.stream[begin + n])
            here += (head & 15) + (head & 15 != FAR)
            n += 1
        if here == block and head & 15 != FAR:
            desk.bound[block] += level[head >> 4]
            desk.have[block] |= bit
            entry[block] = n - 1
            found[count] = block
            count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _add_dense(lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any) -> int:  # pragma: no cover - compiled
    """Add the bounds of a dense term to blocks that have all of `must`; list and count these blocks."""
    bound, have, found = desk.bound, desk.have, desk.order[0]
    weight, bit, count = plan.weight[leaf], _ONE << np.uint64(leaf), 0
    highest = lists.dense_max[plan.place[leaf, 5]]
    for block in range(len(highest)):
        if highest[block] and have[block] & must == must:
            bound[block] += weight * np.float32(highest[block])
            have[block] |= bit
            found[count] = block
            count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _add_dense_everywhere(lists: Lists, plan: Plan, desk: Desk, leaf: int) -> None:  # pragma: no cover - compiled
    """Add the bounds of a dense term to all its blocks, without a branch."""
    bound, have, weight, bit = desk.bound, desk.have, plan.weight[leaf], _ONE << np.uint64(leaf)
    highest = lists.dense_max[plan.place[leaf, 5]]
    for block in range(len(highest)):
        bound[block] += weight * np.float32(highest[block])
        have[block] |= bit if highest[block] else np.uint64(0)


@njit(cache=True, nogil=True, forceinline=True)
def _add_dense_listed(lists: Lists, plan: Plan, desk: Desk, leaf: int, listed: int) -> int:  # pragma: no cover - compiled
    """Do for the blocks listed what `_add_dense` does for all."""
    found, weight, bit, count = desk.order[0], plan.weight[leaf], _ONE << np.uint64(leaf), 0
    highest = lists.dense_max[plan.place[leaf, 5]]
    for i in range(listed):
        block = found[i]
        if highest[block]:
            desk.bound[block] += weight * np.float32(highest[block])
            desk.have[block] |= bit
            found[count] = block
            count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _intersect(lists: Lists, plan: Plan, desk: Desk) -> int:  # pragma: no cover - compiled
    """List the blocks that have all required leaves, with the bounds of all leaves; count them."""
    must, listed = np.uint64(0), 0
    for leaf in plan.order:
        kind = plan.place[leaf, 4]
        if kind != IS_SPARSE and kind != IS_DENSE:
            _set_levels(lists, plan, desk, leaf)
        bit = _ONE << np.uint64(leaf)
        if not plan.required & bit:
            kept = desk.order[1, :listed]
            kept[:] = desk.order[0, :listed]
            _add_one(lists, plan, desk, leaf, must, listed)
            desk.order[0, :listed] = kept
            continue
        listed = _add_one(lists, plan, desk, leaf, must, listed)
        must |= bit
        if listed == 0:
            return 0
    return listed


@njit(cache=True, nogil=True, forceinline=True)
def _add_one(
    lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any, listed: int
) -> int:  # pragma: no cover - compiled
    """Add the bounds of one leaf to blocks that have all of `must`, of which `listed` are listed; list and count them."""
    kind = plan.place[leaf, 4]
    if kind == IS_SPARSE:
        return _add_sparse(lists, plan, desk, leaf, must)
    if kind == IS_DENSE:
        if must:
            return _add_dense_listed(lists, plan, desk, leaf, listed)
        return _add_dense(lists, plan, desk, leaf, must)
    if must and listed * _LEAP < plan.place[leaf, 6]:
        return _leap(lists, plan, desk, leaf, listed)
    return _add_middling(lists, plan, desk, leaf, must)


@njit(cache=True, nogil=True, forceinline=True)
def _unite(lists: Lists, plan: Plan, desk: Desk) -> int:  # pragma: no cover - compiled
    """List the blocks that have any leaf (all blocks, where the program needs none), with their bounds; count them."""
    have, found = desk.have, desk.order[0]
    for leaf in plan.order:
        kind = plan.place[leaf, 4]
        if kind == IS_SPARSE:
            _add_sparse(lists, plan, desk, leaf, np.uint64(0))
        elif kind == IS_DENSE:
            _add_dense_everywhere(lists, plan, desk, leaf)
        else:
            _set_levels(lists, plan, desk, leaf)
            _add_everywhere(lists, plan, desk, leaf)
    everything = False
    for step in range(len(plan.program)):
        everything |= plan.program[step, 0] in (ALL, GIVEN)
    count = 0
    for block in range(len(lists.live)):
        found[count] = block
        count += 1 if everything or have[block] else 0
    return count


@njit(cache=True, nogil=True, forceinline=True)
def find_blocks(lists: Lists, plan: Plan, desk: Desk) -> int:  # pragma: no cover - compiled
    """Put the blocks that can match into `desk.order[0]`, ascending, and what they can score into `desk.bound`."""
    blocks = len(lists.live)
    bound, have, found = desk.bound, desk.have, desk.order[0]
    bound[:blocks] = 0
    have[:blocks] = 0
    count = _intersect(lists, plan, desk) if plan.required else _unite(lists, plan, desk)
    words = np.zeros(max(1, plan.groups), np.uint64)
    for leaf in range(len(plan.leaves)):
        if plan.groups and plan.leaves[leaf, 1] >= 0:
            words[plan.leaves[leaf, 1]] |= _ONE << np.uint64(leaf)
    static, bonus = np.float32(plan.static_weight), np.float32(plan.bonus)
    if len(lists.block_static) and static > 0:
        for i in range(count):
            bound[found[i]] += static * lists.block_static[found[i]]
    if plan.groups:
        for i in range(count):
            every = True
            for word in words:
                every &= (have[found[i]] & word) != 0
            if every:
                bound[found[i]] += bonus
    return count
