"""Bounds of the scores of a site: made of its postings, and summed for a plan.

Documents of a site are divided into groups of neighbours. Bounds have, for each term and each group that has it, the
highest impact there and how many documents have it. No document of a group can score more than the sum of what the
leaves of a plan can add in its group.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.postings_reader import PostingsReader, make_tiny_postings, term_entry
from periplus.index.kernels.postings_scan import read_postings
from periplus.index.kernels.term_dictionary import TermTable
from periplus.index.kernels.term_packing import make_tiny_terms
from periplus.query.kernels.plan import ALL, AND, GIVEN, LEAF, OR, PHRASE

__all__ = [
    "ABSENT",
    "MAX_COUNT",
    "BoundEntries",
    "PlanArrays",
    "bound_groups",
    "collect_entries",
    "count_documents",
    "hash_terms",
]

ABSENT = -1.0
"""The bound of a group in which nothing can match."""
MAX_COUNT = 255
"""Counts of documents stop here: so many, or more."""
_OFFSET, _PRIME, _MASK = np.uint64(0x811C9DC5), np.uint64(0x01000193), np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


class BoundEntries(NamedTuple):
    """What a site has of its terms: one entry for each group that has one, by term and group."""

    groups: npt.NDArray[np.uint32]
    impacts: npt.NDArray[np.uint8]
    """The highest impact of the term in the group."""
    counts: npt.NDArray[np.uint8]
    """Documents of the group that have the term, up to `MAX_COUNT`."""
    sizes: npt.NDArray[np.uint16]
    """By group: its documents."""
    static: npt.NDArray[np.float32]
    """By group: the highest static rank of its documents."""


class PlanArrays(NamedTuple):
    """A plan as arrays, with the entries of its leaves at one site."""

    begin: npt.NDArray[np.int64]
    """By leaf: its first entry."""
    end: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    """By leaf: what one step of impact adds to a score."""
    word: npt.NDArray[np.int64]
    """By leaf: the word of the query that it stands for, or -1."""
    words: int
    """Words that a document must have for the bonus; 0 where there is none."""
    program: npt.NDArray[np.int64]
    """Operation and argument of each step, in postfix order."""
    phrase_start: npt.NDArray[np.int64]
    """By phrase: where its leaves begin in `phrase_leaves`; one more than there are phrases."""
    phrase_leaves: npt.NDArray[np.int64]
    static_weight: float
    bonus: float


@njit(cache=True, nogil=True)
def hash_terms(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:  # pragma: no cover - compiled
    """Return the fingerprints of terms: FNV-1a of 32 bits. Two terms of one fingerprint share a bound.

    Parameters
    ----------
    blob: the bytes of all terms, one after the other.
    start: where each begins; one more than there are terms.

    Returns
    -------
    A fingerprint for each.
    """
    hashes = np.empty(len(start) - 1, np.uint32)
    for term in range(len(hashes)):
        value = _OFFSET
        for at in range(start[term], start[term + 1]):
            value = ((value ^ np.uint64(blob[at])) * _PRIME) & _MASK
        hashes[term] = np.uint32(value)
    return hashes


@njit(cache=True, nogil=True)
def collect_entries(
    postings: PostingsReader,
    terms: TermTable,
    group_of: npt.NDArray[np.int64],
    numbers: Any,
    groups: Any,
    impacts: Any,
    counts: Any,
    masks: Any,
) -> int:  # pragma: no cover - compiled
    """Write the entries of one segment.

    Parameters
    ----------
    postings, terms: the segment, and its dictionary, which is valid.
    group_of: by document, ascending: its group; -1 for one that does not count.
    numbers, groups, impacts, counts, masks: arrays that are filled, an element for each entry: the number of the term,
        the group, the highest impact, documents that have it, and the fields in which it stands as a mask. There must
        be room for as many entries as postings.

    Returns
    -------
    How many entries were written.
    """
    most = terms.frequency.max() if len(terms.frequency) else 0
    documents, codes = np.empty(most, np.int32), np.empty(most, np.uint8)
    fields, values = np.empty(most, np.uint8), np.empty(most, np.uint8)
    written = 0
    for term in range(len(terms.frequency)):
        read = read_postings(postings, term_entry(terms, term), documents, codes, fields, values)
        last = np.int64(-1)
        for n in range(read):
            group = group_of[documents[n]]
            if group < 0:
                continue
            if group != last:
                numbers[written], groups[written] = term, group
                impacts[written], counts[written], masks[written] = 0, 0, 0
                written += 1
                last = group
            entry = written - 1
            impacts[entry] = max(impacts[entry], values[n])
            masks[entry] |= fields[n]
            if counts[entry] < MAX_COUNT:
                counts[entry] += 1
    return written


@njit(cache=True, nogil=True)
def _can_match(plan: PlanArrays, have: Any, stack: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a group with these leaves can have a match; filters and exclusions are taken to be met."""
    top = 0
    for step in range(len(plan.program)):
        operation, argument = plan.program[step, 0], plan.program[step, 1]
        if operation == LEAF:
            stack[top] = (have >> np.uint64(argument)) & _ONE != 0
            top += 1
        elif operation == PHRASE:
            every = True
            for n in range(plan.phrase_start[argument], plan.phrase_start[argument + 1]):
                every &= (have >> np.uint64(plan.phrase_leaves[n])) & _ONE != 0
            stack[top] = every
            top += 1
        elif operation in (ALL, GIVEN):
            stack[top] = True
            top += 1
        else:
            top -= 1
            if operation == AND:
                stack[top - 1] &= stack[top]
            elif operation == OR:
                stack[top - 1] |= stack[top]
    return top > 0 and stack[0]


