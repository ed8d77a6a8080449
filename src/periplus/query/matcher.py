"""A prepared query to candidates: plan for each segment, match, merge."""

import itertools
import threading
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.accel import pointers
from periplus.index import Index, Segment
from periplus.index.kernels import inversion
from periplus.query.filter_sets import given_sets
from periplus.query.forms.term_forms import Restriction, restricted_blocks
from periplus.query.kernels import match
from periplus.query.query_budget import QueryBudget
from periplus.query.query_plan import PhrasePlan, QueryPlan
from periplus.query.query_tree import EVERYWHERE, Site
from periplus.query.term_lookups import TermSet
from periplus.records import Candidates

__all__ = ["ScratchPool", "describe_plan", "estimate_cost", "find_candidates", "plan_segment"]

_COUNT_BLOCKS = 512
"""Blocks that are counted exactly beyond those opened for scoring; with more, as many are sampled and counted."""


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
    sets = [wanted for wanted in prepared.filters if isinstance(wanted, TermSet)]
    parts = {
        "leaves": len(prepared.leaves),
        "steps": len(prepared.program),
        "phrases": len(prepared.phrases),
        "phrase words": sum(len(phrase.leaves) for phrase in prepared.phrases),
        "filters": len(prepared.filters),
        "expansions": sum(len(wanted.terms) for wanted in sets),
    }
    return ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "nothing"


def find_candidates(index: Index, prepared: QueryPlan, k: int, budget: QueryBudget | None = None) -> Candidates:
    """Return the `k` best documents of the index; what is not matched within the budget is left out."""
    budget = budget or QueryBudget()
    found: list[match.MatchResult] = []
    for segment in index.segments:
        given = given_sets(segment, prepared.filters, budget)
        if given is None or (found and budget.late()):
            break
        plan = plan_segment(segment, prepared, given)
        scratch = _SCRATCH.get(len(segment.live), plan, max(1, k))
        limit = max(1, budget.work_left)
        found.append(match.match(segment.pinned_postings, plan, scratch, max(1, k), _COUNT_BLOCKS, budget.late, limit))
    whole = len(found) == len(index.segments) and all(part.whole for part in found)
    return _merge(found, k, partial=not whole)


def _merge(found: list[match.MatchResult], k: int, *, partial: bool) -> Candidates:
    """Put the results of all segments in one order: score, then segment, then document."""
    if len(found) == 1:  # These are in order.
        only = found[0]
        segments, exact = np.zeros(len(only.documents), np.int32), only.exact and not partial
        return Candidates(segments[:k], only.documents[:k], only.scores[:k], round(only.total), exact, partial)
    segments = np.concatenate([np.full(len(f.documents), n, np.int32) for n, f in enumerate(found)] or [_NO_INTS])
    documents = np.concatenate([f.documents for f in found] or [_NO_INTS])
    scores = np.concatenate([f.scores for f in found] or [np.zeros(0, np.float32)])
    order = np.lexsort((documents, segments, -scores))[:k]
    total = sum(round(f.total) for f in found)  # Shards that have the segments round each of them.
    exact = all(f.exact for f in found) and not partial
    return Candidates(segments[order], documents[order], scores[order], total, exact, partial)


_NO_INTS, _NO_MASKS = np.zeros(0, np.int32), np.zeros(0, np.uint64)
_WIDTHS: Final = (3, 2, 4, 2)
"""Columns of the tables of leaves, program, phrases and words."""


def plan_segment(
    segment: Segment, prepared: QueryPlan, given: npt.NDArray[np.uint64] | None = None
) -> pointers.PinnedArrays[match.Plan]:
    """Find the query's terms in one segment and lay the program out as arrays.

    given: the sets of its filters, where they have been made.
    """
    if given is None:
        given = given_sets(segment, prepared.filters)
        assert given is not None
    required, shape = _required(prepared), _shape(prepared)
    places = prepared.leaf_places(segment)
    often = places[:, 0].tolist()
    phrases, words = _lay_phrases(prepared.phrases, often)
    rows, sets = _lay_leaves(segment, prepared, given)
    order = sorted(range(len(often)), key=lambda n: (not required >> n & 1, often[n]))
    # One array for all tables of 32-bit numbers: each would take longer to make than to fill.
    tables: tuple[Sequence[Sequence[int]], ...] = (rows, prepared.program, phrases, words)
    numbers = np.array([*itertools.chain.from_iterable(itertools.chain(*tables)), *order], np.int32)
    ends = [*itertools.accumulate(len(table) * width for table, width in zip(tables, _WIDTHS, strict=True))]
    plan = match.Plan(
        place=places,
        weight=np.array([leaf.weight / inversion.MAX_IMPACT for leaf in prepared.leaves], np.float32),
        leaves=numbers[: ends[0]].reshape(-1, 3),
        program=numbers[ends[0] : ends[1]].reshape(-1, 2),
        phrases=numbers[ends[1] : ends[2]].reshape(-1, 4),
        words=numbers[ends[2] : ends[3]].reshape(-1, 2),
        order=numbers[ends[3] :],
        given=sets,
        shape=shape,
        groups=prepared.groups,
        required=np.uint64(required),
        static_weight=float(prepared.scoring.static_weight),
        bonus=float(prepared.bonus),
        clauses=_clauses(prepared, often) if shape == match.MIXED else _NO_MASKS,
        simple=int(all(leaf.fields == EVERYWHERE for leaf in prepared.leaves)),
    )
    return pointers.pin(plan)


