"""Weighted features: the contribution of each feature of each row to a score."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["shape_value", "weigh_features"]

_SQUARE, _ROOT, _LOG, _INVERSE, _ANY = range(1, 6)
"""Positions in `periplus.score.SHAPES`; 0 is 'plain'."""
_NO_WEIGHT: Final = 0.0


@njit(cache=True, nogil=True, forceinline=True)
def shape_value(value: float, shape: int) -> float:  # pragma: no cover - compiled
    """Return the value of a feature in its shape.

    Parameters
    ----------
    value: of the feature.
    shape: its position in `SHAPES`.

    Returns
    -------
    What is multiplied by the weight.
    """
    if shape == _SQUARE:
        return value * value
    if shape == _ROOT:
        return np.sqrt(max(0.0, value))
    if shape == _LOG:
        return np.log1p(max(0.0, value))
    if shape == _INVERSE:
        return 1.0 / (1.0 + max(0.0, value))
    if shape == _ANY:
        return 1.0 if value > 0 else 0.0
    return value


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
            parts[i, column] = shape_value(rows[i, column], shape[column]) * weight[column]
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    weigh_features(np.ones((1, 2)), np.ones(2), np.zeros(2, np.int32))
