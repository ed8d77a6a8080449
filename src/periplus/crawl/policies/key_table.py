"""The number of each 64-bit key: sorted NumPy runs that double in size, 12 bytes a key."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["KeyTable"]

Keys = npt.NDArray[np.uint64]


class _Run(NamedTuple):
    """Keys in ascending order, with their numbers."""

    keys: Keys
    numbers: npt.NDArray[np.uint32]


class KeyTable:
    """A growing table of keys, numbered from 0 in the order in which they were added."""

    def __init__(self, keys: Keys | None = None) -> None:
        self._runs: list[_Run] = []
        self._count = 0
        if keys is not None:
            self.extend(keys)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(run.keys.nbytes + run.numbers.nbytes for run in self._runs)

    def find(self, key: int) -> int | None:
        """Return the number of a key; None if it was never added."""
        if not self._runs:
            return None
        wanted = np.uint64(key)
        for run in self._runs:
            row = int(run.keys.searchsorted(wanted))
            if row < len(run.keys) and run.keys[row] == wanted:
                return int(run.numbers[row])
        return None

    def extend(self, keys: Keys) -> None:
        """Add keys that are not in the table, as one run; merge it with runs that are not much longer."""
        if not len(keys):
            return
        numbers = np.arange(self._count, self._count + len(keys), dtype=np.uint32)
        self._count += len(keys)
        run = _sorted_run(keys.astype(np.uint64, copy=False), numbers)
        while self._runs and len(self._runs[-1].keys) <= 2 * len(run.keys):
            last = self._runs.pop()
            run = _sorted_run(np.concatenate((last.keys, run.keys)), np.concatenate((last.numbers, run.numbers)))
        self._runs.append(run)


def _sorted_run(keys: Keys, numbers: npt.NDArray[np.uint32]) -> _Run:
    order = np.argsort(keys, kind="stable")
    return _Run(keys[order], numbers[order])
