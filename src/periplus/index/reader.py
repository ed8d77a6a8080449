"""The whole index, as one generation of it stands on disk."""

from pathlib import Path

import msgspec
import numpy as np

from periplus.errors import CorruptFile
from periplus.index.manifest import Manifest, read_manifest
from periplus.index.segment import Segment
from periplus.text import LANGUAGES

__all__ = ["Index", "IndexStatistics"]


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


class Index:
    """A snapshot of the index: immutable, so any number of threads may read it."""

    def __init__(self, folder: Path, manifest: Manifest, *, verify: bool = True) -> None:
        self.folder = folder
        self.manifest = manifest
        self.segments: list[Segment] = []
        for entry in manifest.segments:
            dead = np.array(entry.dead, np.int64) if entry.dead else None
            segment = Segment(folder / entry.name, dead, verify=verify)
            if segment.documents != entry.documents:
                raise CorruptFile(f"{folder / entry.name} has {segment.documents} documents, not {entry.documents}.")
            self.segments.append(segment)
        self.documents = sum(entry.documents - len(entry.dead) for entry in manifest.segments)
        self.languages = self._count_languages()

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True) -> "Index":
        """Open the newest generation, checking every byte of it unless told not to."""
        for attempt in range(3):
            manifest = read_manifest(folder)
            try:
                return cls(folder, manifest, verify=verify)
            except CorruptFile:
                # A build may have replaced the generation between reading the manifest and opening its files.
                if attempt == 2 or read_manifest(folder).generation == manifest.generation:
                    raise
        raise AssertionError("unreachable")

    def changed(self) -> bool:
        """Say whether there is a newer generation on disk."""
        return read_manifest(self.folder).generation != self.manifest.generation

    def frequency(self, term: bytes) -> int:
        """Give the number of documents that have a term."""
        return sum(found.frequency for segment in self.segments if (found := segment.find(term)))

    def _count_languages(self) -> dict[str, int]:
        counts = np.zeros(256, np.int64)
        for segment in self.segments:
            counts += np.bincount(segment.column("language"), minlength=256)
        return {LANGUAGES[n]: int(counts[n]) for n in np.flatnonzero(counts) if n < len(LANGUAGES)}

    def statistics(self) -> IndexStatistics:
        """Say how large the index is."""
        parts: dict[str, int] = {}
        hosts: set[str] = set()
        newest, terms = 0.0, 0
        for segment in self.segments:
            for name, size in segment.sizes().items():
                parts[name] = parts.get(name, 0) + size
            hosts.update(segment.strings("hosts"))
            newest = max(newest, float(segment.column("fetched").max(initial=0.0)))
            terms += len(segment.files["lexicon"]["frequency"])
        dead = sum(len(entry.dead) for entry in self.manifest.segments)
        size = sum(f.stat().st_size for s in self.segments for f in (self.folder / s.name).iterdir())
        return IndexStatistics(
            self.documents, dead, len(self.segments), terms, len(hosts), newest, size, parts, self.languages
        )
