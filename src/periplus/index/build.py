"""Visits to segments, in bounded memory."""

import itertools
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.errors import NothingHere
from periplus.files import lock_folder
from periplus.index.fields import Document, read_document
from periplus.index.manifest import FORMAT, Manifest, SegmentEntry, read_manifest, write_manifest
from periplus.index.writer import write_segment
from periplus.records import Outcome, Visit
from periplus.settings import IndexSettings
from periplus.text import detect_language

__all__ = ["IndexCount", "Signals", "build_index"]

_BYTES_PER_TEXT_BYTE: Final = 10
"""Memory that a build takes for each byte of text in its batch: measured at 7 to 9."""
_REPORT_EVERY: Final = 500
_SAMPLE: Final = 600

Progress = Callable[[str, int, int], None]


class Signals(Protocol):
    """What is known of pages from outside them."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        """Give the static rank, 0 to 1, of each page."""
        ...

    def anchors(self, key: int) -> str:
        """Give the text of links to a page."""
        ...

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Give, for each page, the page that stands for it: itself, or the one its canonical link names."""
        ...


class IndexCount(NamedTuple):
    """What a build did."""

    documents: int
    segments: int
    seconds: float


class _Silence:
    """No signals: every page ranks alike, and no link says anything."""

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        return np.zeros(len(keys), np.float32)

    def anchors(self, key: int) -> str:
        return ""

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return keys


def build_index(
    visits: Iterable[Visit],
    folder: Path,
    settings: IndexSettings,
    signals: Signals | None = None,
    progress: Progress = lambda stage, done, total: None,
    *,
    extend: bool = False,
) -> IndexCount:
    """Index all `visits` as a new generation; with `extend`, add them to the old one. The last visit of a URL wins."""
    began = time.monotonic()
    with lock_folder(folder, "index"):
        old = _existing(folder) if extend else None
        generation = _next_generation(folder)
        counted = _Counter(visits)
        new = _write_segments(counted, folder, generation, settings, signals or _Silence(), progress)
        kept = (old.segments if old else ()) + tuple(new)
        entries = _bury(folder, kept)
        seen = (old.visits if old else 0) + counted.seen
        write_manifest(folder, Manifest(FORMAT, generation, entries, seen, time.time()))
        _sweep(folder, {entry.name for entry in entries})
    documents = sum(entry.documents - len(entry.dead) for entry in entries)
    return IndexCount(documents, len(entries), time.monotonic() - began)


class _Counter:
    """Visits, counted as they pass."""

    def __init__(self, visits: Iterable[Visit]) -> None:
        self._visits = visits
        self.seen = 0

    def __iter__(self) -> Iterator[Visit]:
        for visit in self._visits:
            self.seen += 1
            yield visit


def _existing(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except NothingHere:
        return None


def _next_generation(folder: Path) -> int:
    """Number this build after anything an earlier one, finished or not, has left behind."""
    numbers = [int(path.name.split("-")[1]) for path in folder.glob("seg-*-*")]
    return max(numbers, default=0) + 1


def _indexable(visits: Iterable[Visit]) -> Iterator[Visit]:
    """Pass on the pages that may be found: read, not refused by the page itself, not a copy of another."""
    for visit in visits:
        if visit.outcome is Outcome.OK and visit.page is not None and not visit.page.noindex and not visit.copy_of:
            yield visit


def _documents(visits: Iterable[Visit], signals: Signals) -> Iterator[Document]:
    for visit in _indexable(visits):
        page = visit.page
        assert page is not None
        language = page.language or detect_language(page.text[:_SAMPLE] or page.title)
        yield read_document(visit, language, signals.anchors(visit.key))


def _batches(documents: Iterable[Document], most: int, progress: Progress) -> Iterator[list[Document]]:
    """Gather documents until their text would take too much memory; of two with one URL, keep the later."""
    batch: dict[int, Document] = {}
    size = 0
    for number, document in enumerate(documents, 1):
        batch[document.key] = document
        size += sum(map(len, document.fields))
        if number % _REPORT_EVERY == 0:
            progress("indexing pages", number, 0)
        if size >= most:
            yield list(batch.values())
            batch, size = {}, 0
    if batch:
        yield list(batch.values())


def _write_segments(
    visits: Iterable[Visit],
    folder: Path,
    generation: int,
    settings: IndexSettings,
    signals: Signals,
    progress: Progress,
) -> list[SegmentEntry]:
    entries: list[SegmentEntry] = []
    most = settings.memory_mb * 1_000_000 // _BYTES_PER_TEXT_BYTE
    done = 0
    for batch in _batches(_documents(visits, signals), most, progress):
        name = f"seg-{generation:06}-{len(entries):04}"
        every = np.array([document.key for document in batch], np.uint64)
        stands = signals.representatives(every) == every
        batch, keys = list(itertools.compress(batch, stands)), every[stands]
        write_segment(folder / name, batch, signals.static_ranks(keys), settings)
        entries.append(SegmentEntry(name, len(batch)))
        done += len(batch)
        progress("indexing pages", done, 0)
    return entries


def _bury(folder: Path, entries: tuple[SegmentEntry, ...]) -> tuple[SegmentEntry, ...]:
    """Mark documents that a later segment has again as dead."""
    keys = [ArrayFile(folder / entry.name / "documents.arrays", "documents")["key"] for entry in entries]
    if len(keys) < 2:
        return entries
    owner = np.repeat(np.arange(len(keys)), [len(k) for k in keys])
    place = np.concatenate([np.arange(len(k)) for k in keys])
    flat = np.concatenate(keys)
    order = np.lexsort((owner, flat))
    replaced = order[:-1][flat[order[:-1]] == flat[order[1:]]]
    dead = [tuple(sorted(place[replaced[owner[replaced] == number]].tolist())) for number in range(len(keys))]
    return tuple(SegmentEntry(e.name, e.documents, d) for e, d in zip(entries, dead, strict=True))


def _sweep(folder: Path, keep: set[str]) -> None:
    """Remove segments that the manifest does not name; readers that have them open keep their data."""
    for path in folder.glob("seg-*-*"):
        if path.name not in keep:
            shutil.rmtree(path, ignore_errors=True)
