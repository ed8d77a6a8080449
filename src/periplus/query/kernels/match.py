"""The best documents of one segment for one query plan: exact, block by block.

`bounds` says which blocks can match and what no score in them can exceed. Blocks are opened from the highest bound
down, until no bound can reach the k-th best score. In an open block the set of documents of each term is one 64-bit
word; the plan's program (and, or, without, phrase) runs on those words. Counts go on over the blocks that were not
opened, exactly up to a limit, by sampling beyond it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import popcount
from periplus.accel.pointers import PinnedArrays, pin
from periplus.index.kernels.postings_format import BLOCK
from periplus.index.kernels.postings_reader import PostingsReader, get_postings, make_tiny_postings
from periplus.query.kernels.best_documents import all_words, offer, put_in_order
from periplus.query.kernels.block_bounds import SLACK
from periplus.query.kernels.block_finder import find_blocks
from periplus.query.kernels.block_order import choose
from periplus.query.kernels.block_scores import has_all, open_block, read_sets, score_sets, within_reach
from periplus.query.kernels.boolean_program import may_match, run_program
from periplus.query.kernels.plan import (
    ALL,
    ALL_PAIRED,
    AND,
    COMPLETE,
    COMPLETE_SAMPLED,
    COUNTS_COMPLETE,
    EVERY,
    EVERY_DOCUMENT,
    GIVEN,
    LEAF,
    MAX_LEAVES,
    MIXED,
    OR,
    PHRASE,
    QUOTE,
    SOME,
    WITHOUT,
    WORK,
    WORK_LIMIT,
    Plan,
    Scratch,
    get_plan,
    get_scratch,
    make_scratch,
    scan_work,
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
    "TURN",
    "WITHOUT",
    "MatchResult",
    "Plan",
    "Scratch",
    "find_matching",
    "make_scratch",
    "match",
    "match_best",
]

UNBOUNDED = 1 << 62
TURN = 1 << 20
"""Work units, postings and positions decoded, after which the time is looked at: a few milliseconds, and more than most
queries take."""
_BLOCK_WORK = 16
"""Work units of opening a block, besides its postings."""


class LaidOutPlan(Protocol):
    """A plan whose addresses are written down; it keeps its arrays alive."""

    @property
    def addresses(self) -> npt.NDArray[np.int64]:
        """Where its fields are, as `pointers.pin` writes it."""
        ...


class MatchResult(NamedTuple):
    """What `match` gives: documents best first, with scores, and how many there are in all."""

    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    total: float
    exact: bool
    whole: bool = True
    """Whether all was looked at."""
    complete: int = 0
    """About so many have all words of the query, where it has words of which any may match and they are counted."""


@njit(cache=True, nogil=True, forceinline=True)
def _match_simple(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, least: Any, counts: bool, scores: bool
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Do what `find_matching` does for a simple plan: by sets of documents, before any score."""
    if plan.paired and not may_match(plan, block, scratch.have[block], scratch.sets[1]):
        return np.uint64(0), np.uint64(0)
    possible = read_sets(lists, plan, scratch, block)
    phrases, known = plan.shape == MIXED and len(plan.phrases) > 0, False
    if plan.shape == MIXED:
        possible = has_all(plan, scratch, possible)
        if possible and phrases and plan.paired:
            possible = run_program(lists, plan, scratch, block, possible, np.float32(-1), False)
            if plan.paired == ALL_PAIRED:
                phrases, known = False, True
        if possible and not known and (not phrases or counts or least <= 0):
            possible = run_program(lists, plan, scratch, block, possible, np.float32(-1), True)
            phrases = False
    if not possible or not scores:
        return possible, np.uint64(0)
    chosen, most = possible, np.float32(-1)
    if least > 0:
        chosen, most = within_reach(lists, plan, scratch, block, possible, least)
    if chosen:
        chosen = score_sets(lists, plan, scratch, block, chosen, least, most)
    if phrases:
        if chosen:
            chosen = run_program(lists, plan, scratch, block, chosen, least, True)
        possible = chosen
    return possible, chosen


