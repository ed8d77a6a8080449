"""An index that can be changed while it is searched: add, replace, delete; merged in the background.

One writer, any number of readers. A change is acknowledged once it is in the journal, which survives the process. Every
`publish_seconds`, pending changes become a small segment and a new generation; the same commit empties the journal.
Merges run in a thread and end in a commit. Readers keep the generation that they opened. See docs/live-index.md.
"""

import contextlib
import copy
import functools
import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import NothingHere
from periplus.files import lock_folder
from periplus.hashing import fingerprint_text
from periplus.health import part
from periplus.index.builder.deleted_documents import find_deleted
from periplus.index.builder.document_batches import (
    DocumentBatcher,
    DocumentSignals,
    NullDocumentSignals,
    Progress,
    add_flags,
    document_from_record,
    withdraws_document,
)
from periplus.index.builder.feed_dates import FeedDates, feed_log_path
from periplus.index.builder.index_builder import max_batch_bytes, remove_unreferenced, write_segments
from periplus.index.builder.segment_finisher import write_segment
from periplus.index.builder.site_blocks import SiteBlocks
from periplus.index.collection.build_statistics import BuildStatistics, store_build_statistics
from periplus.index.document_fields import Document
from periplus.index.index_manifest import (
    FORMAT,
    Manifest,
    SegmentEntry,
    commit,
    next_number,
    read_deleted,
    read_manifest,
    remove_replaced,
)
from periplus.index.live.late_dates import NO_LATE_NEWS, LateNews, find_late_news, read_late_news, write_late_news
from periplus.index.live.live_journal import Journal, JournalEntry, journal_path
from periplus.index.live.live_segment import LiveSegment, changes_since, find_unchanged, identify_in_index, open_sites
from periplus.index.live.merge_timing import MergeKind, MergeStopped, MergeTiming, choose_segments, stop_check
from periplus.index.merge.segment_merger import merge_segments
from periplus.index.segment import Segment
from periplus.index.site_languages import SiteLanguages
from periplus.records import FetchRecord
from periplus.settings import IndexSettings
from periplus.supervision import report_exception, start_supervised

__all__ = ["LiveIndex"]

_RETRY_SECONDS: Final = 5.0
"""Seconds until something that failed in the background is tried again."""

Numbers = npt.NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


