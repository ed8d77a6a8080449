"""Many terms looked up in a lexicon by one call: a call costs more than most of the lookups do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.kernels.term_dictionary import NOWHERE, Lexicon, find_term, make_tiny_terms, pack_terms, room

__all__ = ["COLUMNS", "find_terms"]

COLUMNS = len(NOWHERE)


@njit(cache=True, nogil=True)
def _find_all(lexicon: Lexicon, blob: Any, starts: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Fill a row of `out` for each term that `starts` cuts out of `blob`; an empty one is nowhere."""
    for number in range(len(starts) - 1):
        found = NOWHERE
        if starts[number] < starts[number + 1]:
            found = find_term(lexicon, blob[starts[number] : starts[number + 1]])
        for column in range(COLUMNS):
            out[number, column] = found[column]


def find_terms(lexicon: Lexicon, blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give the place of each term, a row as `lexicon.find_term` gives it: frequency 0 where it is not there."""
    out = np.empty((len(starts) - 1, COLUMNS), np.int64)
    _find_all(lexicon, blob, starts, out)
    return out


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    terms = make_tiny_terms()
    lexicon = room(terms)
    pack_terms(terms, lexicon)
    for array in lexicon:
        array.flags.writeable = False
    find_terms(lexicon, np.frombuffer(b"a", np.uint8), np.array([0, 1], np.int64))
