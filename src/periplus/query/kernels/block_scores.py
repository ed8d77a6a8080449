"""An open block: the documents of each leaf as sets, what they can score at most, and what they score."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.bit_ops import load_uint64, lowest_bit, popcount
from periplus.index.dense_blocks.kernels import is_dense, score_dense, score_dense_chosen
from periplus.index.kernels.postings_format import (
    BITSET,
    BLOCK,
    BODY_ONLY,
    ESCAPED,
    LONG_BLOCK,
    SPARSE,
    group_shift,
    long_length,
)
from periplus.index.kernels.postings_reader import PostingsReader, block_bitset, locate_block, read_escaped
from periplus.index.kernels.term_dictionary import ENTRY_BITSET_ROW, ENTRY_ENCODING, ENTRY_FREQUENCY
from periplus.query.kernels.best_documents import all_words
from periplus.query.kernels.block_bounds import SLACK, bound_of
from periplus.query.kernels.plan import LEAF_DOCUMENTS, LEAF_FIELDS, SOME, WORK, Plan, Scratch, place_of_leaf

__all__ = ["has_all", "open_block", "read_sets", "score_sets", "within_reach"]

_ONE = np.uint64(1)
_BYTE = np.uint64(255)
_FEW = 8
"""With so many documents in a block at most, it is checked after each leaf whether any can still reach the score."""


@njit(cache=True, nogil=True, forceinline=True)
def _span(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, header: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return where the postings of a block begin and end: from the block that was looked at last, where that is near.

    To pass over long blocks, the length of each has to be read before the next.
    """
    place, stream, known, at = place_of_leaf(plan, leaf), lists.stream, scratch.spots[leaf, 4], scratch.spots[leaf, 5]
    shift, lengths = group_shift(place.encoding), place.begin + 2 + place.headers
    if 0 <= known <= header and known >> shift == header >> shift:
        while True:
            code = (np.int64(stream[lengths + (known >> 2)]) >> (2 * (known & 3))) & 3
            if known == header:
                break
            at += long_length(np.int64(stream[at]), lists.sized) + 1 if code == LONG_BLOCK else code + 1
            known += 1
    else:
        at, code = locate_block(lists, place, header)
    scratch.spots[leaf, 4], scratch.spots[leaf, 5] = header, at
    if code < LONG_BLOCK:
        return at, at + code + 1
    return at + 1, at + 1 + long_length(np.int64(stream[at]), lists.sized)


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
        at, stop = _span(lists, plan, scratch, leaf, entry)
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
    if is_dense(stream, at, stop):
        return score_dense(stream, at, plain_impact, base, fields, weight, scores, highest)
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
def _score_chosen(
    lists: PostingsReader, plan: Plan, scratch: Scratch, leaf: int, block: int, chosen: Any
) -> None:  # pragma: no cover - compiled
    """Add a leaf's scores in the open block to those of some of its documents; others get nothing added."""
    at, stop, scores, weight = scratch.spots[leaf, 0], scratch.spots[leaf, 1], scratch.scores, plan.weight[leaf]
    if plan.place[leaf, ENTRY_ENCODING] == SPARSE:
        for n in range(at, stop):
            posting = scratch.sparse[leaf, n]
            offset = (posting >> 24) & (BLOCK - 1)
            if (chosen >> np.uint64(offset)) & _ONE:
                scores[offset] += weight * np.float32((posting >> 8) & 255)
        return
    # Which are chosen, and which are escaped (`read_escaped`), cannot be foreseen: without branches.
    stream, plain_impact, base = lists.stream, lists.plain_impact, block * ESCAPED * BLOCK
    if is_dense(stream, at, stop):
        score_dense_chosen(stream, at, plain_impact, base, weight, scores, chosen)
        return
    while at < stop:
        word = load_uint64(stream, at)
        byte, following = np.int64(word & _BYTE), np.int64((word >> np.uint64(8)) & _BYTE)
        last, offset = np.int64((word >> np.uint64(24)) & _BYTE), np.uint64(byte & (BLOCK - 1))
        escaped = np.int64(byte >= ESCAPED << 6)
        masked = np.int64(following == 0) & escaped
        plain = np.int64(plain_impact[base + (byte & (255 - (escaped << 7)))])
        impact = plain + (following + (last & -masked) - plain) * escaped
        scores[offset] += weight * np.float32(impact) * np.float32((chosen >> offset) & _ONE)
        at += 1 + escaped + 2 * masked


