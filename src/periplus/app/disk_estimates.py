"""What a build, a merge or a publication will write, compared with the disk limit before it begins."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from periplus.files import DataFolder
from periplus.limits import DiskLimit, measure_folder
from periplus.settings import Settings

__all__ = ["PublicationRoom", "merge_permission", "require_index_room"]

_INDEX_SHARE: Final = 0.75
"""Size of graph and index as a share of the page store, where there are none yet to go by; see decision 041."""
_RECORD_FACTOR: Final = 4
"""A published page is in the inbox, then in the store, in the journal of the index, and in a segment."""


def require_index_room(folder: Path, settings: Settings) -> None:
    """Raise `StorageFull` unless a new graph and index fit beside those that there are."""
    data = DataFolder(folder)
    existing = measure_folder(data.index) + measure_folder(data.graph)
    estimate = max(existing, int(measure_folder(data.store) * _INDEX_SHARE))
    DiskLimit(folder, settings.limits).require(estimate, "Building the index")


def merge_permission(index: Path, disk: DiskLimit) -> Callable[[Sequence[str]], bool]:
    """Return what a live index asks before it merges segments: whether the merged one fits beside them."""

    def may_merge(names: Sequence[str]) -> bool:
        return bool(names) and sum(measure_folder(index / name) for name in names) <= disk.room()

    return may_merge


class PublicationRoom:
    """Whether published pages fit into the disk limit."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._disk = DiskLimit(folder, settings.limits)

    def require(self, size: int) -> None:
        """Raise `StorageFull` unless a page of `size` characters fits."""
        self._disk.require(size * _RECORD_FACTOR, "The page")
        self._disk.note_written(size)
