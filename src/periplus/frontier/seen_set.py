"""Which 64-bit keys were ever added: sorted NumPy runs that double in size, and a small set for the newest."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["SeenSet"]

_NEWEST: Final = 8_192

Keys = npt.NDArray[np.uint64]


class SeenSet:
    """A growing set of unsigned 64-bit keys, asked in batches."""

    def __init__(self, keys: Keys | None = None) -> None:
        self._newest: set[int] = set()
        self._runs: list[Keys] = []
        if keys is not None and len(keys):
            self._runs.append(np.unique(keys.astype(np.uint64, copy=False)))

    def __len__(self) -> int:
        return len(self._newest) + sum(len(run) for run in self._runs)

    def __contains__(self, key: int) -> bool:
        return key in self._newest or bool(self._in_runs(np.array([key], np.uint64))[0])

    def unseen(self, keys: Sequence[int]) -> list[int]:
        """Return the indices in `keys` of those never added, each key once, in order."""
        newest = self._newest
        first: dict[int, int] = {}
        for index, key in enumerate(keys):
            if key not in newest:
                first.setdefault(key, index)
        if not self._runs or not first:
            return list(first.values())
        present = self._in_runs(np.fromiter(first.keys(), np.uint64, len(first)))
        return [index for index, old in zip(first.values(), present.tolist(), strict=True) if not old]

    def update(self, keys: Iterable[int]) -> None:
        """Add keys that `unseen` has just returned."""
        self._newest.update(keys)
        if len(self._newest) >= _NEWEST:
            self._settle()

    def keys(self) -> Keys:
        """Return all keys, sorted."""
        newest = np.fromiter(self._newest, np.uint64, len(self._newest))
        keys = np.concatenate([*self._runs, newest])
        keys.sort(kind="stable")
        return keys

    def _in_runs(self, keys: Keys) -> npt.NDArray[np.bool_]:
        known = np.zeros(len(keys), np.bool_)
        for run in self._runs:
            rows = np.searchsorted(run, keys)
            rows[rows == len(run)] = 0
            known |= run[rows] == keys
        return known

    def _settle(self) -> None:
        """Turn the newest into a run; merge it with every run that is not much longer, so that runs stay few."""
        run = np.fromiter(self._newest, np.uint64, len(self._newest))
        run.sort()
        self._newest = set()
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate((self._runs.pop(), run))
            run.sort(kind="stable")
        self._runs.append(run)