def _lay_leaves(
    segment: Segment, prepared: QueryPlan, given: npt.NDArray[np.uint64]
) -> tuple[list[tuple[int, int, int]], npt.NDArray[np.uint64]]:
    """Return the rows of all leaves, and the sets of documents of filters and those that some leaves count in.

    given: the sets of filters.
    """
    leaves = prepared.leaves
    numbers: dict[Restriction | None, int] = dict.fromkeys([leaf.languages for leaf in leaves], -1)
    pages = [restriction for restriction in numbers if restriction is not None]
    languages = [restriction for restriction in pages if isinstance(restriction, frozenset)]
    if pages and len(languages) == len(pages) and not len(given):
        given, rows = segment.language_sets.rows(languages)
        numbers |= zip(languages, rows, strict=True)
    elif pages:
        numbers |= zip(pages, range(len(given), len(given) + len(pages)), strict=True)
        given = np.concatenate([given, *(restricted_blocks(segment, part)[np.newaxis] for part in pages)])
    return [(leaf.fields, leaf.group, numbers[leaf.languages]) for leaf in leaves], given


def _lay_phrases(
    asked: Sequence[PhrasePlan], often: Sequence[int]
) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int]]]:
    """Return the rows of all phrases, and those of their words."""
    phrases: list[tuple[int, int, int, int]] = []
    words: list[tuple[int, int]] = []
    for phrase in asked:
        phrases.append((len(words), len(words) + len(phrase.leaves), phrase.reach, phrase.fields))
        words += _rare_first(phrase, often)
    return phrases, words


def _rare_first(phrase: PhrasePlan, often: Sequence[int]) -> list[tuple[int, int]]:
    """Return a phrase's leaves with their offsets in it; the rarest first, so that few positions are compared.

    often: how many documents have each leaf.
    """
    pairs = [(leaf, place) for place, leaf in enumerate(phrase.leaves)]
    return pairs if phrase.reach else sorted(pairs, key=lambda pair: often[pair[0]])


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


def _required(prepared: QueryPlan) -> int:
    """Return the leaves, as a mask, without which nothing can match: run the program on masks."""
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


def _clauses(prepared: QueryPlan, often: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Return sets of leaves, as masks, of each of which whatever matches has one: run the program on lists of them.

    often: how many documents have each leaf; the clause that fewest have comes first.
    """
    stack: list[list[int]] = []
    for operation, argument in prepared.program:
        if operation == match.LEAF:
            stack.append([1 << argument])
        elif operation == match.PHRASE:
            stack.append([1 << leaf for leaf in prepared.phrases[argument].leaves])
        elif operation in (match.ALL, match.GIVEN):
            stack.append([])
        else:
            right = stack.pop()
            if operation == match.AND:
                stack[-1] = stack[-1] + right
            elif operation == match.OR:  # Of either, any clause will do: those of the same word of a phrase say most.
                stack[-1] = [one | other for one, other in zip(stack[-1], right, strict=False)]
    clauses = {mask: sum(count for leaf, count in enumerate(often) if mask >> leaf & 1) for mask in stack[0]}
    return np.array(sorted(clauses, key=clauses.__getitem__), np.uint64)


class ScratchPool(threading.local):
    """A desk for each thread, as large as its queries have needed so far."""

    def __init__(self) -> None:
        self._room = (1, 1, 1, False, 1)
        self._scratch = pointers.pin(match.make_scratch(*self._room))

    def get(
        self, blocks: int, handle: pointers.PinnedArrays[match.Plan], best: int
    ) -> pointers.PinnedArrays[match.Scratch]:
        """Return scratch arrays that are large enough."""
        plan = handle.arrays
        need = (blocks, len(plan.place), len(plan.program), len(plan.phrases) > 0, best)
        if any(wanted > have for wanted, have in zip(need, self._room, strict=True)):
            *sizes, phrases, best = (max(pair) for pair in zip(need, self._room, strict=True))
            blocks, leaves, steps = (1 << (size - 1).bit_length() for size in sizes)
            self._room = (blocks, leaves, steps, bool(phrases), best)
            self._scratch = pointers.pin(match.make_scratch(*self._room))
        return self._scratch


_SCRATCH = ScratchPool()
