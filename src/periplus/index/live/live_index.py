"""An index that takes pages while it is searched: add, update, delete; searchable within a second; merged behind.

One writer, any number of readers. A change is acknowledged once it is in the journal, which survives the end of the
process. Every `publish_seconds` what has come in becomes a small segment and a new generation; the same commit empties
the journal. Merges run in a thread of their own and join the index by a commit. Readers keep the generation that they
have open: snapshots. See docs/live-index.md.
"""

import contextlib
import copy
import itertools
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from periplus.errors import NothingHere, PeriplusError
from periplus.files import lock_folder
from periplus.hashing import fingerprint_text
from periplus.index.builder.document_batches import Gathering, Progress, Signals, Silence, read_visit, warn, withdraws
from periplus.index.builder.feed_dates import Feeds, feeds_path
from periplus.index.builder.index_builder import batch_bytes, bury, sweep, write_segments
from periplus.index.builder.segment_finisher import write_segment
from periplus.index.document_fields import Document
from periplus.index.index_manifest import FORMAT, Manifest, SegmentEntry, commit, next_number, read_dead, read_manifest
from periplus.index.live.late_dates import NONE_LATE, Late, add_late, find_late, read_late, write_late
from periplus.index.live.live_journal import Change, Journal, journal_path
from periplus.index.live.live_segment import Part
from periplus.index.merge.segment_merger import choose_merge, merge_segments
from periplus.index.segment import Segment
from periplus.records import FetchRecord
from periplus.settings import IndexSettings

__all__ = ["LiveIndex"]

_PATIENCE: Final = 5.0
"""Seconds until something that failed in the background is tried again."""

Numbers = npt.NDArray[np.int64]
_NONE: Final = np.zeros(0, np.int64)


