"""Visits to segments, in bounded memory, on one core or several."""

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

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile, NothingHere
from periplus.files import lock_folder
from periplus.index.builder.document_batches import Gathering, Progress, Signals, Silence, warn
from periplus.index.builder.feed_dates import Feeds, feeds_path
from periplus.index.builder.segment_builder import Draft, Piece, read_batch
from periplus.index.builder.segment_finisher import write_draft
from periplus.index.document_fields import Document
from periplus.index.index_manifest import FORMAT, Manifest, SegmentEntry, commit, next_number, read_dead, read_manifest
from periplus.index.live.late_dates import find_late, write_late
from periplus.index.merge.segment_merger import most_documents
from periplus.records import FetchRecord
from periplus.score import PageScorer
from periplus.settings import IndexSettings
from periplus.text import WordTable

__all__ = ["IndexCount", "batch_bytes", "build_index", "bury", "read_keys", "sweep", "write_segments"]

_SHARE: Final = 16
"""A batch may have this part of the memory of a build in text: it takes 4 times as much while it is split."""
_LARGEST: Final = 16 << 20
"""Beyond this, larger batches are no faster."""

Numbers = npt.NDArray[np.int64]


class IndexCount(NamedTuple):
    """What a build did."""

    documents: int
    segments: int
    seconds: float


def build_index(
    visits: Iterable[FetchRecord],
    folder: Path,
    settings: IndexSettings,
    signals: Signals | None = None,
    progress: Progress = lambda stage, done, total: None,
    *,
    extend: bool = False,
    workers: int | None = None,
) -> IndexCount:
    """Index all `visits` as a new generation; with `extend`, add them to the old one. The last visit of a URL wins."""
    began = time.monotonic()
    with lock_folder(folder, "index"), _no_collecting():
        before = _existing(folder, extend)
        old = before if extend else None
        number = next_number(folder, before)
        feeds = Feeds(feeds_path(folder) if extend else None)
        gathering = Gathering(signals or Silence(), batch_bytes(settings, workers), progress, feeds)
        with _or_nothing(folder, number):
            new = write_segments(visits, gathering, folder, number, settings, signals or Silence(), workers)
            entries = (old.segments if old else ()) + tuple(new)
            known = read_dead(folder, old) if old else []
            dead = bury(folder, entries, known, gathering.withdrawn)
            feeds.keep_only(feeds_path(folder))
            news = write_late(folder, number, find_late(folder, entries, *feeds.named()))
        # What a live index has taken and not published yet stays waiting when we extend; a new index does without.
        journal = before.journal + (not extend) if before else 0
        seen = (old.visits if old else 0) + gathering.seen
        done = commit(folder, Manifest(FORMAT, number, entries, seen, time.time(), "", journal, news), dead)
        sweep(folder, done)
    return IndexCount(done.live, len(entries), time.monotonic() - began)


@contextlib.contextmanager
def _or_nothing(folder: Path, number: int) -> Iterator[None]:
    """Remove the segments of a generation that does not come to its end: a disk that was full has room again."""
    try:
        yield
    except BaseException:
        for path in folder.glob(f"seg-{number:06}-*"):
            shutil.rmtree(path, ignore_errors=True)
        raise


