"""A segment as the writer of a live index sees it: documents by key, which are deleted, which became news late."""

import copy
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.builder.page_languages import identify_languages
from periplus.index.collection.build_statistics import expected_languages
from periplus.index.document_fields import Document
from periplus.index.index_manifest import SegmentEntry
from periplus.index.live.late_dates import NO_LATE_NEWS, LateNews, merge_late_news
from periplus.index.merge.segment_merger import SegmentSize
from periplus.index.site_languages import SegmentLanguages, SiteLanguages
from periplus.index.validation.segment_checks import open_documents
from periplus.records import FetchRecord

__all__ = ["LiveSegment", "changes_since", "find_unchanged", "identify_in_index", "open_sites"]

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


class LiveSegment:
    """One segment of a live index."""

    def __init__(self, folder: Path, entry: SegmentEntry, deleted: Numbers, late: LateNews = NO_LATE_NEWS) -> None:
        self.entry = entry
        self.deleted = deleted
        self.late = late
        self._columns = open_documents(folder / entry.name)
        self._order = np.argsort(self._columns["key"], kind="stable")
        self._keys: Keys = self._columns["key"][self._order]
        self._languages: list[SegmentLanguages] = []
        self._content = _read_content(folder / entry.name / "own_fields.arrays", entry.documents)

    @property
    def size(self) -> SegmentSize:
        """How many documents it has."""
        return SegmentSize(self.entry.documents, self.entry.documents - len(self.deleted))

    @property
    def languages(self) -> SegmentLanguages:
        """The languages of its hosts, read when they are first needed; also of documents that are deleted."""
        if not self._languages:  # A list, which `with_deleted` shares.
            self._languages.append(SegmentLanguages.read(self._columns))
        return self._languages[0]

    def has_any(self, keys: Keys) -> bool:
        """Return whether a document with one of `keys` is not deleted."""
        return len(self.deleted_with(keys)) > len(self.deleted)

    def deleted_with(self, keys: Keys) -> Numbers:
        """Return the deleted documents of this segment once those with `keys` are deleted too."""
        _, documents = self._find(keys)
        return np.union1d(self.deleted, documents) if len(documents) else self.deleted

    def same_content(self, keys: Keys, contents: npt.NDArray[np.uint64]) -> Numbers:
        """Return which of `keys` a document has that is not deleted, and was sent with the same content."""
        which, documents = self._find(keys)
        if not len(which) or not self._content:
            return which[:0]
        is_same = self._content[0][documents] == contents[which]
        same: Numbers = which[is_same & ~np.isin(documents, self.deleted)]
        return same

    def with_deleted(self, deleted: Numbers) -> "LiveSegment":
        """Return the same segment with other deleted documents."""
        twin = copy.copy(self)
        twin.deleted = deleted
        return twin

    def set_late_news(self, keys: Keys, days: npt.NDArray[np.int32]) -> None:
        """Record that the pages with these keys are news, each of its day."""
        which, documents = self._find(keys)
        self.late = merge_late_news(self.late, documents, days[which])

    def _find(self, keys: Keys) -> tuple[Numbers, Numbers]:
        """Return which of `keys` a document has, and those documents."""
        at = np.searchsorted(self._keys, keys)
        inside = np.flatnonzero(at < len(self._keys))
        which = inside[self._keys[at[inside]] == keys[inside]]
        return which, self._order[at[which]]


def changes_since(
    before: Mapping[str, LiveSegment], segments: Mapping[str, LiveSegment], maps: Mapping[str, Numbers]
) -> tuple[Numbers, LateNews]:
    """Return what was deleted, and what became news, in segments since they were as before; renumbered by `maps`."""
    deleted, late = [np.zeros(0, np.int64)], NO_LATE_NEWS
    for name, at_start in before.items():
        now = segments[name]
        deleted.append(maps[name][np.setdiff1d(now.deleted, at_start.deleted)])
        if now.late is not at_start.late:
            numbers = maps[name][now.late.documents]
            late = merge_late_news(late, numbers[numbers >= 0], now.late.days[numbers >= 0])
    return np.unique(np.concatenate(deleted)), late


def find_unchanged(
    records: Iterable[FetchRecord], segments: Iterable[LiveSegment], pending: Container[int]
) -> set[int]:
    """Return the keys of records that were sent as documents, and are in a segment with the same content.

    pending: keys of changes that are not in a segment yet.
    """
    last = {record.key: record.content if record.page and record.page.own_fields else 0 for record in records}
    keys = np.array([key for key, content in last.items() if content and key not in pending], np.uint64)
    contents = np.array([last[int(key)] for key in keys], np.uint64)
    same = [keys[segment.same_content(keys, contents)] for segment in segments]
    return set(np.concatenate([np.zeros(0, np.uint64), *same]).tolist())


def _read_content(path: Path, documents: int) -> list[npt.NDArray[np.uint64]]:
    """Return the fingerprints of documents that were sent, in a list; an empty one if there are none."""
    if not path.exists():
        return []
    content = ArrayFile(path, "own_fields")["content"]
    return [content] if content.dtype == np.uint64 and len(content) == documents else []


def identify_in_index(documents: Sequence[Document], segments: Iterable[LiveSegment], folder: Path) -> list[Document]:
    """Return documents with their languages, expecting those of the index in a folder or of its collection."""
    return identify_languages(documents, open_sites(folder, (segment.languages for segment in segments)))


def open_sites(folder: Path, segments: Iterable[SegmentLanguages] = ()) -> SiteLanguages:
    """Return what language to expect of pages of an index folder, by segments of it and by its collection."""
    return SiteLanguages(segments, expected_languages(folder))
