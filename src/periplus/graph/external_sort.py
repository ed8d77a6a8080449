"""Sorting more pairs than fit into memory: sorted runs on disk, merged one range of rows at a time.

A pair is one u64, a target (the row) in its high and a source in its low half.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["PairChunk", "PairSorter", "Pairs", "split_rows"]

Pairs = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]

_MEMORY_FACTOR: Final = 5
"""Sorting and merging need this many times the memory of the pairs they work on, and more for a short while."""
_MIN_PAIRS: Final = 1 << 12
_NO_COUNTS: Final = np.zeros(0, np.uint32)
_SAMPLES: Final = 64
"""Pairs that are sampled from each run for each chunk, to find where chunks should end."""


class PairChunk(NamedTuple):
    """All pairs of the rows `first` up to `last`, sorted and distinct, and their counts if they are counted."""

    first: int
    last: int
    pairs: Pairs
    counts: Counts


class PairSorter:
    """Accepts pairs in any order and returns them in order. Uses about `memory` bytes, whatever their number."""

    def __init__(self, folder: Path, name: str, memory: int, counted: bool = False) -> None:
        self._folder, self._name, self._counted = folder, name, counted
        self._capacity = max(_MIN_PAIRS, memory // (_MEMORY_FACTOR * 8))
        self._pending: list[tuple[Pairs, Counts]] = []
        self._pending_pairs = 0
        self._paths: list[tuple[Path, Path]] = []

    def add(self, pairs: Pairs, counts: Counts | None = None) -> None:
        """Add pairs; each as often as `counts` says if that is counted."""
        all_counts = _NO_COUNTS if counts is None else counts
        for begin in range(0, len(pairs), self._capacity):
            part = pairs[begin : begin + self._capacity]
            self._pending.append((part, all_counts[begin : begin + self._capacity]))
            self._pending_pairs += len(part)
            if self._pending_pairs >= self._capacity:
                self._spill()

    def _spill(self) -> None:
        """Write pending pairs to disk, as one sorted run."""
        pairs, counts = _sort_distinct(self._pending)
        self._pending, self._pending_pairs = [], 0
        base = self._folder / f"{self._name}-{len(self._paths):05d}"
        paths = base.with_suffix(".pairs"), base.with_suffix(".counts")
        with disk_errors(base):
            pairs.tofile(paths[0])
            if self._counted:
                counts.tofile(paths[1])
        self._paths.append(paths)

    def chunks(self, rows: int, align: int) -> Iterator[PairChunk]:
        """Yield all distinct pairs in order; chunks cover all rows and end at multiples of `align` rows."""
        runs: list[tuple[Pairs, Counts]] = [
            (np.memmap(a, np.uint64, mode="r"), np.memmap(b, np.uint32, mode="r") if self._counted else _NO_COUNTS)
            for a, b in self._paths
        ]
        if self._pending:
            runs.append(_sort_distinct(self._pending))
            self._pending, self._pending_pairs = [], 0
        for first, last in split_rows([pairs for pairs, _ in runs], 32, self._capacity, rows, align):
            low, high = np.uint64(first << 32), np.uint64(last << 32)
            bounds = [(np.searchsorted(pairs, [low, high]), pairs, counts) for pairs, counts in runs]
            parts = [(np.array(p[at[0] : at[1]]), np.array(c[at[0] : at[1]])) for at, p, c in bounds if at[1] > at[0]]
            yield PairChunk(first, last, *_sort_distinct(parts))

    def remove(self) -> None:
        """Delete the files of all runs."""
        for paths in self._paths:
            for path in paths:
                path.unlink(missing_ok=True)
        self._paths = []


def split_rows(runs: list[Pairs], shift: int, capacity: int, rows: int, align: int) -> Iterator[tuple[int, int]]:
    """Split the rows into ranges of about `capacity` entries of all runs together, unless one row has more.

    Runs are sorted; the row of an entry is the entry shifted right by `shift` bits.
    """
    total = sum(map(len, runs))
    step = max(1, capacity // _SAMPLES // max(1, len(runs)))
    samples = [run[step - 1 :: step] >> np.uint64(shift) for run in runs]
    sampled_rows = np.sort(np.concatenate(samples)) if samples else np.zeros(0, np.uint64)
    interval = max(1, capacity // step - len(runs))
    ends = sampled_rows[interval::interval].astype(np.int64) // align * align
    first = 0
    for end in [*(np.unique(ends).tolist() if total > capacity else ()), rows]:
        if end > first or (end == rows and rows == 0):
            yield first, int(end)
            first = int(end)


def _sort_distinct(parts: list[tuple[Pairs, Counts]]) -> tuple[Pairs, Counts]:
    """Concatenate and sort; add up the counts of equal pairs."""
    if not parts:
        return np.zeros(0, np.uint64), _NO_COUNTS
    pairs = np.concatenate([part for part, _ in parts])
    counts = np.concatenate([part_counts for _, part_counts in parts])
    if not len(counts):
        pairs.sort()
        return pairs[_first_indices(pairs)], counts
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    first = _first_indices(pairs)
    return pairs[first], np.add.reduceat(counts[order], first, dtype=np.uint32)


def _first_indices(pairs: Pairs) -> npt.NDArray[np.int64]:
    """Return the indices of sorted pairs that differ from the pair before."""
    return np.flatnonzero(np.concatenate((np.ones(min(1, len(pairs)), np.bool_), pairs[1:] != pairs[:-1])))