@contextlib.contextmanager
def _no_collecting() -> Iterator[None]:
    """Do not look for cycles meanwhile: documents have none, and are many."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def batch_bytes(settings: IndexSettings, workers: int | None = None) -> int:
    """Say how many bytes of text are gathered at a time, so that all workers stay within the memory allowed."""
    return min(_LARGEST, settings.memory_mb * 1_000_000 // _SHARE // _workers(settings, workers))


def _workers(settings: IndexSettings, workers: int | None) -> int:
    wanted = settings.workers if workers is None else workers
    return wanted or os.cpu_count() or 1


def _existing(folder: Path, extend: bool) -> Manifest | None:
    try:
        return read_manifest(folder)
    except NothingHere:
        return None
    except CorruptFile:
        if extend:
            raise
        return None  # A whole build needs nothing of what it replaces.


class _Writing:
    """Segments under way: batches are split here, or in threads beside us, and written when all are there."""

    def __init__(self, folder: Path, number: int, settings: IndexSettings, gathering: Gathering, workers: int) -> None:
        self._name = str(folder / f"seg-{number:06}")
        self._settings = settings
        self._gathering = gathering
        self._ranker = PageScorer(settings.weights)
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self._busy: deque[Future[Piece]] = deque()
        self._draft: Draft | None = None
        self.entries: list[SegmentEntry] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *rest: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
        if self._draft:
            self._draft.__exit__(*rest)

    def add(self, batch: Sequence[Document], static: npt.NDArray[np.float32]) -> None:
        """Take a batch; with threads, there are no more in hand than threads."""
        if self._pool is None:
            self._take(read_batch(batch, static, self._ranker, self._open().words))
            return
        self._busy.append(self._pool.submit(read_batch, batch, static, self._ranker, WordTable()))
        while len(self._busy) >= self._workers:
            self._take(self._busy.popleft().result())

    def finish(self) -> list[SegmentEntry]:
        """Write what is left; give all segments."""
        while self._busy:
            self._take(self._busy.popleft().result())
        self._write()
        return self.entries

    def _open(self) -> Draft:
        if self._draft is None:
            self._draft = Draft(Path(f"{self._name}-{len(self.entries):04}"), self._settings)
        return self._draft

    def _take(self, piece: Piece) -> None:
        draft = self._open()
        draft.take(piece)
        if draft.documents >= most_documents(self._settings):
            self._write()

    def _write(self) -> None:
        if self._draft is None:
            return
        with self._draft as draft:
            self._gathering.progress("writing the segment", draft.documents, draft.documents)
            documents = write_draft(draft, self._gathering.withdrawn)
        self._draft = None
        if documents:
            self.entries.append(SegmentEntry(draft.folder.name, documents))
        else:
            shutil.rmtree(draft.folder, ignore_errors=True)


def write_segments(
    visits: Iterable[FetchRecord],
    gathering: Gathering,
    folder: Path,
    number: int,
    settings: IndexSettings,
    signals: Signals,
    workers: int | None = None,
) -> list[SegmentEntry]:
    """Write all visits as segment `number`-0000, and more where one would be too large; nothing is committed yet."""
    with _Writing(folder, number, settings, gathering, _workers(settings, workers)) as writing:
        for batch in gathering.batches(visits):
            every = np.array([document.key for document in batch], np.uint64)
            stands = signals.representatives(every) == every
            documents, keys = list(itertools.compress(batch, stands)), every[stands]
            if documents:
                writing.add(warn(documents, signals.flags(keys)), signals.static_ranks(keys))
        return writing.finish()


def read_keys(folder: Path, name: str) -> npt.NDArray[np.uint64]:
    """Give the key of each document of a segment."""
    keys: npt.NDArray[np.uint64] = ArrayFile(folder / name / "documents.arrays", "documents")["key"]
    return keys


def bury(
    folder: Path, entries: Sequence[SegmentEntry], known: Sequence[Numbers], withdrawn: Iterable[int] = ()
) -> list[Numbers]:
    """Give the dead of each segment: those known, those that a later segment has again, and those withdrawn."""
    keys = [read_keys(folder, entry.name) for entry in entries]
    dead = [*known, *(np.zeros(0, np.int64) for _ in range(len(entries) - len(known)))]
    if not keys:
        return dead
    gone = np.array(sorted(withdrawn), np.uint64)
    owner = np.repeat(np.arange(len(keys)), [len(k) for k in keys])
    place = np.concatenate([np.arange(len(k), dtype=np.int64) for k in keys])
    flat = np.concatenate(keys)
    order = np.lexsort((owner, flat))
    replaced = np.zeros(len(flat), np.bool_)
    replaced[order[:-1]] = flat[order[:-1]] == flat[order[1:]]
    replaced |= np.isin(flat, gone)
    return [np.union1d(d, place[replaced & (owner == number)]) for number, d in enumerate(dead)]


def sweep(folder: Path, manifest: Manifest) -> None:
    """Remove what the manifest does not name; readers that have it open keep their data."""
    keep = {entry.name for entry in manifest.segments}
    for path in folder.glob("seg-*-*"):
        if path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)
    for path in (*folder.glob("dead-*.arrays"), *folder.glob("news-*.arrays")):
        if path.name not in (manifest.dead_file, manifest.news_file):
            path.unlink(missing_ok=True)
    for path in folder.glob("journal-*.log"):
        if path.name != f"journal-{manifest.journal:06}.log":
            path.unlink(missing_ok=True)
