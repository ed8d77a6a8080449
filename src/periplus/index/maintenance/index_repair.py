"""Put a damaged index right: keep the segments that are whole, index from the page store what the others had."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile, DataError, PeriplusError
from periplus.files import lock_folder
from periplus.index.builder.document_batches import Gathering, Progress, Signals, Silence
from periplus.index.builder.feed_dates import Feeds, feeds_path
from periplus.index.builder.index_builder import batch_bytes, bury, sweep, write_segments
from periplus.index.index_manifest import FORMAT, Manifest, SegmentEntry, commit, next_number, read_dead, read_manifest
from periplus.index.live.late_dates import find_late, read_late, write_late
from periplus.index.maintenance.index_check import segment_faults
from periplus.index.segment import Segment
from periplus.records import FetchRecord
from periplus.settings import IndexSettings

__all__ = ["Repair", "repair_index"]

Keys = npt.NDArray[np.uint64]


class Repair(msgspec.Struct, frozen=True):
    """What a repair found and did."""

    faults: tuple[str, ...]
    """A line for each; none if the index was whole and nothing was done."""
    kept: int = 0
    """Segments that were whole."""
    restored: int = 0
    """Documents indexed again."""
    missing: int = 0
    """Documents that were lost and that the page store does not have; as far as they are known."""


class _Survey:
    """What of an index is whole, and what of the rest is known."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.faults: list[str] = []
        self.whole: list[tuple[SegmentEntry, npt.NDArray[np.int64]]] = []
        self.lost: list[Keys] = []
        """Keys that damaged segments had, where they can still be read."""
        self.all_known = True
        """Whether `lost` has all of them."""
        self.manifest = self._read_manifest(folder)
        self._read_late(folder)
        dead = self._read_dead(folder)
        for number, (entry, numbers) in enumerate(zip(self.manifest.segments, dead, strict=True)):
            progress("checking segments", number, len(dead))
            self._look(folder, entry, numbers)

    def _read_manifest(self, folder: Path) -> Manifest:
        try:
            return read_manifest(folder)
        except CorruptFile as error:
            self.faults.append(str(error))
            self.all_known = False
            return Manifest(FORMAT, next_number(folder, None), (), 0, 0.0)

    def _read_dead(self, folder: Path) -> list[npt.NDArray[np.int64]]:
        try:
            return read_dead(folder, self.manifest)
        except CorruptFile as error:
            # Without the list of the dead, old documents cannot be told from new ones: nothing is kept.
            self.faults.append(str(error))
            self.manifest = msgspec.structs.replace(self.manifest, segments=())
            self.all_known = False
            return []

    def _read_late(self, folder: Path) -> None:
        """Late news is found again from what feeds said, so it is enough to know that it is damaged."""
        try:
            read_late(folder, self.manifest)
        except CorruptFile as error:
            self.faults.append(str(error))

    def _look(self, folder: Path, entry: SegmentEntry, dead: npt.NDArray[np.int64]) -> None:
        faults = segment_faults(folder, entry)
        if not faults:
            self.whole.append((entry, dead))
            return
        self.faults += faults
        try:
            file = ArrayFile(folder / entry.name / "documents.arrays", "documents")
            file.check()
            self.lost.append(np.delete(file["key"], dead))
        except (PeriplusError, IndexError):
            self.all_known = False

    def keys(self, folder: Path) -> Keys:
        """Give the keys of live documents in whole segments."""
        found = [np.zeros(0, np.uint64)]
        for entry, dead in self.whole:
            found.append(np.delete(Segment(folder / entry.name, verify=False).column("key"), dead))
        return np.unique(np.concatenate(found))


def repair_index(
    visits: Iterable[FetchRecord] | None,
    folder: Path,
    settings: IndexSettings,
    signals: Signals | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Repair:
    """Find what is damaged and index it again from `visits`, all there are. Whole segments stay as they are."""
    with lock_folder(folder, "index"):
        survey = _Survey(folder, progress)
        if not survey.faults:
            return Repair((), len(survey.whole))
        if visits is None:
            raise DataError(
                f"The index in {folder} is damaged, and there is no page store to restore it from: {survey.faults[0]}",
                "Crawl or import the pages again.",
            )
        return _restore(visits, folder, settings, signals or Silence(), survey, progress)


def _restore(
    visits: Iterable[FetchRecord],
    folder: Path,
    settings: IndexSettings,
    signals: Signals,
    survey: _Survey,
    progress: Progress,
) -> Repair:
    number = next_number(folder, survey.manifest)
    lost = np.unique(np.concatenate([np.zeros(0, np.uint64), *survey.lost]))
    wanted = _Wanted(survey.keys(folder), lost, survey.all_known)
    feeds = Feeds(feeds_path(folder))
    gathering = Gathering(signals, batch_bytes(settings), progress, feeds)
    new = write_segments(wanted.among(visits), gathering, folder, number, settings, signals)
    entries = [entry for entry, _ in survey.whole] + new
    dead = bury(folder, entries, [numbers for _, numbers in survey.whole], gathering.withdrawn)
    restored = [entry.documents - len(numbers) for entry, numbers in zip(entries, dead, strict=True)]
    there = {int(key) for entry in new for key in Segment(folder / entry.name, verify=False).column("key")}
    missing = sum(int(key) not in there and int(key) not in gathering.withdrawn for key in lost)
    if missing:
        _set_aside(folder, survey)
    feeds.keep()
    news = write_late(folder, number, find_late(folder, entries, *feeds.named()))
    seen, journal = survey.manifest.visits or wanted.seen, survey.manifest.journal
    done = commit(folder, Manifest(FORMAT, number, tuple(entries), seen, time.time(), "", journal, news), dead)
    sweep(folder, done)
    return Repair(tuple(survey.faults), len(survey.whole), sum(restored[len(survey.whole) :]), missing)


class _Wanted:
    """Picks the visits of lost pages: of those known to be lost, or of all that no whole segment has."""

    def __init__(self, whole: Keys, lost: Keys, all_known: bool) -> None:
        self._whole = set(whole.tolist())
        self._lost = set(lost.tolist()) if all_known else None
        self.seen = 0

    def among(self, visits: Iterable[FetchRecord]) -> Iterator[FetchRecord]:
        """Pass on the visits that are wanted."""
        for visit in visits:
            self.seen += 1
            if visit.key in self._lost if self._lost is not None else visit.key not in self._whole:
                yield visit


def _set_aside(folder: Path, survey: _Survey) -> None:
    """Keep damaged segments that had something the store has not: somebody may get it out by hand."""
    whole = {entry.name for entry, _ in survey.whole}
    for entry in survey.manifest.segments:
        path = folder / entry.name
        if entry.name not in whole and path.is_dir():
            shutil.rmtree(folder / f"damaged-{entry.name}", ignore_errors=True)
            os.rename(path, folder / f"damaged-{entry.name}")
