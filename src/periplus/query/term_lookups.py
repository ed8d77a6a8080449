"""Where the terms of one query are, in every segment: each looked up once, all of a segment by one call.

Preparing weighs terms by how many documents have them; planning, ranking and dressing ask where they are. All of them
ask here, so that no term is ever searched for twice while one query is answered.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.index import CollectionView, Index, Segment, SpellingDictionary
from periplus.query.query_budget import LIMITS, QueryLimits
from periplus.query.query_tree import NumberRange, Prefix

__all__ = ["TermExpander", "TermLookup", "TermRows", "TermSet", "idf"]

TermRows = npt.NDArray[np.int64]
"""A row for each term, with the columns of `TermEntry`; its frequency is 0 where a segment does not have it."""


_NO_ROWS: Final = np.zeros((0, 8), np.int64)
_MOST_NOTES: Final = 3
"""Prefixes and ranges of which the answer says one by one what they stand for."""


@dataclass(frozen=True)
class TermSet:
    """The terms that a prefix or a range of numbers stands for: documents with any of them match."""

    terms: tuple[bytes, ...]
    """The most frequent first."""


class TermLookup:
    """The document frequencies of terms in a collection, and their places in the segments of an index."""

    def __init__(self, collection: CollectionView) -> None:
        self._collection = collection
        self._segments: list[Segment] = collection.segments if isinstance(collection, Index) else []
        self._rows: dict[bytes, int] = {}
        self._frequencies: list[int] = []
        self._places: dict[tuple[int, tuple[bytes, ...]], TermRows] = {}
        self.held: tuple[object, Any] | None = None
        """What a plan keeps beside the places of its terms, and what it was made of."""
        self.packed: tuple[object, object, Any] | None = None
        """The same of the plan as numbers."""

    @property
    def words(self) -> SpellingDictionary:
        """The words of the collection, as they are written."""
        return self._collection.spelling

    def add(self, terms: Iterable[bytes]) -> None:
        """Look up those of `terms` that are not known yet."""
        new = [term for term in dict.fromkeys(terms) if term not in self._rows]
        if not new:
            return
        for term in new:
            self._rows[term] = len(self._rows)
        self._frequencies += self._collection.document_frequencies(new)

    def frequency(self, term: bytes) -> int:
        """Return the number of documents that have a term, over all segments."""
        if term not in self._rows:
            self.add([term])
        return self._frequencies[self._rows[term]]

    def expand_prefix(self, prefix: bytes, most: int) -> tuple[TermSet, int]:
        """Return the `most` most frequent terms with a prefix over all segments, and about how many have it."""
        terms, total = self._collection.frequent_terms(prefix, most)
        return TermSet(tuple([term for term, _ in terms])), total

    def expand_range(self, low: int, high: int, most: int) -> tuple[TermSet, int]:
        """Return the same of terms that are integers from `low` to `high`."""
        terms, total = self._collection.frequent_numbers(low, high, most)
        return TermSet(tuple([term for term, _ in terms])), total

    def any_has(
        self, terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
    ) -> npt.NDArray[np.bool_]:
        """Return of each term whether any document in the languages of its group has it."""
        return self._collection.have_terms(terms, groups, languages)

    def places(self, segment: Segment, terms: tuple[bytes, ...], further: tuple[bytes, ...] = ()) -> TermRows:
        """Return the dictionary rows of some terms in a segment, in their order.

        further: terms that will be asked for later, and are looked up together with these.
        """
        number = self._segments.index(segment) if len(self._segments) > 1 else 0
        key = number, terms
        rows = self._places.get(key)  # Features and snippets are of the same terms.
        if rows is None:
            if not terms and not further:
                return _NO_ROWS
            if further == terms:
                further = ()
            # The segment keeps rows of terms that were looked up: those of a plan are not looked for again.
            table = segment.find_terms((*terms, *further))
            rows = self._places[key] = table[: len(terms)]
            if further:
                self._places[number, further] = table[len(terms) :]
        return rows


class TermExpander:
    """Finds the terms that the prefixes and ranges of one query stand for: a bounded number, each of them once."""

    def __init__(self, lookup: TermLookup, limits: QueryLimits = LIMITS) -> None:
        self._lookup = lookup
        self._limits = limits
        self._room = limits.expansions
        self._expansions: dict[Prefix | NumberRange, TermSet] = {}
        self._noted = 0

    def expand(self, node: Prefix | NumberRange, notes: list[str]) -> TermSet:
        """Return the terms of a node, the most frequent ones if there are too many; then add a note."""
        if node not in self._expansions:
            if isinstance(node, Prefix):
                most, name, kind = min(self._limits.prefix_terms, self._room), f"{node.beginning}*", "words"
                terms, total = self._lookup.expand_prefix(node.beginning.encode(), most)
            else:
                most, name, kind = min(self._limits.range_terms, self._room), f"{node.low}..{node.high}", "numbers"
                terms, total = self._lookup.expand_range(node.low, node.high, most)
            if total > len(terms.terms):
                self._note(f"{name} stands for its {len(terms.terms):,} most frequent {kind} of {total:,}.", notes)
            self._room -= len(terms.terms)
            self._expansions[node] = terms
        return self._expansions[node]

    def _note(self, note: str, notes: list[str]) -> None:
        self._noted += 1
        if self._noted <= _MOST_NOTES:
            notes.append(note)
        elif self._noted == _MOST_NOTES + 1:
            notes.append("So do further prefixes and ranges of the query, or they are left out.")


def idf(collection: CollectionView, frequency: int) -> float:
    """Return the inverse document frequency of a term that `frequency` documents have, 0 for none."""
    documents = max(collection.documents, frequency)
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5)) if frequency else 0.0
