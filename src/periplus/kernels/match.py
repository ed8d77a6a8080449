"""The best documents of one segment for one query plan: exact, block by block.

First the weighted block maxima of all terms are summed into a bound for every block. Blocks are then opened from the
highest bound down, until no bound can reach the k-th best score. In an open block the set of documents of each term is
one 64-bit word; the plan's program (and, or, without, phrase) runs on those words. Counts go on over the blocks that
were not opened, exactly up to a limit, by sampling beyond it.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.heap import push, sort_best_first
from periplus.kernels.invert import BLOCK, GROUP, PLAIN
from periplus.kernels.lexicon import get_number
from periplus.kernels.lists import BODY, Lists, get_entry, make_tiny_lists
from periplus.kernels.phrases import has_phrase
from periplus.kernels.plan import (
    ALL,
    AND,
    GIVEN,
    LEAF,
    MAX_LEAVES,
    OR,
    PHRASE,
    WITHOUT,
    Desk,
    Plan,
    make_desk,
)

__all__ = [
    "ALL",
    "AND",
    "GIVEN",
    "LEAF",
    "MAX_LEAVES",
    "OR",
    "PHRASE",
    "WITHOUT",
    "Desk",
    "Found",
    "Plan",
    "make_desk",
    "match",
]

_BUCKETS = 512
_ONE = np.uint64(1)


class Found(NamedTuple):
    """What `match` gives: documents best first, with scores, and how many there are in all."""

    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    total: float
    exact: bool


@njit(cache=True, nogil=True)
def _may_match(plan: Plan, block: int, have: Any, stack: Any) -> bool:  # pragma: no cover - compiled
    """Run the program on whole blocks: can a block with these leaves hold a match at all?"""
    top = 0
    for step in range(len(plan.operation)):
        operation, argument = plan.operation[step], plan.argument[step]
        if operation == LEAF:
            stack[top] = (have >> np.uint64(argument)) & _ONE
            top += 1
        elif operation == PHRASE:
            every = _ONE
            for word in range(plan.phrase_start[argument], plan.phrase_start[argument + 1]):
                every &= have >> np.uint64(plan.phrase_leaf[word])
            stack[top] = every
            top += 1
        elif operation == ALL:
            stack[top] = _ONE
            top += 1
        elif operation == GIVEN:
            stack[top] = _ONE if plan.given[argument, block] != 0 else np.uint64(0)
            top += 1
        else:
            top -= 1
            if operation == AND:
                stack[top - 1] &= stack[top]
            elif operation == OR:
                stack[top - 1] |= stack[top]
    return stack[0] != 0


@njit(cache=True, nogil=True)
def _run(lists: Lists, plan: Plan, desk: Desk, block: int, allowed: Any) -> Any:  # pragma: no cover - compiled
    """Run the program on one open block; give the set of documents that match, within `allowed`."""
    stack = desk.stack
    top = 0
    for step in range(len(plan.operation)):
        operation, argument = plan.operation[step], plan.argument[step]
        if operation == LEAF:
            stack[top] = desk.sets[argument]
            top += 1
        elif operation == PHRASE:
            both = allowed
            for word in range(plan.phrase_start[argument], plan.phrase_start[argument + 1]):
                both &= desk.sets[plan.phrase_leaf[word]]
            result = np.uint64(0)
            for offset in range(BLOCK):
                bit = _ONE << np.uint64(offset)
                if both & bit and has_phrase(lists, plan, desk, argument, block, offset):
                    result |= bit
            stack[top] = result
            top += 1
        elif operation == ALL:
            stack[top] = allowed
            top += 1
        elif operation == GIVEN:
            stack[top] = plan.given[argument, block]
            top += 1
        else:
            top -= 1
            if operation == AND:
                stack[top - 1] &= stack[top]
            elif operation == OR:
                stack[top - 1] |= stack[top]
            else:
                stack[top - 1] &= ~stack[top]
    return stack[0] & allowed


@njit(cache=True, nogil=True)
def _open(lists: Lists, plan: Plan, desk: Desk, block: int) -> None:  # pragma: no cover - compiled
    """Read a block's postings: the set of documents of each leaf, and the scores."""
    desk.scores[:] = 0
    have = desk.have[block]
    base = block * PLAIN * BLOCK
    for leaf in range(len(plan.place)):
        if not (have >> np.uint64(leaf)) & _ONE:
            desk.sets[leaf] = 0
            continue
        at = desk.entry[leaf, block] >> 8
        stop = at + (desk.entry[leaf, block] & 255)
        weight, fields = plan.weight[leaf], plan.fields[leaf]
        found = np.uint64(0)
        while at < stop:
            byte = np.int64(lists.stream[at])
            offset, code = byte & 63, byte >> 6
            if code < PLAIN:
                impact = lists.plain_impact[base + (code << 6) + offset]
                counts = fields & BODY
                at += 1
            else:
                impact = lists.stream[at + 2]
                counts = fields & lists.stream[at + 1]
                at += 3
            if counts:
                found |= _ONE << np.uint64(offset)
                desk.scores[offset] += weight * np.float32(impact)
        desk.sets[leaf] = found


