"""How often each URL was reported from outside: counts that outlive the files of the queue, within bounds."""

import contextlib
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.crawl.sink import FOLDER, SinkPosition, read_sink, sink_files, sink_lock
from periplus.errors import DataError
from periplus.fingerprint import fingerprint_text
from periplus.records import Sighting

__all__ = ["Popularity", "forget_read", "read_popularity"]

_FILE: Final = "counts.arrays"
_KIND: Final = "passive-counts"
_KEPT_BYTES: Final = 32 << 20
"""Read files up to this size stay, for a crawl whose snapshot was lost."""
_MOST: Final = 4_000_000
_BITE: Final = 16 << 20


class Popularity(NamedTuple):
    """Keys of URLs in rising order, and how often each was visited."""

    keys: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint64]

    def of(self, key: int) -> int:
        """Give how often the URL with this key was visited."""
        at = int(np.searchsorted(self.keys, np.uint64(key)))
        return int(self.counts[at]) if at < len(self.keys) and int(self.keys[at]) == key else 0


def read_popularity(folder: Path) -> Popularity:
    """Count all visits that were ever reported to a data folder."""
    known, reached = _read_counts(folder / FOLDER)
    return _with(known, folder, SinkPosition(reached))


def forget_read(folder: Path, position: SinkPosition, kept: int = _KEPT_BYTES) -> None:
    """Remove the oldest files that were read whole while they take more than `kept`; their counts stay."""
    sink = folder / FOLDER
    done = [(number, path) for number, path in sink_files(sink) if number < position.file]
    total = sum(path.stat().st_size for _, path in done)
    if total <= kept:
        return
    with sink_lock(sink):
        going = []
        for number, path in done:
            if total <= kept:
                break
            total -= path.stat().st_size
            going.append((number, path))
        known, reached = _read_counts(sink)
        last = going[-1][0] + 1
        counted = _with(known, folder, SinkPosition(reached), last)
        # Counts that name the files they hold come first: a crash in between counts nothing twice.
        write_arrays(sink / _FILE, _KIND, _bounded(counted)._asdict(), {"file": last})
        for _, path in going:
            path.unlink(missing_ok=True)


def _read_counts(sink: Path) -> tuple[Popularity, int]:
    """Give the counts on disk and the first file that they do not hold; a damaged file counts as none."""
    path = sink / _FILE
    if path.exists():
        with contextlib.suppress(DataError):
            file = ArrayFile(path, _KIND)
            file.check()
            keys, counts = file["keys"], file["counts"]
            if keys.dtype == counts.dtype == np.uint64 and keys.shape == counts.shape:
                return Popularity(keys, counts), int(file.notes.get("file", 0))
    return Popularity(np.zeros(0, np.uint64), np.zeros(0, np.uint64)), 0


def _with(known: Popularity, folder: Path, position: SinkPosition, end: int | None = None) -> Popularity:
    """Add what the queue's files hold from `position` on, up to file number `end`."""
    while True:
        found, after = read_sink(folder, position, _BITE, end)
        if after == position:
            return known
        known, position = _sum(known, found), after


def _sum(known: Popularity, found: list[Sighting]) -> Popularity:
    fresh = np.fromiter((fingerprint_text(sighting.url) for sighting in found), np.uint64, len(found))
    more = np.fromiter((sighting.count for sighting in found), np.uint64, len(found))
    keys, place = np.unique(np.concatenate((known.keys, fresh)), return_inverse=True)
    counts = np.zeros(len(keys), np.uint64)
    np.add.at(counts, place, np.concatenate((known.counts, more)))
    return Popularity(keys, counts)


def _bounded(known: Popularity) -> Popularity:
    """Keep the most popular when there are too many."""
    if len(known.keys) <= _MOST:
        return known
    best = np.sort(np.argpartition(known.counts, len(known.counts) - _MOST)[-_MOST:])
    return Popularity(known.keys[best], known.counts[best])