@njit(cache=True, nogil=True)
def bound_groups(entries: BoundEntries, plan: PlanArrays) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return what no first-stage score of each group can exceed.

    Parameters
    ----------
    entries: of the site.
    plan: with at most 64 leaves.

    Returns
    -------
    A bound for each group; `ABSENT` where no document can match.
    """
    count = len(entries.sizes)
    bounds, have = np.zeros(count), np.zeros(count, np.uint64)
    for leaf in range(len(plan.begin)):
        bit, weight = _ONE << np.uint64(leaf), plan.weight[leaf]
        for n in range(plan.begin[leaf], plan.end[leaf]):
            group = entries.groups[n]
            bounds[group] += weight * entries.impacts[n]
            have[group] |= bit
    wanted = np.zeros(plan.words, np.uint64)
    for leaf in range(len(plan.begin)):
        if 0 <= plan.word[leaf] < plan.words:
            wanted[plan.word[leaf]] |= _ONE << np.uint64(leaf)
    stack = np.zeros(len(plan.program) + 1, np.bool_)
    for group in range(count):
        if entries.sizes[group] == 0 or not _can_match(plan, have[group], stack):
            bounds[group] = ABSENT
            continue
        bounds[group] += plan.static_weight * entries.static[group]
        every = plan.words > 0
        for word in range(plan.words):
            every &= have[group] & wanted[word] != 0
        if every:
            bounds[group] += plan.bonus
    return bounds


@njit(cache=True, nogil=True)
def _find_group(groups: Any, low: int, high: int, group: int) -> int:  # pragma: no cover - compiled
    """Return the entry of a group among those of a term, -1 if there is none."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if groups[middle] < group:
            low = middle + 1
        else:
            high = middle
    return low if low < end and groups[low] == group else -1


@njit(cache=True, nogil=True)
def count_documents(
    entries: BoundEntries, plan: PlanArrays, bounds: npt.NDArray[np.float64], least: float
) -> int:  # pragma: no cover - compiled
    """Return how many documents can have a first-stage score of at least `least`, or more than that many.

    In a group, leaves are ordered by what they can add. Those of the lowest bounds that do not reach `least` together
    are not essential: a document that reaches it has one of the others.

    Parameters
    ----------
    entries: of the site.
    plan: with at most 64 leaves.
    bounds: what `bound_groups` returned.
    least: the score in question.

    Returns
    -------
    No fewer than there are.
    """
    total = 0
    leaves = len(plan.begin)
    adds, numbers = np.empty(leaves), np.empty(leaves, np.int64)
    for group in range(len(bounds)):
        if bounds[group] < least or bounds[group] < 0:
            continue
        size, used = np.int64(entries.sizes[group]), 0
        for leaf in range(leaves):
            entry = _find_group(entries.groups, plan.begin[leaf], plan.end[leaf], group)
            if entry < 0:
                continue
            value = plan.weight[leaf] * entries.impacts[entry]
            documents = np.int64(entries.counts[entry])
            at = used
            while at > 0 and adds[at - 1] > value:
                adds[at], numbers[at] = adds[at - 1], numbers[at - 1]
                at -= 1
            adds[at], numbers[at] = value, size if documents == MAX_COUNT else documents
            used += 1
        reached = plan.static_weight * entries.static[group] + (plan.bonus if plan.words > 0 else 0.0)
        essential = 0
        while essential < used and reached + adds[essential] < least:
            reached += adds[essential]
            essential += 1
        have = size if reached >= least else np.int64(0)
        for n in range(essential, used):
            have += numbers[n]
        total += min(size, have)
    return total


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one, byte = np.zeros(1, np.uint32), np.zeros(1, np.uint8)
    terms = make_tiny_terms()
    hash_terms(byte, np.array([0, 1], np.int64))
    arrays = np.zeros(1, np.int64), one, byte, byte.copy(), byte.copy()
    collect_entries(make_tiny_postings(), terms, np.zeros(64, np.int64), *arrays)
    zero = np.zeros(1, np.int64)
    plan = PlanArrays(zero, zero, np.ones(1), zero, 0, np.zeros((1, 2), np.int64), zero, zero, 0.5, 0.5)
    for array in (one, byte):
        array.flags.writeable = False
    sizes, static = np.ones(1, np.uint16), np.zeros(1, np.float32)
    for array in (sizes, static):
        array.flags.writeable = False
    entries = BoundEntries(one, byte, byte, sizes, static)
    count_documents(entries, plan, bound_groups(entries, plan), 1.0)
