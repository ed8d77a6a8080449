"""Builds an index from fetch records, in bounded memory, on one core or several."""

import contextlib
import gc
import itertools
import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile, NothingHere
from periplus.files import lock_folder
from periplus.index.builder.deleted_documents import find_deleted, read_keys
from periplus.index.builder.document_batches import (
    DocumentBatcher,
    DocumentSignals,
    NullDocumentSignals,
    Progress,
    add_flags,
)
from periplus.index.builder.feed_dates import FeedDates, feed_log_path
from periplus.index.builder.segment_builder import SegmentBuilder, TokenizedBatch, tokenize_batch
from periplus.index.builder.segment_finisher import finish_segment
from periplus.index.builder.site_blocks import SiteBlocks
from periplus.index.collection.build_statistics import BuildStatistics, expected_languages, store_build_statistics
from periplus.index.document_fields import Document
from periplus.index.index_manifest import (
    FORMAT,
    Manifest,
    SegmentEntry,
    commit,
    next_number,
    read_deleted,
    read_manifest,
)
from periplus.index.live.late_dates import find_late_news, write_late_news
from periplus.index.merge.segment_merger import max_merged_documents
from periplus.index.segment_file import SegmentFile
from periplus.index.site_languages import SegmentLanguages, SiteLanguages
from periplus.records import FetchRecord
from periplus.score import PageScorer
from periplus.settings import IndexSettings
from periplus.text import WordTable

__all__ = [
    "BuildSummary",
    "build_index",
    "max_batch_bytes",
    "remove_unreferenced",
    "write_segments",
]

_BATCH_SHARE: Final = 16
"""A batch has at most this part of the memory of a build in text: it takes 4 times as much while it is tokenized."""
_MAX_BATCH_BYTES: Final = 16 << 20
"""Larger batches are not faster."""
_PART_BYTES: Final = 2 << 20
"""About as much text is tokenized at a time: its words, languages and pages are measured while it is in the caches."""

Numbers = npt.NDArray[np.int64]


class BuildSummary(NamedTuple):
    """What a build did: documents and segments of the index now, and how long it took."""

    documents: int
    segments: int
    seconds: float


def build_index(
    records: Iterable[FetchRecord],
    folder: Path,
    settings: IndexSettings,
    signals: DocumentSignals | None = None,
    progress: Progress = lambda stage, done, total: None,
    *,
    append: bool = False,
    workers: int | None = None,
    statistics: BuildStatistics | None = None,
) -> BuildSummary:
    """Index `records` as a new generation; with `append`, add them to the last one. The last record of a URL counts.

    statistics: of the collection that the index is a shard of; they stay those of the folder until a build without
    `append` has others, or none. Without any, a segment is built with its own.
    """
    began = time.monotonic()
    with lock_folder(folder, "index"), _garbage_collection_off():
        before = _read_existing(folder, append)
        old = before if append else None
        number = next_number(folder, before)
        feeds = FeedDates(feed_log_path(folder) if append else None)
        blocks = SiteBlocks(folder if append else None)
        blocks.mark_counted(read_keys(folder, entry.name) for entry in (old.segments if old else ()))
        store_build_statistics(folder, statistics, append=append)
        sites = SiteLanguages(
            (SegmentLanguages.read(columns) for columns in _read_columns(folder, old)), expected_languages(folder)
        )
        max_bytes = max_batch_bytes(settings, workers)
        batcher = DocumentBatcher(signals or NullDocumentSignals(), max_bytes, progress, feeds, blocks, sites)
        with _removed_on_failure(folder, number):
            new = write_segments(records, batcher, folder, number, settings, signals or NullDocumentSignals(), workers)
            entries = (old.segments if old else ()) + tuple(new)
            deleted_before = read_deleted(folder, old) if old else []
            deleted = find_deleted(folder, entries, deleted_before, batcher.withdrawn)
            feeds.rewrite_log(feed_log_path(folder))
            blocks.save(folder)
            news = write_late_news(folder, number, find_late_news(folder, entries, *feeds.dated_pages()))
        # Changes in the journal of a live index are kept when appending; a new index replaces them.
        journal = before.journal + (not append) if before else 0
        seen = (old.record_count if old else 0) + batcher.seen
        done = commit(folder, Manifest(FORMAT, number, entries, seen, time.time(), "", journal, news), deleted)
        remove_unreferenced(folder, done)
    return BuildSummary(done.live, len(entries), time.monotonic() - began)


@contextlib.contextmanager
def _removed_on_failure(folder: Path, number: int) -> Iterator[None]:
    """Remove the segments of a generation that could not be completed, so that a full disk has room again."""
    try:
        yield
    except BaseException:
        for path in folder.glob(f"seg-{number:06}-*"):
            shutil.rmtree(path, ignore_errors=True)
        raise


