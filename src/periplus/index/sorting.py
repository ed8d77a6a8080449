"""Pieces of a text in the order of their bytes, without making an object of each."""

import numpy as np
import numpy.typing as npt

from periplus.kernels import vocabulary

__all__ = ["sort_pieces"]


def sort_pieces(
    blob: npt.NDArray[np.uint8], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Give the order of pieces by their bytes: by the first eight, then by eight more where those are the same."""
    order, group = np.arange(len(begin)), np.zeros(len(begin), np.int64)
    longest = int((end - begin).max(initial=0))
    for depth in range(-(-longest // 8)):
        same = group[1:] == group[:-1]
        tied = np.flatnonzero(np.concatenate((same, [False])) | np.concatenate(([False], same)))
        if not len(tied):
            break
        keys = vocabulary.chunks(blob, begin[order[tied]] + 8 * depth, end[order[tied]])
        by_key = np.lexsort((keys, group[tied]))
        order[tied] = order[tied][by_key]
        keys = keys[by_key]
        parted = np.zeros(len(begin), np.int64)
        parted[tied[1:]] = (keys[1:] != keys[:-1]) & (group[tied[1:]] == group[tied[:-1]])
        group = group + np.cumsum(parted)
    return order
