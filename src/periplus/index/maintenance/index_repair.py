"""Repairs a damaged index: keeps intact segments, and indexes again from the page store what the others had."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile, DataError, PeriplusError
from periplus.files import disk_errors, lock_folder, sync_folder
from periplus.index.builder.deleted_documents import find_deleted
from periplus.index.builder.document_batches import DocumentBatcher, DocumentSignals, NullDocumentSignals, Progress
from periplus.index.builder.feed_dates import FeedDates, feed_log_path
from periplus.index.builder.index_builder import max_batch_bytes, remove_unreferenced, write_segments
from periplus.index.builder.site_blocks import SiteBlocks
from periplus.index.index_manifest import (
    FORMAT,
    Manifest,
    SegmentEntry,
    commit,
    next_number,
    read_deleted,
    read_manifest,
)
from periplus.index.live.late_dates import find_late_news, read_late_news, write_late_news
from periplus.index.live.live_journal import journal_path, repair_journal, scan_journal
from periplus.index.live.live_segment import open_sites
from periplus.index.maintenance.index_check import check_segment
from periplus.index.segment import Segment
from periplus.index.segment_file import SegmentFile
from periplus.records import FetchRecord
from periplus.settings import IndexSettings

__all__ = ["IndexRepair", "repair_index"]

Keys = npt.NDArray[np.uint64]


class IndexRepair(msgspec.Struct, frozen=True):
    """What a repair found and did."""

    faults: tuple[str, ...]
    """A line for each; none if the index was intact and nothing was done."""
    intact: int = msgspec.field(default=0, name="kept")
    """Segments that were intact."""
    restored: int = 0
    """Documents indexed again."""
    missing: int = 0
    """Documents that were lost and that the page store does not have, as far as their keys could be read."""


class _IndexSurvey:
    """Which segments of an index are intact, and which keys the others had."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.faults: list[str] = []
        self.intact: list[tuple[SegmentEntry, npt.NDArray[np.int64]]] = []
        self.lost: list[Keys] = []
        """Keys of documents in damaged segments, as far as they can be read."""
        self.lost_complete = True
        """Whether `lost` has all of them."""
        self.manifest = self._read_manifest(folder)
        self._read_late(folder)
        self._check_journal(folder)
        deleted = self._read_deleted(folder)
        for number, (entry, numbers) in enumerate(zip(self.manifest.segments, deleted, strict=True)):
            progress("checking segments", number, len(deleted))
            self._check_segment(folder, entry, numbers)

    def _read_manifest(self, folder: Path) -> Manifest:
        try:
            return read_manifest(folder)
        except CorruptFile as error:
            self.faults.append(str(error))
            self.lost_complete = False
            # The newest journal may have changes that are nowhere else.
            numbers = [part for path in folder.glob("journal-*.log") if (part := path.stem.split("-")[1]).isdigit()]
            journal = max(map(int, numbers), default=0)
            return Manifest(FORMAT, next_number(folder, None), (), 0, 0.0, journal=journal)

    def _read_deleted(self, folder: Path) -> list[npt.NDArray[np.int64]]:
        try:
            return read_deleted(folder, self.manifest)
        except CorruptFile as error:
            # Without the deletions, replaced documents cannot be told from current ones: no segment is kept.
            self.faults.append(str(error))
            self.manifest = msgspec.structs.replace(self.manifest, segments=())
            self.lost_complete = False
            return []

    def _read_late(self, folder: Path) -> None:
        """Note whether late news is damaged; it is restored from the feed dates."""
        try:
            read_late_news(folder, self.manifest)
        except CorruptFile as error:
            self.faults.append(str(error))

    def _check_journal(self, folder: Path) -> None:
        """Rewrite a damaged journal with its intact changes; which the others were is unknown."""
        path = journal_path(folder, self.manifest.journal)
        try:
            scan = scan_journal(path)
        except FileNotFoundError:
            return
        except CorruptFile as error:  # not even its header can be read
            self.faults.append(str(error))
            self.lost_complete = False
            path.rename(path.with_name(f"damaged-{path.name}"))
            return
        if scan.damage:
            self.faults.append(f"{path} is damaged at byte {scan.damage[0]}.")
            self.lost_complete = False
        if scan.damage or scan.end < path.stat().st_size:
            repair_journal(path)

    def _check_segment(self, folder: Path, entry: SegmentEntry, deleted: npt.NDArray[np.int64]) -> None:
        faults = check_segment(folder, entry)
        if not faults:
            self.intact.append((entry, deleted))
            return
        self.faults += faults
        try:
            file = SegmentFile(folder / entry.name / "documents.arrays", "documents")
            file.check()
            self.lost.append(np.delete(file["key"], deleted))
        except (PeriplusError, IndexError):
            self.lost_complete = False

    def keys(self, folder: Path) -> Keys:
        """Return the keys of live documents in intact segments."""
        parts = [np.zeros(0, np.uint64)]
        for entry, deleted in self.intact:
            parts.append(np.delete(Segment(folder / entry.name, verify=False).column("key"), deleted))
        return np.unique(np.concatenate(parts))