class LiveIndex(contextlib.AbstractContextManager["LiveIndex"]):
    """The one writer of an index. All methods may be called from any thread."""

    def __init__(
        self, folder: Path, settings: IndexSettings, signals: DocumentSignals | None = None, *, background: bool = True
    ) -> None:
        self.folder = folder
        self.signals: DocumentSignals = signals or NullDocumentSignals()
        self.failure = ""
        """The last error of a background thread, '' once its job has succeeded again."""
        self.may_merge: Callable[[list[str]], bool] = bool  # asked with the names of segments before they are merged
        self._settings = settings
        self._lock, self._merge_lock = threading.RLock(), threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._closed, self._stopped = False, threading.Event()
        self._pending: dict[int, Document | None] = {}
        self._record_count = 0
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(lock_folder(folder, "index"))
        try:
            self._recover()
        except BaseException:
            self._stack.close()
            raise
        jobs = {"index-publish": self._publish_loop, "index-merge": self._merge_loop} if background else {}
        self._threads = [start_supervised(name, job, self._stopped) for name, job in jobs.items()]

    def _recover(self) -> None:
        """Read the last commit, and the changes since then from the journal."""
        try:
            self.manifest = read_manifest(self.folder)  # the last commit
        except NothingHere:
            self.manifest = commit(self.folder, Manifest(FORMAT, next_number(self.folder, None), (), 0, 0.0), [])
        remove_unreferenced(self.folder, self.manifest)
        self._numbers = itertools.count(next_number(self.folder, self.manifest))
        deleted, late = read_deleted(self.folder, self.manifest), read_late_news(self.folder, self.manifest)
        states = zip(self.manifest.segments, zip(deleted, late, strict=True), strict=True)
        self._segments = {entry.name: LiveSegment(self.folder, entry, *state) for entry, state in states}
        self._late = {name: segment.late for name, segment in self._segments.items() if len(segment.late.documents)}
        self._feeds, self._blocks = FeedDates(feed_log_path(self.folder)), SiteBlocks(self.folder, fixed=True)
        self._journal = Journal(journal_path(self.folder, self.manifest.journal))
        for entry in self._journal.entries:
            document = document_from_record(entry.record, self.signals) if entry.record else None
            self._pending[entry.record.key if entry.record else entry.deleted_key] = document

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *rest: object) -> None:
        self.close()

    @property
    def record_count(self) -> int:
        """How many records of the page store are in the index: the number of the next one to add."""
        return max(self.manifest.record_count, self._record_count)

    @property
    def pending(self) -> int:
        """How many changes are not searchable yet."""
        return len(self._pending)

    def add(self, record: FetchRecord, record_count: int = 0) -> None:
        """Add a record: its page is added, replaces the one with its URL, or is deleted if it is gone.

        record_count: how many records of the page store are in the index once this one is.
        """
        with self._lock:
            document = document_from_record(record, self.signals)
            self._feeds.read_record(record)
            if self._feeds.has_unsaved:
                self._wake.notify_all()
            if document is not None or (withdraws_document(record) and self._has_document(record.key)):
                self._journal.append(JournalEntry(record=record))
                self._enqueue(record.key, document)
            self._record_count = max(self._record_count, record_count)

    def add_batch(self, records: Sequence[FetchRecord]) -> set[int]:
        """Add records, searchable on return but in no journal; return the keys of documents that are there already."""
        with self._lock:
            unchanged = find_unchanged(records, self._segments.values(), self._pending)
            added = {one.key: document_from_record(one, self.signals) for one in records if one.key not in unchanged}
            with contextlib.ExitStack() as undo:  # whoever has these records tries again, perhaps with fewer
                undo.callback(setattr, self, "_pending", dict(self._pending))
                self._pending |= added
                self.publish()
                undo.pop_all()
            return unchanged

    def delete(self, url: str) -> None:
        """Delete the page with this URL (in canonical form), until it is added again."""
        with self._lock:
            key = fingerprint_text(url)
            if self._has_document(key):
                self._journal.append(JournalEntry(deleted_key=key))
                self._enqueue(key, None)

    def sync(self) -> None:
        """Sync the journal, so that all changes survive a power failure, too."""
        with self._lock:
            self._journal.sync()

    def _has_document(self, key: int) -> bool:
        """Return whether a document with this key is in a segment, or pending."""
        return key in self._pending or any(s.has_any(np.array([key], np.uint64)) for s in self._segments.values())

    def _enqueue(self, key: int, document: Document | None) -> None:
        self._pending[key] = document
        self._wake.notify_all()

    def publish(self) -> bool:
        """Make all changes searchable now; return whether there were any."""
        with self._lock:
            has_news = self._update_late_news()
            if not self._pending and not has_news:
                return False
            keys = np.array(list(self._pending), np.uint64)
            is_representative = self.signals.representatives(keys) == keys
            added = [d for d in itertools.compress(self._pending.values(), is_representative) if d is not None]
            documents = self._blocks.split(list(map(self._feeds.date_document, added)))
            documents = identify_in_index(documents, self._segments.values(), self.folder)
            entries = [segment.entry for segment in self._segments.values()]
            deleted = [segment.deleted_with(keys) for segment in self._segments.values()]
            name = f"seg-{next(self._numbers):06}-0000"
            with self._removed_on_failure(name):
                if documents:
                    keys = np.array([document.key for document in documents], np.uint64)
                    documents = add_flags(documents, self.signals.flags(keys))
                    write_segment(self.folder / name, documents, self.signals.static_ranks(keys), self._settings)
                    entries.append(SegmentEntry(name, len(documents)))
                    deleted.append(_NONE)
                self._commit(entries, deleted, self.record_count, rotate=True)
            self._pending.clear()
            return True

    def _update_late_news(self) -> bool:
        """Pass new feed dates to the segments; return whether there is late news that is not committed yet."""
        if self._feeds.has_unsaved:
            keys, days = self._feeds.append_log()
            for segment in self._segments.values():
                segment.set_late_news(keys, days)
        return any(segment.late is not self._late.get(name, NO_LATE_NEWS) for name, segment in self._segments.items())

    @contextlib.contextmanager
    def _removed_on_failure(self, name: str) -> Iterator[None]:
        """Remove the segment that is being written, unless it is committed."""
        try:
            yield
        except BaseException:
            if all(entry.name != name for entry in self.manifest.segments):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            raise

    def _commit(
        self,
        entries: list[SegmentEntry],
        deleted: list[Numbers],
        records: int,
        *,
        rotate: bool,
        late: Mapping[str, LateNews] | None = None,
    ) -> None:
        """Commit a new generation; with `rotate`, it has the changes of the journal, and a new journal begins.

        late: late news of new segments.
        """
        old, number = self.manifest, next(self._numbers)
        pairs = zip(entries, deleted, strict=True)
        segments = {entry.name: self._live_segment(entry, numbers, late or {}) for entry, numbers in pairs}
        late_news = {name: segment.late for name, segment in segments.items() if len(segment.late.documents)}
        same = late_news.keys() == self._late.keys() and all(late_news[name] is self._late[name] for name in late_news)
        news = old.news_file if same else write_late_news(self.folder, number, late_news)
        manifest = Manifest(FORMAT, number, tuple(entries), records, time.time(), "", old.journal + rotate, news)
        # Steps that can fail on a full disk come before the commit: an unused journal is empty and harmless.
        journal = Journal(journal_path(self.folder, manifest.journal)) if rotate else self._journal
        try:
            self.manifest = commit(self.folder, manifest, deleted)
        except BaseException:
            if rotate:
                journal.close()
            raise
        self._segments, self._late = segments, late_news
        if rotate:
            self._journal.close()
            self._journal = journal
        remove_replaced(self.folder, old, self.manifest)

    def _live_segment(self, entry: SegmentEntry, deleted: Numbers, late: Mapping[str, LateNews]) -> LiveSegment:
        if segment := self._segments.get(entry.name):
            return segment.with_deleted(deleted)
        return LiveSegment(self.folder, entry, deleted, late.get(entry.name, NO_LATE_NEWS))

    @property
    def is_merging(self) -> bool:
        """Whether segments are being merged, or all of them are written again."""
        return self._merge_lock.locked()

    def merge(self, kind: MergeKind = MergeKind.TIER) -> bool:
        """Merge some segments, if worthwhile; return whether it was. Adding and publishing continue meanwhile."""
        with self._merge_lock, contextlib.suppress(MergeStopped):
            with self._lock:
                sizes = {name: segment.size for name, segment in self._segments.items()}
                names = choose_segments(kind, sizes, self._settings)
                before = {name: copy.copy(self._segments[name]) for name in names}
                output = f"seg-{next(self._numbers):06}-0000"
            if not self.may_merge(names):
                return False
            with self._removed_on_failure(output):
                segments = [Segment(self.folder / name, segment.deleted) for name, segment in before.items()]
                for segment, live in zip(segments, before.values(), strict=True):
                    segment.set_late_news(*live.late)
                maps = merge_segments(self.folder / output, segments, self._settings, stop_check(kind, self._stopped))
                documents = sum(int(segment.is_live.sum()) for segment in segments)
                with self._lock:
                    self._replace_merged(output, documents, before, dict(zip(names, maps, strict=True)))
            return True
        return False

    def _replace_merged(
        self, output: str, documents: int, before: dict[str, LiveSegment], maps: dict[str, Numbers]
    ) -> None:
        """Replace segments by the merged one; documents that were deleted during the merge are deleted in it."""
        since, late = changes_since(before, self._segments, maps)
        others = [segment for name, segment in self._segments.items() if name not in before]
        entries, deleted = [segment.entry for segment in others], [segment.deleted for segment in others]
        if documents:
            entries.append(SegmentEntry(output, documents))
            deleted.append(since)
        else:
            shutil.rmtree(self.folder / output, ignore_errors=True)
        self._commit(entries, deleted, self.manifest.record_count, rotate=False, late={output: late})

    def rebuild(
        self,
        records: Callable[[int], Iterable[FetchRecord]],
        signals: DocumentSignals,
        progress: Progress = lambda stage, done, total: None,
        statistics: BuildStatistics | None = None,
    ) -> None:
        """Index everything again with new signals; `records(n)` returns the records from number n on.

        statistics: of the collection that the index is a part of, from now on; without any, those of the folder stay.

        Adding and publishing continue meanwhile. Records that are stored during the rebuild are read at its end, under
        the lock, so that the new generation has all that the last one had.
        """
        with self._merge_lock:
            sites = SiteLanguages((), statistics.languages) if statistics is not None else open_sites(self.folder)
            batcher = DocumentBatcher(signals, max_batch_bytes(self._settings), progress, sites=sites)
            with self._lock:
                number, tail = next(self._numbers), next(self._numbers)
            try:
                entries = write_segments(
                    records(0), batcher, self.folder, number, self._settings, signals, statistics=statistics
                )
                with self._lock:
                    more = records(batcher.seen)
                    entries += write_segments(more, batcher, self.folder, tail, self._settings, signals, 1, statistics)
                    deleted = find_deleted(self.folder, entries, [], batcher.withdrawn)
                    self.signals = signals
                    self._feeds.update(batcher.feeds)
                    self._blocks = batcher.blocks.save(self.folder)
                    self._update_late_news()
                    late = find_late_news(self.folder, entries, *self._feeds.dated_pages())
                    # If the process ends between these two, the next rebuild makes segments and statistics agree.
                    store_build_statistics(self.folder, statistics, append=True)
                    self._commit(entries, deleted, batcher.seen, rotate=False, late=late)
            except BaseException:
                self._remove_segments(number, tail)
                raise

    def _remove_segments(self, *numbers: int) -> None:
        for path in [path for number in numbers for path in self.folder.glob(f"seg-{number:06}-*")]:
            if path.name not in self._segments:
                shutil.rmtree(path, ignore_errors=True)

    def _publish_loop(self) -> None:
        """Publish in the background, at most every `publish_seconds`."""
        last = 0.0
        while True:
            with self._lock:
                while not self._pending and not self._feeds.has_unsaved and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
            time.sleep(max(0.0, last + self._settings.publish_seconds - time.monotonic()))
            self._run_job("index-publish", self.publish)
            last = time.monotonic()

    def _merge_loop(self) -> None:
        """Merge in the background, after each publication that makes it worthwhile, and while nothing is added."""
        timing = MergeTiming()
        while not self._closed:
            with self._lock:
                while (kind := timing.due(self.manifest.generation, time.monotonic())) is None and not self._closed:
                    self._wake.wait(1.0)
            while kind and not self._closed and self._run_job("index-merge", functools.partial(self.merge, kind)):
                kind = MergeKind.TIER

    def _run_job(self, name: str, job: Callable[[], bool]) -> bool:
        """Run a job of a background thread; whatever it raises is reported, and it is tried again after a while."""
        try:
            done = job()
        except Exception as error:
            self.failure = str(error) or type(error).__name__
            report_exception(part(name), error)
            self._stopped.wait(_RETRY_SECONDS)
            return False
        self.failure = ""
        part(name).recover()
        return done

    def close(self) -> None:
        """Publish pending changes, and release the index."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._stopped.set()
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()
        try:
            self.publish()
            part("index-publish").recover()
        finally:
            self._journal.close()
            self._stack.close()
