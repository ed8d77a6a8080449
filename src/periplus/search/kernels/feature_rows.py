"""Rows of features from the columns of them that have travelled."""

from typing import Any

import numpy as np

from periplus.accel import njit

__all__ = ["spread_columns", "warm"]


@njit(cache=True, nogil=True)
def spread_columns(packed: Any, columns: Any, width: int) -> Any:  # pragma: no cover - compiled
    """Return rows of `width` values, those of `packed` in their columns and 0 elsewhere; no rows at all are an error.

    columns: the column of each packed one; all of them have to be below `width`.
    """
    count, rows = len(columns), np.zeros((len(packed), width))
    for column in columns:
        if column >= width:
            return rows[:0]
    for row in range(len(packed)):
        for n in range(count):
            rows[row, columns[n]] = packed[row, n]
    return rows


def warm() -> None:
    """Compile the kernel with the types used in production, where arrays that were received cannot be written."""
    packed, columns = np.zeros((1, 1)), np.zeros(1, np.uint8)
    packed.flags.writeable = columns.flags.writeable = False
    spread_columns(packed, columns, 2)
    spread_columns(np.zeros((1, 1)), columns, 2)
