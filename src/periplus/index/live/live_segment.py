"""A segment as the writer of a live index knows it: where each key is, what is dead, what became news late."""

import copy
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.index_manifest import SegmentEntry
from periplus.index.live.late_dates import NONE_LATE, Late, add_late
from periplus.index.merge.segment_merger import Size

__all__ = ["Part"]

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


class Part:
    """One segment of a live index."""

    def __init__(self, folder: Path, entry: SegmentEntry, dead: Numbers, late: Late = NONE_LATE) -> None:
        self.entry = entry
        self.dead = dead
        self.late = late
        file = ArrayFile(folder / entry.name / "documents.arrays", "documents")
        self._order = np.argsort(file["key"], kind="stable")
        self._keys: Keys = file["key"][self._order]

    @property
    def size(self) -> Size:
        """How large it is."""
        return Size(self.entry.documents, self.entry.documents - len(self.dead))

    def has(self, keys: Keys) -> bool:
        """Say whether a live document has one of `keys`."""
        return len(self.bury(keys)) > len(self.dead)

    def bury(self, keys: Keys) -> Numbers:
        """Give the dead of this segment once `keys` are dead too."""
        _, documents = self._find(keys)
        return np.union1d(self.dead, documents) if len(documents) else self.dead

    def with_dead(self, dead: Numbers) -> "Part":
        """Give the same segment with other dead documents."""
        fresh = copy.copy(self)
        fresh.dead = dead
        return fresh

    def name_news(self, keys: Keys, days: npt.NDArray[np.int32]) -> None:
        """Take note that the pages with these keys are news, each of its day."""
        which, documents = self._find(keys)
        self.late = add_late(self.late, documents, days[which])

    def _find(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """Give which of `keys` a document has, and those documents."""
        at = np.searchsorted(self._keys, keys)
        inside = np.flatnonzero(at < len(self._keys))
        which = inside[self._keys[at[inside]] == keys[inside]]
        return which, self._order[at[which]]
