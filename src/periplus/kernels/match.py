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
from periplus.kernels.invert import BLOCK
from periplus.kernels.lists import MOST_POSITIONS, Lists, make_tiny_lists, read_positions, seek_block

__all__ = [
    "ALL",
    "AND",
    "GIVEN",
    "LEAF",
    "MAX_LEAVES",
    "OR",
    "PHRASE",
    "WITHOUT",
    "Found",
    "Plan",
    "match",
]

LEAF, AND, OR, WITHOUT, PHRASE, ALL, GIVEN = 0, 1, 2, 3, 4, 5, 6
"""Steps of a program: push the set of a leaf, a phrase, all documents or a given set; or join the two sets on top."""
MAX_LEAVES = 64
_BUCKETS = 512
_ONE = np.uint64(1)


class Plan(NamedTuple):
    """A query, ready to run on one segment. A leaf is one term."""

    begin: npt.NDArray[np.int64]
    """Where each leaf's block entries begin."""
    end: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float32]
    """What one step of impact adds to the score; 0 for leaves that only exclude."""
    fields: npt.NDArray[np.uint8]
    """Fields in which a posting of the leaf counts, as a mask."""
    group: npt.NDArray[np.int32]
    """Which word of the query a leaf stands for, or -1: a document with all words gets the bonus."""
    groups: int
    operation: npt.NDArray[np.int32]
    """The program, in postfix order."""
    argument: npt.NDArray[np.int32]
    phrase_start: npt.NDArray[np.int32]
    """Where each phrase's words begin in the two arrays below; one more than there are phrases."""
    phrase_leaf: npt.NDArray[np.int32]
    phrase_place: npt.NDArray[np.int32]
    given: npt.NDArray[np.uint64]
    """Sets made beforehand (a site, a language), by set and block."""
    static_weight: float
    bonus: float


class Found(NamedTuple):
    """What `match` gives: documents best first, with scores, and how many there are in all."""

    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    total: float
    exact: bool


@njit(cache=True, nogil=True)
def _has_phrase(
    lists: Lists, plan: Plan, phrase: int, entries: Any, offset: int, first: Any, other: Any
) -> bool:  # pragma: no cover - compiled
    """Say whether the document at `offset` has the phrase's words at their places."""
    begin, end = plan.phrase_start[phrase], plan.phrase_start[phrase + 1]
    count = read_positions(lists, entries[plan.phrase_leaf[begin]], offset, first)
    for word in range(begin + 1, end):
        shift = plan.phrase_place[word] - plan.phrase_place[begin]
        size = read_positions(lists, entries[plan.phrase_leaf[word]], offset, other)
        kept, j = 0, 0
        for i in range(count):
            wanted = first[i] + shift
            while j < size and other[j] < wanted:
                j += 1
            if j < size and other[j] == wanted:
                first[kept] = first[i]
                kept += 1
        count = kept
        if count == 0:
            return False
    return count > 0


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
def _run(
    lists: Lists, plan: Plan, block: int, sets: Any, entries: Any, stack: Any, first: Any, other: Any
) -> Any:  # pragma: no cover - compiled
    """Run the program on one open block; give the set of documents that match."""
    allowed = lists.live[block]
    top = 0
    for step in range(len(plan.operation)):
        operation, argument = plan.operation[step], plan.argument[step]
        if operation == LEAF:
            stack[top] = sets[argument]
            top += 1
        elif operation == PHRASE:
            both = allowed
            for word in range(plan.phrase_start[argument], plan.phrase_start[argument + 1]):
                both &= sets[plan.phrase_leaf[word]]
            result = np.uint64(0)
            for offset in range(BLOCK):
                bit = _ONE << np.uint64(offset)
                if both & bit and _has_phrase(lists, plan, argument, entries, offset, first, other):
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
def _open(
    lists: Lists, plan: Plan, block: int, have: Any, sets: Any, entries: Any, scores: Any
) -> None:  # pragma: no cover - compiled
    """Read a block's postings: the set of documents of each leaf, and the scores."""
    scores[:] = 0
    for leaf in range(len(plan.begin)):
        sets[leaf] = 0
        entries[leaf] = -1
        if not (have >> np.uint64(leaf)) & _ONE:
            continue
        entry = seek_block(lists, plan.begin[leaf], plan.end[leaf], block)
        entries[leaf] = entry
        weight, fields = plan.weight[leaf], plan.fields[leaf]
        found = np.uint64(0)
        for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
            if lists.mask[posting] & fields:
                offset = lists.offset[posting]
                found |= _ONE << np.uint64(offset)
                scores[offset] += weight * np.float32(lists.impact[posting])
        sets[leaf] = found


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
def _bounds(lists: Lists, plan: Plan, bound: Any, have: Any) -> None:  # pragma: no cover - compiled
    """Sum the weighted block maxima, and note which leaves each block has."""
    for leaf in range(len(plan.begin)):
        weight = plan.weight[leaf]
        bit = _ONE << np.uint64(leaf)
        for entry in range(plan.begin[leaf], plan.end[leaf]):
            block = lists.block[entry]
            bound[block] += weight * np.float32(lists.block_max[entry])
            have[block] |= bit


