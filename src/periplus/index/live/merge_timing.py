"""When segments of a live index are merged. No I/O; time is an argument.

After each commit, segments of one size are merged if there are enough of them. Once nothing was committed for a while,
an index has time for more: few segments answer queries faster than many.
"""

import enum
import threading
from collections.abc import Callable, Mapping
from typing import Final

from periplus.index.merge.segment_merger import SegmentSize, choose_idle_merge, choose_merge
from periplus.settings import IndexSettings

__all__ = ["MergeKind", "MergeStopped", "MergeTiming", "choose_segments", "stop_check"]

IDLE_SECONDS: Final = 2.0
"""An index without a commit for this long is idle."""


class MergeKind(enum.Enum):
    """What a merge is for."""

    TIER = "tier"
    """To keep the number of segments small while documents are added: many of about the same size become one."""
    IDLE = "idle"
    """To make queries faster: as many as is worthwhile become one. It is given up when the index is closed."""


class MergeStopped(Exception):
    """A merge was given up because the index is being closed."""


class MergeTiming:
    """Which kind of merge is due."""

    def __init__(self) -> None:
        self._generation = -1
        self._since = 0.0
        self._is_done = True
        """Whether the merges of an idle index were begun since the last commit."""

    def due(self, generation: int, now: float) -> MergeKind | None:
        """Return the merge that is due, once for each commit and once for each time that the index becomes idle."""
        if generation != self._generation:
            self._generation, self._since, self._is_done = generation, now, False
            return MergeKind.TIER
        if self._is_done or now - self._since < IDLE_SECONDS:
            return None
        self._is_done = True
        return MergeKind.IDLE


def choose_segments(kind: MergeKind, sizes: Mapping[str, SegmentSize], settings: IndexSettings) -> list[str]:
    """Return the segments to merge next; none if it is not worthwhile."""
    return (choose_idle_merge if kind is MergeKind.IDLE else choose_merge)(sizes, settings)


def stop_check(kind: MergeKind, stopped: threading.Event) -> Callable[[], None]:
    """Return what a merge calls between its steps: it raises `MergeStopped` where the merge is to be given up."""

    def check() -> None:
        if kind is MergeKind.IDLE and stopped.is_set():
            raise MergeStopped

    return check
