"""The index reader: a snapshot of one generation."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile
from periplus.index.collection import segment_statistics
from periplus.index.collection.collection_view import FrequentTerms, NameEntry
from periplus.index.index_manifest import Manifest, SegmentEntry, read_deleted, read_manifest
from periplus.index.live.late_dates import LateNews, read_late_news
from periplus.index.segment import Segment
from periplus.index.vocabulary.name_file import known_names
from periplus.index.vocabulary.name_lookup import segment_names
from periplus.index.vocabulary.spelling_dictionary import SpellingDictionary
from periplus.text import LANGUAGES

__all__ = ["Index", "IndexStatistics"]

_OPEN_ATTEMPTS: Final = 20
"""How often a generation may be replaced while it is being opened."""


class IndexStatistics(msgspec.Struct, frozen=True):
    """The size of an index, in all and by part."""

    documents: int
    deleted: int = msgspec.field(name="dead")
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


class _OpenSegment:
    """An open segment, and statistics that are computed once."""

    def __init__(self, segment: Segment, deleted: npt.NDArray[np.int64], late: LateNews) -> None:
        self.segment = segment
        self.deleted = deleted
        self.late = late
        self.hosts = frozenset(segment.strings("hosts"))
        self.newest = float(segment.column("fetched").max(initial=0.0))
        self.languages = np.bincount(segment.column("language"), minlength=256)

    def with_changes(self, deleted: npt.NDArray[np.int64], late: LateNews) -> "_OpenSegment":
        """Return the same segment with other deletions and late news; its files stay open and are not read again."""
        deletions_changed = not np.array_equal(deleted, self.deleted)
        news_changed = not (
            np.array_equal(late.documents, self.late.documents) and np.array_equal(late.days, self.late.days)
        )
        if not deletions_changed and not news_changed:
            return self
        segment = copy.copy(self.segment)
        if deletions_changed:
            segment.mark_deleted(deleted)
        if news_changed:
            segment.set_late_news(*late)
        twin = copy.copy(self)
        twin.segment, twin.deleted, twin.late = segment, deleted, late
        return twin


class Index:
    """A snapshot of the index: immutable, so any number of threads may read it."""

    def __init__(
        self, folder: Path, manifest: Manifest, *, verify: bool = True, previous: "Index | None" = None
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        before = previous._open_segments if previous else {}
        deleted, late = read_deleted(folder, manifest), read_late_news(folder, manifest)
        self._open_segments: dict[str, _OpenSegment] = {}
        for entry, numbers, news in zip(manifest.segments, deleted, late, strict=True):
            open_segment = before.get(entry.name)
            same = open_segment.with_changes(numbers, news) if open_segment else None
            self._open_segments[entry.name] = same or self._open(entry, numbers, news, verify)
        self.segments: list[Segment] = [open_segment.segment for open_segment in self._open_segments.values()]
        self.documents = manifest.live
        self.languages = self._count_languages()
        self.spelling: SpellingDictionary = SpellingDictionary(self.segments, previous.spelling if previous else None)
        """Words as people write them; empty until it is loaded."""

    def _open(self, entry: SegmentEntry, deleted: npt.NDArray[np.int64], late: LateNews, verify: bool) -> _OpenSegment:
        path = self.folder / entry.name
        segment = Segment(path, deleted if len(deleted) else None, verify=verify)
        if segment.documents != entry.documents:
            raise CorruptFile(f"{path} has {segment.documents} documents, not {entry.documents}.")
        if len(late.documents):
            segment.set_late_news(*late)
        return _OpenSegment(segment, deleted, late)

    @classmethod
    def open(cls, folder: Path, *, verify: bool = True, previous: "Index | None" = None) -> "Index":
        """Open the newest generation, sharing the segments of `previous`; verify checksums unless `verify` is false."""
        for attempt in range(_OPEN_ATTEMPTS):
            manifest = read_manifest(folder)
            try:
                return cls(folder, manifest, verify=verify, previous=previous)
            except CorruptFile:
                # A writer may have replaced the generation after its manifest was read.
                if attempt + 1 == _OPEN_ATTEMPTS or read_manifest(folder).generation == manifest.generation:
                    raise
        raise AssertionError("unreachable")

    def reopen(self, *, verify: bool = True) -> "Index":
        """Return the newest generation; segments that this one has, too, are neither opened nor verified again."""
        return Index.open(self.folder, verify=verify, previous=self)

    def has_newer_generation(self) -> bool:
        """Return whether there is a newer generation on disk."""
        return read_manifest(self.folder).generation != self.manifest.generation

    def document_frequency(self, term: bytes) -> int:
        """Return how many documents have a term."""
        return sum(entry.frequency for segment in self.segments if (entry := segment.find_term(term)))

    def document_frequencies(self, terms: Sequence[bytes]) -> list[int]:
        """Return how many documents have each term."""
        counts = np.zeros(len(terms), np.int64)
        for segment in self.segments:
            counts += segment.find_terms(terms)[:, 0]
        return [int(count) for count in counts]

    def frequent_terms(self, prefix: bytes, most: int) -> FrequentTerms:
        """Return the `most` most frequent terms with a prefix over all segments, and how many have it."""
        return segment_statistics.frequent_terms(self.segments, prefix, most)

    def frequent_numbers(self, low: int, high: int, most: int) -> FrequentTerms:
        """Return the same of terms that are integers from `low` to `high`."""
        return segment_statistics.frequent_numbers(self.segments, low, high, most)

    def terms_with_character(self, character: bytes) -> dict[bytes, int]:
        """Return the terms that begin or end with a character of a script without spaces, with their frequencies."""
        return segment_statistics.terms_with_character(self.segments, character)

    def count_phrase(self, terms: tuple[bytes, ...], fields: int) -> int:
        """Return in how many documents terms stand one after the other, in one of some fields; of very many, some."""
        return sum(len(segment.documents_with_phrase(terms, fields)) for segment in self.segments)

    def have_terms(
        self, terms: Sequence[bytes], groups: Sequence[int], languages: Sequence[frozenset[int]]
    ) -> npt.NDArray[np.bool_]:
        """Return of each term whether any document in the languages of its group has it.

        groups: by term, a number in `languages`, which are meant to be those of few documents.
        """
        return segment_statistics.have_terms(self.segments, terms, groups, languages)

    def count_together(self, term: bytes, others: Sequence[bytes]) -> list[int]:
        """Return how many documents have a term together with each of `others`."""
        return segment_statistics.count_together(self.segments, term, others)

    def names(self, key: int) -> list[NameEntry]:
        """Return the documents that have the name with a key, in the order of segments; those deleted are left out."""
        return [entry for number, segment in enumerate(self.segments) for entry in segment_names(segment, number, key)]

    def known_names(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Return of which names, given by their keys, some segment has documents, deleted or not."""
        known = np.zeros(len(keys), np.bool_)
        for segment in self.segments:
            if "names" in segment.files:
                known |= known_names(segment.files["names"], keys)
        return known

    def _count_languages(self) -> dict[str, int]:
        counts = np.zeros(256, np.int64)
        for open_segment in self._open_segments.values():
            counts += open_segment.languages
        return {LANGUAGES[n]: int(counts[n]) for n in np.flatnonzero(counts) if n < len(LANGUAGES)}

    def statistics(self) -> IndexStatistics:
        """Return the size of the index."""
        parts: dict[str, int] = {}
        for segment in self.segments:
            for name, size in segment.sizes().items():
                parts[name] = parts.get(name, 0) + size
        hosts = frozenset().union(*(open_segment.hosts for open_segment in self._open_segments.values()))
        newest = max((open_segment.newest for open_segment in self._open_segments.values()), default=0.0)
        terms = sum(segment.term_count for segment in self.segments)
        deleted = sum(len(open_segment.deleted) for open_segment in self._open_segments.values())
        size = sum(parts.values())
        return IndexStatistics(
            self.documents, deleted, len(self.segments), terms, len(hosts), newest, size, parts, self.languages
        )
