"""What a query looks like to the match kernel, and the arrays it works on."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import array_1d, array_2d, scalar
from periplus.index.kernels.postings_format import BLOCK, BLOCKED_MIN_DOCUMENTS, BOUND_LEVELS, SPARSE
from periplus.index.kernels.term_dictionary import (
    ENTRY_BEGIN,
    ENTRY_BITSET_ROW,
    ENTRY_ENCODING,
    ENTRY_END,
    ENTRY_FIRST_GROUP,
    ENTRY_FREQUENCY,
    ENTRY_HEADERS,
    ENTRY_POSITIONS,
    TermEntry,
)

__all__ = [
    "ALL",
    "ALL_PAIRED",
    "AND",
    "COMPLETE",
    "COMPLETE_SAMPLED",
    "COUNTS_COMPLETE",
    "EVERY",
    "EVERY_DOCUMENT",
    "GIVEN",
    "LEAF",
    "LEAF_DOCUMENTS",
    "LEAF_FIELDS",
    "LEAF_GROUP",
    "MAX_LEAVES",
    "MIXED",
    "MOST_POSITIONS",
    "OR",
    "PHRASE",
    "PROGRESS",
    "QUOTE",
    "SOME",
    "SOME_PAIRED",
    "WITHOUT",
    "WORK",
    "WORK_LIMIT",
    "Plan",
    "Scratch",
    "get_plan",
    "get_scratch",
    "make_scratch",
    "place_of_leaf",
    "scan_work",
]

LEAF, AND, OR, WITHOUT, PHRASE, ALL, GIVEN = 0, 1, 2, 3, 4, 5, 6
"""Steps of a program: push the set of a leaf, a phrase, all documents or a given set; or join the two sets on top."""
SOME, EVERY, QUOTE, MIXED = 0, 1, 2, 3
"""Shapes of a program: any of the leaves, all of them, one phrase, or something that must be run step by step."""
EVERY_DOCUMENT = 2
"""Value of `Plan.simple`."""
SOME_PAIRED, ALL_PAIRED = 1, 2
"""Values of `Plan.paired`."""
LEAF_FIELDS, LEAF_GROUP, LEAF_DOCUMENTS = 0, 1, 2
"""Columns of `Plan.leaves`."""
MAX_LEAVES = 64
PROGRESS = 15
"""Numbers that a query in several turns is taken up by."""
WORK, WORK_LIMIT = 10, 11
"""Elements of `Scratch.progress`: work units so far, postings and positions that were decoded, and how many there may
be: then documents of the open block are left out, and the query ends."""
COUNTS_COMPLETE, COMPLETE, COMPLETE_SAMPLED = 12, 13, 14
"""Elements of `Scratch.progress`: whether documents with all words of the query are counted; of these, those in blocks
that are counted whole, and in blocks that are a sample. The caller sets all three."""
MOST_POSITIONS = 1 << 16
"""More positions of one term in one document than this are not read."""


class Plan(NamedTuple):
    """A query, ready to run on one segment. A leaf is one term."""

    place: npt.NDArray[np.int64]
    """By leaf: its `TermEntry`, with the columns ENTRY_*."""
    weight: npt.NDArray[np.float32]
    """What one step of impact adds to the score, never below 0; 0 for leaves that only exclude."""
    leaves: npt.NDArray[np.int32]
    """By leaf, with the columns LEAF_*: the fields in which a posting counts, as a mask; the word of the query it
    stands for, or -1: a document with all words gets the bonus; the row of `given` with the documents in which it
    counts, or -1."""
    program: npt.NDArray[np.int32]
    """Operation and argument of each step, in postfix order."""
    phrases: npt.NDArray[np.int32]
    """By phrase: where its words begin and end in `words`; 0 for words one after the other, else how far each may be
    from the next, in any order; the fields it may be in, as a mask."""
    words: npt.NDArray[np.int32]
    """Words of phrases: leaf, place in the phrase, and the row of `pairs` of it and the next word, or -1."""
    order: npt.NDArray[np.int32]
    """Leaves in the order in which they are looked at: required ones first, the rarest of them before others."""
    given: npt.NDArray[np.uint64]
    """Sets made beforehand (a site, the pages in some languages), by set and block."""
    shape: int
    groups: int
    """How many words of the query its leaves stand for."""
    required: np.uint64
    """Leaves without which nothing can match."""
    static_weight: float
    bonus: float
    clauses: npt.NDArray[np.uint64]
    """Sets of leaves, as masks: what matches has a leaf of each of them; the rarest first. Of mixed programs only."""
    simple: int
    """1 if the leaves count in all fields: then the documents of a block that match are those of its sets;
    EVERY_DOCUMENT if they count in all documents, too."""
    pairs: npt.NDArray[np.uint64]
    """By pair of words that follow each other, and block: the documents that have it."""
    paired: int
    """SOME_PAIRED if `pairs` tell what cannot match before positions are read, ALL_PAIRED if they tell all of it."""


class Scratch(NamedTuple):
    """What is worked on while one query runs; kept from one to the next, since making it takes longer than many."""

    bound: npt.NDArray[np.float32]
    """By block: what no score in it can exceed."""
    have: npt.NDArray[np.uint64]
    """By block: which leaves it has."""
    common: npt.NDArray[np.uint64]
    """By block, where leaves are required: the documents that have all of those looked at so far; and a second row."""
    entry: npt.NDArray[np.int32]
    """By leaf and block: the block byte of a middling term, the first posting of a sparse one; where `have` says so."""
    order: npt.NDArray[np.int32]
    """Blocks that can match, as found, and in the order in which they are opened."""
    level: npt.NDArray[np.float32]
    """By leaf and level of a middling term: the most that it adds."""
    sparse: npt.NDArray[np.int64]
    """By sparse leaf and posting: document << 24 | fields << 16 | impact << 8 | code; then, for phrases, as many
    rows of where their positions begin."""
    sets: npt.NDArray[np.uint64]
    """First row, by leaf: its documents in the open block. Second row: the program's stack."""
    scores: npt.NDArray[np.float32]
    """By offset in the open block; behind them, the scores of the best so far."""
    spots: npt.NDArray[np.int64]
    """By leaf, in the open block: where its postings begin and end; the posting whose positions were read last, and
    where they begin (-1: not known yet); the header of the block whose postings were found last (-1: none), and where
    these begin; the header of the block whose positions were found last, and where its postings and these begin."""
    places: npt.NDArray[np.int64]
    """Two rows of positions."""
    best: npt.NDArray[np.int32]
    """The best documents so far."""
    progress: npt.NDArray[np.int64]
    """How far a query has got, for one that is run in several turns: see `match`."""
    reach: npt.NDArray[np.float32]
    """By leaf: the most that it adds to a score in the open block."""
    word_bound: npt.NDArray[np.float32]
    """By block: what the forms of a word that were looked at so far can add to a score in it."""
    word_set: npt.NDArray[np.uint64]
    """By block: a set of documents that has all those with any of these forms."""


