"""Weighted features: the contribution of each feature of each row to a score."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["weigh_features"]

_SQUARE, _ROOT, _LOG, _INVERSE, _ANY = range(1, 6)
"""Positions in `periplus.score.SHAPES`; 0 is 'plain'."""
_NO_WEIGHT: Final = 0.0


@njit(cache=True, nogil=True)
def weigh_features(
    rows: npt.NDArray[np.float64], weight: npt.NDArray[np.float64], shape: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the contribution of each feature of each row: the value in its shape, times its weight.

    Parameters
    ----------
    rows: feature values, a row for each item and a column for each feature.
    weight: the weight of each feature.
    shape: the shape of each feature, as its position in `SHAPES`.

    Returns
    -------
    An array like `rows`; the sum of a row is the score of its item.
    """
    parts = np.zeros(rows.shape)
    for column in range(rows.shape[1]):
        if weight[column] == _NO_WEIGHT:
            continue
        for i in range(len(rows)):
            x = rows[i, column]
            if shape[column] == _SQUARE:
                x = x * x
            elif shape[column] == _ROOT:
                x = np.sqrt(max(0.0, x))
            elif shape[column] == _LOG:
                x = np.log1p(max(0.0, x))
            elif shape[column] == _INVERSE:
                x = 1.0 / (1.0 + max(0.0, x))
            elif shape[column] == _ANY:
                x = 1.0 if x > 0 else 0.0
            parts[i, column] = x * weight[column]
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    weigh_features(np.ones((1, 2)), np.ones(2), np.zeros(2, np.int32))
