"""Scores of the candidates of one query by their features, in one call."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.score.kernels.weighting import shape_value

__all__ = ["score_rows"]

_LANES = 8
"""Partial sums of a score: features are added in the order in which NumPy adds the numbers of a row."""


@njit(cache=True, nogil=True)
def score_rows(
    rows: npt.NDArray[np.float64],
    similarity: int,
    similarities: npt.NDArray[np.float64],
    short: npt.NDArray[np.float64],
    long: npt.NDArray[np.float64],
    share: float,
    shape: npt.NDArray[np.int32],
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the sum of the weighted features of each row.

    Parameters
    ----------
    rows: feature values, a row for each candidate.
    similarity, similarities: a column, and the values that count in place of its own.
    short, long: the weights of features for short and for long queries.
    share: how far the query is from a short one (0) to a long one (1).
    shape: the shape of each feature, as its position in `SHAPES`.

    Returns
    -------
    The score of each row.
    """
    count, columns = rows.shape
    scores = np.empty(count)
    whole = columns - columns % _LANES
    weights, used, first_behind = np.empty(columns), np.empty(columns, np.int64), 0
    size = 0
    for column in range(columns):
        weights[column] = (1.0 - share) * short[column] + share * long[column]
        if weights[column] != 0.0:
            used[size] = column
            size += 1
            first_behind += column < whole
    lanes = np.empty(_LANES)
    for row in range(count):
        lanes[:] = 0.0
        for n in range(first_behind):
            column = used[n]
            value = similarities[row] if column == similarity else rows[row, column]
            lanes[column % _LANES] += shape_value(value, shape[column]) * weights[column]
        total = _join(lanes)
        for n in range(first_behind, size):
            column = used[n]
            value = similarities[row] if column == similarity else rows[row, column]
            total += shape_value(value, shape[column]) * weights[column]
        scores[row] = total
    return scores


@njit(cache=True, nogil=True, forceinline=True)
def _join(lanes: npt.NDArray[np.float64]) -> float:  # pragma: no cover - compiled
    """Return the sum of the partial sums of a row."""
    low: float = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    return low + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    score_rows(np.ones((1, 9)), 0, np.ones(1), np.ones(9), np.ones(9), 0.5, np.zeros(9, np.int32))
