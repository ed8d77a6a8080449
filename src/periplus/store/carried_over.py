"""Responses that were carried over when their WARC file was let go: where each of them is now.

    kept-00000.warc.zst    records of files that are gone, each as it was, byte for byte
    kept.arrays            for each of them: file and offset it had, file and offset it has

A kept file is written whole before the table names it, and the table before the old file goes: whenever the process
dies, every response is in one of the two.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile

__all__ = ["KeptTable", "Rows", "kept_files", "kept_name"]

_FILE: Final = "kept.arrays"
_KIND: Final = "kept-responses"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_COLUMNS: Final = ("old_file", "old_offset", "file", "offset", "length", "packed")
Column = npt.NDArray[np.int64]


class Rows(NamedTuple):
    """One row for each response that was carried over, in the order of the places they had."""

    old_file: Column
    old_offset: Column
    file: Column
    offset: Column
    length: Column
    packed: Column
    """1 for gzip, 0 for zstd."""

    def of(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> "Rows":
        """Give some of the rows."""
        return Rows(*(column[chosen] for column in self))


def empty_rows() -> Rows:
    """Give no rows."""
    return Rows(*(np.zeros(0, np.int64) for _ in _COLUMNS))


def kept_name(number: int, packed: int) -> str:
    """Name a file of kept responses."""
    return f"kept-{number:05d}.warc.{'gz' if packed else 'zst'}"


def kept_files(folder: Path) -> dict[int, Path]:
    """Give the files of kept responses by their numbers."""
    found = (path for path in folder.glob("kept-*.warc.*") if path.name[5:].partition(".")[0].isdigit())
    return {int(path.name[5:].partition(".")[0]): path for path in sorted(found)}


class KeptTable:
    """The table, read again when it has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._rows = empty_rows()

    def rows(self) -> Rows:
        """Give all rows as they are on disk now; raise `CorruptFile` when they cannot be read."""
        path = self._folder / _FILE
        try:
            state = os.stat(path)
        except FileNotFoundError:
            self._rows, self._stamp = empty_rows(), None
            return self._rows
        stamp = (state.st_ino, state.st_mtime_ns)
        if stamp != self._stamp:
            file = ArrayFile(path, _KIND, format=_FORMAT)
            file.check()
            columns = [file[name] for name in _COLUMNS]
            if any(column.dtype != np.int64 or len(column) != len(columns[0]) for column in columns):
                raise CorruptFile(f"{path} is damaged: its columns do not fit.")
            self._rows, self._stamp = Rows(*columns), stamp
        return self._rows

    def find(self, number: int, offset: int) -> tuple[Path, int] | None:
        """Give where the record is now that was at `offset` of WARC file `number`; None when it was not carried."""
        rows = self.rows()
        at = int(np.searchsorted(rows.old_file, number))
        end = int(np.searchsorted(rows.old_file, number, "right"))
        at += int(np.searchsorted(rows.old_offset[at:end], offset))
        if at >= end or int(rows.old_offset[at]) != offset:
            return None
        return self._folder / kept_name(int(rows.file[at]), int(rows.packed[at])), int(rows.offset[at])

    def write(self, rows: Rows) -> None:
        """Replace the table, durably."""
        order = np.lexsort((rows.old_offset, rows.old_file))
        write_arrays(self._folder / _FILE, _KIND, rows.of(order)._asdict(), format=_FORMAT)