@contextlib.contextmanager
def _garbage_collection_off() -> Iterator[None]:
    """Turn the garbage collector off meanwhile: documents are many, and have no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def max_batch_bytes(settings: IndexSettings, workers: int | None = None) -> int:
    """Return how many bytes of text a batch has, so that all workers stay within the memory of a build."""
    return min(_MAX_BATCH_BYTES, settings.memory_mb * 1_000_000 // _BATCH_SHARE // _worker_count(settings, workers))


def _worker_count(settings: IndexSettings, workers: int | None) -> int:
    wanted = settings.workers if workers is None else workers
    return wanted or os.cpu_count() or 1


def _read_existing(folder: Path, append: bool) -> Manifest | None:
    try:
        return read_manifest(folder)
    except NothingHere:
        return None
    except CorruptFile:
        if append:
            raise
        return None  # A build needs nothing of the index that it replaces.


class _SegmentsWriter:
    """Writes segments of batches, which are tokenized in this thread or in several."""

    def __init__(
        self,
        folder: Path,
        number: int,
        settings: IndexSettings,
        batcher: DocumentBatcher,
        workers: int,
        statistics: BuildStatistics | None,
    ) -> None:
        self._name = str(folder / f"seg-{number:06}")
        self._settings = settings
        self._batcher = batcher
        self._statistics = statistics
        self._scorer = PageScorer(settings.weights)
        self._worker_count = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self._pending: deque[Future[TokenizedBatch]] = deque()
        self._builder: SegmentBuilder | None = None
        self.entries: list[SegmentEntry] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
        if self._builder:
            self._builder.__exit__(*rest)

    def add(self, batch: Sequence[Document], static: npt.NDArray[np.float32]) -> None:
        """Add a batch; at most as many batches are pending as there are threads."""
        if self._pool is None:
            builder = self._current()
            step = -(-len(batch) * _PART_BYTES // max(1, max_batch_bytes(self._settings, 1)))
            for at in range(0, len(batch), step):
                part = slice(at, at + step)
                builder.add_batch(
                    tokenize_batch(batch[part], static[part], self._scorer, builder.words, builder.pieces)
                )
            self._write_if_full()
            return
        self._pending.append(self._pool.submit(tokenize_batch, batch, static, self._scorer, WordTable()))
        while len(self._pending) >= self._worker_count:
            self._add(self._pending.popleft().result())

    def finish(self) -> list[SegmentEntry]:
        """Write what is left; return all segments."""
        while self._pending:
            self._add(self._pending.popleft().result())
        self._write()
        return self.entries

    def _current(self) -> SegmentBuilder:
        if self._builder is None:
            self._builder = SegmentBuilder(Path(f"{self._name}-{len(self.entries):04}"), self._settings)
        return self._builder

    def _add(self, batch: TokenizedBatch) -> None:
        self._current().add_batch(batch)
        self._write_if_full()

    def _write_if_full(self) -> None:
        """Write the segment that is being built, if it has as many documents as one may have."""
        if self._current().documents >= max_merged_documents(self._settings):
            self._write()

    def _write(self) -> None:
        if self._builder is None:
            return
        with self._builder as builder:
            self._batcher.progress("writing the segment", builder.documents, builder.documents)
            documents = finish_segment(builder, self._batcher.withdrawn, self._statistics)
        self._builder = None
        if documents:
            self.entries.append(SegmentEntry(builder.folder.name, documents))
        else:
            shutil.rmtree(builder.folder, ignore_errors=True)


def write_segments(
    records: Iterable[FetchRecord],
    batcher: DocumentBatcher,
    folder: Path,
    number: int,
    settings: IndexSettings,
    signals: DocumentSignals,
    workers: int | None = None,
    statistics: BuildStatistics | None = None,
) -> list[SegmentEntry]:
    """Write records as segment `number`-0000, and further ones where it would be too large; commit nothing.

    statistics: of the collection; without any, those of the folder.
    """
    with _SegmentsWriter(folder, number, settings, batcher, _worker_count(settings, workers), statistics) as writer:
        for batch in batcher.batches(records):
            every_key = np.array([document.key for document in batch], np.uint64)
            is_representative = signals.representatives(every_key) == every_key
            documents, keys = list(itertools.compress(batch, is_representative)), every_key[is_representative]
            if documents:
                writer.add(add_flags(documents, signals.flags(keys)), signals.static_ranks(keys))
        return writer.finish()


def _read_columns(folder: Path, manifest: Manifest | None) -> Iterator[SegmentFile]:
    """Yield the columns of each segment of a generation."""
    for entry in manifest.segments if manifest else ():
        yield SegmentFile(folder / entry.name / "documents.arrays", "documents")


def remove_unreferenced(folder: Path, manifest: Manifest) -> None:
    """Remove the files that the manifest does not refer to; readers that have them open keep their data."""
    keep = {entry.name for entry in manifest.segments}
    for path in folder.glob("seg-*-*"):
        if path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)
    for path in (*folder.glob("dead-*.arrays"), *folder.glob("news-*.arrays")):
        if path.name not in (manifest.deleted_file, manifest.news_file):
            path.unlink(missing_ok=True)
    for path in folder.glob("journal-*.log"):
        if path.name != f"journal-{manifest.journal:06}.log":
            path.unlink(missing_ok=True)