def make_scratch(blocks: int, leaves: int, steps: int, phrases: bool, best: int) -> Scratch:
    """Make room for queries on segments of up to so many blocks, leaves, program steps and results."""
    return Scratch(
        np.zeros(blocks, np.float32),
        np.zeros(blocks, np.uint64),
        np.zeros((2, blocks), np.uint64),
        np.zeros((leaves, blocks), np.int32),
        np.zeros((2, blocks), np.int32),
        np.zeros((leaves, BOUND_LEVELS), np.float32),
        np.zeros((2 * leaves if phrases else leaves, BLOCKED_MIN_DOCUMENTS), np.int64),
        np.zeros((2, max(leaves, steps + 1)), np.uint64),
        np.zeros(BLOCK + best, np.float32),
        np.zeros((leaves, 9), np.int64),
        np.zeros((2, MOST_POSITIONS if phrases else 1), np.int64),
        np.zeros(best, np.int32),
        np.zeros(PROGRESS, np.int64),
        np.zeros(leaves, np.float32),
        np.zeros(blocks, np.float32),
        np.zeros(blocks, np.uint64),
    )


@njit(cache=True, nogil=True, forceinline=True)
def get_plan(addresses: Any) -> Plan:  # pragma: no cover - compiled
    """Return the plan at some addresses."""
    return Plan(
        array_2d(addresses, 0, np.int64),
        array_1d(addresses, 1, np.float32),
        array_2d(addresses, 2, np.int32),
        array_2d(addresses, 3, np.int32),
        array_2d(addresses, 4, np.int32),
        array_2d(addresses, 5, np.int32),
        array_1d(addresses, 6, np.int32),
        array_2d(addresses, 7, np.uint64),
        scalar(addresses, 8, np.int64),
        scalar(addresses, 9, np.int64),
        scalar(addresses, 10, np.uint64),
        scalar(addresses, 11, np.float64),
        scalar(addresses, 12, np.float64),
        array_1d(addresses, 13, np.uint64),
        scalar(addresses, 14, np.int64),
        array_2d(addresses, 15, np.uint64),
        scalar(addresses, 16, np.int64),
    )


@njit(cache=True, nogil=True, forceinline=True)
def get_scratch(addresses: Any) -> Scratch:  # pragma: no cover - compiled
    """Return the scratch arrays at some addresses."""
    return Scratch(
        array_1d(addresses, 0, np.float32),
        array_1d(addresses, 1, np.uint64),
        array_2d(addresses, 2, np.uint64),
        array_2d(addresses, 3, np.int32),
        array_2d(addresses, 4, np.int32),
        array_2d(addresses, 5, np.float32),
        array_2d(addresses, 6, np.int64),
        array_2d(addresses, 7, np.uint64),
        array_1d(addresses, 8, np.float32),
        array_2d(addresses, 9, np.int64),
        array_2d(addresses, 10, np.int64),
        array_1d(addresses, 11, np.int32),
        array_1d(addresses, 12, np.int64),
        array_1d(addresses, 13, np.float32),
        array_1d(addresses, 14, np.float32),
        array_1d(addresses, 15, np.uint64),
    )


@njit(cache=True, nogil=True, forceinline=True)
def place_of_leaf(plan: Plan, leaf: int) -> TermEntry:  # pragma: no cover - compiled
    """Return the dictionary row of a leaf as a tuple: a row of an array would count as one more reference to it."""
    place = plan.place
    return TermEntry(
        place[leaf, ENTRY_FREQUENCY],
        place[leaf, ENTRY_BEGIN],
        place[leaf, ENTRY_END],
        place[leaf, ENTRY_POSITIONS],
        place[leaf, ENTRY_ENCODING],
        place[leaf, ENTRY_FIRST_GROUP],
        place[leaf, ENTRY_HEADERS],
        place[leaf, ENTRY_BITSET_ROW],
    )


@njit(cache=True, nogil=True)
def scan_work(plan: Plan, blocks: int) -> int:  # pragma: no cover - compiled
    """Return the work units of finding the blocks that can match.

    Parameters
        plan: of the query
        blocks: how many the segment has
    Returns
        these, with the block headers of all leaves, or the postings of sparse ones
    """
    work = np.int64(blocks)
    for leaf in range(len(plan.place)):
        sparse = plan.place[leaf, ENTRY_ENCODING] == SPARSE
        work += plan.place[leaf, ENTRY_FREQUENCY] if sparse else plan.place[leaf, ENTRY_HEADERS]
    return work
