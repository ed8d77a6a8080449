"""What the planner of a query asks of a collection: one index, or all shards of a cluster.

`Index` answers from its segments. A broker answers from a dictionary of all shards, and asks the shards for the counts
that need postings. Both give the same answers for the same segments, and so the same plans.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.index.vocabulary.spelling_dictionary import SpellingDictionary

__all__ = ["CollectionView", "FrequentTerms", "NameEntry"]

FrequentTerms = tuple[list[tuple[bytes, int]], int]
"""Terms with their document frequencies, the most frequent first, and how many terms there are in all."""


class NameEntry(NamedTuple):
    """A document that has a name."""

    segment: int
    document: int
    kind: int
    """One of `NAME_TITLE` and those after it, the surest first."""
    weight: int
    """The probability that it is meant, in steps of 1/255."""
    mentions: int
    """Documents that mention its title."""


class CollectionView(Protocol):
    """The statistics of a collection."""

    @property
    def documents(self) -> int:
        """How many documents are not deleted."""
        ...

    @property
    def languages(self) -> Mapping[str, int]:
        """Documents by language; '' is unknown."""
        ...

    @property
    def spelling(self) -> SpellingDictionary:
        """Words as people write them; empty until it is loaded."""
        ...

    def document_frequency(self, term: bytes) -> int:
        """Return how many documents have a term."""
        ...

    def document_frequencies(self, terms: Sequence[bytes]) -> list[int]:
        """Return how many documents have each term."""
        ...

    def frequent_terms(self, prefix: bytes, most: int) -> FrequentTerms:
        """Return the `most` most frequent terms with a prefix."""
        ...

    def frequent_numbers(self, low: int, high: int, most: int) -> FrequentTerms:
        """Return the `most` most frequent terms that are integers from `low` to `high`."""
        ...

    def terms_with_character(self, character: bytes) -> dict[bytes, int]:
        """Return the terms that begin or end with a character of a script without spaces, with their frequencies."""
        ...

    def count_phrase(self, terms: tuple[bytes, ...], fields: int) -> int:
        """Return in how many documents terms stand one after the other, in one of some fields; of very many, some."""
        ...

    def have_terms(
        self, terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
    ) -> npt.NDArray[np.bool_]:
        """Return of each term whether any document in the languages of its group has it.

        groups: by term, a number in `languages`, which are meant to be those of few documents.
        """
        ...

    def count_together(self, term: bytes, others: Sequence[bytes]) -> list[int]:
        """Return how many documents have a term together with each of `others`."""
        ...

    def names(self, key: int) -> list[NameEntry]:
        """Return the documents that have the name with a key, in the order of segments; those deleted are left out."""
        ...

    def known_names(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return of which names, given by their keys, there are documents, deleted or not."""
        ...
