"""Columns of the index, read for documents of several segments at once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.index import Index

__all__ = ["read_column"]


def read_column(
    index: Index, name: str, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]
) -> npt.NDArray[Any]:
    """Return the value of a column for each of some documents."""
    if len(index.segments) == 1:
        only: npt.NDArray[Any] = index.segments[0].column(name)[documents]
        return only
    numbers = set(segments.tolist())
    columns = {number: index.segments[number].column(name) for number in numbers}
    values = np.zeros(len(documents), np.result_type(*columns.values()) if columns else np.int64)
    for number, column in columns.items():
        rows = segments == number
        values[rows] = column[documents[rows]]
    return values
