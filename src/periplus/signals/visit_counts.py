"""Visit counts of URLs: reported visits and reporters of each, bounded, kept after the queue's files are deleted.

    keys      u64   of URLs, ascending
    counts    u64   visits that were ever reported
    heard     u64   a bit for each reporter number (`VisitReport.source`) of the current period
    earlier   f32   reporters of earlier periods, halved with every period that passes

A reporter sets one bit of a page however often it reports it: many reports by one reporter count as one.
`VisitCounts.reporters` estimates the number of recent distinct reporters; `page_popularity` turns it into a signal for
ranking.
"""

import contextlib
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.hashing import fingerprint_text
from periplus.records import VisitReport
from periplus.signals.visit_reports import FOLDER, SOURCES, LogPosition, lock_log, log_files, read_visit_reports

__all__ = ["PERIOD", "VisitCounts", "prune_visit_reports", "read_visit_counts", "update_visit_counts"]

PERIOD: Final = 28 * 86_400
"""Seconds in which a reporter of a page counts once."""
_FILE: Final = "counts.arrays"
_KIND: Final = "passive-counts"
_FORMAT: Final = 1
"""Version of the file format; raised with every change to it."""
_LOCK: Final = ".counting"
_RETAINED_BYTES: Final = 32 << 20
"""Files that were read are retained up to this total size, for a crawl whose snapshot was lost."""
_MAX_URLS: Final = 4_000_000
_BATCH_BYTES: Final = 16 << 20
_INTERVAL: Final = 600.0
_COLUMNS: Final[dict[str, Any]] = {"keys": np.uint64, "counts": np.uint64, "heard": np.uint64, "earlier": np.float32}


class VisitCounts(NamedTuple):
    """Counts of URLs, in ascending order of their keys."""

    keys: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint64]
    heard: npt.NDArray[np.uint64]
    earlier: npt.NDArray[np.float32]
    period: int
    """Number of the current period, that of `heard`."""

    def lookup(self, key: int) -> int:
        """Return the number of reported visits to the URL with this key."""
        row = int(np.searchsorted(self.keys, np.uint64(key)))
        return int(self.counts[row]) if row < len(self.keys) and int(self.keys[row]) == key else 0

    def reporters(self) -> npt.NDArray[np.float32]:
        """Return the estimated distinct reporters of each URL; each period counts half as much as the next."""
        return (self.earlier + _count_distinct(self.heard)).astype(np.float32)


def read_visit_counts(folder: Path) -> VisitCounts:
    """Return the counts of all visits ever reported to a data folder."""
    totals, counted_to = _read_counts(folder / FOLDER)
    return _add_reports(totals, folder, counted_to)[0]


def update_visit_counts(folder: Path, every: float = _INTERVAL) -> bool:
    """Update the counts in a data folder unless they are less than `every` seconds old; return whether they changed.

    Ranking reads reported visits from these counts.
    """
    queue, path = folder / FOLDER, folder / FOLDER / _FILE
    files = log_files(queue)
    if not files or (path.exists() and time.time() - path.stat().st_mtime < every):
        return False
    with lock_log(queue, _LOCK):
        before, counted_to = _read_counts(queue)
        totals, after = _add_reports(before, folder, counted_to)
        if after == counted_to:
            return False
        _write(queue, totals, after)
    return True


def prune_visit_reports(folder: Path, position: LogPosition, kept: int = _RETAINED_BYTES) -> None:
    """Delete the oldest files that were read completely until at most `kept` bytes remain; their counts are kept."""
    queue = folder / FOLDER
    read_files = [(number, path) for number, path in log_files(queue) if number < position.file]
    total = sum(path.stat().st_size for _, path in read_files)
    if total <= kept:
        return
    expired = []
    for number, path in read_files:
        if total <= kept:
            break
        total -= path.stat().st_size
        expired.append((number, path))
    with lock_log(queue, _LOCK):
        # Counts are written first, with their position: after a crash in between, nothing is counted twice.
        totals, counted_to = _read_counts(queue)
        if counted_to.file <= expired[-1][0]:
            totals, _ = _add_reports(totals, folder, counted_to, expired[-1][0] + 1)
            _write(queue, totals, LogPosition(expired[-1][0] + 1))
    with lock_log(queue):
        for _, path in expired:
            path.unlink(missing_ok=True)


