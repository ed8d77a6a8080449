"""The whole index, as one generation of it stands on disk."""

import copy
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.index.index_manifest import Manifest, SegmentEntry, read_dead, read_manifest
from periplus.index.live.late_dates import Late, read_late
from periplus.index.segment import Segment
from periplus.index.vocabulary.word_dictionary import WordBook
from periplus.text import LANGUAGES

__all__ = ["Index", "IndexStatistics"]

_ATTEMPTS: Final = 20
"""How often a generation may be replaced while we open it."""


class IndexStatistics(msgspec.Struct, frozen=True):
    """How large the index is, and what takes the room."""

    documents: int
    dead: int
    segments: int
    terms: int
    """Summed over segments."""
    hosts: int
    newest: float
    """Unix time of the latest fetch, 0 if there is none."""
    bytes: int
    parts: dict[str, int]
    """Bytes by 'part.array'."""
    languages: dict[str, int]
    """Documents by language; '' is unknown."""


class _Held:
    """A segment that is open, and what was counted in it once."""

    def __init__(self, segment: Segment, dead: npt.NDArray[np.int64], late: Late) -> None:
        self.segment = segment
        self.dead = dead
        self.late = late
        self.hosts = frozenset(segment.strings("hosts"))
        self.newest = float(segment.column("fetched").max(initial=0.0))
        self.languages = np.bincount(segment.column("language"), minlength=256)

    def with_changes(self, dead: npt.NDArray[np.int64], late: Late) -> "_Held":
        """Give the same segment with other dead documents and late news; files stay open and are not read again."""
        buried = not np.array_equal(dead, self.dead)
        named = not (np.array_equal(late.documents, self.late.documents) and np.array_equal(late.days, self.late.days))
        if not buried and not named:
            return self
        segment = copy.copy(self.segment)
        if buried:
            segment.bury(dead)
        if named:
            segment.name_news(*late)
        twin = copy.copy(self)
        twin.segment, twin.dead, twin.late = segment, dead, late
        return twin


class Index:
    """A snapshot of the index: immutable, so any number of threads may read it."""

    def __init__(self, folder: Path, manifest: Manifest, *, verify: bool = True, before: "Index | None" = None) -> None:
        self.folder = folder
        self.manifest = manifest
        known = before._held if before else {}
        dead, late = read_dead(folder, manifest), read_late(folder, manifest)
        self._held: dict[str, _Held] = {}
        for entry, numbers, news in zip(manifest.segments, dead, late, strict=True):
            held = known.get(entry.name)
            same = held.with_changes(numbers, news) if held else None
            self._held[entry.name] = same or self._open(entry, numbers, news, verify)
        self.segments: list[Segment] = [held.segment for held in self._held.values()]
        self.documents = manifest.live
        self.languages = self._count_languages()
        self.words: WordBook = WordBook(self.segments, before.words if before else None)
        """Words as they are written; empty until its `load`."""

    def _open(self, entry: SegmentEntry, dead: npt.NDArray[np.int64], late: Late, verify: bool) -> _Held:
        path = self.folder / entry.name
        segment = Segment(path, dead if len(dead) else None, verify=verify)
        if segment.documents != entry.documents:
            raise CorruptFile(f"{path} has {segment.documents} documents, not {entry.documents}.")
        if len(late.documents):
            segment.name_news(*late)
        return _Held(segment, dead, late)

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True, before: "Index | None" = None) -> "Index":
        """Open the newest generation, checking every byte of it unless told not to. Share the segments of `before`."""
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(folder)
            try:
                return cls(folder, manifest, verify=verify, before=before)
            except CorruptFile:
                # A writer may have replaced the generation between reading the manifest and opening its files.
                if attempt + 1 == _ATTEMPTS or read_manifest(folder).generation == manifest.generation:
                    raise
        raise AssertionError("unreachable")

    def renewed(self, *, verify: bool = True) -> "Index":
        """Open the newest generation; segments that this one has too are neither opened nor verified again."""
        return Index.open(self.folder, verify=verify, before=self)

    def changed(self) -> bool:
        """Say whether there is a newer generation on disk."""
        return read_manifest(self.folder).generation != self.manifest.generation

    def frequency(self, term: bytes) -> int:
        """Give the number of documents that have a term."""
        return sum(found.frequency for segment in self.segments if (found := segment.find(term)))

    def _count_languages(self) -> dict[str, int]:
        counts = np.zeros(256, np.int64)
        for held in self._held.values():
            counts += held.languages
        return {LANGUAGES[n]: int(counts[n]) for n in np.flatnonzero(counts) if n < len(LANGUAGES)}

    def statistics(self) -> IndexStatistics:
        """Say how large the index is."""
        parts: dict[str, int] = {}
        for segment in self.segments:
            for name, size in segment.sizes().items():
                parts[name] = parts.get(name, 0) + size
        hosts = frozenset().union(*(held.hosts for held in self._held.values()))
        newest = max((held.newest for held in self._held.values()), default=0.0)
        terms = sum(segment.term_count for segment in self.segments)
        dead = sum(len(held.dead) for held in self._held.values())
        size = sum(parts.values())
        return IndexStatistics(
            self.documents, dead, len(self.segments), terms, len(hosts), newest, size, parts, self.languages
        )
