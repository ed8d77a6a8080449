"""A prepared query to candidates: plan for each segment, match, merge."""

import itertools
import threading
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import pointers
from periplus.index import Index, Segment, find_pair_sets
from periplus.index.kernels.postings_format import BLOCK
from periplus.index.kernels.postings_reader import PostingsReader
from periplus.index.kernels.term_dictionary import ENTRY_FREQUENCY
from periplus.query.filter_sets import given_sets
from periplus.query.forms.term_forms import Restriction, restricted_blocks
from periplus.query.kernels import match, plan_layout
from periplus.query.kernels.first_blocks import limit_blocks
from periplus.query.query_budget import QueryBudget
from periplus.query.query_plan import QueryPlan
from periplus.query.query_tree import EVERYWHERE, Link, Site
from periplus.query.term_lookups import TermSet
from periplus.records import Candidates

__all__ = [
    "ScratchPool",
    "SegmentPlan",
    "describe_plan",
    "estimate_cost",
    "find_candidates",
    "plan_segment",
    "restrict_plan",
]

_COUNT_BLOCKS = 512
"""Blocks that are counted exactly beyond those opened for scoring; with more, as many are sampled and counted."""


_TIERS: Final = 4
"""The first tier has one of so many parts of a segment."""
_POSITION_WORK: Final = 18
"""Work units of comparing the positions of one word of a phrase in one document."""
_MIXED_WORK: Final = 1_000
"""Work units of running a program on one block, besides its steps."""
_FILTER_WORK: Final = {TermSet: 8, Site: 16}
"""Work units of a filter for each document of the index; others take one."""


def estimate_cost(prepared: QueryPlan, documents: int, blocks: int) -> int:
    """Return about how many work units the matching of a plan takes, before anything of it has run.

    documents, blocks: how many the index has.
    """
    often = [prepared.lookup.frequency(leaf.term) for leaf in prepared.leaves]
    shape = _shape(prepared)
    cost = sum(min(count, blocks) for count in often)
    # The best of a union are found in few of its blocks; of the others, some are counted.
    share = min(1.0, 2 * _COUNT_BLOCKS / max(1, blocks)) if shape == match.SOME else 1.0
    cost += int(share * sum(often))
    for phrase in prepared.phrases:
        cost += min(often[leaf] for leaf in phrase.leaves) * len(phrase.leaves) * _POSITION_WORK
    if shape == match.MIXED:
        cost += blocks * (_MIXED_WORK + 8 * len(prepared.program))
    return cost + documents * sum(_FILTER_WORK.get(type(wanted), 1) for wanted in prepared.filters)


def describe_plan(prepared: QueryPlan) -> str:
    """Return a summary of a plan for logs: the numbers of its parts, none of its words."""
    summary = f"{len(prepared.leaves)} leaves, {len(prepared.program)} steps"
    if prepared.phrases:
        words = sum([len(phrase.leaves) for phrase in prepared.phrases])
        summary += f", {len(prepared.phrases)} phrases, {words} phrase words"
    if prepared.filters:
        sets = [wanted for wanted in prepared.filters if isinstance(wanted, TermSet)]
        terms = sum([len(wanted.terms) for wanted in sets])
        summary += f", {len(prepared.filters)} filters" + (f", {terms} expansions" if terms else "")
    return summary


def find_candidates(index: Index, prepared: QueryPlan, k: int, budget: QueryBudget | None = None) -> Candidates:
    """Return the `k` best documents of the index; what is not matched within the budget is left out."""
    budget, rules, most = budget or QueryBudget(), prepared.rules, max(1, k)
    found: list[match.MatchResult] = []
    unsearched = 0
    for segment in index.segments:
        given = given_sets(segment, prepared.filters, budget) if prepared.filters else _NO_SETS
        lists = segment.pinned_postings if rules is None else rules.postings(segment, budget.late)
        if given is None or lists is None or (found and budget.late()):
            break
        plan = plan_segment(segment, prepared, given, _DESK)
        scratch = _DESK.get(len(segment.live), plan, most)
        if prepared.enough and _may_have_enough(prepared, segment):
            first = _match(limit_blocks(lists, segment.first_tier), plan, scratch, most, budget, counts_complete=True)
            if _has_enough(prepared, first, k):
                found.append(first._replace(exact=False))
                unsearched += segment.documents - min(segment.first_tier * BLOCK, segment.documents)
                continue
        found.append(_match(lists, plan, scratch, most, budget))
    if len(found) == len(index.segments) == 1:
        return _only(found[0], k, unsearched)
    whole = len(found) == len(index.segments) and all(part.whole for part in found)
    return _merge(found, k, partial=not whole, unsearched=unsearched)