@njit(cache=True, nogil=True)
def _candidates(
    lists: Lists, plan: Plan, bound: Any, have: Any, stack: Any
) -> npt.NDArray[np.int32]:  # pragma: no cover - compiled
    """Give the blocks that can hold a match, those with the highest bounds first (in buckets)."""
    everything = False
    for operation in plan.operation:
        everything |= operation in (ALL, GIVEN)
    words = np.zeros(plan.groups, np.uint64)
    for leaf in range(len(plan.group)):
        if plan.group[leaf] >= 0:
            words[plan.group[leaf]] |= _ONE << np.uint64(leaf)
    highest = np.float32(0)
    chosen = np.empty(len(bound), np.int32)
    count = 0
    for block in range(len(bound)):
        if (have[block] == 0 and not everything) or not _may_match(plan, block, have[block], stack):
            continue
        every = plan.groups > 0
        for word in words:
            every &= (have[block] & word) != 0
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
    ordered = np.empty(count, np.int32)
    for i in range(count):
        bucket = int((highest - bound[chosen[i]]) * scale)
        ordered[starts[bucket]] = chosen[i]
        starts[bucket] += 1
    return ordered


@njit(cache=True, nogil=True)
def match(lists: Lists, plan: Plan, k: int, count_blocks: int) -> Found:  # pragma: no cover - compiled
    """Give the `k` best documents; of the blocks never opened for scoring, count up to `count_blocks` exactly."""
    blocks = len(lists.live)
    bound, have = np.zeros(blocks, np.float32), np.zeros(blocks, np.uint64)
    stack = np.zeros(len(plan.operation) + 1, np.uint64)
    sets, entries = np.zeros(MAX_LEAVES, np.uint64), np.zeros(MAX_LEAVES, np.int64)
    first, other = np.empty(MOST_POSITIONS, np.int64), np.empty(MOST_POSITIONS, np.int64)
    block_scores = np.zeros(BLOCK, np.float32)
    scores, documents = np.empty(k, np.float32), np.empty(k, np.int32)
    _bounds(lists, plan, bound, have)
    ordered = _candidates(lists, plan, bound, have, stack)
    size, total, skipped = 0, 0, 0
    for i in range(len(ordered)):
        block = ordered[i]
        if size == k and bound[block] < scores[0]:
            ordered[skipped] = block
            skipped += 1
            continue
        _open(lists, plan, block, have[block], sets, entries, block_scores)
        matched = _run(lists, plan, block, sets, entries, stack, first, other)
        full = _all_words(plan, sets) if plan.groups > 0 else np.uint64(0)
        for offset in range(BLOCK):
            bit = _ONE << np.uint64(offset)
            if matched & bit:
                document = block * BLOCK + offset
                score = block_scores[offset] + np.float32(plan.static_weight) * lists.static[document]
                if full & bit:
                    score += np.float32(plan.bonus)
                size = push(scores, documents, size, score, document)
                total += 1
    step = max(1, (skipped + count_blocks - 1) // max(1, count_blocks))
    counted, seen = 0, 0
    for i in range(0, skipped, step):
        block = ordered[i]
        _open(lists, plan, block, have[block], sets, entries, block_scores)
        matched = _run(lists, plan, block, sets, entries, stack, first, other)
        seen += 1
        while matched:
            matched &= matched - _ONE
            counted += 1
    rest = counted * (skipped / seen) if seen > 0 else 0.0
    sort_best_first(scores, documents, size)
    return Found(documents[:size], scores[:size], total + rest, step == 1)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    lists = make_tiny_lists()
    plan = Plan(
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        np.ones(1, np.float32),
        np.full(1, 255, np.uint8),
        np.zeros(1, np.int32),
        1,
        np.array([LEAF, PHRASE, AND], np.int32),
        np.zeros(3, np.int32),
        np.array([0, 1], np.int32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.zeros((0, 1), np.uint64),
        0.5,
        0.5,
    )
    match(lists, plan, 10, 10)
