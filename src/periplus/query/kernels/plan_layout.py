"""Lays a plan out for one segment: what follows from how frequent its terms are there, and the addresses of all of it.

A query has some fifteen small tables. To make an array of each takes longer than most queries match, so they are parts
of one array, which a plan has for all segments (`query.exchange.packed_plan`). This kernel copies them, and writes down
where each of them is, as `pointers.pin` does for a tuple of arrays.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import FIELD_WIDTH
from periplus.index.kernels.inversion import MAX_IMPACT
from periplus.index.kernels.term_dictionary import ENTRY_BITSET_ROW, ENTRY_FREQUENCY
from periplus.query.kernels.plan import (
    ALL,
    ALL_PAIRED,
    AND,
    EVERY,
    EVERY_DOCUMENT,
    GIVEN,
    LEAF,
    LEAF_DOCUMENTS,
    LEAF_FIELDS,
    LEAF_GROUP,
    MIXED,
    OR,
    PHRASE,
    QUOTE,
    SOME,
    SOME_PAIRED,
    WITHOUT,
    Plan,
)

__all__ = ["ADDRESSES", "PACKED_TABLES", "lay_out", "room_for"]

ADDRESSES = FIELD_WIDTH * len(Plan._fields)
"""Numbers that say where a plan is."""
PACKED_TABLES = 7
"""Numbers of a packed plan before its tables: its leaves, steps, phrases and words of phrases, groups, the mask of all
fields, and whether some leaves are no part of the program."""
_ONE = np.uint64(1)


def room_for(leaves: int, steps: int, phrases: int, words: int) -> int:
    """Return the 64-bit numbers that `lay_out` needs for a query of such sizes."""
    tables = 3 * leaves + 2 * steps + 4 * phrases + 3 * words
    return ADDRESSES + 2 * leaves + 3 * (steps + words + 1) + (tables + 1) // 2


@njit(cache=True, nogil=True, forceinline=True)
def _set_array(addresses: Any, field: int, at: int, rows: int, columns: int) -> None:  # pragma: no cover - compiled
    addresses[FIELD_WIDTH * field] = at
    addresses[FIELD_WIDTH * field + 1] = rows
    addresses[FIELD_WIDTH * field + 2] = columns


@njit(cache=True, nogil=True)
def _shape_of(program: Any, leaves: Any, synonyms: bool) -> int:  # pragma: no cover - compiled
    """Return the shape of the program: any of its leaves, all of them, one phrase, or mixed."""
    if synonyms:  # Some leaves are no part of it: they score, and match nothing.
        return MIXED
    used, restricted = 0, False
    for step in range(len(program)):
        used |= 1 << program[step, 0]
    for leaf in range(len(leaves)):
        restricted |= leaves[leaf, LEAF_DOCUMENTS] >= 0
    if used & ~(1 << LEAF | 1 << AND) == 0:
        return EVERY
    if used & ~(1 << LEAF | 1 << OR) == 0:
        return SOME
    return QUOTE if used == 1 << PHRASE and not restricted else MIXED


@njit(cache=True, nogil=True)
def _required(program: Any, phrases: Any, words: Any, stack: Any) -> Any:  # pragma: no cover - compiled
    """Return the leaves, as a mask, without which nothing can match: run the program on masks."""
    top = 0
    for step in range(len(program)):
        operation, argument = program[step, 0], program[step, 1]
        if operation in (LEAF, PHRASE, ALL, GIVEN):
            stack[top] = 0
            if operation == LEAF:
                stack[top] = _ONE << np.uint64(argument)
            elif operation == PHRASE:
                for word in range(phrases[argument, 0], phrases[argument, 1]):
                    stack[top] |= _ONE << np.uint64(words[word, 0])
            top += 1
            continue
        top -= 1
        if operation == AND:
            stack[top - 1] |= stack[top]
        elif operation == OR:
            stack[top - 1] &= stack[top]
    return stack[0]


@njit(cache=True, nogil=True)
def _find_clauses(
    program: Any, phrases: Any, words: Any, masks: Any, firsts: Any
) -> int:  # pragma: no cover - compiled
    """Write sets of leaves, of each of which whatever matches has one, to `masks`; return how many.

    Runs the program on lists of them. firsts: room for where the lists on the stack begin. Of lists that have no room,
    the ends are left out: fewer clauses tell less, and nothing that is wrong.
    """
    top, end = 0, 0
    for step in range(len(program)):
        operation, argument = program[step, 0], program[step, 1]
        if operation in (LEAF, PHRASE, ALL, GIVEN):
            firsts[top] = end
            top += 1
            if operation == LEAF and end < len(masks):
                masks[end] = _ONE << np.uint64(argument)
                end += 1
            elif operation == PHRASE:
                first = phrases[argument, 0]
                for word in range(first, min(phrases[argument, 1], first + len(masks) - end)):
                    masks[end] = _ONE << np.uint64(words[word, 0])
                    end += 1
            continue
        top -= 1
        right = firsts[top]
        if operation == OR:  # Of either, any clause will do: those of the same word of a phrase say most.
            left, count = firsts[top - 1], min(right - firsts[top - 1], end - right)
            for number in range(count):
                masks[left + number] |= masks[right + number]
            end = left + count
        elif operation != AND:
            end = right
    return end


@njit(cache=True, nogil=True)
def _order_clauses(place: Any, masks: Any, sums: Any, count: int) -> int:  # pragma: no cover - compiled
    """Put distinct clauses in order, the one that fewest documents have first; return how many there are."""
    kept = 0
    for number in range(count):
        mask, known, total = masks[number], False, np.int64(0)
        for other in range(kept):
            known |= masks[other] == mask
        if known:
            continue
        for leaf in range(len(place)):
            total += place[leaf, ENTRY_FREQUENCY] * np.int64((mask >> np.uint64(leaf)) & _ONE)
        at = kept
        while at > 0 and sums[at - 1] > total:
            masks[at], sums[at] = masks[at - 1], sums[at - 1]
            at -= 1
        masks[at], sums[at] = mask, total
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def _order_leaves(place: Any, required: Any, order: Any) -> None:  # pragma: no cover - compiled
    """Put the leaves in order: required ones first, the rarest of them before others."""
    for leaf in range(len(place)):
        own = (required >> np.uint64(leaf)) & _ONE
        at = leaf
        while at > 0:
            before = order[at - 1]
            other = (required >> np.uint64(before)) & _ONE
            rarer = place[before, ENTRY_FREQUENCY] > place[leaf, ENTRY_FREQUENCY]
            if other > own or (other == own and not rarer):
                break
            order[at] = before
            at -= 1
        order[at] = leaf


@njit(cache=True, nogil=True)
def _order_words(place: Any, phrases: Any, words: Any) -> None:  # pragma: no cover - compiled
    """Put the words of each phrase in order, the rarest first, so that few positions are compared."""
    for phrase in range(len(phrases)):
        begin, end = phrases[phrase, 0], phrases[phrase, 1]
        if phrases[phrase, 2]:
            continue
        for word in range(begin + 1, end):
            leaf, offset, pair, at = words[word, 0], words[word, 1], words[word, 2], word
            while at > begin and place[words[at - 1, 0], ENTRY_FREQUENCY] > place[leaf, ENTRY_FREQUENCY]:
                words[at, 0], words[at, 1], words[at, 2] = words[at - 1, 0], words[at - 1, 1], words[at - 1, 2]
                at -= 1
            words[at, 0], words[at, 1], words[at, 2] = leaf, offset, pair


@njit(cache=True, nogil=True)
def _paired(program: Any, phrases: Any, words: Any) -> int:  # pragma: no cover - compiled
    """Return what pairs tell of phrases: nothing, what cannot match, or (of two words each) all."""
    known, any_known = True, False
    for phrase in range(len(phrases)):
        begin, end = phrases[phrase, 0], phrases[phrase, 1]
        for word in range(begin, end):
            any_known |= words[word, 2] >= 0
        known &= end - begin == 2 and max(words[begin, 2], words[begin + 1, 2]) >= 0
    if known and any_known:
        return ALL_PAIRED
    for step in range(len(program)):  # What cannot match cannot be told of what is left out.
        any_known &= program[step, 0] != WITHOUT
    return SOME_PAIRED if any_known else 0


@njit(cache=True, nogil=True)
def _copy_tables(
    packed: Any, rows: Any, leaves: Any, program: Any, phrases: Any, words: Any
) -> None:  # pragma: no cover - compiled
    """Copy the tables of a plan, with the rows that it has in a segment."""
    at = np.int64(PACKED_TABLES)
    for leaf in range(len(leaves)):
        leaves[leaf, LEAF_FIELDS], leaves[leaf, LEAF_GROUP] = packed[at], packed[at + 1]
        leaves[leaf, LEAF_DOCUMENTS] = rows[leaf] if len(rows) else -1
        at += 2
    for step in range(len(program)):
        program[step, 0], program[step, 1] = packed[at], packed[at + 1]
        at += 2
    for phrase in range(len(phrases)):
        for column in range(4):
            phrases[phrase, column] = packed[at + column]
        at += 4
    for word in range(len(words)):
        words[word, 0], words[word, 1] = packed[at], packed[at + 1]
        words[word, 2] = rows[len(leaves) + word] if len(rows) else -1
        at += 2


@njit(cache=True, nogil=True)
def _has_frequent_pair(place: Any, phrases: Any, words: Any) -> bool:  # pragma: no cover - compiled
    """Return whether two neighbouring words of a phrase are so frequent that they may be a listed pair."""
    for phrase in range(len(phrases)):
        for word in range(phrases[phrase, 0] + 1, phrases[phrase, 1]):
            first, second = place[words[word - 1, 0], ENTRY_BITSET_ROW], place[words[word, 0], ENTRY_BITSET_ROW]
            if phrases[phrase, 2] == 0 and first >= 0 and second >= 0:
                return True
    return False


@njit(cache=True, nogil=True)
def lay_out(
    packed: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int32],
    given: npt.NDArray[np.uint64],
    pairs: npt.NDArray[np.uint64],
    room: npt.NDArray[np.int64],
) -> bool:  # pragma: no cover - compiled
    """Write a plan for a segment to `room`, its addresses first; `room` and the arrays have to stay where they are.

    Parameters
        packed: the plan, as `PackedPlan.numbers` has it
        place, given, pairs: as those of `Plan`
        rows: by leaf, the row of `given` with the documents in which it counts; then by word of a phrase, that of
            `pairs`; -1 for none; empty if there are none at all
        room: as many numbers as `room_for` says, or more
    Returns
        whether there are words of a phrase that may be a listed pair
    """
    count, steps, phrase_count, word_count = packed[0], packed[1], packed[2], packed[3]
    groups, everywhere = packed[4], packed[5]
    weights = packed[len(packed) - count - 2 :].view(np.float64)
    addresses, own = room[:ADDRESSES], room[ADDRESSES : ADDRESSES + count]
    order = room[ADDRESSES + count : ADDRESSES + 2 * count].view(np.int32)[:count]
    size = steps + word_count + 1
    begin = ADDRESSES + 2 * count
    masks, sums = room[begin : begin + size].view(np.uint64), room[begin + size : begin + 2 * size]
    firsts, tables = room[begin + 2 * size : begin + 3 * size], room[begin + 3 * size :].view(np.int32)
    ends = (3 * count, 3 * count + 2 * steps, 3 * count + 2 * steps + 4 * phrase_count)
    leaves, program = tables[: ends[0]].reshape(count, 3), tables[ends[0] : ends[1]].reshape(steps, 2)
    phrases = tables[ends[1] : ends[2]].reshape(phrase_count, 4)
    words = tables[ends[2] : ends[2] + 3 * word_count].reshape(word_count, 3)
    _copy_tables(packed, rows, leaves, program, phrases, words)
    own_weights = own.view(np.float32)[:count]
    simple = EVERY_DOCUMENT
    for leaf in range(count):
        own_weights[leaf] = weights[leaf] / MAX_IMPACT
        if leaves[leaf, LEAF_FIELDS] != everywhere:
            simple = 0
        elif leaves[leaf, LEAF_DOCUMENTS] >= 0:
            simple = min(simple, 1)
    shape = _shape_of(program, leaves, packed[6] != 0)
    required = _required(program, phrases, words, masks)
    _order_leaves(place, required, order)
    clauses = 0
    if shape == MIXED:
        clauses = _order_clauses(place, masks, sums, _find_clauses(program, phrases, words, masks, firsts))
    has_frequent_pair = _has_frequent_pair(place, phrases, words)
    _order_words(place, phrases, words)
    at = np.int64(tables.ctypes.data)
    _set_array(addresses, 0, np.int64(place.ctypes.data), place.shape[0], place.shape[1])
    _set_array(addresses, 1, np.int64(own_weights.ctypes.data), count, 0)
    _set_array(addresses, 2, at, count, 3)
    _set_array(addresses, 3, at + 4 * ends[0], steps, 2)
    _set_array(addresses, 4, at + 4 * ends[1], phrase_count, 4)
    _set_array(addresses, 5, at + 4 * ends[2], word_count, 3)
    _set_array(addresses, 6, np.int64(order.ctypes.data), count, 0)
    _set_array(addresses, 7, np.int64(given.ctypes.data), given.shape[0], given.shape[1])
    addresses[FIELD_WIDTH * 8] = shape
    addresses[FIELD_WIDTH * 9] = groups
    addresses.view(np.uint64)[FIELD_WIDTH * 10] = required
    addresses.view(np.float64)[FIELD_WIDTH * 11] = weights[count]
    addresses.view(np.float64)[FIELD_WIDTH * 12] = weights[count + 1]
    _set_array(addresses, 13, np.int64(masks.ctypes.data), clauses, 0)
    addresses[FIELD_WIDTH * 14] = simple
    _set_array(addresses, 15, np.int64(pairs.ctypes.data), pairs.shape[0], pairs.shape[1])
    addresses[FIELD_WIDTH * 16] = _paired(program, phrases, words)
    return has_frequent_pair


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    place, sets = np.array([[1, 0, 1, 0, 0, 0, 0, -1]], np.int64), np.zeros((0, 1), np.uint64)
    packed = np.frombuffer(np.array([1, 1, 0, 0, 0, 255, 0, 255, -1, LEAF, 0, 0, 0, 0], np.int64).tobytes(), np.int64)
    lay_out(packed, place, np.zeros(0, np.int32), sets, sets, np.zeros(room_for(1, 1, 0, 0), np.int64))
