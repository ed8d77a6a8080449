"""What visits that others reported say of pages: how many different ones reported each of late, as popularity.

Read from `passive/counts.arrays` in the data folder, which the crawl room keeps (docs/formats/crawl.md).
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
"""The number of what the file holds; it is raised whenever that changes."""
_PERIOD: Final = 28 * 86_400
_ALONE: Final = 2.0
"""Reporters up to here say nothing: one that reports for ever comes to this."""
_MANY: Final = 500.0
"""So many are as popular as can be; with a bit for each, hardly more can be told apart."""


class PagePopularity(NamedTuple):
    """Keys of pages in rising order, and how popular each is, above 0 and up to 1."""

    keys: npt.NDArray[np.uint64]
    popularity: npt.NDArray[np.float32]

    def of(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Give the popularity of each page; 0 for one that is not known."""
        if not len(self.keys):
            return np.zeros(len(keys), np.float32)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.popularity[at], np.float32(0))


NO_POPULARITY: Final = PagePopularity(np.zeros(0, np.uint64), np.zeros(0, np.float32))


def read_page_popularity(folder: Path, now: float | None = None) -> PagePopularity:
    """Read how popular the pages of a data folder are; nothing if nobody reported, or what is kept is damaged."""
    path = folder / VISIT_COUNTS_FILE
    if not path.exists():
        return NO_POPULARITY
    try:
        file = ArrayFile(path, _KIND, format=_FORMAT)
        file.check()
        if "heard" not in file or "earlier" not in file:  # Of an earlier version: who reported is not known.
            return NO_POPULARITY
        keys, heard, earlier = file["keys"], file["heard"], file["earlier"]
    except DataError:
        return NO_POPULARITY
    if not keys.shape == heard.shape == earlier.shape or keys.dtype != np.uint64 or heard.dtype != np.uint64:
        return NO_POPULARITY
    passed = int((time.time() if now is None else now) // _PERIOD) - int(file.notes.get("period", 0))
    reporters = (earlier + _different(heard)) * 0.5 ** min(max(passed, 0), 60)
    popular = np.flatnonzero(reporters > _ALONE)
    scale = np.log(reporters[popular] / _ALONE) / np.log(_MANY / _ALONE)
    return PagePopularity(np.array(keys[popular]), np.minimum(scale, 1.0).astype(np.float32))


def _different(heard: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Estimate how many set the bits of each word, some of them the same one (linear counting)."""
    bits = np.unpackbits(np.ascontiguousarray(heard).view(np.uint8)).reshape(-1, 64)
    ones = np.minimum(bits.sum(axis=1, dtype=np.float64), 63.5)
    different: npt.NDArray[np.float64] = -64.0 * np.log1p(-ones / 64.0)
    return different
