"""Skip entries in the file of a segment: a column of steps for each of their numbers, packed as other columns are.

Up to format 4 they are bytes, see `kernels`; up to format 2 rows as they are in memory.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.index.segment_file import SegmentFile
from periplus.index.skip_entries.kernels import COLUMNS, add_steps, unpack_rows

__all__ = ["SKIP_COLUMNS", "read_skip_entries", "skip_columns"]

SKIP_COLUMNS: Final = ("skip_block", "skip_postings", "skip_positions")

Rows = npt.NDArray[np.uint32]


def skip_columns(packed: npt.NDArray[np.uint8]) -> dict[str, Rows]:
    """Return the columns of rows that a build has gathered in bytes: steps, which in the first row of a term are 0."""
    rows = unpack_bytes(packed)
    if rows is None:
        raise ValueError("not the bytes of skip entries")
    steps = np.zeros_like(rows)
    later = np.flatnonzero(rows[:, 0])
    steps[later] = rows[later] - rows[later - 1]
    return {name: np.ascontiguousarray(steps[:, number]) for number, name in enumerate(SKIP_COLUMNS)}


def read_skip_entries(file: SegmentFile) -> Rows | None:
    """Return the rows of a segment's file of postings, None if they are damaged."""
    if "groups" in file:
        return file["groups"]
    if "skips" in file:
        return unpack_bytes(file["skips"])
    columns: list[npt.NDArray[Any]] = [file[name] for name in SKIP_COLUMNS]
    rows: Rows = np.zeros((len(columns[0]), COLUMNS), np.uint32)
    if any(len(column) != len(rows) for column in columns) or not add_steps(*columns, rows):
        return None
    for name in SKIP_COLUMNS:
        file.forget(name)
    return rows


def unpack_bytes(packed: npt.NDArray[np.uint8]) -> Rows | None:
    """Return rows that are packed in bytes, None if these are damaged."""
    count = unpack_rows(packed, np.zeros((0, COLUMNS), np.uint32))
    if count < 0:
        return None
    rows: Rows = np.zeros((count, COLUMNS), np.uint32)
    unpack_rows(packed, rows)
    return rows