def _match(
    lists: pointers.PinnedArrays[PostingsReader],
    plan: match.LaidOutPlan,
    scratch: pointers.PinnedArrays[match.Scratch],
    k: int,
    budget: QueryBudget,
    *,
    counts_complete: bool = False,
) -> match.MatchResult:
    """Return the best documents of some postings, within the budget."""
    limit = max(1, budget.work_left)
    return match.match(lists, plan, scratch, k, _COUNT_BLOCKS, budget.late, limit, counts_complete=counts_complete)


def _may_have_enough(plan: QueryPlan, segment: Segment) -> bool:
    """Return whether it is worth to search the first tier of a segment alone: it may have enough good pages.

    A page is good if it has all words, so that there are no more than pages with the rarest of them, of which the tier
    has about its share.
    """
    if not 0 < segment.first_tier < len(segment.live):  # One that has all blocks is the segment.
        return False
    least, frequency = _TIERS * plan.enough, plan.leaf_places(segment)[:, ENTRY_FREQUENCY]
    if plan.groups:
        of_word = np.zeros(plan.groups, np.int64)
        for leaf, count in zip(plan.leaves, frequency.tolist(), strict=True):
            if leaf.group >= 0:
                of_word[leaf.group] += count
        return int(of_word.min()) >= least
    if any(operation == match.OR for operation, _ in plan.program):
        # Of several words, pages with some of them match, and are not told from those with all.
        return len(plan.words) == 1 and int(frequency.sum()) >= least
    scored = [count for leaf, count in zip(plan.leaves, frequency.tolist(), strict=True) if leaf.weight > 0]
    return min(scored, default=segment.documents) >= least


def _has_enough(plan: QueryPlan, found: match.MatchResult, k: int) -> bool:
    """Return whether a first tier has enough good pages, and `k` results; without time to tell, what it has must do."""
    good = found.complete if plan.groups else found.total
    return not found.whole or (good >= plan.enough and len(found.documents) >= k)


def restrict_plan(plan: QueryPlan, key: int) -> QueryPlan:
    """Return the same plan, which only the page with a key can match; weights and scores do not change."""
    only = Link(f"{key:016x}", np.array([key], np.uint64))
    program = (*plan.program, (match.GIVEN, len(plan.filters)), (match.AND, 0))
    return plan._replace(filters=(*plan.filters, only), program=program)


def _only(found: match.MatchResult, k: int, unsearched: int) -> Candidates:
    """Return the results of the only segment, which are in order."""
    documents, scores = found.documents, found.scores
    if k < len(documents):
        documents, scores = documents[:k], scores[:k]
    segments, exact = np.zeros(len(documents), np.int32), found.exact and found.whole
    return Candidates(segments, documents, scores, round(found.total), exact, not found.whole, unsearched)


def _merge(found: list[match.MatchResult], k: int, *, partial: bool, unsearched: int) -> Candidates:
    """Put the results of all segments in one order: score, then segment, then document."""
    segments = np.concatenate([np.full(len(f.documents), n, np.int32) for n, f in enumerate(found)] or [_NO_INTS])
    documents = np.concatenate([f.documents for f in found] or [_NO_INTS])
    scores = np.concatenate([f.scores for f in found] or [np.zeros(0, np.float32)])
    order = np.lexsort((documents, segments, -scores))[:k]
    total = sum(round(f.total) for f in found)  # Shards that have the segments round each of them.
    exact = all(f.exact for f in found) and not partial
    return Candidates(segments[order], documents[order], scores[order], total, exact, partial, unsearched)


_NO_INTS: Final = np.zeros(0, np.int32)
_NO_SETS: Final = np.zeros((0, 1), np.uint64)


class SegmentPlan(NamedTuple):
    """A plan for one segment, as the kernel takes it."""

    addresses: npt.NDArray[np.int64]
    leaves: int
    steps: int
    phrases: int
    held: tuple[npt.NDArray[Any], ...]
    """The arrays whose addresses these are."""


