"""Visits to segments, in bounded memory, on one core or several."""

import contextlib
import gc
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import CorruptFile, NothingHere, PeriplusError
from periplus.files import lock_folder
from periplus.index.feeds import Feeds, feeds_path
from periplus.index.fields import Document
from periplus.index.gather import Gathering, Progress, Signals, Silence, warn
from periplus.index.late import find_late, write_late
from periplus.index.manifest import FORMAT, Manifest, SegmentEntry, commit, next_number, read_dead, read_manifest
from periplus.index.merge import group_parts, merge_segments, most_documents
from periplus.index.segment import Segment
from periplus.index.writer import write_segment
from periplus.records import Visit
from periplus.settings import IndexSettings

__all__ = ["IndexCount", "build_index", "bury", "join_parts", "read_keys", "segment_bytes", "sweep", "write_segments"]

_BYTES_PER_TEXT_BYTE: Final = 10
"""Memory that a build takes for each byte of text in its batch: measured at 7 to 9."""

Numbers = npt.NDArray[np.int64]


class IndexCount(NamedTuple):
    """What a build did."""

    documents: int
    segments: int
    seconds: float


def build_index(
    visits: Iterable[Visit],
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
        gathering = Gathering(signals or Silence(), segment_bytes(settings, workers), progress, feeds)
        new = write_segments(visits, gathering, folder, number, settings, signals or Silence(), workers)
        new = join_parts(folder, new, gathering.withdrawn, settings, progress)
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
def _no_collecting() -> Iterator[None]:
    """Do not look for cycles meanwhile: documents have none, and are many."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def segment_bytes(settings: IndexSettings, workers: int | None = None) -> int:
    """Say how many bytes of text one segment may be made of, so that all workers stay within the memory allowed."""
    return settings.memory_mb * 1_000_000 // _BYTES_PER_TEXT_BYTE // _workers(settings, workers)


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


class _Bench:
    """Where segments are written: here, or in processes beside us, with no more batches in hand than workers."""

    def __init__(self, workers: int) -> None:
        import multiprocessing

        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(workers, mp_context=spawn) if workers > 1 else None
        self._workers = workers
        self._busy: set[Future[None]] = set()

    def __enter__(self) -> "_Bench":
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=True, cancel_futures=kind is not None)

    def write(
        self, folder: Path, batch: Sequence[Document], static: npt.NDArray[np.float32], settings: IndexSettings
    ) -> None:
        """Write a segment, or begin to and wait until there is room for another."""
        if self._pool is None:
            write_segment(folder, batch, static, settings)
            return
        self._busy.add(self._pool.submit(write_segment, folder, batch, static, settings))
        self.finish(self._workers - 1)

    def finish(self, most: int = 0) -> None:
        """Wait until no more than `most` segments are under way."""
        while len(self._busy) > most:
            self._take()

    def _take(self) -> None:
        done, self._busy = wait(self._busy, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                future.result()
            except BrokenProcessPool:
                raise PeriplusError(
                    "A process that was writing a segment has died.", "Try fewer: --set index.workers=1."
                ) from None


def write_segments(
    visits: Iterable[Visit],
    gathering: Gathering,
    folder: Path,
    number: int,
    settings: IndexSettings,
    signals: Signals,
    workers: int | None = None,
) -> list[SegmentEntry]:
    """Write all visits as segments `number`-0000 and on; nothing is committed yet."""
    entries: list[SegmentEntry] = []
    with _Bench(_workers(settings, workers)) as bench:
        for batch in gathering.batches(visits):
            every = np.array([document.key for document in batch], np.uint64)
            stands = signals.representatives(every) == every
            documents, keys = list(itertools.compress(batch, stands)), every[stands]
            name = f"seg-{number:06}-{len(entries):04}"
            bench.write(folder / name, warn(documents, signals.flags(keys)), signals.static_ranks(keys), settings)
            entries.append(SegmentEntry(name, len(documents)))
        bench.finish()
    return entries


def join_parts(
    folder: Path, parts: list[SegmentEntry], withdrawn: Iterable[int], settings: IndexSettings, progress: Progress
) -> list[SegmentEntry]:
    """Merge what `write_segments` wrote into as few segments as there should be: every one costs every query."""
    dead, joined = bury(folder, parts, [], withdrawn), list[SegmentEntry]()
    for group in group_parts([part.documents for part in parts], most_documents(settings)):
        these = parts[group]
        if len(these) == 1:
            joined += these
            continue
        progress("merging segments", group.stop, len(parts))
        pairs = zip(these, dead[group], strict=True)
        segments = [Segment(folder / part.name, numbers, verify=False) for part, numbers in pairs]
        name = f"{these[0].name.rpartition('-')[0]}-{len(parts) + len(joined):04}"
        merge_segments(folder / name, segments, settings)
        live = sum(int(segment.alive.sum()) for segment in segments)
        for gone in [part.name for part in these] + ([] if live else [name]):
            shutil.rmtree(folder / gone, ignore_errors=True)
        joined += [SegmentEntry(name, live)] if live else []
    return joined


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
