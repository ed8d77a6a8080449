"""nDCG@10 of rankings over dumped candidates, quick enough to be asked for thousands of times."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["gain_utility", "ndcg_at_ten"]

_TOP: Final = 10
_AVERSION: Final = 3.0
"""How many times a loss counts."""

Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def ndcg_at_ten(scores: Any, grades: Any, offsets: Any, ideal: Any) -> Any:
    """Return nDCG@10 of every query when its rows are ordered by score; of equal ones the earlier row comes first.

    Parameters: scores and grades by row; offsets, where the rows of each query begin, with the number of rows at the
    end; ideal, the discounted gain of the best possible order, by query.

    Returns: an array by query.
    """
    out = np.zeros(len(ideal))
    best, rows = np.empty(_TOP), np.empty(_TOP, np.int64)
    for query in range(len(ideal)):
        count = 0
        for row in range(offsets[query], offsets[query + 1]):
            if count == _TOP and scores[row] <= best[_TOP - 1]:
                continue
            at = count if count < _TOP else _TOP - 1
            while at > 0 and best[at - 1] < scores[row]:
                best[at], rows[at] = best[at - 1], rows[at - 1]
                at -= 1
            best[at], rows[at] = scores[row], row
            count = min(_TOP, count + 1)
        gain = 0.0
        for rank in range(count):
            gain += grades[rows[rank]] / np.log2(rank + 2)
        out[query] = gain / ideal[query]
    return out


def gain_utility(gains: Floats, cap: float) -> Floats:
    """Return what relative gains are worth: they approach `cap` at most, and a loss counts several times."""
    return np.where(gains > 0, cap * np.tanh(gains / cap), _AVERSION * gains)
