"""Features as they travel: the columns that a broker needs. Most features of most queries have no weight."""

import functools
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank import FEATURES
from periplus.search.kernels import feature_rows

__all__ = ["pack_features", "unpack_features"]

_OTHERS: Final = ("title", "name", "static", "query_words", "static_similarity")
"""Features that reranking and merging read whatever their weights."""
_ALWAYS: Final = sum(1 << FEATURES.index(name) for name in _OTHERS)

Rows = npt.NDArray[np.float64]
Columns = npt.NDArray[np.uint8]


def pack_features(rows: Rows, needed: int) -> tuple[Rows, Columns]:
    """Return the columns of features that are needed, and which these are; needed: as a mask."""
    columns = _list_columns(needed & ((1 << len(FEATURES)) - 1))
    return rows.take(columns, axis=1), columns


@functools.lru_cache(maxsize=64)
def _list_columns(needed: int) -> Columns:
    columns = np.array([n for n in range(len(FEATURES)) if (needed | _ALWAYS) >> n & 1], np.uint8)
    columns.flags.writeable = False
    return columns


def unpack_features(packed: Rows, columns: Columns) -> Rows:
    """Return all columns of features; raise `BadInput` for what is not packed."""
    if packed.ndim != 2 or columns.shape != packed.shape[1:]:
        raise BadInput("Features of a shard cannot be read.")
    rows: Rows = feature_rows.spread_columns(packed, columns, len(FEATURES))
    if len(rows) != len(packed):
        raise BadInput("Features of a shard cannot be read.")
    return rows
