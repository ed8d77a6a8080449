"""The documents of a segment by language: as sets of blocks for matching, and as masks for single documents.

Sets are rows of one array, so that a query refers to them by number: copying those of a query, at a million documents
125 kB each, would take longer than most queries.
"""

import functools
import threading
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.kernels import document_sets, inversion

__all__ = ["MAX_LANGUAGE_SETS", "LanguageSets"]

MAX_LANGUAGE_SETS: Final = 64
"""Sets that are kept for further queries; one query has at most as many."""
_FURTHER_SETS: Final = 256
_FURTHER_BYTES: Final = 1 << 25
"""So many where they are small: an index of many languages has hundreds, and each takes long to make."""
_ALL_TERMS: Final = 63
"""The bit of a mask that every document has."""
_NUMBERS: Final = 256
_NONE: Final = np.zeros(0, np.uint8)
_NONE.flags.writeable = False

Numbers = frozenset[int]
Sets = npt.NDArray[np.uint64]


class LanguageSets:
    """Which documents of a segment are in which languages, these given by their numbers."""

    def __init__(self, blocks: int, first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8] | None) -> None:
        """Prepare sets by the first and the second language of each document; of the second, 0 is none."""
        self._blocks = blocks
        self._room = max(MAX_LANGUAGE_SETS, min(_FURTHER_SETS, _FURTHER_BYTES // (8 * max(1, blocks))))
        self._columns = _as_kernels_read(first), second if second is None else _as_kernels_read(second)
        self._languages: dict[int, Sets] = {}
        self._lock = threading.Lock()
        self._table: tuple[Sets, dict[Numbers, int]] = (np.zeros((0, blocks), np.uint64), {})

    def rows(self, sets: Sequence[Numbers]) -> tuple[Sets, list[int]]:
        """Return the documents in one of some languages as rows of an array, by block; and the row of each set.

        Rows that were returned stay as they are: a full table begins anew, as another array.
        """
        table, known = self._table
        try:
            return table, [known[numbers] for numbers in sets]
        except KeyError:
            pass
        with self._lock:
            table, known = self._table
            missing = [numbers for numbers in dict.fromkeys(sets) if numbers not in known]
            if len(known) + len(missing) > len(table):
                missing = list(dict.fromkeys(sets))
                # Rows take memory when they are written.
                table, known = np.zeros((max(self._room, len(missing)), self._blocks), np.uint64), {}
            for numbers in missing:
                row = table[len(known)]
                for number in numbers:
                    row |= self._documents_of(number)
                known[numbers] = len(known)
            self._table = (table, known)
            return table, [known[numbers] for numbers in sets]

    def _documents_of(self, number: int) -> Sets:
        """Return the documents whose first or second language has a number, as sets."""
        blocks = self._languages.get(number)
        if blocks is None:
            first, second = self._columns
            chosen = np.zeros(self._blocks * inversion.BLOCK, np.bool_)
            chosen[: len(first)] = first == number
            if number and second is not None:
                chosen[: len(first)] |= second == number
            blocks = self._languages[number] = np.packbits(chosen, bitorder="little").view(np.uint64)
        return blocks

    def excluded(self, sets: tuple[Numbers | None, ...], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Return, by document and set, which documents are in none of its languages; None is a set of all."""
        if len(sets) > _ALL_TERMS:
            return np.hstack([self.excluded(sets[:_ALL_TERMS], documents), self.excluded(sets[_ALL_TERMS:], documents)])
        masks, bits = _masks(sets)
        first, second = self._columns
        others = _NONE if second is None else second
        excluded: npt.NDArray[np.bool_] = document_sets.exclude_terms(masks, bits, first, others, documents)
        return excluded


def _as_kernels_read(column: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return a column as most are mapped: contiguous, where one value stands for all of them too, and read-only."""
    plain = np.ascontiguousarray(column, np.uint8).view()
    plain.flags.writeable = False
    return plain


@functools.lru_cache(4096)
def _masks(sets: tuple[Numbers | None, ...]) -> tuple[Sets, Sets]:
    """Return a mask of the sets that have a language, as the first and as the second, and the bit of each set."""
    distinct = {numbers: bit for bit, numbers in enumerate(dict.fromkeys(filter(None, sets)))}
    masks = np.zeros((2, _NUMBERS), np.uint64)
    masks[0] = np.uint64(1) << np.uint64(_ALL_TERMS)
    for numbers, bit in distinct.items():
        masks[:, list(numbers)] |= np.uint64(1) << np.uint64(bit)
    masks[1, 0] = 0
    return masks, np.array([distinct[numbers] if numbers else _ALL_TERMS for numbers in sets], np.uint64)
