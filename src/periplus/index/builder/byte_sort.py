"""Sorts strings of a blob by their bytes, without making an object of each."""

import numpy as np
import numpy.typing as npt

from periplus.index.vocabulary.kernels import surface_forms

__all__ = ["sort_strings"]


def sort_strings(
    blob: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the order of strings by their bytes: by the first eight, then by eight more where those are equal."""
    keys = surface_forms.prefix_keys(blob, begin, end)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    group = np.zeros(len(begin), np.int32)
    np.cumsum(keys[1:] != keys[:-1], dtype=np.int32, out=group[1:])
    longest = int((end - begin).max(initial=0))
    for depth in range(1, -(-longest // 8)):
        same = group[1:] == group[:-1]
        tied = np.flatnonzero(np.concatenate((same, [False])) | np.concatenate(([False], same)))
        if not len(tied):
            break
        keys = surface_forms.prefix_keys(blob, begin[order[tied]] + 8 * depth, end[order[tied]])
        by_key = np.lexsort((keys, group[tied]))
        order[tied] = order[tied][by_key]
        keys = keys[by_key]
        differs = np.zeros(len(begin), np.bool_)
        differs[tied[1:]] = (keys[1:] != keys[:-1]) & (group[tied[1:]] == group[tied[:-1]])
        group += np.cumsum(differs, dtype=np.int32)
    return order
