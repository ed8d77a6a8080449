"""Rows of a term dictionary that were looked up before: one query looks up most of its terms several times."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index.kernels import term_lookup
from periplus.index.kernels.term_dictionary import TermDictionary
from periplus.index.validation.kernels.term_checks import SegmentArrays

__all__ = ["TermRowCache"]

_MAX_TERMS: Final = 1 << 12
"""Terms of a segment that are kept; a full table begins anew."""
_COLUMNS: Final = term_lookup.COLUMNS


class TermRowCache:
    """Looks up terms of one segment, which never changes, and keeps some of their rows. Threads may share it."""

    def __init__(self, dictionary: TermDictionary, arrays: SegmentArrays) -> None:
        self._dictionary = dictionary
        self._arrays = arrays
        self._rows: dict[bytes, bytes] = {}
        """Rows as bytes, which are joined: making an array of numbers takes longer."""

    def row(self, term: bytes) -> tuple[int, ...]:
        """Return the row of one term, with the columns of `TermEntry`; errors as those of `rows`."""
        return tuple(self.rows((term,))[0].tolist())

    def rows(self, terms: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """Return a row for each term; raise `CorruptFile` if the postings of one of them are damaged."""
        cached = self._rows
        rows = [cached.get(term, b"") for term in terms]
        if rows and b"" not in rows:
            return np.frombuffer(bytearray().join(rows), np.int64).reshape(len(rows), _COLUMNS)
        starts = np.array([*accumulate(map(len, terms), initial=0)], np.int64)
        blob = np.frombuffer(b"".join(terms) or b"\0", np.uint8)
        table = term_lookup.find_terms(self._dictionary, self._arrays, blob, starts)
        if len(terms) <= _MAX_TERMS:
            if len(cached) + len(terms) > _MAX_TERMS:
                cached.clear()
            cached.update(zip(terms, [row.tobytes() for row in table], strict=True))
        return table
