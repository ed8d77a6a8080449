"""Columns of the index, read for documents of several segments at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.index import Index

__all__ = ["read_columns"]


def read_columns(
    index: Index,
    segments: npt.NDArray[np.int32],
    documents: npt.NDArray[np.int32],
    columns: Sequence[tuple[str, npt.DTypeLike]],
) -> list[npt.NDArray[Any]]:
    """Return some columns, each by name and type, with a value for each of some documents."""
    if len(index.segments) == 1:
        only = index.segments[0]
        return [only.column(name)[documents].astype(kind, copy=False) for name, kind in columns]
    values: list[npt.NDArray[Any]] = [np.empty(len(documents), kind) for _, kind in columns]
    for number in set(segments.tolist()):
        segment, rows = index.segments[number], (segments == number).nonzero()[0]
        these = documents[rows]
        for (name, _), column in zip(columns, values, strict=True):
            column[rows] = segment.column(name)[these]
    return values
