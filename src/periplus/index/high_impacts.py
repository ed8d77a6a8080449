"""The documents in which frequent terms have their highest impacts, found when a query first asks for the term.

The bound of a block tells little of a term that most documents have: one of them has nearly the highest impact there
is. What tells documents apart is whether their own impact is among the highest. A set takes a bit for each document.
"""

import threading
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.kernels import document_sets
from periplus.index.kernels.term_dictionary import ENTRY_BITSET_ROW, ENTRY_FREQUENCY

__all__ = ["HighImpacts"]

_LEAST_BLOCKS: Final = 1_024
"""Smaller segments are matched as fast without."""
_DENSITY: Final = 16
"""Terms that one document in so many has, or more, are worth it."""
_SHARE: Final = 8
"""One document in so many is among those of high impact, at most."""
_UNKNOWN: Final = 255


class HighImpacts:
    """The documents of high impact of the frequent terms of one segment. Threads may share it."""

    def __init__(self, rows: int, blocks: int, documents: int) -> None:
        """Prepare for so many terms that are encoded as bitsets; memory is taken when a set is made."""
        is_large = blocks >= _LEAST_BLOCKS
        self.sets = np.zeros((rows if is_large else 0, blocks if is_large else 1), np.uint64)
        self.limits = np.full(rows if is_large else 0, _UNKNOWN, np.uint8)
        self._least = documents // _DENSITY
        self._done: set[int] = {-1}
        self._lock = threading.Lock()

    def prepare(self, postings_at: npt.NDArray[np.int64], entries: npt.NDArray[np.int64]) -> None:
        """Find the documents of high impact of some terms, given by their rows, unless that was done before.

        postings_at: the addresses of the segment's postings.
        """
        if not len(self.limits) or self._done.issuperset(rows := entries[:, ENTRY_BITSET_ROW].tolist()):
            return
        with self._lock:
            for number, row in enumerate(rows):
                if row not in self._done and entries[number, ENTRY_FREQUENCY] >= self._least:
                    chosen = entries[number : number + 1]
                    # What is not complete is not read: the limit comes last.
                    limit = document_sets.mark_high_impacts(postings_at, chosen, _SHARE, self.sets[row])
                    self.limits[row] = limit
                self._done.add(row)
