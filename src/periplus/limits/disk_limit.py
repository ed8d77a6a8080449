"""The disk limit: when to pause the crawl, and what may still be written."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from periplus.errors import StorageFull
from periplus.limits.folder_size import FolderSize
from periplus.settings import LimitSettings

__all__ = ["DiskLimit"]

_NEAR: Final = 0.95
"""Share of the limit at which the crawl pauses."""
_CLEAR: Final = 0.93
"""Share below which it resumes, so that it does not pause and resume with every page."""
_CLEAR_FACTOR: Final = 1.5
"""It resumes when this many times the reserve is free."""
_MIN_ROOM: Final = 1 << 20
"""Room that a publication needs, however small it is: its record, and the index of it."""


def free_space(folder: Path) -> int:
    """Return the bytes that this user can still write to the file system of a folder."""
    path = folder.absolute()
    while not path.exists():
        path = path.parent
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


class DiskLimit:
    """The limit of a data folder, and the reserve of its file system."""

    def __init__(
        self,
        folder: Path,
        settings: LimitSettings,
        size: FolderSize | None = None,
        free: Callable[[Path], int] = free_space,
    ) -> None:
        self._folder = folder
        self.limit = int(settings.disk_gb * 1e9)
        """In bytes; 0 is none."""
        self._reserve = settings.disk_reserve_mb * 1_000_000
        self._size = size or FolderSize(folder)
        self._free = free
        self._pausing = False

    def used(self) -> int:
        """Return the size of the data folder; 0 if there is no limit, since it is not counted then."""
        return self._size.bytes(self.limit * (1 - _NEAR)) if self.limit else 0

    def note_written(self, size: int) -> None:
        """Note that this process has written `size` bytes to the folder."""
        self._size.add(size)

    def pause_reason(self) -> str:
        """Return why a crawl should pause, as a sentence; '' if there is room.

        Once it was given, a reason remains until there is clearly more room.
        """
        free, used = self._free(self._folder), self.used()
        share, factor = (_CLEAR, _CLEAR_FACTOR) if self._pausing else (_NEAR, 1.0)
        reason = ""
        if self.limit and used >= self.limit * share:
            reason = f"The data folder has {used / 1e9:.3g} GB of the {self.limit / 1e9:.3g} GB of limits.disk_gb."
        elif free < self._reserve * factor:
            reason = (
                f"The file system has {free / 1e6:,.0f} MB left, limits.disk_reserve_mb is {self._reserve // 10**6}."
            )
        self._pausing = bool(reason)
        return reason

    def room(self) -> int:
        """Return how many bytes may still be written."""
        room = max(0, self._free(self._folder) - self._reserve)
        return min(room, max(0, self.limit - self.used())) if self.limit else room

    def require(self, size: int, purpose: str) -> None:
        """Raise `StorageFull` unless `size` more bytes fit; `purpose` begins the message, 'An index of 5 pages'."""
        needed, room = max(size, _MIN_ROOM), self.room()
        if needed > room and self.limit:
            self._size.count()  # files may have been removed since the last count
            room = self.room()
        if needed > room:
            raise StorageFull(
                f"{purpose} needs about {needed / 1e6:,.0f} MB, and there is room for {room / 1e6:,.0f} MB.",
                "Raise limits.disk_gb, free some space, or remove old responses: periplus store trim.",
            )