def _write(queue: Path, totals: VisitCounts, counted_to: LogPosition) -> None:
    kept = _keep_most_visited(totals)
    arrays = {name: getattr(kept, name) for name in _COLUMNS}
    notes = {"file": counted_to.file, "offset": counted_to.offset, "period": kept.period}
    write_arrays(queue / _FILE, _KIND, arrays, notes, format=_FORMAT)


def _read_counts(queue: Path) -> tuple[VisitCounts, LogPosition]:
    """Return the counts on disk and their position in the queue; a damaged file is ignored."""
    path = queue / _FILE
    if path.exists():
        with contextlib.suppress(CorruptFile):
            file = ArrayFile(path, _KIND, format=_FORMAT)
            file.check()
            # Files of earlier versions have no reporters.
            keys = file["keys"]
            columns = {
                name: file[name] if name in file else np.zeros(len(keys), kind) for name, kind in _COLUMNS.items()
            }
            if all(
                columns[name].dtype == kind and columns[name].shape == keys.shape for name, kind in _COLUMNS.items()
            ):
                position = LogPosition(int(file.notes.get("file", 0)), int(file.notes.get("offset", 0)))
                return VisitCounts(**columns, period=int(file.notes.get("period", 0))), position
    return VisitCounts(*_NO_COUNTS, 0), LogPosition()


_NO_COUNTS: Final = (np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.float32))


def _add_reports(
    totals: VisitCounts, folder: Path, position: LogPosition, end: int | None = None
) -> tuple[VisitCounts, LogPosition]:
    """Return the counts with all reports from `position` up to file number `end` added, and the new position."""
    while True:
        reports, after = read_visit_reports(folder, position, _BATCH_BYTES, end)
        if after == position:
            return totals, position
        totals, position = _add_batch(totals, reports), after


def _add_batch(totals: VisitCounts, reports: list[VisitReport]) -> VisitCounts:
    """Return the counts with reports added. Those of the last period count as current; older ones only raise counts."""
    when = np.fromiter((report.when for report in reports), np.float64, len(reports)) // PERIOD
    totals = _advance_period(totals, int(when.max(initial=totals.period)))
    new_keys = np.fromiter((fingerprint_text(report.url) for report in reports), np.uint64, len(reports))
    new_counts = np.fromiter((report.count for report in reports), np.uint64, len(reports))
    source = np.fromiter((report.source % SOURCES for report in reports), np.uint64, len(reports))
    bits = np.where(when >= totals.period - 1, np.uint64(1) << source, np.uint64(0))
    keys, rows = np.unique(np.concatenate((totals.keys, new_keys)), return_inverse=True)
    old_rows = rows[: len(totals.keys)]
    counts, heard, earlier = np.zeros(len(keys), np.uint64), np.zeros(len(keys), np.uint64), np.zeros(len(keys))
    np.add.at(counts, rows, np.concatenate((totals.counts, new_counts)))
    np.bitwise_or.at(heard, rows, np.concatenate((totals.heard, bits)))
    earlier[old_rows] = totals.earlier
    return VisitCounts(keys, counts, heard, earlier.astype(np.float32), totals.period)


def _advance_period(totals: VisitCounts, period: int) -> VisitCounts:
    """Return the counts as of a later period."""
    periods = period - totals.period
    if periods <= 0:
        return totals
    earlier = totals.reporters() * np.float32(0.5 ** min(periods, 60))
    return totals._replace(heard=np.zeros_like(totals.heard), earlier=earlier, period=period)


def _count_distinct(heard: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Estimate the number of distinct reporters from the bits of each word (linear counting)."""
    bits = np.unpackbits(np.ascontiguousarray(heard).view(np.uint8)).reshape(-1, SOURCES)
    ones = np.minimum(bits.sum(axis=1, dtype=np.float64), SOURCES - 0.5)
    different: npt.NDArray[np.float64] = -SOURCES * np.log1p(-ones / SOURCES)
    return different


def _keep_most_visited(totals: VisitCounts) -> VisitCounts:
    """Return the counts of the `_MAX_URLS` most visited URLs."""
    if len(totals.keys) <= _MAX_URLS:
        return totals
    best = np.sort(np.argpartition(totals.counts, len(totals.counts) - _MAX_URLS)[-_MAX_URLS:])
    columns = {name: getattr(totals, name)[best] for name in _COLUMNS}
    return totals._replace(**columns)