def repair_index(
    records: Iterable[FetchRecord] | None,
    folder: Path,
    settings: IndexSettings,
    signals: DocumentSignals | None = None,
    progress: Progress = lambda stage, manifest, total: None,
) -> IndexRepair:
    """Find damaged segments and index their pages again from `records`, all that are stored; keep intact segments."""
    with lock_folder(folder, "index"):
        survey = _IndexSurvey(folder, progress)
        if not survey.faults:
            with disk_errors(folder):
                sync_folder(folder)  # an earlier repair may have failed just before it was durable
            return IndexRepair((), len(survey.intact))
        if records is None:
            raise DataError(
                f"The index in {folder} is damaged, and there is no page store to restore it from: {survey.faults[0]}",
                "Crawl or import the pages again.",
            )
        return _restore(records, folder, settings, signals or NullDocumentSignals(), survey, progress)


def _restore(
    records: Iterable[FetchRecord],
    folder: Path,
    settings: IndexSettings,
    signals: DocumentSignals,
    survey: _IndexSurvey,
    progress: Progress,
) -> IndexRepair:
    number = next_number(folder, survey.manifest)
    lost = np.unique(np.concatenate([np.zeros(0, np.uint64), *survey.lost]))
    selection = _LostRecords(survey.keys(folder), lost, survey.lost_complete)
    feeds = FeedDates(feed_log_path(folder))
    blocks = SiteBlocks(folder, fixed=True)
    batcher = DocumentBatcher(signals, max_batch_bytes(settings), progress, feeds, blocks, open_sites(folder))
    new = write_segments(selection.select(records), batcher, folder, number, settings, signals)
    entries = [entry for entry, _ in survey.intact] + new
    deleted = find_deleted(folder, entries, [numbers for _, numbers in survey.intact], batcher.withdrawn)
    restored = [entry.documents - len(numbers) for entry, numbers in zip(entries, deleted, strict=True)]
    restored_keys = {int(key) for entry in new for key in Segment(folder / entry.name, verify=False).column("key")}
    missing = sum(int(key) not in restored_keys and int(key) not in batcher.withdrawn for key in lost)
    if missing:
        _keep_damaged(folder, survey)
    feeds.append_log()
    news = write_late_news(folder, number, find_late_news(folder, entries, *feeds.dated_pages()))
    seen, journal = survey.manifest.record_count or selection.seen, survey.manifest.journal
    manifest = commit(folder, Manifest(FORMAT, number, tuple(entries), seen, time.time(), "", journal, news), deleted)
    remove_unreferenced(folder, manifest)
    return IndexRepair(tuple(survey.faults), len(survey.intact), sum(restored[len(survey.intact) :]), missing)


class _LostRecords:
    """Selects the records of lost pages: of those known to be lost, or of all that no intact segment has."""

    def __init__(self, intact: Keys, lost: Keys, lost_complete: bool) -> None:
        self._whole = set(intact.tolist())
        self._lost = set(lost.tolist()) if lost_complete else None
        self.seen = 0

    def select(self, records: Iterable[FetchRecord]) -> Iterator[FetchRecord]:
        """Yield the records of lost pages."""
        for record in records:
            self.seen += 1
            if record.key in self._lost if self._lost is not None else record.key not in self._whole:
                yield record


def _keep_damaged(folder: Path, survey: _IndexSurvey) -> None:
    """Rename damaged segments with pages that the store does not have, so that they can be examined by hand."""
    intact = {entry.name for entry, _ in survey.intact}
    for entry in survey.manifest.segments:
        path = folder / entry.name
        if entry.name not in intact and path.is_dir():
            shutil.rmtree(folder / f"damaged-{entry.name}", ignore_errors=True)
            os.rename(path, folder / f"damaged-{entry.name}")
