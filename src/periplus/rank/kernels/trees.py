"""Boosted trees over rows of numbers, as flat arrays: a node is a feature, a threshold and two children."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["Trees", "add_up", "attribute"]


class Trees(NamedTuple):
    """All nodes of all trees. A child below 0 is a leaf: its node is ~child of the leaves."""

    root: npt.NDArray[np.int32]
    """The first node of each tree; below 0 for a tree that is one leaf."""
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    child: npt.NDArray[np.int32]
    """By node: where rows go whose feature is not above the threshold, and where the others go."""
    value: npt.NDArray[np.float64]
    """What a row that ends in a node would be given: the mean of what is below it."""
    leaf: npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def add_up(trees: Trees, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the sum of all trees for each row."""
    sums = np.zeros(len(rows))
    for tree in range(len(trees.root)):
        for i in range(len(rows)):
            node = trees.root[tree]
            while node >= 0:
                above = np.int64(rows[i, trees.feature[node]] > trees.threshold[node])
                node = trees.child[node, above]  # A look-up, not a branch: which way a row goes is hard to foresee.
            sums[i] += trees.leaf[~node]
    return sums


@njit(cache=True, nogil=True)
def attribute(trees: Trees, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return what each feature adds to the sum: at each split, the change of the value that a row would have.

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
                node = trees.child[node, np.int64(rows[i, feature] > trees.threshold[node])]
                there = trees.value[node] if node >= 0 else trees.leaf[~node]
                parts[i, feature] += there - here
                here = there
    return parts


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    one, zero = np.zeros(1, np.int32), np.zeros(1)
    trees: Any = Trees(one, one, zero, np.full((1, 2), -1, np.int32), zero, zero)
    add_up(trees, np.zeros((1, 1)))
    attribute(trees, np.zeros((1, 1)))
