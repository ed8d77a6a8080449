"""One ranking beside another: the mean difference, whether it is more than chance, and which queries won and lost."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from periplus.evaluate.bootstrap import paired_difference
from periplus.evaluate.rankings import Floats

__all__ = ["Comparison", "QueryChange", "compare"]

_SHOWN: Final = 10
"""Most queries listed of those that won, and of those that lost."""
_TIE: Final = 1e-9


class QueryChange(msgspec.Struct, frozen=True):
    """A query whose list became better or worse."""

    query: str
    words: str
    before: float
    after: float


class Comparison(msgspec.Struct, frozen=True):
    """How one ranking does beside another, in nDCG at 10."""

    base: str
    difference: float
    low: float
    """Of the 95 % confidence interval, by paired bootstrap over queries."""
    high: float
    p: float
    gain: float
    """The difference as a share of what the other has."""
    wins: int
    losses: int
    ties: int
    best: tuple[QueryChange, ...]
    """Queries that won most."""
    worst: tuple[QueryChange, ...]


def compare(
    base: str, ours: Floats, theirs: Floats, queries: Sequence[str], words: Mapping[str, str], seed: int = 7
) -> Comparison:
    """Compare the values of the same queries."""
    moved = ours - theirs
    found = paired_difference(ours, theirs, seed=seed)
    order = np.argsort(moved, kind="stable").tolist()

    def shown(rows: Sequence[int]) -> tuple[QueryChange, ...]:
        return tuple(
            QueryChange(queries[row], words.get(queries[row], ""), float(theirs[row]), float(ours[row])) for row in rows
        )

    return Comparison(
        base,
        found.mean,
        found.low,
        found.high,
        found.p,
        found.mean / float(theirs.mean()) if len(theirs) and theirs.mean() > 0 else 0.0,
        int((moved > _TIE).sum()),
        int((moved < -_TIE).sum()),
        int((np.abs(moved) <= _TIE).sum()),
        shown([row for row in order[::-1] if moved[row] > _TIE][:_SHOWN]),
        shown([row for row in order if moved[row] < -_TIE][:_SHOWN]),
    )
