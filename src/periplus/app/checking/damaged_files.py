"""Where a repair puts what it removes: `damaged/TIME/PATH` in the data folder. Nothing is ever deleted from there."""

import os
import shutil
import time
from pathlib import Path
from typing import Final

from periplus.files import disk_errors, sync_folder, temporary_path

__all__ = ["DamagedFiles", "finish_orphans", "pending_orphans"]

_FOLDER: Final = "damaged"
_ORPHANS: Final = "orphans"
_IMPORTED: Final = "imported-"


class DamagedFiles:
    """The folder of one repair; it is made when there is something to put there."""

    def __init__(self, folder: Path) -> None:
        self._data = folder
        self._folder = folder / _FOLDER / time.strftime("%Y%m%d-%H%M%S")
        self.count = 0

    def copy(self, path: Path) -> None:
        """Copy a file, or all files of a folder, durably."""
        for source in [path] if path.is_file() else sorted(path.rglob("*")):
            if source.is_file():
                target = self._target(source)
                with disk_errors(target):
                    temporary = temporary_path(target)
                    shutil.copyfile(source, temporary)
                    self._finish(temporary, target)

    def move(self, path: Path) -> None:
        """Move a file."""
        if path.is_file():
            target = self._target(path)
            with disk_errors(target):
                os.replace(path, target)
                sync_folder(target.parent)
                sync_folder(path.parent)

    def keep_bytes(self, path: Path, offset: int, data: bytes) -> None:
        """Write a part of a file, durably, to a file named by its offset."""
        target = self._target(path)
        target = target.with_name(f"{target.name}.at-{offset}")
        with disk_errors(target):
            temporary = temporary_path(target)
            temporary.write_bytes(data)
            self._finish(temporary, target)

    def keep_orphans(self, records: bytes, suffix: str) -> None:
        """Write WARC records without fetch records to a file of their own, durably, unless there is such a file."""
        if any(path.stat().st_size == len(records) for path in pending_orphans(self._data)):
            return  # of a repair that was killed
        target = self._target(self._data / f"{_ORPHANS}.warc{suffix}")
        with disk_errors(target):
            temporary = temporary_path(target)
            temporary.write_bytes(records)
            self._finish(temporary, target)

    def _finish(self, temporary: Path, target: Path) -> None:
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)

    def _target(self, path: Path) -> Path:
        target = self._folder / path.relative_to(self._data)
        with disk_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        number = 1
        while target.exists():
            number += 1
            target = target.with_name(f"{number}-{path.name}")
        self.count += 1
        return target


def pending_orphans(folder: Path) -> list[Path]:
    """Return the files of WARC records that a repair has set aside and that are not imported yet."""
    paths = (folder / _FOLDER).glob(f"*/*{_ORPHANS}.warc.*")
    return sorted(path for path in paths if not path.name.startswith((".", _IMPORTED)))


def finish_orphans(path: Path) -> None:
    """Mark a file of records as imported."""
    os.replace(path, path.with_name(f"{_IMPORTED}{path.name}"))
