"""A prepared query to candidates: plan for each segment, match, merge."""

import threading
import time
from collections.abc import Sequence

import numpy as np

from periplus.index import Index, Segment, Term
from periplus.kernels import invert, lexicon, match
from periplus.query.filters import given_sets
from periplus.query.prepare import PhrasePlan, Prepared
from periplus.records import Candidates

__all__ = ["Desks", "make_plan", "run"]

_COUNT_BLOCKS = 512
"""Blocks that are counted exactly beyond those opened for scoring; with more, as many are sampled and counted."""


def run(index: Index, prepared: Prepared, k: int, budget: float = float("inf")) -> Candidates:
    """Give the `k` best documents of the index. Segments not begun within `budget` seconds are left out: partial."""
    deadline = time.monotonic() + budget
    found: list[match.Found] = []
    for segment in index.segments:
        if found and time.monotonic() > deadline:
            break
        plan = make_plan(segment, prepared)
        desk = _DESKS.get(len(segment.live), plan)
        found.append(match.match(segment.lists, plan, desk, max(1, k), _COUNT_BLOCKS))
    return _merge(found, k, partial=len(found) < len(index.segments))


def _merge(found: list[match.Found], k: int, *, partial: bool) -> Candidates:
    """Put the results of all segments in one order: score, then segment, then document."""
    segments = np.concatenate([np.full(len(f.documents), n, np.int32) for n, f in enumerate(found)] or [_NO_INTS])
    documents = np.concatenate([f.documents for f in found] or [_NO_INTS])
    scores = np.concatenate([f.scores for f in found] or [np.zeros(0, np.float32)])
    order = np.lexsort((documents, segments, -scores))[:k]
    total = round(sum(f.total for f in found))
    exact = all(f.exact for f in found) and not partial
    return Candidates(segments[order], documents[order], scores[order], total, exact, partial)


_NO_INTS = np.zeros(0, np.int32)


def make_plan(segment: Segment, prepared: Prepared) -> match.Plan:
    """Find the query's terms in one segment and lay the program out as arrays."""
    required = _required(prepared)
    places = [segment.find(leaf.term) for leaf in prepared.leaves]
    ordered = [_rare_first(phrase, places) for phrase in prepared.phrases]
    starts = np.cumsum([0, *(len(phrase.leaves) for phrase in prepared.phrases)])
    steps = np.array(prepared.program, np.int32).reshape(-1, 2)
    return match.Plan(
        place=np.array([place or lexicon.NOWHERE for place in places], np.int64).reshape(-1, 6),
        weight=np.array([leaf.weight / invert.LEVELS for leaf in prepared.leaves], np.float32),
        fields=np.array([leaf.fields for leaf in prepared.leaves], np.uint8),
        group=np.array([leaf.group for leaf in prepared.leaves], np.int32),
        groups=prepared.groups,
        operation=np.ascontiguousarray(steps[:, 0]),
        argument=np.ascontiguousarray(steps[:, 1]),
        phrase_start=starts.astype(np.int32),
        phrase_leaf=np.array([leaf for pairs in ordered for leaf, _ in pairs], np.int32),
        phrase_place=np.array([place for pairs in ordered for _, place in pairs], np.int32),
        phrase_reach=np.array([phrase.reach for phrase in prepared.phrases], np.int32),
        phrase_fields=np.array([phrase.fields for phrase in prepared.phrases], np.uint8),
        given=given_sets(segment, prepared.filters),
        static_weight=float(prepared.scoring.static_weight),
        bonus=float(prepared.bonus),
        required=np.uint64(required),
        simple=_is_simple(prepared),
        order=np.array(
            sorted(range(len(places)), key=lambda n: (not required >> n & 1, _frequency(places[n]))), np.int32
        ),
    )


def _rare_first(phrase: PhrasePlan, places: Sequence[Term | None]) -> list[tuple[int, int]]:
    """Give a phrase's leaves with their places in it; the rarest first, so that few positions are compared."""
    pairs = [(leaf, place) for place, leaf in enumerate(phrase.leaves)]
    return pairs if phrase.reach else sorted(pairs, key=lambda pair: _frequency(places[pair[0]]))


def _is_simple(prepared: Prepared) -> bool:
    """Say whether `required`, or else any leaf, tells for a whole block if it can match."""
    used = {operation for operation, _ in prepared.program}
    return used <= {match.LEAF, match.OR} or used <= {match.LEAF, match.PHRASE, match.AND}


def _frequency(place: Term | None) -> int:
    return place.frequency if place else 0


def _required(prepared: Prepared) -> int:
    """Give the leaves, as a mask, without which nothing can match: run the program on masks."""
    stack: list[int] = []
    for operation, argument in prepared.program:
        if operation == match.LEAF:
            stack.append(1 << argument)
        elif operation == match.PHRASE:
            stack.append(sum(1 << leaf for leaf in set(prepared.phrases[argument].leaves)))
        elif operation in (match.ALL, match.GIVEN):
            stack.append(0)
        else:
            right = stack.pop()
            left = stack.pop()
            stack.append(left | right if operation == match.AND else left & right if operation == match.OR else left)
    return stack[0]


class Desks(threading.local):
    """A desk for each thread, as large as its queries have needed so far."""

    def __init__(self) -> None:
        self._desk = match.make_desk(1, 1, 1, False)

    def get(self, blocks: int, plan: match.Plan) -> match.Desk:
        """Give a desk that is large enough."""
        desk = self._desk
        leaves, steps, phrases = len(plan.place), len(plan.operation), len(plan.phrase_start) > 1
        room = (len(desk.bound), len(desk.sets), len(desk.stack) - 1)
        if blocks > room[0] or leaves > room[1] or steps > room[2] or (phrases and len(desk.first) == 1):
            blocks, leaves, steps = (
                max(have, 1 << (need - 1).bit_length())
                for have, need in zip(room, (blocks, leaves, steps), strict=True)
            )
            self._desk = desk = match.make_desk(blocks, leaves, steps, phrases or len(desk.first) > 1)
        return desk


_DESKS = Desks()
