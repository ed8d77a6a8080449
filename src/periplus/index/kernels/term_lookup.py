"""Many terms looked up in a term dictionary by one call: a call costs more than most of the lookups do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.errors import CorruptFile
from periplus.index.kernels.postings_format import SIZED
from periplus.index.kernels.postings_reader import make_tiny_postings
from periplus.index.kernels.term_dictionary import ABSENT_TERM, TermDictionary, locate_term
from periplus.index.kernels.term_packing import make_tiny_dictionary
from periplus.index.validation.kernels.term_checks import SegmentArrays, mark_valid

__all__ = ["COLUMNS", "find_terms"]

COLUMNS = len(ABSENT_TERM)


@njit(cache=True, nogil=True)
def _find_all(
    dictionary: TermDictionary, arrays: SegmentArrays, blob: Any, starts: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Fill a row of `out` for each term that `starts` cuts out of `blob`; an empty term is absent.

    Returns the number of the first term that is damaged, -1 if none is.
    """
    for number in range(len(starts) - 1):
        entry = ABSENT_TERM
        if starts[number] < starts[number + 1]:
            offset, entry = locate_term(dictionary, blob[starts[number] : starts[number + 1]])
            if offset < -1 or (offset >= 0 and not mark_valid(arrays, offset, entry)):
                return number
        for column in range(COLUMNS):
            out[number, column] = entry[column]
    return -1


def find_terms(
    dictionary: TermDictionary, arrays: SegmentArrays, blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Look several terms up; raise `CorruptFile` if the postings of one of them are damaged.

    Parameters
        dictionary: the packed dictionary
        arrays: the postings of the segment; the terms that are looked up for the first time are validated
        blob: the bytes of all terms, one after the other
        starts: where each term begins in `blob`; one more than there are terms
    Returns
        an array with a row for each term, its columns those of `TermEntry`; the frequency is 0 if a term is absent
    """
    out = np.empty((len(starts) - 1, COLUMNS), np.int64)
    damaged = _find_all(dictionary, arrays, blob, starts, out)
    if damaged >= 0:
        term = blob[starts[damaged] : starts[damaged + 1]].tobytes().decode("utf-8", "replace")
        raise CorruptFile(f"The postings of the term '{term}' are damaged.", "Run: periplus index check.")
    return out


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    tiny, wide = make_tiny_postings(), np.zeros((0, 2), np.int64)
    wide.flags.writeable = False
    dictionary = make_tiny_dictionary()
    arrays = SegmentArrays(tiny.stream, 1, tiny.groups, wide, 1, 1, SIZED, np.zeros(len(dictionary.pages), np.uint8))
    find_terms(dictionary, arrays, np.frombuffer(b"a", np.uint8), np.array([0, 1], np.int64))
