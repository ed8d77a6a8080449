"""What a query looks like to the match kernel, and the arrays it works on."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.kernels.invert import BLOCK

__all__ = [
    "ALL",
    "AND",
    "GIVEN",
    "LEAF",
    "MAX_LEAVES",
    "MOST_POSITIONS",
    "OR",
    "PHRASE",
    "WITHOUT",
    "Desk",
    "Plan",
    "make_desk",
]

LEAF, AND, OR, WITHOUT, PHRASE, ALL, GIVEN = 0, 1, 2, 3, 4, 5, 6
"""Steps of a program: push the set of a leaf, a phrase, all documents or a given set; or join the two sets on top."""
MAX_LEAVES = 64
MOST_POSITIONS = 1 << 16
"""More positions of one term in one document than this are not read."""


class Plan(NamedTuple):
    """A query, ready to run on one segment. A leaf is one term."""

    place: npt.NDArray[np.int64]
    """By leaf: frequency, begin and end of entries, sizes, positions, dense row; as `lexicon.find_term` gives it."""
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
    phrase_reach: npt.NDArray[np.int32]
    """For each phrase: 0 for words one after the other, else how far each may be from the next, in any order."""
    phrase_fields: npt.NDArray[np.uint8]
    """For each phrase, the fields it may be in, as a mask."""
    given: npt.NDArray[np.uint64]
    """Sets made beforehand (a site, a language), by set and block."""
    static_weight: float
    bonus: float
    required: np.uint64
    """Leaves without which nothing can match."""
    simple: bool
    """Whether a block that has the required leaves, and any at all, can match: there is nothing more to look at."""
    order: npt.NDArray[np.int32]
    """Leaves in the order in which their bounds are added: required ones first, the rarest of them before others."""


class Desk(NamedTuple):
    """What is worked on while one query runs; kept from one to the next, since making it takes longer than many."""

    bound: npt.NDArray[np.float32]
    """By block: what no score in it can exceed."""
    have: npt.NDArray[np.uint64]
    """By block: which leaves it has."""
    entry: npt.NDArray[np.int64]
    """By leaf and block: 256 * where the postings begin, + their length; only where `have` says so."""
    spot: npt.NDArray[np.int64]
    """By leaf and block, two numbers, for plans with phrases: -1 and where the positions begin; or where the group of
    entries begins, and its positions."""
    order: npt.NDArray[np.int32]
    """Blocks that can match, as found, and in the order in which they are opened."""
    sets: npt.NDArray[np.uint64]
    """By leaf: its documents in the open block."""
    scores: npt.NDArray[np.float32]
    """By offset in the open block."""
    stack: npt.NDArray[np.uint64]
    first: npt.NDArray[np.int64]
    other: npt.NDArray[np.int64]


def make_desk(blocks: int, leaves: int, steps: int, phrases: bool) -> Desk:
    """Make room for queries on segments of up to so many blocks, with up to so many leaves and program steps."""
    most = MOST_POSITIONS if phrases else 1
    return Desk(
        np.zeros(blocks, np.float32),
        np.zeros(blocks, np.uint64),
        np.empty((leaves, blocks), np.int64),
        np.empty((leaves, 2 * blocks) if phrases else (1, 1), np.int64),
        np.empty((2, blocks), np.int32),
        np.zeros(leaves, np.uint64),
        np.zeros(BLOCK, np.float32),
        np.zeros(steps + 1, np.uint64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
