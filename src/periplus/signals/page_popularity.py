"""Popularity of pages: how many distinct reporters have reported visits to each page recently.

Read from `passive/counts.arrays` in the data folder, which `visit_counts` writes (docs/formats/crawl.md).
"""

import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import DataError

__all__ = ["VISIT_COUNTS_FILE", "PagePopularity", "read_page_popularity"]

VISIT_COUNTS_FILE: Final = Path("passive") / "counts.arrays"
_KIND: Final = "passive-counts"
_FORMAT: Final = 1
"""Version of the file format; raised with every change to it."""
_PERIOD: Final = 28 * 86_400
_MIN_REPORTERS: Final = 2.0
"""Estimates up to this are ignored: a single reporter that never stops reaches it."""
_MAX_REPORTERS: Final = 500.0
"""Estimates from here on count as popularity 1; 64 bits hardly distinguish more reporters."""


class PagePopularity(NamedTuple):
    """Keys of pages in rising order, and how popular each is, above 0 and up to 1."""

    keys: npt.NDArray[np.uint64]
    popularity: npt.NDArray[np.float32]

    def lookup(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Return the popularity of each page; 0 for a page without an entry."""
        if not len(self.keys):
            return np.zeros(len(keys), np.float32)
        row = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[row] == keys, self.popularity[row], np.float32(0))


NO_POPULARITY: Final = PagePopularity(np.zeros(0, np.uint64), np.zeros(0, np.float32))


def read_page_popularity(folder: Path, now: float | None = None) -> PagePopularity:
    """Return the popularity of the pages of a data folder; empty if there are no reports or the file is damaged."""
    path = folder / VISIT_COUNTS_FILE
    if not path.exists():
        return NO_POPULARITY
    try:
        file = ArrayFile(path, _KIND, format=_FORMAT)
        file.check()
        if "heard" not in file or "earlier" not in file:  # Written by an earlier version, without reporters.
            return NO_POPULARITY
        keys, heard, earlier = file["keys"], file["heard"], file["earlier"]
    except DataError:
        return NO_POPULARITY
    if not keys.shape == heard.shape == earlier.shape or keys.dtype != np.uint64 or heard.dtype != np.uint64:
        return NO_POPULARITY
    periods = int((time.time() if now is None else now) // _PERIOD) - int(file.notes.get("period", 0))
    reporters = (earlier + _count_distinct(heard)) * 0.5 ** min(max(periods, 0), 60)
    rows = np.flatnonzero(reporters > _MIN_REPORTERS)
    scale = np.log(reporters[rows] / _MIN_REPORTERS) / np.log(_MAX_REPORTERS / _MIN_REPORTERS)
    return PagePopularity(np.array(keys[rows]), np.minimum(scale, 1.0).astype(np.float32))


def _count_distinct(heard: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Estimate the number of distinct reporters from the bits of each word (linear counting)."""
    bits = np.unpackbits(np.ascontiguousarray(heard).view(np.uint8)).reshape(-1, 64)
    ones = np.minimum(bits.sum(axis=1, dtype=np.float64), 63.5)
    different: npt.NDArray[np.float64] = -64.0 * np.log1p(-ones / 64.0)
    return different
