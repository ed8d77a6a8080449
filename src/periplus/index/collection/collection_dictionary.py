"""The dictionary of a collection: the terms, words and names of the segments of all its shards.

A broker plans by it without asking anybody. Terms of all segments are merged into one dictionary; words and pairs are
those of `SpellingDictionary`, which merges them as that of an index does; names stay by segment, as numbers of
documents do. Segments never change: a new generation merges only what it has new.
"""

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.collection.collection_view import FrequentTerms, NameEntry
from periplus.index.collection.language_terms import hash_terms
from periplus.index.collection.merged_terms import merge_dictionaries, select_numbers, select_prefix, sum_frequencies
from periplus.index.collection.segment_dictionary import SegmentDictionary
from periplus.index.kernels import term_packing
from periplus.index.kernels.term_dictionary import MIN_ENTRY, PAGE, TermDictionary
from periplus.index.vocabulary.name_file import known_keys, shorten_keys
from periplus.index.vocabulary.name_lookup import MAX_ROWS
from periplus.index.vocabulary.spelling_dictionary import SpellingDictionary

__all__ = ["CollectionDictionary"]

_UNSPACED: Final = 0xE0
"""First byte of characters of three or four bytes, which scripts without spaces have."""


class CollectionDictionary:
    """The dictionaries of segments, in the order of a collection, as one; immutable, so any thread may use it."""

    def __init__(
        self,
        parts: Sequence[SegmentDictionary],
        deleted: Sequence[npt.NDArray[np.int64]],
        previous: "CollectionDictionary | None" = None,
    ) -> None:
        """Merge the dictionaries of segments; deleted: documents of each that are left out of names.

        previous: that of an earlier generation, from which merged terms are taken where all of its segments are left.
        """
        for part in parts:
            part.check_names()
        self._parts = list(parts)
        self._deleted = [frozenset(numbers.tolist()) for numbers in deleted]
        names = [part.name for part in parts]
        base = previous._merged if previous and previous._names <= set(names) else None
        known = previous._names if previous and base else frozenset[str]()
        new = [part.packed_terms() for part in parts if part.name not in known]
        self._names: frozenset[str] = frozenset(names)
        self._merged: TermDictionary = (
            merge_dictionaries([*([base] if base else []), *new]) if new or not base else base
        )
        self._language_terms = np.unique(
            np.concatenate([np.zeros(0, np.uint64), *(part.language_terms for part in parts)])
        )
        sizes = [len(part.name_key) for part in parts]
        keys = shorten_keys(np.concatenate([np.zeros(0, np.uint64), *(part.name_key for part in parts)]))
        order = np.argsort(keys, kind="stable")  # So that those of one key are in the order of segments.
        self._name_keys = keys[order]
        self._name_parts = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)[order]
        starts = np.repeat(np.cumsum([0, *sizes], dtype=np.int64)[:-1], sizes)
        self._name_rows = (np.arange(len(keys)) - starts)[order].astype(np.int32)
        self.spelling: SpellingDictionary = SpellingDictionary(self._parts, previous.spelling if previous else None)
        """Words as people write them; empty until it is loaded."""

    @property
    def sizes(self) -> dict[str, int]:
        """Memory of its parts, by name."""
        words = sum(part.words.nbytes + part.pair_key.nbytes + part.pair_count.nbytes for part in self._parts)
        columns = ("name_key", "name_document", "name_kind", "name_weight", "mentions")
        names = sum(getattr(part, column).nbytes for part in self._parts for column in columns)
        names += self._name_keys.nbytes + self._name_parts.nbytes + self._name_rows.nbytes
        terms = sum(array.nbytes for array in self._merged) + self._language_terms.nbytes
        return {"terms": terms, "words": words, "names": names}

    def frequencies(self, terms: Sequence[bytes]) -> list[int]:
        """Return how many documents have each term."""
        return sum_frequencies([self._merged], terms)

    def frequent_terms(self, prefix: bytes, most: int) -> FrequentTerms:
        """Return the `most` most frequent terms with a prefix, and how many have it."""
        return select_prefix([self._merged], prefix, most)

    def frequent_numbers(self, low: int, high: int, most: int) -> FrequentTerms:
        """Return the same of terms that are integers from `low` to `high`."""
        return select_numbers([self._merged], low, high, most)

    def terms_with_character(self, character: bytes) -> dict[bytes, int]:
        """Return the terms that begin or end with a character of a script without spaces, with their frequencies."""
        return {
            term: frequency
            for term, frequency in self._unspaced_terms
            if term.startswith(character) or term.endswith(character)
        }

    @functools.cached_property
    def _unspaced_terms(self) -> list[tuple[bytes, int]]:
        """Terms that begin with a character of three or four bytes, with their frequencies."""
        terms = self._merged
        count = min(PAGE * (len(terms.page_start) - 1), len(terms.pages) // MIN_ENTRY)
        table = term_packing.unpack_terms(terms, count)
        first = table.blob[np.minimum(table.start[:-1], max(0, len(table.blob) - 1))]
        return [
            (table.blob[table.start[row] : table.start[row + 1]].tobytes(), int(table.frequency[row]))
            for row in np.flatnonzero(first >= _UNSPACED).tolist()
        ]

    def have_terms(
        self, terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
    ) -> npt.NDArray[np.bool_]:
        """Return of each term whether any document in the languages of its group has it.

        All of these languages must be rare: `MAX_RARE` documents of the collection at most.
        """
        present = np.zeros(len(terms), np.bool_)
        for group, numbers in enumerate(languages):
            rows = [row for row, own in enumerate(groups) if own == group]
            for number in numbers:
                hashes = hash_terms([terms[row] for row in rows], number)
                at = np.minimum(np.searchsorted(self._language_terms, hashes), max(0, len(self._language_terms) - 1))
                if len(self._language_terms):
                    present[rows] |= self._language_terms[at] == hashes
        return present

    def names(self, key: int) -> list[NameEntry]:
        """Return the documents that have the name with a key, in the order of segments; those deleted are left out."""
        if not key:
            return []
        wanted = shorten_keys(np.array([key], np.uint64))[0]  # Segments of earlier versions have all of its bits.
        begin = end = int(self._name_keys.searchsorted(wanted))
        while end < len(self._name_keys) and self._name_keys[end] == wanted:
            end += 1
        return [entry for row in range(begin, end) if (entry := self._name_entry(row, begin)) is not None]

    def known_names(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return of which names, given by their keys, there are documents, deleted or not."""
        return known_keys(self._name_keys, shorten_keys(keys))

    def _name_entry(self, row: int, first: int) -> NameEntry | None:
        """Return a row of the names; None if its document is deleted, or its segment has many before it."""
        number, own = int(self._name_parts[row]), int(self._name_rows[row])
        earlier = row - MAX_ROWS
        if earlier >= first and self._name_parts[earlier] == number:
            return None
        part = self._parts[number]
        document = int(part.name_document[own])
        if document in self._deleted[number]:
            return None
        return NameEntry(
            number, document, int(part.name_kind[own]), int(part.name_weight[own]), int(part.mentions[document])
        )
