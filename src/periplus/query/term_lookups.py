"""Where the terms of one query are, in every segment: each looked up once, all of a segment by one call.

Preparing weighs terms by how many documents have them; planning, ranking and dressing ask where they are. All of them
ask here, so that no term is ever searched for twice while one query is answered.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, SpellingDictionary

__all__ = ["TermLookup", "TermRows"]

TermRows = npt.NDArray[np.int64]
"""A row for each term, with the columns of `TermEntry`; its frequency is 0 where a segment does not have it."""


class TermLookup:
    """The places of terms in the segments of one index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._rows: dict[bytes, int] = {}
        self._tables: list[TermRows] = [np.zeros((0, 8), np.int64) for _ in index.segments]
        self._frequencies: list[int] = []

    @property
    def words(self) -> SpellingDictionary:
        """The words of the index, as they are written."""
        return self._index.spelling

    def add(self, terms: Iterable[bytes]) -> None:
        """Look up those of `terms` that are not known yet."""
        new = [term for term in dict.fromkeys(terms) if term not in self._rows]
        if not new:
            return
        for term in new:
            self._rows[term] = len(self._rows)
        found = [segment.find_terms(new) for segment in self._index.segments]
        self._tables = [
            np.concatenate([table, more]) if len(table) else more
            for table, more in zip(self._tables, found, strict=True)
        ]
        counts = np.zeros(len(new), np.int64)
        for more in found:
            counts += more[:, 0]
        self._frequencies += counts.tolist()

    def frequency(self, term: bytes) -> int:
        """Return the number of documents that have a term, over all segments."""
        if term not in self._rows:
            self.add([term])
        return self._frequencies[self._rows[term]]

    def places(self, segment: Segment, terms: Sequence[bytes]) -> TermRows:
        """Return the dictionary rows of some terms in a segment, in their order."""
        self.add(terms)
        table = self._tables[self._index.segments.index(segment)]
        return table[[self._rows[term] for term in terms]] if terms else table[:0]