class ScratchPool(threading.local):
    """A desk for each thread, as large as its queries have needed so far."""

    def __init__(self) -> None:
        self._room = (1, 1, 1, False, 1)
        self._scratch = pointers.pin(match.make_scratch(*self._room))
        self._plan = np.empty(1 << 9, np.int64)

    def get(self, blocks: int, plan: SegmentPlan, best: int) -> pointers.PinnedArrays[match.Scratch]:
        """Return scratch arrays that are large enough."""
        room = self._room
        if (
            blocks > room[0]
            or plan.leaves > room[1]
            or plan.steps > room[2]
            or (plan.phrases > 0) > room[3]
            or best > room[4]
        ):
            need = (blocks, plan.leaves, plan.steps, plan.phrases > 0, best)
            *sizes, phrases, best = (max(pair) for pair in zip(need, self._room, strict=True))
            blocks, leaves, steps = (1 << (size - 1).bit_length() for size in sizes)
            self._room = (blocks, leaves, steps, bool(phrases), best)
            self._scratch = pointers.pin(match.make_scratch(*self._room))
        return self._scratch

    def room_for_plan(self, size: int) -> npt.NDArray[np.int64]:
        """Return room for a plan, until the next is asked for."""
        if size > len(self._plan):
            self._plan = np.empty(2 * size, np.int64)
        return self._plan


_DESK = ScratchPool()
"""Where the queries of a thread are matched, one after the other."""


def plan_segment(
    segment: Segment,
    prepared: QueryPlan,
    given: npt.NDArray[np.uint64] | None = None,
    desk: ScratchPool | None = None,
) -> SegmentPlan:
    """Find the query's terms in one segment and lay the program out as arrays.

    given: the sets of its filters, where they have been made; desk: where it is laid out, until the next plan is; by
    default in an array of its own.
    """
    if given is None:
        given = given_sets(segment, prepared.filters)
        assert given is not None
    packed = prepared.packed()
    places, sets, rows = prepared.leaf_places(segment), given, _NO_INTS
    if packed.restricted:
        sets, rows = _find_sets(segment, prepared, given)
    room = desk.room_for_plan(packed.room) if desk else np.empty(packed.room, np.int64)
    pairs = _NO_SETS
    if plan_layout.lay_out(packed.numbers, places, rows, sets, pairs, room):
        pair_rows, pairs = _find_pairs(segment, prepared, places)
        if len(pairs):
            own = rows[: packed.leaves] if len(rows) else np.full(packed.leaves, -1, np.int32)
            rows = np.concatenate((own, pair_rows))
            plan_layout.lay_out(packed.numbers, places, rows, sets, pairs, room)
    return SegmentPlan(room, packed.leaves, packed.steps, packed.phrases, (packed.numbers, places, rows, sets, pairs))


def _find_pairs(
    segment: Segment, prepared: QueryPlan, places: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """Return the rows of the sets of word pairs, by word of a phrase: of it and the next, -1 for none; and the sets."""
    numbers: list[int] = []
    pairs: list[tuple[int, int]] = []
    for phrase in prepared.phrases:
        follows = phrase.reach == 0 and phrase.fields == EVERYWHERE
        for pair in itertools.pairwise(phrase.leaves) if follows else ():
            numbers.append(len(pairs))
            pairs.append(pair)
        numbers += [-1] * (1 if follows else len(phrase.leaves))
    rows, sets = find_pair_sets(segment, places, pairs)
    return np.array([rows[number] if number >= 0 else -1 for number in numbers], np.int32), sets


def _find_sets(
    segment: Segment, prepared: QueryPlan, given: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Return all sets of documents, those of filters first, and by leaf the row of the one that it counts in, -1 for
    all documents; then, by word of a phrase, -1.

    given: the sets of filters.
    """
    rows: dict[Restriction | None, int] = dict.fromkeys([leaf.languages for leaf in prepared.leaves], -1)
    pages = [restriction for restriction in rows if restriction is not None]
    languages = [restriction for restriction in pages if isinstance(restriction, frozenset)]
    if pages and len(languages) == len(pages) and not len(given):
        given, found = segment.language_sets.rows(languages)
        rows |= zip(languages, found, strict=True)
    elif pages:
        rows |= zip(pages, range(len(given), len(given) + len(pages)), strict=True)
        given = np.stack([*given, *(restricted_blocks(segment, part) for part in pages)])
    words = sum(len(phrase.leaves) for phrase in prepared.phrases)
    return given, np.array([rows[leaf.languages] for leaf in prepared.leaves] + [-1] * words, np.int32)


def _shape(prepared: QueryPlan) -> int:
    """Return the shape of the program: any of its leaves, all of them, one phrase, or mixed."""
    restricted = any(leaf.languages is not None for leaf in prepared.leaves)
    if prepared.synonyms:  # Some leaves are no part of it: they score, and match nothing.
        return match.MIXED
    used = {operation for operation, _ in prepared.program}
    if used <= {match.LEAF, match.AND}:
        return match.EVERY
    if used <= {match.LEAF, match.OR}:
        return match.SOME
    return match.QUOTE if used == {match.PHRASE} and not restricted else match.MIXED
