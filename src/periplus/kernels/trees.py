"""Boosted trees over rows of numbers, as flat arrays: a node is a feature, a threshold and two children."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["Trees", "add_up", "attribute"]


class Trees(NamedTuple):
    """All nodes of all trees. A child below 0 is a leaf: its node is ~child of the leaves."""

    root: npt.NDArray[np.int32]
    """The first node of each tree; below 0 for a tree that is one leaf."""
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    """A row goes left when its feature is not above this."""
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    """What a row that ends in a node would be given: the mean of what is below it."""
    leaf: npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def add_up(trees: Trees, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give the sum of all trees for each row."""
    sums = np.zeros(len(rows))
    for tree in range(len(trees.root)):
        for i in range(len(rows)):
            node = trees.root[tree]
            while node >= 0:
                low = rows[i, trees.feature[node]] <= trees.threshold[node]
                node = trees.left[node] if low else trees.right[node]
            sums[i] += trees.leaf[~node]
    return sums


@njit(cache=True, nogil=True)
def attribute(trees: Trees, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give what each feature adds to the sum: at each step, the change of the value that a row would be given.

    What rows get before any step is spread evenly, so that the features add up to the sum.
    """
    parts = np.zeros(rows.shape)
    for tree in range(len(trees.root)):
        for i in range(len(rows)):
            node = trees.root[tree]
            here = trees.value[node] if node >= 0 else trees.leaf[~node]
            parts[i] += here / rows.shape[1]
            while node >= 0:
                feature = trees.feature[node]
                low = rows[i, feature] <= trees.threshold[node]
                node = trees.left[node] if low else trees.right[node]
                there = trees.value[node] if node >= 0 else trees.leaf[~node]
                parts[i, feature] += there - here
                here = there
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one, zero = np.zeros(1, np.int32), np.zeros(1)
    trees: Any = Trees(one, one, zero, one - 1, one - 1, zero, zero)
    add_up(trees, np.zeros((1, 1)))
    attribute(trees, np.zeros((1, 1)))
