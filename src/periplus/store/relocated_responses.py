"""Responses that were relocated when their WARC file was removed: where each of them is now.

    kept-00000.warc.zst    records of removed files, copied byte for byte
    kept.arrays            for each of them: old file and offset, new file and offset

A file is complete before the table names it, and the table is durable before the old file is removed: whenever the
process dies, every response is in at least one of the two.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile

__all__ = ["RelocationRows", "RelocationTable", "relocated_files", "relocated_name"]

_FILE: Final = "kept.arrays"
_KIND: Final = "kept-responses"
_FORMAT: Final = 1
"""Version of the file's content, increased whenever that changes."""
_COLUMNS: Final = ("old_file", "old_offset", "file", "offset", "length", "packed")
Column = npt.NDArray[np.int64]


class RelocationRows(NamedTuple):
    """One row for each relocated response, sorted by old file and offset."""

    old_file: Column
    old_offset: Column
    file: Column
    offset: Column
    length: Column
    packed: Column
    """1 for gzip, 0 for zstd."""

    def select(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "RelocationRows":
        """Return some of the rows, by a mask or by indices."""
        return RelocationRows(*(column[rows] for column in self))


def no_rows() -> RelocationRows:
    """Return an empty table."""
    return RelocationRows(*(np.zeros(0, np.int64) for _ in _COLUMNS))


def relocated_name(number: int, packed: int) -> str:
    """Return the name of a file of relocated responses."""
    return f"kept-{number:05d}.warc.{'gz' if packed else 'zst'}"


def relocated_files(folder: Path) -> dict[int, Path]:
    """Return the files of relocated responses by their numbers."""
    paths = (path for path in folder.glob("kept-*.warc.*") if path.name[5:].partition(".")[0].isdigit())
    return {int(path.name[5:].partition(".")[0]): path for path in sorted(paths)}


class RelocationTable:
    """The table on disk, read again when it has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._rows = no_rows()

    def rows(self) -> RelocationRows:
        """Return all rows as they are on disk now; raise `CorruptFile` if they cannot be read."""
        path = self._folder / _FILE
        try:
            status = os.stat(path)
        except FileNotFoundError:
            self._rows, self._stamp = no_rows(), None
            return self._rows
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp != self._stamp:
            file = ArrayFile(path, _KIND, format=_FORMAT)
            file.check()
            columns = [file[name] for name in _COLUMNS]
            if any(column.dtype != np.int64 or len(column) != len(columns[0]) for column in columns):
                raise CorruptFile(f"{path} is damaged: its columns are inconsistent.")
            self._rows, self._stamp = RelocationRows(*columns), stamp
        return self._rows

    def find(self, number: int, offset: int) -> tuple[Path, int] | None:
        """Return the location of the record that was at `offset` of WARC file `number`; None if not relocated."""
        rows = self.rows()
        row = int(np.searchsorted(rows.old_file, number))
        end = int(np.searchsorted(rows.old_file, number, "right"))
        row += int(np.searchsorted(rows.old_offset[row:end], offset))
        if row >= end or int(rows.old_offset[row]) != offset:
            return None
        return self._folder / relocated_name(int(rows.file[row]), int(rows.packed[row])), int(rows.offset[row])

    def write(self, rows: RelocationRows) -> None:
        """Replace the table, durably."""
        order = np.lexsort((rows.old_offset, rows.old_file))
        write_arrays(self._folder / _FILE, _KIND, rows.select(order)._asdict(), format=_FORMAT)
