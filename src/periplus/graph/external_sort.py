"""Sorting more pairs than fit into memory: sorted runs on disk, read back a range of rows at a time.

A pair is one u64, a target (the row) in its high and a source in its low half.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors

__all__ = ["Chunk", "Pairs", "Runs", "spans"]

Pairs = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.uint32]

_TIMES: Final = 5
"""Sorting and merging hold this many times the pairs they work on, and more for a short while."""
_FEWEST: Final = 1 << 12
_NONE: Final = np.zeros(0, np.uint32)
_SAMPLES: Final = 64
"""Of each run, so many pairs for each chunk are looked at to find where chunks should end."""


class Chunk(NamedTuple):
    """All pairs of the rows `first` up to `last`, sorted, each once, and if that is counted how often it was there."""

    first: int
    last: int
    pairs: Pairs
    counts: Counts


class Runs:
    """Takes pairs in any order, gives them back in order. Holds about `memory` bytes, whatever their number."""

    def __init__(self, folder: Path, name: str, memory: int, counted: bool = False) -> None:
        self._folder, self._name, self._counted = folder, name, counted
        self._room = max(_FEWEST, memory // (_TIMES * 8))
        self._waiting: list[tuple[Pairs, Counts]] = []
        self._held = 0
        self._paths: list[tuple[Path, Path]] = []

    def add(self, pairs: Pairs, counts: Counts | None = None) -> None:
        """Take some pairs; each as often as `counts` says if that is counted."""
        often = _NONE if counts is None else counts
        for begin in range(0, len(pairs), self._room):
            part = pairs[begin : begin + self._room]
            self._waiting.append((part, often[begin : begin + self._room]))
            self._held += len(part)
            if self._held >= self._room:
                self._spill()

    def _spill(self) -> None:
        """Write what is held to disk, as one sorted run."""
        pairs, counts = _distinct(self._waiting)
        self._waiting, self._held = [], 0
        where = self._folder / f"{self._name}-{len(self._paths):05d}"
        paths = where.with_suffix(".pairs"), where.with_suffix(".counts")
        with disk_errors(where):
            pairs.tofile(paths[0])
            if self._counted:
                counts.tofile(paths[1])
        self._paths.append(paths)

    def chunks(self, rows: int, align: int) -> Iterator[Chunk]:
        """Give all pairs once, ordered; chunks cover all rows and end at multiples of `align` rows."""
        runs: list[tuple[Pairs, Counts]] = [
            (np.memmap(a, np.uint64, mode="r"), np.memmap(b, np.uint32, mode="r") if self._counted else _NONE)
            for a, b in self._paths
        ]
        if self._waiting:
            runs.append(_distinct(self._waiting))
            self._waiting, self._held = [], 0
        for first, last in spans([pairs for pairs, _ in runs], 32, self._room, rows, align):
            low, high = np.uint64(first << 32), np.uint64(last << 32)
            cut = [(np.searchsorted(pairs, [low, high]), pairs, counts) for pairs, counts in runs]
            parts = [(np.array(p[at[0] : at[1]]), np.array(c[at[0] : at[1]])) for at, p, c in cut if at[1] > at[0]]
            yield Chunk(first, last, *_distinct(parts))

    def remove(self) -> None:
        """Let go of the files."""
        for paths in self._paths:
            for path in paths:
                path.unlink(missing_ok=True)
        self._paths = []


def spans(runs: list[Pairs], shift: int, room: int, rows: int, align: int) -> Iterator[tuple[int, int]]:
    """Part the rows so that each part has about `room` entries of all runs together, unless one row has more.

    Runs are sorted; an entry's row is what is left of it when `shift` bits are dropped.
    """
    total = sum(map(len, runs))
    step = max(1, room // _SAMPLES // max(1, len(runs)))
    looked = [run[step - 1 :: step] >> np.uint64(shift) for run in runs]
    sampled = np.sort(np.concatenate(looked)) if looked else np.zeros(0, np.uint64)
    every = max(1, room // step - len(runs))
    ends = sampled[every::every].astype(np.int64) // align * align
    first = 0
    for end in [*(np.unique(ends).tolist() if total > room else ()), rows]:
        if end > first or (end == rows and rows == 0):
            yield first, int(end)
            first = int(end)


def _distinct(parts: list[tuple[Pairs, Counts]]) -> tuple[Pairs, Counts]:
    """Join and sort; add up the counts of equal pairs."""
    if not parts:
        return np.zeros(0, np.uint64), _NONE
    pairs = np.concatenate([part for part, _ in parts])
    counts = np.concatenate([often for _, often in parts])
    if not len(counts):
        pairs.sort()
        return pairs[_firsts(pairs)], counts
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    first = _firsts(pairs)
    return pairs[first], np.add.reduceat(counts[order], first, dtype=np.uint32)


def _firsts(pairs: Pairs) -> npt.NDArray[np.int64]:
    """Say where, among sorted pairs, those are that differ from the one before."""
    return np.flatnonzero(np.concatenate((np.ones(min(1, len(pairs)), np.bool_), pairs[1:] != pairs[:-1])))