@njit(cache=True, nogil=True)
def _all_words(plan: Plan, sets: Any) -> Any:  # pragma: no cover - compiled
    """Give the set of documents that have every word of the query."""
    result = ~np.uint64(0)
    for group in range(plan.groups):
        either = np.uint64(0)
        for leaf in range(len(plan.group)):
            if plan.group[leaf] == group:
                either |= sets[leaf]
        result &= either
    return result


@njit(cache=True, nogil=True)
def _dense_bounds(lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any) -> None:  # pragma: no cover - compiled
    """Do for a dense term what `_bounds` does."""
    weight, row, bit = plan.weight[leaf], plan.place[leaf, 5], _ONE << np.uint64(leaf)
    phrases = len(plan.phrase_start) > 1
    for block in range(len(lists.live)):
        highest = lists.dense_max[row, block]
        if highest == 0 or desk.have[block] & must != must:
            continue
        begin = np.int64(lists.dense_start[row, block])
        desk.bound[block] += weight * np.float32(highest)
        desk.have[block] |= bit
        desk.entry[leaf, block] = begin << 8 | (np.int64(lists.dense_start[row, block + 1]) - begin)
        if phrases:
            desk.spot[leaf, 2 * block] = -1
            desk.spot[leaf, 2 * block + 1] = lists.dense_position[row, block]


@njit(cache=True, nogil=True)
def _bounds(lists: Lists, plan: Plan, desk: Desk, leaf: int, must: Any) -> None:  # pragma: no cover - compiled
    """Add one leaf's weighted block maxima; note in which blocks it is and where its postings and positions are.

    must: leaves already added without which nothing can match; blocks that lack one are passed over.
    """
    phrases = len(plan.phrase_start) > 1
    weight, bit = plan.weight[leaf], _ONE << np.uint64(leaf)
    at, end = plan.place[leaf, 1], plan.place[leaf, 2]
    size_at, position = plan.place[leaf, 3], plan.place[leaf, 4]
    block, passed, group = np.int64(-1), 0, at
    while at < end:
        if phrases:
            if passed == GROUP:
                size, size_at = get_number(lists.sizes, size_at)
                position += size
                passed, group = 0, at
            passed += 1
        step, kind, at, stop = get_entry(lists.stream, at)
        block += step
        if desk.have[block] & must == must:
            if kind == 0:
                highest = lists.stream[at - 1]
            elif stop - at == PLAIN and kind == 1:
                highest = lists.stream[at + 2]
            else:
                highest = np.uint8(0)
                for i in range(at, stop):
                    byte = np.int64(lists.stream[i])
                    impact = lists.plain_impact[(block * PLAIN + (byte >> 6)) * BLOCK + (byte & 63)]
                    highest = max(highest, impact)
            desk.bound[block] += weight * np.float32(highest)
            desk.have[block] |= bit
            desk.entry[leaf, block] = at << 8 | (stop - at)
            if phrases:
                desk.spot[leaf, 2 * block] = group
                desk.spot[leaf, 2 * block + 1] = position
        at = stop


@njit(cache=True, nogil=True)
def _all_bounds(lists: Lists, plan: Plan, desk: Desk) -> None:  # pragma: no cover - compiled
    """Add the bounds of all leaves, in the plan's order: rare and required ones first."""
    must = np.uint64(0)
    for leaf in plan.order:
        if plan.place[leaf, 5] >= 0:
            _dense_bounds(lists, plan, desk, leaf, must)
        else:
            _bounds(lists, plan, desk, leaf, must)
        must |= plan.required & (_ONE << np.uint64(leaf))