@njit(cache=True, nogil=True, forceinline=True)
def _select_best(scores: Any, possible: Any, extra: Any, least: Any) -> Any:  # pragma: no cover - compiled
    """Return those of some documents, outside of which there are no scores, that score `least` with what is extra."""
    bits, highest = scores.view(np.int32), np.int32(0)
    for offset in range(BLOCK):  # No score is negative: their bits are in their order.
        highest = max(highest, bits[offset])
    bits[0], first = highest, bits[0]
    top = scores[0]
    bits[0] = first
    if (top + extra) * SLACK < least:
        return np.uint64(0)
    left = possible
    while left:
        offset = lowest_bit(left)
        left &= left - _ONE
        if (scores[offset] + extra) * SLACK < least:
            possible &= ~(_ONE << np.uint64(offset))
    return possible


@njit(cache=True, nogil=True, forceinline=True)
def open_block(
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
    if len(lists.block_factor):  # `least` is what a score must be before its factor.
        left /= lists.block_factor[block]
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
def read_sets(lists: PostingsReader, plan: Plan, scratch: Scratch, block: int) -> Any:  # pragma: no cover - compiled
    """Write the documents of each leaf in a block to `scratch.sets`; its postings are not read where sets are at hand.

    Parameters
        lists, plan, scratch: the segment, the query, which is simple, and its arrays
        block: number of the block
    Returns
        the set of documents that have any leaf
    """
    sets, have, live, some = scratch.sets, scratch.have[block], lists.live[block], np.uint64(0)
    for leaf in range(len(plan.leaves)):
        documents = np.uint64(0)
        if (have >> np.uint64(leaf)) & _ONE:
            kind, within = plan.place[leaf, ENTRY_ENCODING], plan.leaves[leaf, LEAF_DOCUMENTS]
            if kind == BITSET:
                documents = lists.bitsets[plan.place[leaf, ENTRY_BITSET_ROW], block]
            else:
                _find_postings(lists, plan, scratch, leaf, block)
                at, stop = scratch.spots[leaf, 0], scratch.spots[leaf, 1]
                if kind == SPARSE:
                    for n in range(at, stop):
                        documents |= _ONE << np.uint64((scratch.sparse[leaf, n] >> 24) & (BLOCK - 1))
                else:
                    documents = block_bitset(lists.stream, at, stop)
            documents &= live & plan.given[within, block] if within >= 0 else live
            some |= documents
        sets[0, leaf] = documents
    scratch.progress[WORK] += len(plan.leaves)
    return some


@njit(cache=True, nogil=True, forceinline=True)
def has_all(plan: Plan, scratch: Scratch, possible: Any) -> Any:  # pragma: no cover - compiled
    """Return those of some documents of the block that have a leaf of each clause."""
    for clause in plan.clauses:
        documents = np.uint64(0)
        while clause:
            documents |= scratch.sets[0, lowest_bit(clause)]
            clause &= clause - _ONE
        possible &= documents
    return possible


@njit(cache=True, nogil=True, forceinline=True)
def _with_enough_leaves(
    sets: Any, reach: Any, leaves: int, possible: Any, base: Any, least: Any
) -> Any:  # pragma: no cover - compiled
    """Return those of some documents that have so many leaves that the best so many of all can reach `least`.

    Parameters
        sets, reach, leaves: documents of each leaf, what it adds at most, and how many leaves there are
        possible: the documents
        base: what is added besides
        least: a score
    """
    one, two, three = np.uint64(0), np.uint64(0), np.uint64(0)
    best, second = np.float32(0), np.float32(0)
    for leaf in range(leaves):
        documents = sets[0, leaf]
        three |= two & documents
        two |= one & documents
        one |= documents
        second = max(second, min(best, reach[leaf]))
        best = max(best, reach[leaf])
    if (base + best) * SLACK < least:
        possible &= two
    if (base + best + second) * SLACK < least:
        possible &= three
    return possible


@njit(cache=True, nogil=True, forceinline=True)
def within_reach(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, possible: Any, least: Any
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Return those of some documents that can score `least`, as far as bounds show, and the bound of them all.

    Parameters
        lists, plan, scratch: the segment, the query, and its arrays, which have the sets of the block
        block, possible: the block, and a set of its documents
        least: a score
    Returns
        the documents, and the most that one of them can score
    """
    sets, reach, order = scratch.sets, scratch.reach, plan.order
    base, full = np.float32(0), np.uint64(0)
    if len(lists.block_static) and plan.static_weight > 0:
        base += np.float32(plan.static_weight) * lists.block_static[block]
    if plan.groups > 0:
        full = all_words(plan, sets) & possible
    extra = base + np.float32(plan.bonus) if full else base
    most = extra
    for leaf in range(len(order)):
        reach[leaf] = bound_of(lists, plan, scratch, leaf, block) if sets[0, leaf] & possible else np.float32(0)
        most += reach[leaf]
    if most * SLACK < least:
        return np.uint64(0), most
    possible = full | _with_enough_leaves(sets, reach, len(order), possible & ~full, base, least)
    # What has none but the most frequent leaves cannot reach it: the others are looked at only.
    rest, last = extra, len(order) - 1
    while last >= 0 and (rest + reach[order[last]]) * SLACK < least:
        rest += reach[order[last]]
        last -= 1
    documents = np.uint64(0)
    for i in range(last + 1):
        documents |= sets[0, order[i]]
    possible &= documents
    # One by one: what this leaves out spares reading all postings of its block, which takes several times as long.
    left = possible
    while left:
        offset = np.uint64(lowest_bit(left))
        left &= left - _ONE
        score = extra if (full >> offset) & _ONE else base
        for leaf in range(len(order)):
            if (sets[0, leaf] >> offset) & _ONE:
                score += reach[leaf]
        if score * SLACK < least:
            possible &= ~(_ONE << offset)
    return possible, most


@njit(cache=True, nogil=True, forceinline=True)
def score_sets(
    lists: PostingsReader, plan: Plan, scratch: Scratch, block: int, possible: Any, least: Any, most: Any
) -> Any:  # pragma: no cover - compiled
    """Score some documents of a block; return those that can reach `least`.

    Parameters
        lists, plan, scratch: the segment, the query, and its arrays, which have the sets of the block
        block, possible: the block, and a set of its documents
        least, most: a score, and the most that one of them can score; or both below 0
    """
    scores, sets, order = scratch.scores[:BLOCK], scratch.sets, plan.order
    for offset in range(BLOCK):
        scores[offset] = 0
    few = least > 0 and popcount(possible) <= _FEW
    for i in range(len(order)):
        leaf = order[i]
        chosen = sets[0, leaf] & possible
        if chosen:
            _find_postings(lists, plan, scratch, leaf, block)
            scratch.progress[WORK] += scratch.spots[leaf, 1] - scratch.spots[leaf, 0]
            _score_chosen(lists, plan, scratch, leaf, block, chosen)
        most -= scratch.reach[leaf]
        if few and chosen and (_highest_of(scores, possible) + most) * SLACK < least:
            return np.uint64(0)
    return _select_best(scores, possible, max(np.float32(0), most), least) if least > 0 else possible
