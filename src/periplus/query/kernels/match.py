"""The best documents of one segment for one query plan: exact, block by block.

`bounds` says which blocks can match and what no score in them can exceed. Blocks are opened from the highest bound
down, until no bound can reach the k-th best score. In an open block the set of documents of each term is one 64-bit
word; the plan's program (and, or, without, phrase) runs on those words. Counts go on over the blocks that were not
opened, exactly up to a limit, by sampling beyond it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import lowest_bit, popcount
from periplus.accel.pointers import PinnedArrays, pin
from periplus.index.kernels.postings_format import BLOCK, BODY_ONLY, ESCAPED, SPARSE
from periplus.index.kernels.postings_reader import (
    PostingsReader,
    block_span,
    get_postings,
    make_tiny_postings,
    read_escaped,
)
from periplus.index.kernels.term_dictionary import ENTRY_ENCODING, ENTRY_FREQUENCY
from periplus.query.kernels.best_documents import offer, put_in_order
from periplus.query.kernels.block_bounds import SLACK, bound_of, find_blocks
from periplus.query.kernels.block_order import choose
from periplus.query.kernels.boolean_program import may_match, run_program
from periplus.query.kernels.plan import (
    ALL,
    AND,
    EVERY,
    GIVEN,
    LEAF,
    LEAF_DOCUMENTS,
    LEAF_FIELDS,
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
    place_of_leaf,
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
    "make_scratch",
    "match",
    "match_best",
]

_ONE = np.uint64(1)
UNBOUNDED = 1 << 62
TURN = 1 << 20
"""Work units, postings and positions decoded, after which the time is looked at: a few milliseconds, and more than most
queries take."""
_BLOCK_WORK = 16
"""Work units of opening a block, besides its postings."""


class MatchResult(NamedTuple):
    """What `match` gives: documents best first, with scores, and how many there are in all."""

    best: npt.NDArray[np.int32]
    """Documents; and in a second row the bits of their scores."""
    total: float
    exact: bool
    whole: bool = True
    """Whether all was looked at."""

    @property
    def documents(self) -> npt.NDArray[np.int32]:
        """The best documents."""
        return self.best[0]

    @property
    def scores(self) -> npt.NDArray[np.float32]:
        """Their scores."""
        return self.best[1].view(np.float32)


@njit(cache=True, nogil=True, forceinline=True)
def _find_postings(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int
) -> None:  # pragma: no cover - compiled
    """Note where a leaf's postings in a block are: in the stream, or for a sparse one among those unpacked."""
    entry = np.int64(scratch.entry[leaf, block])
    if plan.place[leaf, ENTRY_ENCODING] == SPARSE:
        at = stop = entry
        while stop < plan.place[leaf, ENTRY_FREQUENCY] and scratch.sparse[leaf, stop] >> 30 == block:
            stop += 1
    else:
        at, stop = block_span(lists, place_of_leaf(plan, leaf), entry)
    scratch.spots[leaf, 0], scratch.spots[leaf, 1] = at, stop


