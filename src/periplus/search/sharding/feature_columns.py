"""Features as they travel: the columns that a broker needs and that are not all 0.

Most features of most queries have no weight, or are the same for no candidate: a third of the bytes is left.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank import FEATURES

__all__ = ["pack_features", "unpack_features"]

_OTHERS: Final = ("title", "name", "static", "query_words", "static_similarity")
"""Features that reranking and merging read whatever their weights."""
_ALWAYS: Final = sum(1 << FEATURES.index(name) for name in _OTHERS)
_BITS: Final = np.int64(1) << np.arange(len(FEATURES), dtype=np.int64)

Rows = npt.NDArray[np.float64]
Columns = npt.NDArray[np.uint8]


def pack_features(rows: Rows, needed: int) -> tuple[Rows, Columns]:
    """Return the columns of features that are needed and not all 0, and which these are; needed: as a mask."""
    wanted = (np.int64((needed | _ALWAYS) & ((1 << len(FEATURES)) - 1)) & _BITS) != 0
    columns = np.flatnonzero(wanted & rows.any(axis=0))
    return rows[:, columns], columns.astype(np.uint8)


def unpack_features(packed: Rows, columns: Columns) -> Rows:
    """Return all columns of features; raise `BadInput` for what is not packed."""
    if packed.ndim != 2 or columns.shape != packed.shape[1:] or (len(columns) and columns.max() >= len(FEATURES)):
        raise BadInput("Features of a shard cannot be read.")
    rows = np.zeros((len(packed), len(FEATURES)))
    rows[:, columns] = packed
    return rows
