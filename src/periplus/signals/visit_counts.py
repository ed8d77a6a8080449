"""How often each URL was reported from outside, and by how many: counts that outlive the files of the queue, bounded.

    keys      u64   of URLs, ascending
    counts    u64   visits that were ever reported
    heard     u64   a bit for each number that stands for a reporter (`VisitReport.source`) heard in the current period
    earlier   f32   reporters of earlier periods; what a period brought counts half in the next

A reporter sets one bit of a page however often it reports it, so a flood of reports by one is one reporter.
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
"""The number of what the file holds; it is raised whenever that changes."""
_LOCK: Final = ".counting"
_KEPT_BYTES: Final = 32 << 20
"""Read files up to this size stay, for a crawl whose snapshot was lost."""
_MOST: Final = 4_000_000
_BITE: Final = 16 << 20
_EVERY: Final = 600.0
_COLUMNS: Final[dict[str, Any]] = {"keys": np.uint64, "counts": np.uint64, "heard": np.uint64, "earlier": np.float32}


class VisitCounts(NamedTuple):
    """What is known of each URL, by its key in rising order."""

    keys: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint64]
    heard: npt.NDArray[np.uint64]
    earlier: npt.NDArray[np.float32]
    period: int
    """The number of the period that `heard` is about."""

    def of(self, key: int) -> int:
        """Give how often the URL with this key was visited."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        return int(self.counts[at]) if at < len(self.keys) and int(self.keys[at]) == key else 0

    def reporters(self) -> npt.NDArray[np.float32]:
        """Estimate how many different ones reported each URL; earlier periods count half as much as the next."""
        return (self.earlier + _different(self.heard)).astype(np.float32)


def read_visit_counts(folder: Path) -> VisitCounts:
    """Count all visits that were ever reported to a data folder."""
    known, reached = _read_counts(folder / FOLDER)
    return _with(known, folder, reached)[0]


def update_visit_counts(folder: Path, every: float = _EVERY) -> bool:
    """Bring the counts in a data folder up to date, if that was not done within so many seconds; say whether it was.

    Ranking reads them: this is how reported visits reach it.
    """
    sink, path = folder / FOLDER, folder / FOLDER / _FILE
    files = log_files(sink)
    if not files or (path.exists() and time.time() - path.stat().st_mtime < every):
        return False
    with lock_log(sink, _LOCK):
        before, reached = _read_counts(sink)
        known, after = _with(before, folder, reached)
        if after == reached:
            return False
        _write(sink, known, after)
    return True


def prune_visit_reports(folder: Path, position: LogPosition, kept: int = _KEPT_BYTES) -> None:
    """Remove the oldest files that were read whole while they take more than `kept`; their counts stay."""
    sink = folder / FOLDER
    done = [(number, path) for number, path in log_files(sink) if number < position.file]
    total = sum(path.stat().st_size for _, path in done)
    if total <= kept:
        return
    going = []
    for number, path in done:
        if total <= kept:
            break
        total -= path.stat().st_size
        going.append((number, path))
    with lock_log(sink, _LOCK):
        # Counts that name how far they go come first: a crash in between counts nothing twice.
        known, reached = _read_counts(sink)
        if reached.file <= going[-1][0]:
            known, _ = _with(known, folder, reached, going[-1][0] + 1)
            _write(sink, known, LogPosition(going[-1][0] + 1))
    with lock_log(sink):
        for _, path in going:
            path.unlink(missing_ok=True)


def _write(sink: Path, known: VisitCounts, reached: LogPosition) -> None:
    kept = _bounded(known)
    arrays = {name: getattr(kept, name) for name in _COLUMNS}
    notes = {"file": reached.file, "offset": reached.offset, "period": kept.period}
    write_arrays(sink / _FILE, _KIND, arrays, notes, format=_FORMAT)


def _read_counts(sink: Path) -> tuple[VisitCounts, LogPosition]:
    """Give the counts on disk and how far they go; a damaged file counts as none."""
    path = sink / _FILE
    if path.exists():
        with contextlib.suppress(CorruptFile):
            file = ArrayFile(path, _KIND, format=_FORMAT)
            file.check()
            # Earlier versions counted visits, not who reported them.
            keys = file["keys"]
            found = {name: file[name] if name in file else np.zeros(len(keys), kind) for name, kind in _COLUMNS.items()}
            if all(found[name].dtype == kind and found[name].shape == keys.shape for name, kind in _COLUMNS.items()):
                reached = LogPosition(int(file.notes.get("file", 0)), int(file.notes.get("offset", 0)))
                return VisitCounts(**found, period=int(file.notes.get("period", 0))), reached
    return VisitCounts(*_NOTHING, 0), LogPosition()


_NOTHING: Final = (np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.float32))


def _with(
    known: VisitCounts, folder: Path, position: LogPosition, end: int | None = None
) -> tuple[VisitCounts, LogPosition]:
    """Add what the queue's files hold from `position` on, up to file number `end`; say how far that is."""
    while True:
        found, after = read_visit_reports(folder, position, _BITE, end)
        if after == position:
            return known, position
        known, position = _sum(known, found), after


def _sum(known: VisitCounts, found: list[VisitReport]) -> VisitCounts:
    """Add sightings. Those of the period before count as new: they come late. Older ones raise counts alone."""
    when = np.fromiter((sighting.when for sighting in found), np.float64, len(found)) // PERIOD
    known = _grown(known, int(when.max(initial=known.period)))
    fresh = np.fromiter((fingerprint_text(sighting.url) for sighting in found), np.uint64, len(found))
    more = np.fromiter((sighting.count for sighting in found), np.uint64, len(found))
    source = np.fromiter((sighting.source % SOURCES for sighting in found), np.uint64, len(found))
    bits = np.where(when >= known.period - 1, np.uint64(1) << source, np.uint64(0))
    keys, place = np.unique(np.concatenate((known.keys, fresh)), return_inverse=True)
    old = place[: len(known.keys)]
    counts, heard, earlier = np.zeros(len(keys), np.uint64), np.zeros(len(keys), np.uint64), np.zeros(len(keys))
    np.add.at(counts, place, np.concatenate((known.counts, more)))
    np.bitwise_or.at(heard, place, np.concatenate((known.heard, bits)))
    earlier[old] = known.earlier
    return VisitCounts(keys, counts, heard, earlier.astype(np.float32), known.period)


def _grown(known: VisitCounts, period: int) -> VisitCounts:
    """Give the same in a later period."""
    passed = period - known.period
    if passed <= 0:
        return known
    earlier = known.reporters() * np.float32(0.5 ** min(passed, 60))
    return known._replace(heard=np.zeros_like(known.heard), earlier=earlier, period=period)


def _different(heard: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Estimate how many have set bits: with so few of them, some share one (linear counting)."""
    bits = np.unpackbits(np.ascontiguousarray(heard).view(np.uint8)).reshape(-1, SOURCES)
    ones = np.minimum(bits.sum(axis=1, dtype=np.float64), SOURCES - 0.5)
    different: npt.NDArray[np.float64] = -SOURCES * np.log1p(-ones / SOURCES)
    return different


def _bounded(known: VisitCounts) -> VisitCounts:
    """Keep the most popular when there are too many."""
    if len(known.keys) <= _MOST:
        return known
    best = np.sort(np.argpartition(known.counts, len(known.counts) - _MOST)[-_MOST:])
    columns = {name: getattr(known, name)[best] for name in _COLUMNS}
    return known._replace(**columns)
