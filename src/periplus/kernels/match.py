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

from periplus.kernels.invert import BLOCK

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
    "Lists",
    "Plan",
    "find_term",
    "match",
    "positions_in",
]

LEAF, AND, OR, WITHOUT, PHRASE, ALL, GIVEN = 0, 1, 2, 3, 4, 5, 6
"""Steps of a program: push the set of a leaf, a phrase, all documents or a given set; or join the two sets on top."""
MAX_LEAVES = 64
_BUCKETS = 512
_MOST_POSITIONS = 1 << 16
_ONE = np.uint64(1)


class Lists(NamedTuple):
    """The arrays of a segment that matching reads; see `invert.Postings` for the first eight."""

    block: npt.NDArray[np.uint32]
    block_max: npt.NDArray[np.uint8]
    block_posting: npt.NDArray[np.uint32]
    block_position: npt.NDArray[np.uint32]
    offset: npt.NDArray[np.uint8]
    impact: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.uint8]
    static: npt.NDArray[np.float32]
    """Static rank by document."""
    block_static: npt.NDArray[np.float32]
    """The highest static rank in each block."""
    live: npt.NDArray[np.uint64]
    """The set of documents in each block that are not deleted."""


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
def _entry(lists: Lists, begin: int, end: int, block: int) -> int:  # pragma: no cover - compiled
    """Find the entry of `block` among a leaf's entries, which are in order; -1 if it has none."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if lists.block[middle] < block:
            low = middle + 1
        else:
            high = middle
    return low if low < end and lists.block[low] == block else -1


@njit(cache=True, nogil=True)
def _positions(lists: Lists, entry: int, offset: int, out: Any) -> int:  # pragma: no cover - compiled
    """Read the positions of the document at `offset` of an entry's block into `out`; give how many."""
    at = lists.block_position[entry]
    for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
        wanted = lists.offset[posting] == offset
        count = np.int64(0)
        shift = 0
        while True:
            byte = np.int64(lists.positions[at])
            at += 1
            count |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        value = np.int64(0)
        for i in range(count):
            step = np.int64(0)
            shift = 0
            while True:
                byte = np.int64(lists.positions[at])
                at += 1
                step |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            value += step
            if wanted and i < len(out):
                out[i] = value
        if wanted:
            return int(count) if count < len(out) else len(out)
    return 0


@njit(cache=True, nogil=True)
def _has_phrase(
    lists: Lists, plan: Plan, phrase: int, entries: Any, offset: int, first: Any, other: Any
) -> bool:  # pragma: no cover - compiled
    """Say whether the document at `offset` has the phrase's words at their places."""
    begin, end = plan.phrase_start[phrase], plan.phrase_start[phrase + 1]
    count = _positions(lists, entries[plan.phrase_leaf[begin]], offset, first)
    for word in range(begin + 1, end):
        shift = plan.phrase_place[word] - plan.phrase_place[begin]
        size = _positions(lists, entries[plan.phrase_leaf[word]], offset, other)
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
        entry = _entry(lists, plan.begin[leaf], plan.end[leaf], block)
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
def _worse(scores: Any, documents: Any, a: int, b: int) -> bool:  # pragma: no cover - compiled
    """Order of results: higher score first, then lower document number."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and documents[a] > documents[b])


@njit(cache=True, nogil=True)
def _sift(scores: Any, documents: Any, at: int, size: int) -> None:  # pragma: no cover - compiled
    """Let the entry at `at` sink to its place in a heap whose top is the worst."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _worse(scores, documents, child + 1, child):
            child += 1
        if not _worse(scores, documents, child, at):
            return
        scores[at], scores[child] = scores[child], scores[at]
        documents[at], documents[child] = documents[child], documents[at]
        at = child


@njit(cache=True, nogil=True)
def _push(scores: Any, documents: Any, size: int, score: Any, document: int) -> int:  # pragma: no cover - compiled
    """Offer a document to the heap of the best; give the heap's size."""
    if size < len(scores):
        at = size
        scores[at], documents[at] = score, document
        while at > 0 and _worse(scores, documents, at, (at - 1) >> 1):
            up = (at - 1) >> 1
            scores[at], scores[up] = scores[up], scores[at]
            documents[at], documents[up] = documents[up], documents[at]
            at = up
        return size + 1
    if score > scores[0] or (score == scores[0] and document < documents[0]):
        scores[0], documents[0] = score, document
        _sift(scores, documents, 0, size)
    return size


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
    first, other = np.empty(_MOST_POSITIONS, np.int64), np.empty(_MOST_POSITIONS, np.int64)
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
                size = _push(scores, documents, size, score, document)
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
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        documents[0], documents[last] = documents[last], documents[0]
        _sift(scores, documents, 0, last)
    return Found(documents[:size], scores[:size], total + rest, step == 1)


@njit(cache=True, nogil=True)
def positions_in(
    lists: Lists, begin: int, end: int, document: int
) -> tuple[npt.NDArray[np.int64], int, int]:  # pragma: no cover - compiled
    """Give one term's positions in a document, its impact there (0 if it is not there) and its fields."""
    empty = np.empty(0, np.int64)
    entry = _entry(lists, begin, end, document // BLOCK)
    if entry < 0:
        return empty, 0, 0
    for posting in range(lists.block_posting[entry], lists.block_posting[entry + 1]):
        if lists.offset[posting] == document % BLOCK:
            out = np.empty(_MOST_POSITIONS, np.int64)
            count = _positions(lists, entry, document % BLOCK, out)
            return out[:count].copy(), int(lists.impact[posting]), int(lists.mask[posting])
    return empty, 0, 0


@njit(cache=True, nogil=True)
def find_term(
    blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], term: npt.NDArray[np.uint8]
) -> int:  # pragma: no cover - compiled
    """Find a term in a sorted lexicon by bisection; -1 if it is not there."""
    low, high = 0, len(starts) - 1
    while low < high:
        middle = (low + high) >> 1
        begin = starts[middle]
        size = starts[middle + 1] - begin
        order = 0
        for i in range(min(size, len(term))):
            if blob[begin + i] != term[i]:
                order = -1 if blob[begin + i] < term[i] else 1
                break
        if order == 0:
            if size == len(term):
                return middle
            order = -1 if size < len(term) else 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    lists = Lists(
        _read_only(np.zeros(1, np.uint32)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.array([0, 1], np.uint32)),
        _read_only(np.array([0, 2], np.uint32)),
        _read_only(np.zeros(1, np.uint8)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.ones(1, np.uint8)),
        _read_only(np.array([1, 0], np.uint8)),
        _read_only(np.zeros(1, np.float32)),
        _read_only(np.zeros(1, np.float32)),
        np.ones(1, np.uint64),
    )
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
    positions_in(lists, 0, 1, 0)
    blob, starts = _read_only(np.array([97], np.uint8)), _read_only(np.array([0, 1], np.int64))
    find_term(blob, starts, np.frombuffer(b"a", np.uint8))
