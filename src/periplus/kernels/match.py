"""The best documents of one segment for one query plan: exact, block by block.

`bounds` says which blocks can match and what no score in them can exceed. Blocks are opened from the highest bound
down, until no bound can reach the k-th best score. In an open block the set of documents of each term is one 64-bit
word; the plan's program (and, or, without, phrase) runs on those words. Counts go on over the blocks that were not
opened, exactly up to a limit, by sampling beyond it.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from periplus.kernels.bare import Handle, hold
from periplus.kernels.bits import lowest, size
from periplus.kernels.bounds import SLACK, bound_of, find_blocks
from periplus.kernels.heap import push, sort_best_first
from periplus.kernels.lists import Lists, entry_place, get_fat, get_lists, make_tiny_lists
from periplus.kernels.order import choose
from periplus.kernels.pack import BLOCK, BODY, FAT, IS_SPARSE
from periplus.kernels.phrases import has_phrase
from periplus.kernels.plan import (
    ALL,
    AND,
    EVERY,
    GIVEN,
    LEAF,
    MAX_LEAVES,
    MIXED,
    OR,
    PHRASE,
    QUOTE,
    SOME,
    WITHOUT,
    Desk,
    Plan,
    get_desk,
    get_plan,
    make_desk,
    place_of_leaf,
)

__all__ = [
    "ALL",
    "AND",
    "EVERY",
    "GIVEN",
    "LEAF",
    "MAX_LEAVES",
    "MIXED",
    "OR",
    "PHRASE",
    "QUOTE",
    "SOME",
    "WITHOUT",
    "Desk",
    "Found",
    "Plan",
    "make_desk",
    "match",
    "match_best",
]

_ONE = np.uint64(1)


class Found(NamedTuple):
    """What `match` gives: documents best first, with scores, and how many there are in all."""

    best: npt.NDArray[np.int32]
    """Documents; and in a second row the bits of their scores."""
    total: float
    exact: bool

    @property
    def documents(self) -> npt.NDArray[np.int32]:
        """The best documents."""
        return self.best[0]

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """Their scores."""
        return self.best[1].view(np.float32)


@njit(cache=True, nogil=True, forceinline=True)
def _may_match(plan: Plan, block: int, have: Any, stack: Any) -> bool:  # pragma: no cover - compiled
    """Run the program on a whole block: can one with these leaves hold a match at all?"""
    top = 0
    for step in range(len(plan.program)):
        operation, argument = plan.program[step, 0], plan.program[step, 1]
        if operation == LEAF:
            stack[top] = (have >> np.uint64(argument)) & _ONE
            top += 1
        elif operation == PHRASE:
            every = _ONE
            for word in range(plan.phrases[argument, 0], plan.phrases[argument, 1]):
                every &= have >> np.uint64(plan.words[word, 0])
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


@njit(cache=True, nogil=True, forceinline=True)
def _with_phrase(
    lists: Lists, plan: Plan, desk: Desk, phrase: int, block: int, allowed: Any, least: Any
) -> Any:  # pragma: no cover - compiled
    """Give the documents of the open block that have a phrase; those that score below `least` are not looked at."""
    for word in range(plan.phrases[phrase, 0], plan.phrases[phrase, 1]):
        leaf = plan.words[word, 0]
        desk.spots[leaf, 2], desk.spots[leaf, 3] = -1, -1
        if plan.shape != QUOTE:
            allowed &= desk.sets[0, leaf]
    result = np.uint64(0)
    while allowed:
        offset = lowest(allowed)
        allowed &= allowed - _ONE
        if least > 0:
            score = desk.scores[offset] + np.float32(plan.bonus)
            if len(lists.static):
                score += np.float32(plan.static_weight) * lists.static[block * BLOCK + offset]
            if score < least:
                continue
        if has_phrase(lists, plan, desk, phrase, block, offset):
            result |= _ONE << np.uint64(offset)
    return result


@njit(cache=True, nogil=True, forceinline=True)
def _run(
    lists: Lists, plan: Plan, desk: Desk, block: int, allowed: Any, least: Any
) -> Any:  # pragma: no cover - compiled
    """Run the program on one open block; give the set of documents that match, within `allowed`."""
    stack = desk.sets[1]
    top = 0
    for step in range(len(plan.program)):
        operation, argument = plan.program[step, 0], plan.program[step, 1]
        if operation == LEAF:
            stack[top] = desk.sets[0, argument]
            top += 1
        elif operation == PHRASE:
            stack[top] = _with_phrase(lists, plan, desk, argument, block, allowed, least)
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


@njit(cache=True, nogil=True, forceinline=True)
def _find_postings(lists: Lists, plan: Plan, desk: Desk, leaf: int, block: int) -> None:  # pragma: no cover - compiled
    """Note where a leaf's postings in a block are: in the stream, or for a sparse one among those unpacked."""
    entry = np.int64(desk.entry[leaf, block])
    if plan.place[leaf, 4] == IS_SPARSE:
        at = stop = entry
        while stop < plan.place[leaf, 0] and desk.sparse[leaf, stop] >> 30 == block:
            stop += 1
    else:
        at, stop = entry_place(lists, place_of_leaf(plan, leaf), entry)
    desk.spots[leaf, 0], desk.spots[leaf, 1] = at, stop