@njit(cache=True, nogil=True, forceinline=True)
def find_matching(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, least: Any, counts: bool, scores: bool
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Open a block; return the documents that match, and those of them that are scored: but for some below `least`.

    counts: whether the first set has to be exact; scores: whether the second is needed.
    """
    scratch.progress[WORK] += _BLOCK_WORK
    if plan.simple and (plan.shape == SOME or len(plan.clauses) > 0):
        return _match_simple(lists, plan, scratch, block, least, counts, scores)
    if plan.simple == EVERY_DOCUMENT and plan.shape == EVERY:  # What has all leaves matches: that is known already.
        possible = scratch.common[0, block]
        return possible, open_block(lists, plan, scratch, block, possible, least) if scores else np.uint64(0)
    least = np.float32(-1) if counts else least
    if plan.shape == MIXED and not may_match(plan, block, scratch.have[block], scratch.sets[1]):
        return np.uint64(0), np.uint64(0)
    possible = scratch.common[0, block] if plan.required and len(plan.clauses) == 0 else lists.live[block]
    # With nothing to be left out by its score, a phrase is looked at first: few documents will have it.
    early = plan.shape == QUOTE and (least <= 0 or plan.paired == ALL_PAIRED)
    for turn in range(2):
        if possible and (turn == 0) == early:
            possible = (
                run_program(lists, plan, scratch, block, possible, least, True) if plan.shape >= QUOTE else possible
            )
            if early and not scores and plan.simple == EVERY_DOCUMENT:  # Only counted: nothing else is to be read.
                break
        elif possible:
            possible = open_block(lists, plan, scratch, block, possible, least)
    return possible, possible


@njit(cache=True, nogil=True)
def match_best(
    lists_at: Any, plan_at: Any, desk_at: Any, k: int, count_blocks: int, most: int, limit: int
) -> tuple[int, float, bool, bool, int]:  # pragma: no cover - compiled
    """Leave the `k` best documents in the desk; give how many there are, how many match in all, whether that is exact,
    and whether it was all, and the work units so far: after `most` it stops, and another call goes on; below 0 is a new
    query. After `limit` of them in all, documents are left out.

    The first `count_blocks` blocks are counted while they are scored; of all others up to as many, by sampling if
    there are more. With 0 nothing is counted that need not be looked at for the best: a lower bound. `scratch.progress`
    has, between calls: phase + 1, the next block of the phase, its blocks (-1: not chosen yet), blocks that can match,
    and kept, total, skipped, counted, step and blocks counted whole so far; then the work units so far, over all calls,
    how many there may be, and what is said of COMPLETE.
    """
    lists, plan, scratch = get_postings(lists_at), get_plan(plan_at), get_scratch(desk_at)
    progress = scratch.progress
    if most < 0:
        most = -most
        progress[:WORK_LIMIT], progress[WORK_LIMIT] = 0, limit
        progress[0], progress[2], progress[8] = 1, -1, 1
        progress[3] = find_blocks(lists, plan, scratch)
        scratch.spots[:, 4] = scratch.spots[:, 6] = -1
        progress[WORK] = scan_work(plan, len(lists.live))
    bound, chosen, count = scratch.bound, scratch.order[1], progress[3]
    choosy, whole, complete = count_blocks == 0, progress[9], progress[COUNTS_COMPLETE] != 0 and plan.groups > 0
    kept, total, skipped, counted, step = progress[4], progress[5], progress[6], progress[7], progress[8]
    turn_end, done = min(progress[WORK] + most, progress[WORK_LIMIT]), True
    started = progress[WORK]
    for phase in range(progress[0] - 1, 2 if choosy else 3):
        if progress[2] < 0:
            progress[1], progress[2] = 0, choose(scratch, count, phase, kept == k, scratch.scores[BLOCK])
            if phase == 2:
                skipped = progress[2]
                step = max(1, (skipped + count_blocks - 1) // count_blocks)
        for i in range(progress[1], progress[2], step):
            block = chosen[i]
            least = scratch.scores[BLOCK] if kept == k else np.float32(-1)
            if phase < 2 and bound[block] * SLACK < least:
                continue
            if progress[WORK] >= turn_end and progress[WORK] > started:
                progress[0], progress[1], done = phase + 1, i, False
                break
            # Below the least score there is nothing to find, only to count: that is left to phase 2 where it is much.
            prunes = phase < 2 and least > 0 and whole >= count_blocks
            if len(lists.block_factor) and least > 0:  # What a score must be before it is multiplied.
                least /= lists.block_factor[block]
            matched, scored = find_matching(lists, plan, scratch, block, least, not prunes, phase < 2)
            bound[block] = 0 if prunes and not choosy else -1
            if complete and not prunes:
                full = popcount(matched & all_words(plan, scratch.sets)) if matched else 0
                progress[COMPLETE_SAMPLED if phase == 2 else COMPLETE] += full
            if phase == 2:
                counted += popcount(matched)
                continue
            whole += not prunes
            if choosy or not prunes:
                total += popcount(matched)
            if scored:
                kept = offer(lists, plan, scratch, block, scored, kept, k)
        if not done:
            break
        progress[2] = -1
    progress[6], progress[8] = skipped, step
    if done:
        put_in_order(scratch, kept)
    else:
        progress[4], progress[5], progress[7], progress[9] = kept, total, counted, whole
    if choosy:
        return kept, float(total), kept < k, done, progress[WORK]
    whole_total = total + counted * (skipped / ((skipped + step - 1) // step)) if skipped else float(total)
    return kept, whole_total, step == 1, done, progress[WORK]


@njit(cache=True, nogil=True)
def _break_off(desk_at: Any) -> None:  # pragma: no cover - compiled
    """Put the best so far in order."""
    scratch = get_scratch(desk_at)
    put_in_order(scratch, scratch.progress[4])


def match(
    lists: PinnedArrays[PostingsReader],
    plan: LaidOutPlan,
    scratch: PinnedArrays[Scratch],
    k: int,
    count_blocks: int,
    late: Callable[[int], bool] = lambda work: False,
    most_work: int = UNBOUNDED,
    *,
    counts_complete: bool = False,
) -> MatchResult:
    """Return the `k` best documents; see `match_best`.

    late: called with the work units of each turn; returns whether to stop early. most_work: units after which it ends.
    counts_complete: whether documents with all words are counted too.
    """
    if counts_complete:
        progress = scratch.arrays.progress
        progress[COUNTS_COMPLETE], progress[COMPLETE], progress[COMPLETE_SAMPLED] = 1, 0, 0
    places = lists.addresses, plan.addresses, scratch.addresses
    kept, total, exact, done, work = match_best(*places, k, count_blocks, -TURN, most_work)
    stop = late(work)
    while not done:
        if stop or work >= most_work:
            _break_off(scratch.addresses)
            exact = False
            break
        charged = work
        kept, total, exact, done, work = match_best(*places, k, count_blocks, TURN, most_work)
        stop = late(work - charged)
    # Without further work a phrase is not looked for: what a block gave then is not all of it.
    whole, best = done and work <= most_work, scratch.arrays
    complete = _take_complete(best.progress) if counts_complete else 0
    documents, scores = best.best[:kept].copy(), best.scores[BLOCK : BLOCK + kept].copy()
    return MatchResult(documents, scores, total, exact and whole, whole, complete)


def _take_complete(progress: npt.NDArray[np.int64]) -> int:
    """Return how many documents have all words, those of a sample extrapolated; the next query need not count them."""
    skipped, step = int(progress[6]), max(1, int(progress[8]))
    progress[COUNTS_COMPLETE], sampled = 0, (skipped + step - 1) // step
    return int(progress[COMPLETE]) + (int(progress[COMPLETE_SAMPLED]) * skipped // sampled if sampled else 0)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    plan = Plan(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64),
        np.ones(1, np.float32),
        np.array([[255, 0, -1]], np.int32),
        np.array([[LEAF, 0], [PHRASE, 0], [AND, 0]], np.int32),
        np.array([[0, 1, 0, 255]], np.int32),
        np.array([[0, 0, -1]], np.int32),
        np.zeros(1, np.int32),
        np.zeros((0, 1), np.uint64),
        MIXED,
        1,
        np.uint64(1),
        0.5,
        0.5,
        np.ones(1, np.uint64),
        1,
        np.zeros((0, 1), np.uint64),
        0,
    )
    scratch = pin(make_scratch(1, 1, 3, True, 10))
    match(pin(make_tiny_postings()), pin(plan), scratch, 10, 10)
    _break_off(scratch.addresses)
