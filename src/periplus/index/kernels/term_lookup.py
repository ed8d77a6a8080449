"""Many terms looked up in a term dictionary by one call: a call costs more than most of the lookups do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import (
    ABSENT_TERM,
    TermDictionary,
    allocate_dictionary,
    find_term,
    make_tiny_terms,
    pack_terms,
)

__all__ = ["COLUMNS", "find_terms"]

COLUMNS = len(ABSENT_TERM)


@njit(cache=True, nogil=True)
def _find_all(dictionary: TermDictionary, blob: Any, starts: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Fill a row of `out` for each term that `starts` cuts out of `blob`; an empty term is absent."""
    for number in range(len(starts) - 1):
        entry = ABSENT_TERM
        if starts[number] < starts[number + 1]:
            entry = find_term(dictionary, blob[starts[number] : starts[number + 1]])
        for column in range(COLUMNS):
            out[number, column] = entry[column]


def find_terms(
    dictionary: TermDictionary, blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Look several terms up.

    Parameters
        dictionary: the packed dictionary
        blob: the bytes of all terms, one after the other
        starts: where each term begins in `blob`; one more than there are terms
    Returns
        an array with a row for each term, its columns those of `TermEntry`; the frequency is 0 if a term is absent
    """
    out = np.empty((len(starts) - 1, COLUMNS), np.int64)
    _find_all(dictionary, blob, starts, out)
    return out


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    terms = make_tiny_terms()
    dictionary = allocate_dictionary(terms)
    pack_terms(terms, dictionary)
    for array in dictionary:
        array.flags.writeable = False
    find_terms(dictionary, np.frombuffer(b"a", np.uint8), np.array([0, 1], np.int64))