class LiveIndex:
    """The one writer of an index. All methods may be called from any thread."""

    def __init__(
        self, folder: Path, settings: IndexSettings, signals: Signals | None = None, *, background: bool = True
    ) -> None:
        self.folder = folder
        self.signals: Signals = signals or Silence()
        self.failure = ""
        """What last went wrong in the background, '' when all is well again."""
        self._settings = settings
        self._lock = threading.RLock()
        self._heavy = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._ended = False
        self._waiting: dict[int, Document | None] = {}
        self._reached = 0
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(lock_folder(folder, "index"))
        try:
            self._recover()
        except BaseException:
            self._stack.close()
            raise
        jobs = (self._publish_on, self._merge_on) if background else ()
        self._threads = [threading.Thread(target=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()

    def _recover(self) -> None:
        """Take up the last commit, and what the journal has on top of it."""
        try:
            self._manifest = read_manifest(self.folder)
        except NothingHere:
            self._manifest = commit(self.folder, Manifest(FORMAT, next_number(self.folder, None), (), 0, 0.0), [])
        sweep(self.folder, self._manifest)
        self._number = next_number(self.folder, self._manifest)
        dead, late = read_dead(self.folder, self._manifest), read_late(self.folder, self._manifest)
        known = zip(self._manifest.segments, zip(dead, late, strict=True), strict=True)
        self._parts = {entry.name: Part(self.folder, entry, *state) for entry, state in known}
        self._late = {name: part.late for name, part in self._parts.items() if len(part.late.documents)}
        self._feeds = Feeds(feeds_path(self.folder))
        self._journal = Journal(journal_path(self.folder, self._manifest.journal))
        for change in self._journal.changes:
            visit = change.visit
            self._waiting[visit.key if visit else change.forget] = read_visit(visit, self.signals) if visit else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *rest: object) -> None:
        self.close()

    @property
    def visits(self) -> int:
        """How many visits of the page store were taken: where to go on reading it."""
        return max(self._manifest.visits, self._reached)

    @property
    def waiting(self) -> int:
        """How many changes are not searchable yet."""
        return len(self._waiting)

    @property
    def manifest(self) -> Manifest:
        """The last commit."""
        return self._manifest

    def add(self, visit: FetchRecord, reached: int = 0) -> None:
        """Take a visit: its page is added, replaces the one with its URL, or is forgotten if it is gone.

        reached: how many visits of the page store are in the index once this one is.
        """
        with self._lock:
            document = read_visit(visit, self.signals)
            self._feeds.learn(visit)
            if self._feeds.waiting:
                self._wake.notify_all()
            if document is not None or (withdraws(visit) and self._has(visit.key)):
                self._journal.append(Change(visit=visit))
                self._await(visit.key, document)
            self._reached = max(self._reached, reached)

    def delete(self, url: str) -> None:
        """Forget the page with this URL (in canonical form). It comes back when it is added again."""
        with self._lock:
            key = fingerprint_text(url)
            if self._has(key):
                self._journal.append(Change(forget=key))
                self._await(key, None)

    def sync(self) -> None:
        """Make all that was taken survive a power cut, too."""
        with self._lock:
            self._journal.sync()

    def _has(self, key: int) -> bool:
        """Say whether there is a page to forget: in a segment or waiting."""
        keys = np.array([key], np.uint64)
        return key in self._waiting or any(part.has(keys) for part in self._parts.values())

    def _await(self, key: int, document: Document | None) -> None:
        self._waiting[key] = document
        self._wake.notify_all()

    def publish(self) -> bool:
        """Make all that was taken searchable now; say whether there was anything."""
        with self._lock:
            named = self._name_news()
            if not self._waiting and not named:
                return False
            every = np.array(list(self._waiting), np.uint64)
            stands = self.signals.representatives(every) == every
            taken = [d for d in itertools.compress(self._waiting.values(), stands) if d is not None]
            documents = list(map(self._feeds.mark, taken))
            entries = [part.entry for part in self._parts.values()]
            dead = [part.bury(every) for part in self._parts.values()]
            name = f"seg-{self._take_number():06}-0000"
            with self._discarding(name):
                if documents:
                    keys = np.array([document.key for document in documents], np.uint64)
                    documents = warn(documents, self.signals.flags(keys))
                    write_segment(self.folder / name, documents, self.signals.static_ranks(keys), self._settings)
                    entries.append(SegmentEntry(name, len(documents)))
                    dead.append(_NONE)
                self._commit(entries, dead, self.visits, rotate=True)
            self._waiting.clear()
            return True

    def _name_news(self) -> bool:
        """Tell segments what feeds have named since; say whether any of it is not committed yet."""
        if self._feeds.waiting:
            keys, days = self._feeds.keep()
            for part in self._parts.values():
                part.name_news(keys, days)
        return any(part.late is not self._late.get(name, NONE_LATE) for name, part in self._parts.items())

    def _take_number(self) -> int:
        number = self._number
        self._number += 1
        return number

    @contextlib.contextmanager
    def _discarding(self, name: str) -> Iterator[None]:
        """Remove the segment being written if it does not get into a commit."""
        try:
            yield
        except BaseException:
            if all(entry.name != name for entry in self._manifest.segments):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            raise

    def _commit(
        self,
        entries: list[SegmentEntry],
        dead: list[Numbers],
        visits: int,
        *,
        rotate: bool,
        late: Mapping[str, Late] | None = None,
    ) -> None:
        """Commit a new generation; with `rotate`, the journal's changes are in it and a new one begins.

        late: news of segments that are new.
        """
        old, number = self._manifest, self._take_number()
        pairs = zip(entries, dead, strict=True)
        parts = {entry.name: self._part(entry, numbers, late or {}) for entry, numbers in pairs}
        named = {name: part.late for name, part in parts.items() if len(part.late.documents)}
        same = named.keys() == self._late.keys() and all(named[name] is self._late[name] for name in named)
        news = old.news_file if same else write_late(self.folder, number, named)
        fresh = Manifest(FORMAT, number, tuple(entries), visits, time.time(), "", old.journal + rotate, news)
        # What can fail on a full disk comes before the commit: an unused journal is empty and harmless.
        journal = Journal(journal_path(self.folder, fresh.journal)) if rotate else self._journal
        try:
            self._manifest = commit(self.folder, fresh, dead)
        except BaseException:
            if rotate:
                journal.close()
            raise
        self._parts, self._late = parts, named
        if rotate:
            self._journal.close()
            self._journal = journal
        self._retire(old)

    def _part(self, entry: SegmentEntry, dead: Numbers, late: Mapping[str, Late]) -> Part:
        known = self._parts.get(entry.name)
        return known.with_dead(dead) if known else Part(self.folder, entry, dead, late.get(entry.name, NONE_LATE))

    def _retire(self, old: Manifest) -> None:
        """Remove what only the last generation had; readers that have it open keep their data."""
        for entry in old.segments:
            if entry.name not in self._parts:
                shutil.rmtree(self.folder / entry.name, ignore_errors=True)
        with contextlib.suppress(OSError):
            if old.dead_file and old.dead_file != self._manifest.dead_file:
                (self.folder / old.dead_file).unlink(missing_ok=True)
            if old.news_file and old.news_file != self._manifest.news_file:
                (self.folder / old.news_file).unlink(missing_ok=True)
            if old.journal != self._manifest.journal:
                journal_path(self.folder, old.journal).unlink(missing_ok=True)

    def merge(self) -> bool:
        """Merge once, if it is worth it; say whether it was. Adding and publishing go on meanwhile."""
        with self._heavy:
            with self._lock:
                names = choose_merge({name: part.size for name, part in self._parts.items()}, self._settings)
                before = {name: copy.copy(self._parts[name]) for name in names}
                output = f"seg-{self._take_number():06}-0000"
            if not names:
                return False
            with self._discarding(output):
                segments = [Segment(self.folder / name, part.dead) for name, part in before.items()]
                for segment, part in zip(segments, before.values(), strict=True):
                    segment.name_news(*part.late)
                maps = dict(zip(names, merge_segments(self.folder / output, segments, self._settings), strict=True))
                with self._lock:
                    self._join(output, sum(int(segment.alive.sum()) for segment in segments), before, maps)
            return True

    def _join(self, output: str, documents: int, before: dict[str, Part], maps: dict[str, Numbers]) -> None:
        """Put a merged segment in the place of those it was made of; what died meanwhile is dead in it."""
        gone, late = [_NONE], NONE_LATE
        for name, then in before.items():
            now = self._parts[name]
            gone.append(maps[name][np.setdiff1d(now.dead, then.dead)])
            if now.late is not then.late:
                places = maps[name][now.late.documents]
                late = add_late(late, places[places >= 0], now.late.days[places >= 0])
        kept = [part for name, part in self._parts.items() if name not in before]
        entries, dead = [part.entry for part in kept], [part.dead for part in kept]
        if documents:
            entries.append(SegmentEntry(output, documents))
            dead.append(np.unique(np.concatenate(gone)))
        else:
            shutil.rmtree(self.folder / output, ignore_errors=True)
        self._commit(entries, dead, self._manifest.visits, rotate=False, late={output: late})

    def rebuild(
        self,
        visits: Callable[[int], Iterable[FetchRecord]],
        signals: Signals,
        progress: Progress = lambda stage, done, total: None,
    ) -> None:
        """Index everything again with new signals; `visits(n)` gives the visits from number n on.

        Adding and publishing go on meanwhile. What comes in during the rebuild is read at its end, under the lock, so
        that the new generation lacks nothing that the last one had.
        """
        with self._heavy:
            gathering = Gathering(signals, batch_bytes(self._settings), progress)
            with self._lock:
                number = self._take_number()
                tail = self._take_number()
            try:
                entries = write_segments(visits(0), gathering, self.folder, number, self._settings, signals)
                with self._lock:
                    more = visits(gathering.seen)
                    entries += write_segments(more, gathering, self.folder, tail, self._settings, signals, 1)
                    dead = bury(self.folder, entries, [], gathering.withdrawn)
                    self.signals = signals
                    self._feeds.absorb(gathering.feeds)
                    self._name_news()
                    late = find_late(self.folder, entries, *self._feeds.named())
                    self._commit(entries, dead, gathering.seen, rotate=False, late=late)
            except BaseException:
                self._sweep_numbers(number, tail)
                raise

    def _sweep_numbers(self, *numbers: int) -> None:
        for number in numbers:
            for path in self.folder.glob(f"seg-{number:06}-*"):
                if path.name not in self._parts:
                    shutil.rmtree(path, ignore_errors=True)

    def _publish_on(self) -> None:
        """Publish in the background, at most every `publish_seconds`."""
        last = 0.0
        while True:
            with self._lock:
                while not self._waiting and not self._feeds.waiting and not self._ended:
                    self._wake.wait()
                if self._ended:
                    return
            time.sleep(max(0.0, last + self._settings.publish_seconds - time.monotonic()))
            self._try(self.publish)
            last = time.monotonic()

    def _merge_on(self) -> None:
        """Merge in the background, after each publication that makes it worth it."""
        seen = -1
        while True:
            with self._lock:
                while self._manifest.generation == seen and not self._ended:
                    self._wake.wait(1.0)
                if self._ended:
                    return
                seen = self._manifest.generation
            while not self._ended and self._try(self.merge):
                pass

    def _try(self, job: Callable[[], bool]) -> bool:
        try:
            done = job()
        except (PeriplusError, OSError) as error:
            self.failure = str(error)
            with self._lock:
                self._wake.wait_for(lambda: self._ended, _PATIENCE)
            return False
        self.failure = ""
        return done

    def close(self) -> None:
        """Publish what waits, and let go of the index."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()
        try:
            self.publish()
        finally:
            self._journal.close()
            self._stack.close()
