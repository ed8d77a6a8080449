"""A plan as numbers in one array, the same for all segments: what the kernel lays out for each of them."""

import itertools
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.query.kernels.plan_layout import room_for
from periplus.query.query_tree import EVERYWHERE

if TYPE_CHECKING:
    from periplus.query.query_plan import PhrasePlan, QueryPlan

__all__ = ["PackedPlan", "pack_plan"]

_FLOATS: Final = 2
"""Numbers behind the weights of leaves: the weight of static rank, and the bonus."""


class PackedPlan(NamedTuple):
    """What every segment needs of a plan."""

    numbers: npt.NDArray[np.int64]
    """As many integers as `plan_layout.PACKED_TABLES`; fields and group of each leaf; the program; of each phrase,
    where its words begin and end, its reach and its fields; leaf and place of each word; then, as the bits of floats,
    the weights of leaves, that of static rank, and the bonus."""
    terms: tuple[bytes, ...]
    """Of the leaves."""
    leaves: int
    steps: int
    phrases: int
    room: int
    """64-bit numbers that a plan for a segment takes."""
    restricted: bool
    """Whether some leaves count in some documents only."""


def pack_plan(plan: "QueryPlan") -> PackedPlan:
    """Return a plan as numbers."""
    leaves, program, phrases = plan.leaves, plan.program, plan.phrases
    words = _list_words(phrases) if phrases else ()
    sizes = (len(leaves), len(program), len(phrases), len(words) // 2)
    numbers = [*sizes, plan.groups, EVERYWHERE, bool(plan.synonyms)]
    for leaf in leaves:
        numbers += (leaf.fields, leaf.group)
    numbers.extend(itertools.chain.from_iterable(program))
    begin = 0
    for phrase in phrases:
        numbers += (begin, begin + len(phrase.leaves), phrase.reach, phrase.fields)
        begin += len(phrase.leaves)
    numbers += words
    raw = struct.pack(
        f"={len(numbers)}q{len(leaves) + _FLOATS}d",
        *numbers,
        *[leaf.weight for leaf in leaves],
        plan.scoring.static_weight,
        plan.bonus,
    )
    return PackedPlan(
        np.frombuffer(raw, np.int64),
        tuple([leaf.term for leaf in leaves]),
        len(leaves),
        len(program),
        len(phrases),
        room_for(*sizes),
        any(leaf.languages is not None for leaf in leaves),
    )


def _list_words(phrases: Sequence["PhrasePlan"]) -> list[int]:
    """Return leaf and place of the words of all phrases."""
    return [number for phrase in phrases for offset, leaf in enumerate(phrase.leaves) for number in (leaf, offset)]
