"""Which neighbouring words of a query are a fixed phrase: they stand together far more often than by chance."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.index import SpellingDictionary

__all__ = ["FixedPair", "fixed_pairs"]

_LEAST: Final = 0.3
"""Pairs below this share of the strongest bond there can be are no phrase ..."""
_OFTEN: Final = 3
"""... nor are those that were met less often."""


class FixedPair(NamedTuple):
    """Two neighbouring words of a query that belong together."""

    first: int
    """The number of the first word; the other is the next."""
    bond: float
    """How firmly, up to 1: pointwise mutual information, as a share of what it could be."""


def fixed_pairs(book: SpellingDictionary, words: Sequence[str], places: Sequence[int]) -> tuple[FixedPair, ...]:
    """Find the fixed phrases among the words of a query; `places` says where each stands in it."""
    near = [n for n in range(len(words) - 1) if places[n + 1] == places[n] + 1]
    if not near or not book.sampled:
        return ()
    beside = book.count_pairs([words[n] for n in near], [words[n + 1] for n in near])
    if max(beside) < _OFTEN:
        return ()
    known = book.document_frequencies(words)
    bonds = [(n, _bond(book, known[n], known[n + 1], count)) for n, count in zip(near, beside, strict=True)]
    return tuple(FixedPair(n, bond) for n, bond in bonds if bond >= _LEAST)


def _bond(book: SpellingDictionary, first: int, second: int, together: int) -> float:
    """Return the normalised mutual information of two words, by documents that have each, and both in a sample."""
    if together < _OFTEN or first <= 0 or second <= 0:
        return 0.0
    share = min(together / book.sampled, first / book.documents, second / book.documents)
    by_chance = first / book.documents * second / book.documents
    return min(1.0, math.log(share / by_chance) / -math.log(share)) if share < 1 else 0.0
