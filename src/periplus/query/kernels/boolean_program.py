"""A plan's program (and, or, without, phrase) run on sets of documents: one 64-bit word for a block."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit
from periplus.index.kernels.postings_format import BLOCK
from periplus.index.kernels.postings_reader import PostingsReader
from periplus.query.kernels.phrase_match import has_phrase
from periplus.query.kernels.plan import ALL, AND, GIVEN, LEAF, OR, PHRASE, QUOTE, WORK, WORK_LIMIT, Plan, Scratch

__all__ = ["may_match", "run_program"]

_ONE = np.uint64(1)


@njit(cache=True, nogil=True, forceinline=True)
def may_match(plan: Plan, block: int, have: Any, stack: Any) -> bool:  # pragma: no cover - compiled
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
                if plan.words[word, 2] >= 0:
                    every &= np.uint64(plan.pairs[plan.words[word, 2], block] != 0)
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
    lists: PostingsReader,
    plan: Plan,
    scratch: Scratch,
    phrase: int,
    block: int,
    allowed: Any,
    least: Any,
    positions: bool,
) -> Any:  # pragma: no cover - compiled
    """Return the documents of the open block that have a phrase; those that score below `least` are skipped.

    Without positions, those that may have it, as far as pairs of words tell.
    """
    is_known = False
    for word in range(plan.phrases[phrase, 0], plan.phrases[phrase, 1]):
        leaf = plan.words[word, 0]
        scratch.spots[leaf, 2], scratch.spots[leaf, 3] = -1, -1
        if plan.shape != QUOTE:
            allowed &= scratch.sets[0, leaf]
        if plan.words[word, 2] >= 0:
            allowed &= plan.pairs[plan.words[word, 2], block]
            is_known = True
    if not positions or (is_known and plan.phrases[phrase, 1] - plan.phrases[phrase, 0] == 2):
        return allowed
    result = np.uint64(0)
    while allowed:
        offset = lowest_bit(allowed)
        allowed &= allowed - _ONE
        if least > 0:
            score = scratch.scores[offset] + np.float32(plan.bonus)
            if len(lists.static):
                score += np.float32(plan.static_weight) * lists.static[block * BLOCK + offset]
            if score < least:
                continue
        if scratch.progress[WORK] > scratch.progress[WORK_LIMIT]:
            break
        if has_phrase(lists, plan, scratch, phrase, block, offset):
            result |= _ONE << np.uint64(offset)
    return result


@njit(cache=True, nogil=True, forceinline=True)
def run_program(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, allowed: Any, least: Any, positions: bool
) -> Any:  # pragma: no cover - compiled
    """Run the program on one open block; give the set of documents that match, within `allowed`.

    positions: whether those of phrases are read; without them, a phrase is what pairs of words tell of it.
    """
    stack = scratch.sets[1]
    top = 0
    scratch.progress[WORK] += len(plan.program)
    for step in range(len(plan.program)):
        operation, argument = plan.program[step, 0], plan.program[step, 1]
        if operation == LEAF:
            stack[top] = scratch.sets[0, argument]
            top += 1
        elif operation == PHRASE:
            stack[top] = _with_phrase(lists, plan, scratch, argument, block, allowed, least, positions)
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
