"""Trees walked one row at a time: the naive twin of `kernels.trees`."""

from collections.abc import Sequence

from periplus.rank.kernels.trees import Trees


def add_up(trees: Trees, row: Sequence[float]) -> float:
    """Give the sum of all trees for one row."""
    return sum(_walk(trees, int(root), row) for root in trees.root)


def _walk(trees: Trees, node: int, row: Sequence[float]) -> float:
    if node < 0:
        return float(trees.leaf[-1 - node])
    low, high = trees.child[node].tolist()
    return _walk(trees, low if row[trees.feature[node]] <= trees.threshold[node] else high, row)
