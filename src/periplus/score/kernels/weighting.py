"""Weighted features: what each feature of each row adds to a score."""

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["weigh"]


@njit(cache=True, nogil=True)
def weigh(
    rows: npt.NDArray[np.float64], weight: npt.NDArray[np.float64], shape: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give what each feature of each row adds: the feature put into shape (see `SHAPES`), times its weight."""
    parts = np.zeros(rows.shape)
    for column in range(rows.shape[1]):
        if weight[column] == 0.0:
            continue
        for i in range(len(rows)):
            x = rows[i, column]
            if shape[column] == 1:
                x = x * x
            elif shape[column] == 2:
                x = np.sqrt(max(0.0, x))
            elif shape[column] == 3:
                x = np.log1p(max(0.0, x))
            elif shape[column] == 4:
                x = 1.0 / (1.0 + max(0.0, x))
            elif shape[column] == 5:
                x = 1.0 if x > 0 else 0.0
            parts[i, column] = x * weight[column]
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    weigh(np.ones((1, 2)), np.ones(2), np.zeros(2, np.int32))