@njit(cache=True, nogil=True, forceinline=True)
def _score(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int, highest: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Add a leaf's scores in the open block; give its documents where it counts, and the highest score so far."""
    at, stop, found = scratch.spots[leaf, 0], scratch.spots[leaf, 1], np.uint64(0)
    scores, weight, fields = scratch.scores, plan.weight[leaf], np.int64(plan.leaves[leaf, LEAF_FIELDS])
    if plan.place[leaf, ENTRY_ENCODING] == SPARSE:
        for n in range(at, stop):
            posting = scratch.sparse[leaf, n]
            if fields & (posting >> 16) & 255:
                offset = (posting >> 24) & (BLOCK - 1)
                found |= _ONE << np.uint64(offset)
                scores[offset] += weight * np.float32((posting >> 8) & 255)
                highest = max(highest, scores[offset])
        return found, highest
    stream, plain_impact, base = lists.stream, lists.plain_impact, block * ESCAPED * BLOCK
    while at < stop:
        byte = np.int64(stream[at])
        if byte < ESCAPED << 6:
            mask, impact = np.int64(BODY_ONLY), plain_impact[base + byte]
            at += 1
        else:
            mask, wide_impact, at = read_escaped(stream, at + 1)
            impact = np.uint8(wide_impact)
        if fields & mask:
            offset = byte & (BLOCK - 1)
            found |= _ONE << np.uint64(offset)
            scores[offset] += weight * np.float32(impact)
            highest = max(highest, scores[offset])
    return found, highest


@njit(cache=True, nogil=True, forceinline=True)
def _highest_of(scores: Any, documents: Any) -> Any:  # pragma: no cover - compiled
    """Return the highest score of some documents of the open block."""
    highest = np.float32(0)
    while documents:
        highest = max(highest, scores[lowest_bit(documents)])
        documents &= documents - _ONE
    return highest


@njit(cache=True, nogil=True)
def _score_within(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int, allowed: Any, highest: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Do the same for a leaf that counts in some documents of the block only."""
    # Few leaves are of this kind: the scores of the other documents are put back, and `_score` needs no test for it.
    before = scratch.scores[:BLOCK].copy()
    documents, _ = _score(lists, plan, scratch, leaf, block, highest)
    excluded = documents & ~allowed
    while excluded:
        offset = lowest_bit(excluded)
        excluded &= excluded - _ONE
        scratch.scores[offset] = before[offset]
    return documents & allowed, max(highest, _highest_of(scratch.scores, documents & allowed))


@njit(cache=True, nogil=True, forceinline=True)
def _open(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, possible: Any, least: Any
) -> Any:  # pragma: no cover - compiled
    """Read a block's postings: the set of documents of each leaf, and the scores. Give which of `possible` can match.

    Stops, giving none, as soon as no score can reach `least`.
    """
    scores, sets, have, order = scratch.scores, scratch.sets, scratch.have[block], plan.order
    some = np.uint64(0)
    for offset in range(BLOCK):
        scores[offset] = 0
    left, highest = scratch.bound[block], np.float32(0)
    for i in range(len(order)):
        leaf = order[i]
        bit = _ONE << np.uint64(leaf)
        if not have & bit:
            sets[0, leaf] = 0
            continue
        _find_postings(lists, plan, scratch, leaf, block)
        scratch.progress[WORK] += scratch.spots[leaf, 1] - scratch.spots[leaf, 0]
        if plan.leaves[leaf, LEAF_DOCUMENTS] < 0:
            found, highest = _score(lists, plan, scratch, leaf, block, highest)
        else:
            allowed = plan.given[plan.leaves[leaf, LEAF_DOCUMENTS], block]
            found, highest = _score_within(lists, plan, scratch, leaf, block, allowed, highest)
        sets[0, leaf] = found
        some |= found
        if plan.required & bit:
            possible &= found
        if least > 0 and (plan.required or plan.shape == SOME):
            left -= bound_of(lists, plan, scratch, leaf, block)
            if plan.required:
                highest = _highest_of(scores, possible)
            if (highest + left) * SLACK < least:
                return np.uint64(0)
    return possible & some if plan.shape == SOME else possible


@njit(cache=True, nogil=True, forceinline=True)
def _matching(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, least: Any
) -> Any:  # pragma: no cover - compiled
    """Open a block; give the documents that match, but for some that score below `least`."""
    scratch.progress[WORK] += _BLOCK_WORK
    if plan.shape == MIXED and not may_match(plan, block, scratch.have[block], scratch.sets[1]):
        return np.uint64(0)
    possible = scratch.common[0, block] if plan.required else lists.live[block]
    # With nothing to be left out by its score, a phrase is looked at first: few documents will have it.
    early = plan.shape == QUOTE and least <= 0
    for turn in range(2):
        if possible and (turn == 0) == early:
            possible = run_program(lists, plan, scratch, block, possible, least) if plan.shape >= QUOTE else possible
        elif possible:
            possible = _open(lists, plan, scratch, block, possible, least)
    return possible


@njit(cache=True, nogil=True)
def match_best(
    lists_at: Any, plan_at: Any, desk_at: Any, k: int, count_blocks: int, most: int
) -> tuple[int, float, bool, bool]:  # pragma: no cover - compiled
    """Leave the `k` best documents in the desk; give how many there are, how many match in all, whether that is exact,
    and whether it was all: after `most` work units it stops, and another call goes on; below 0 is a new query.

    The first `count_blocks` blocks are counted while they are scored; of all others up to as many, by sampling if
    there are more. With 0 nothing is counted that need not be looked at for the best: a lower bound. `scratch.progress`
    has, between calls: phase + 1, the next block of the phase, its blocks (-1: not chosen yet), blocks that can match,
    and kept, total, skipped, counted, step and blocks counted whole so far; then the work units so far, over all calls,
    and how many there may be, which the caller sets.
    """
    lists, plan, scratch = get_postings(lists_at), get_plan(plan_at), get_scratch(desk_at)
    progress = scratch.progress
    if most < 0:
        most = -most
        progress[:WORK_LIMIT] = 0
        progress[0], progress[2], progress[8] = 1, -1, 1
        progress[3] = find_blocks(lists, plan, scratch)
        progress[WORK] = scan_work(plan, len(lists.live))
    bound, chosen, count = scratch.bound, scratch.order[1], progress[3]
    choosy, whole = count_blocks == 0, progress[9]
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
            matched = _matching(lists, plan, scratch, block, least if prunes else np.float32(-1))
            bound[block] = 0 if prunes and not choosy else -1
            if phase == 2:
                counted += popcount(matched)
                continue
            whole += not prunes
            if choosy or not prunes:
                total += popcount(matched)
            if matched:
                kept = offer(lists, plan, scratch, block, matched, kept, k)
        if not done:
            break
        progress[2] = -1
    if done:
        put_in_order(scratch, kept)
    else:
        progress[4], progress[5], progress[6], progress[7], progress[8] = kept, total, skipped, counted, step
        progress[9] = whole
    if choosy:
        return kept, float(total), kept < k, done
    return kept, total + counted * (skipped / ((skipped + step - 1) // step)) if skipped else total, step == 1, done


@njit(cache=True, nogil=True)
def _break_off(desk_at: Any) -> None:  # pragma: no cover - compiled
    """Put the best so far in order."""
    scratch = get_scratch(desk_at)
    put_in_order(scratch, scratch.progress[4])


def match(
    lists: PinnedArrays[PostingsReader],
    plan: PinnedArrays[Plan],
    scratch: PinnedArrays[Scratch],
    k: int,
    count_blocks: int,
    late: Callable[[int], bool] = lambda work: False,
    most_work: int = UNBOUNDED,
) -> MatchResult:
    """Return the `k` best documents; see `match_best`.

    late: called with the work units of each turn; returns whether to stop early. most_work: units after which it ends.
    """
    progress, charged = scratch.arrays.progress, 0
    progress[WORK_LIMIT] = most_work
    kept, total, exact, done = match_best(lists.addresses, plan.addresses, scratch.addresses, k, count_blocks, -TURN)
    while True:
        work = int(progress[WORK])
        stop, charged = late(work - charged), work
        if done:
            break
        if stop or work >= most_work:
            _break_off(scratch.addresses)
            exact = False
            break
        kept, total, exact, done = match_best(lists.addresses, plan.addresses, scratch.addresses, k, count_blocks, TURN)
    # Without further work a phrase is not looked for: what a block gave then is not all of it.
    whole = done and charged <= most_work
    return MatchResult(scratch.arrays.best[:, :kept].copy(), total, exact and whole, whole)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    plan = Plan(
        np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64),
        np.ones(1, np.float32),
        np.array([[255, 0, -1]], np.int32),
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
    scratch = pin(make_scratch(1, 1, 3, True, 10))
    match(pin(make_tiny_postings()), pin(plan), scratch, 10, 10)
    _break_off(scratch.addresses)