@njit(cache=True, nogil=True)
def _candidates(lists: Lists, plan: Plan, desk: Desk) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Give the blocks that can hold a match, those with the highest bounds first (in buckets)."""
    bound, have, stack, chosen = desk.bound, desk.have, desk.stack, desk.order[0]
    words = np.zeros(plan.groups, np.uint64)
    for leaf in range(len(plan.group)):
        if plan.group[leaf] >= 0:
            words[plan.group[leaf]] |= _ONE << np.uint64(leaf)
    everything = False
    for operation in plan.operation:
        everything |= operation in (ALL, GIVEN)
    highest = np.float32(0)
    count = 0
    for block in range(len(lists.live)):
        held = have[block]
        if held & plan.required != plan.required or (held == 0 and not everything):
            continue
        if not plan.simple and not _may_match(plan, block, held, stack):
            continue
        every = plan.groups > 0
        for word in words:
            every &= (held & word) != 0
        bound[block] += np.float32(plan.static_weight) * lists.block_static[block]
        if every:
            bound[block] += np.float32(plan.bonus)
        highest = max(highest, bound[block])
        chosen[count] = block
        count += 1
    starts = np.zeros(_BUCKETS + 1, np.int64)
    scale = np.float32(_BUCKETS - 1) / highest if highest > 0 else np.float32(0)
    for i in range(count):
        starts[int((highest - bound[chosen[i]]) * scale) + 1] += 1
    for i in range(_BUCKETS):
        starts[i + 1] += starts[i]
    ordered = desk.order[1]
    for i in range(count):
        bucket = int((highest - bound[chosen[i]]) * scale)
        ordered[starts[bucket]] = chosen[i]
        starts[bucket] += 1
    return ordered[:count]


@njit(cache=True, nogil=True)
def _viable(lists: Lists, plan: Plan, desk: Desk, block: int, least: float) -> Any:  # pragma: no cover - compiled
    """Give the documents of the open block whose score can still reach `least`."""
    result = np.uint64(0)
    for offset in range(min(BLOCK, len(lists.static) - block * BLOCK)):
        static = np.float32(plan.static_weight) * lists.static[block * BLOCK + offset]
        if desk.scores[offset] + static + np.float32(plan.bonus) >= least:
            result |= _ONE << np.uint64(offset)
    return result


@njit(cache=True, nogil=True)
def _count(lists: Lists, plan: Plan, desk: Desk, block: int) -> int:  # pragma: no cover - compiled
    """Give how many documents of a block match."""
    _open(lists, plan, desk, block)
    matched = _run(lists, plan, desk, block, lists.live[block])
    count = 0
    while matched:
        matched &= matched - _ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def match(lists: Lists, plan: Plan, desk: Desk, k: int, count_blocks: int) -> Found:  # pragma: no cover - compiled
    """Give the `k` best documents; of the blocks never opened for scoring, count up to `count_blocks` exactly.

    With `count_blocks` 0 nothing is counted that need not be looked at for the best: `total` is then a lower bound.
    """
    blocks = len(lists.live)
    desk.bound[:blocks] = 0
    desk.have[:blocks] = 0
    scores, documents = np.empty(k, np.float32), np.empty(k, np.int32)
    _all_bounds(lists, plan, desk)
    ordered = _candidates(lists, plan, desk)
    choosy = count_blocks == 0 and len(plan.phrase_start) > 1
    size, total, skipped = 0, 0, 0
    for i in range(len(ordered)):
        block = ordered[i]
        if size == k and desk.bound[block] < scores[0]:
            ordered[skipped] = block
            skipped += 1
            continue
        _open(lists, plan, desk, block)
        allowed = lists.live[block]
        if choosy and size == k:
            allowed &= _viable(lists, plan, desk, block, scores[0])
        matched = _run(lists, plan, desk, block, allowed)
        full = _all_words(plan, desk.sets) if plan.groups > 0 else np.uint64(0)
        for offset in range(BLOCK):
            if not matched >> np.uint64(offset):
                break
            bit = _ONE << np.uint64(offset)
            if matched & bit:
                document = block * BLOCK + offset
                score = desk.scores[offset] + np.float32(plan.static_weight) * lists.static[document]
                if full & bit:
                    score += np.float32(plan.bonus)
                size = push(scores, documents, size, score, document)
                total += 1
    rest = 0.0
    step = max(1, (skipped + count_blocks - 1) // max(1, count_blocks))
    if count_blocks > 0:
        counted, seen = 0, 0
        for i in range(0, skipped, step):
            counted += _count(lists, plan, desk, ordered[i])
            seen += 1
        rest = counted * (skipped / seen) if seen > 0 else 0.0
    sort_best_first(scores, documents, size)
    exact = step == 1 if count_blocks > 0 else skipped == 0 and not choosy
    return Found(documents[:size], scores[:size], total + rest, exact)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists = make_tiny_lists()
    plan = Plan(
        np.array([[1, 0, 2, 0, 0, -1]], np.int64),
        np.ones(1, np.float32),
        np.full(1, 255, np.uint8),
        np.zeros(1, np.int32),
        1,
        np.array([LEAF, PHRASE, AND], np.int32),
        np.zeros(3, np.int32),
        np.array([0, 1], np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.full(1, 255, np.uint8),
        np.zeros((0, 1), np.uint64),
        0.5,
        0.5,
        np.uint64(1),
        False,
        np.zeros(1, np.int32),
    )
    match(lists, plan, make_desk(1, 1, 3, True), 10, 10)