@njit(cache=True, nogil=True, forceinline=True)
def _score(
    lists: Lists, plan: Plan, desk: Desk, leaf: int, block: int, highest: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Add a leaf's scores in the open block; give its documents where it counts, and the highest score so far."""
    at, stop, found = desk.spots[leaf, 0], desk.spots[leaf, 1], np.uint64(0)
    scores, weight, fields = desk.scores, plan.weight[leaf], np.int64(plan.leaves[leaf, 0])
    if plan.place[leaf, 4] == IS_SPARSE:
        for n in range(at, stop):
            posting = desk.sparse[leaf, n]
            if fields & (posting >> 16) & 255:
                offset = (posting >> 24) & (BLOCK - 1)
                found |= _ONE << np.uint64(offset)
                scores[offset] += weight * np.float32((posting >> 8) & 255)
                highest = max(highest, scores[offset])
        return found, highest
    stream, plain_impact, base = lists.stream, lists.plain_impact, block * FAT * BLOCK
    while at < stop:
        byte = np.int64(stream[at])
        if byte < FAT << 6:
            mask, impact = np.int64(BODY), plain_impact[base + byte]
            at += 1
        else:
            mask, wide_impact, at = get_fat(stream, at + 1)
            impact = np.uint8(wide_impact)
        if fields & mask:
            offset = byte & (BLOCK - 1)
            found |= _ONE << np.uint64(offset)
            scores[offset] += weight * np.float32(impact)
            highest = max(highest, scores[offset])
    return found, highest


@njit(cache=True, nogil=True, forceinline=True)
def _highest_of(scores: Any, documents: Any) -> Any:  # pragma: no cover - compiled
    """Give the highest score of some documents of the open block."""
    highest = np.float32(0)
    while documents:
        highest = max(highest, scores[lowest(documents)])
        documents &= documents - _ONE
    return highest


@njit(cache=True, nogil=True, forceinline=True)
def _open(
    lists: Lists, plan: Plan, desk: Desk, block: int, possible: Any, least: Any
) -> Any:  # pragma: no cover - compiled
    """Read a block's postings: the set of documents of each leaf, and the scores. Give which of `possible` can match.

    Stops, giving none, as soon as no score can reach `least`.
    """
    scores, sets, have, order = desk.scores, desk.sets, desk.have[block], plan.order
    some = np.uint64(0)
    for offset in range(BLOCK):
        scores[offset] = 0
    left, highest = desk.bound[block], np.float32(0)
    for i in range(len(order)):
        leaf = order[i]
        bit = _ONE << np.uint64(leaf)
        if not have & bit:
            sets[0, leaf] = 0
            continue
        _find_postings(lists, plan, desk, leaf, block)
        found, highest = _score(lists, plan, desk, leaf, block, highest)
        sets[0, leaf] = found
        some |= found
        if plan.required & bit:
            possible &= found
        if least > 0 and (plan.required or plan.shape == SOME):
            left -= bound_of(lists, plan, desk, leaf, block)
            if plan.required:
                highest = _highest_of(scores, possible)
            if (highest + left) * SLACK < least:
                return np.uint64(0)
    return possible & some if plan.shape == SOME else possible


@njit(cache=True, nogil=True, forceinline=True)
def _all_words(plan: Plan, sets: Any) -> Any:  # pragma: no cover - compiled
    """Give the set of documents that have every word of the query."""
    result = ~np.uint64(0)
    for group in range(plan.groups):
        either = np.uint64(0)
        for leaf in range(len(plan.leaves)):
            if plan.leaves[leaf, 1] == group:
                either |= sets[0, leaf]
        result &= either
    return result


@njit(cache=True, nogil=True, forceinline=True)
def _matching(lists: Lists, plan: Plan, desk: Desk, block: int, least: Any) -> Any:  # pragma: no cover - compiled
    """Open a block; give the documents that match, but for some that score below `least`."""
    if plan.shape == MIXED and not _may_match(plan, block, desk.have[block], desk.sets[1]):
        return np.uint64(0)
    possible = desk.common[0, block] if plan.required else lists.live[block]
    # With nothing to be left out by its score, a phrase is looked at first: few documents will have it.
    early = plan.shape == QUOTE and least <= 0
    for turn in range(2):
        if possible and (turn == 0) == early:
            possible = _run(lists, plan, desk, block, possible, least) if plan.shape >= QUOTE else possible
        elif possible:
            possible = _open(lists, plan, desk, block, possible, least)
    return possible


@njit(cache=True, nogil=True, forceinline=True)
def _offer(
    lists: Lists, plan: Plan, desk: Desk, block: int, matched: Any, kept: int, k: int
) -> int:  # pragma: no cover - compiled
    """Offer what matches in the open block to the heap of the best; give the heap's size."""
    full = _all_words(plan, desk.sets) if plan.groups > 0 else np.uint64(0)
    static, bonus = np.float32(plan.static_weight), np.float32(plan.bonus)
    best_scores, best = desk.scores[BLOCK : BLOCK + k], desk.best[0, :k]
    while matched:
        offset = lowest(matched)
        matched &= matched - _ONE
        document = block * BLOCK + offset
        score = desk.scores[offset]
        if len(lists.static):
            score += static * lists.static[document]
        if (full >> np.uint64(offset)) & _ONE:
            score += bonus
        kept = push(best_scores, best, kept, score, document)
    return kept


@njit(cache=True, nogil=True)
def match_best(
    lists_at: Any, plan_at: Any, desk_at: Any, k: int, count_blocks: int
) -> tuple[int, float, bool]:  # pragma: no cover - compiled
    """Leave the `k` best documents in the desk; give how many there are, how many match in all, whether that is exact.

    Of the blocks never opened for scoring, up to `count_blocks` are counted exactly. With 0 nothing is counted that
    need not be looked at for the best: the total is then a lower bound.
    """
    lists, plan, desk = get_lists(lists_at), get_plan(plan_at), get_desk(desk_at)
    count = find_blocks(lists, plan, desk)
    bound, chosen = desk.bound, desk.order[1]
    choosy = count_blocks == 0
    kept, total, skipped, counted, step = 0, 0, 0, 0, 1
    for phase in range(2 if choosy else 3):
        number = choose(desk, count, phase, kept == k, desk.scores[BLOCK])
        if phase == 2:
            skipped = number
            step = max(1, (skipped + count_blocks - 1) // count_blocks)
        for i in range(0, number, step):
            block = chosen[i]
            least = desk.scores[BLOCK] if kept == k else np.float32(-1)
            if phase < 2 and bound[block] * SLACK < least:
                continue
            matched = _matching(lists, plan, desk, block, least if choosy else np.float32(-1))
            bound[block] = -1
            if phase == 2:
                counted += size(matched)
                continue
            total += size(matched)
            if matched:
                kept = _offer(lists, plan, desk, block, matched, kept, k)
    sort_best_first(desk.scores[BLOCK:], desk.best[0], kept)
    desk.best[1].view(np.float32)[:kept] = desk.scores[BLOCK : BLOCK + kept]
    if choosy:
        return kept, float(total), kept < k
    return kept, total + counted * (skipped / ((skipped + step - 1) // step)) if skipped else total, step == 1


def match(lists: Handle[Lists], plan: Handle[Plan], desk: Handle[Desk], k: int, count_blocks: int) -> Found:
    """Give the `k` best documents; see `match_best`."""
    kept, total, exact = match_best(lists.addresses, plan.addresses, desk.addresses, k, count_blocks)
    return Found(desk.held.best[:, :kept].copy(), total, exact)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    plan = Plan(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64),
        np.ones(1, np.float32),
        np.array([[255, 0]], np.int32),
        np.array([[LEAF, 0], [PHRASE, 0], [AND, 0]], np.int32),
        np.array([[0, 1, 0, 255]], np.int32),
        np.zeros((1, 2), np.int32),
        np.zeros(1, np.int32),
        np.zeros((0, 1), np.uint64),
        MIXED,
        1,
        np.uint64(1),
        0.5,
        0.5,
    )
    match(hold(make_tiny_lists()), hold(plan), hold(make_desk(1, 1, 3, True, 10)), 10, 10)
