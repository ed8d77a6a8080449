"""The size of a folder, counted now and then, and estimated in between from what was written."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["FolderSize", "measure_folder"]

_MIN_SECONDS: Final = 1.0
_TIME_SHARE: Final = 0.01
"""Counting takes at most this share of the time."""
_MAX_SECONDS: Final = 60.0


def measure_folder(folder: Path) -> int:
    """Return the bytes that the files below a folder occupy on disk. Files that vanish meanwhile do not count."""
    total, waiting, linked = 0, [os.fspath(folder)], set()
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                except OSError:
                    continue
                if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                    if status.st_ino in linked:
                        continue
                    linked.add(status.st_ino)
                total += status.st_blocks * 512
    return total


class FolderSize:
    """The size of a folder. It is counted again at intervals that depend on how long counting takes."""

    def __init__(
        self,
        folder: Path,
        measure: Callable[[Path], int] = measure_folder,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._measure, self._clock = folder, measure, clock
        self._counted = 0
        self._written = 0
        self._next = float("-inf")

    def add(self, size: int) -> None:
        """Note that this process has written `size` bytes there since the last count."""
        self._written += size

    def bytes(self, room: float = float("inf")) -> int:
        """Return the size. It is counted now if that is due, or if a quarter of `room` was written since."""
        now = self._clock()
        if now >= self._next or self._written > room / 4:
            self.count()
        return self._counted + self._written

    def count(self) -> int:
        """Count now; return the size."""
        began = self._clock()
        self._counted, self._written = self._measure(self._folder), 0
        ended = self._clock()
        self._next = ended + min(_MAX_SECONDS, max(_MIN_SECONDS, (ended - began) / _TIME_SHARE))
        return self._counted
