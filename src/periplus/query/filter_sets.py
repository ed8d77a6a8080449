"""Filters to sets of documents: one 64-bit word for each block, made before matching begins.

Sets that take longer to make than to look up are cached with their segment, which never changes: those of sites,
languages, content types and terms. What may change beside a segment is made anew: dates, news and links.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, documents_with
from periplus.index.kernels import inversion
from periplus.query.content_types import CONTENT_TYPES
from periplus.query.query_budget import QueryBudget
from periplus.query.query_tree import ContentType, DateRange, FieldFilter, Filter, Language, Link, Site, Vertical
from periplus.query.term_lookups import TermSet
from periplus.settings import FieldSettings
from periplus.text import language_number

__all__ = ["FilterCache", "filter_matches_any", "filters_match", "given_sets"]

_MOST_BYTES: Final = 4 << 20
"""Memory for the cached sets of one segment."""

Chosen = npt.NDArray[np.bool_]
DocumentSet = npt.NDArray[np.uint64]


class FilterCache:
    """The sets of documents that were made last for each segment, as long as the segment is open."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._segments: WeakKeyDictionary[Segment, OrderedDict[Filter | TermSet, DocumentSet]] = WeakKeyDictionary()

    def get(self, segment: Segment, wanted: Filter | TermSet) -> DocumentSet | None:
        """Return the set of a filter if it is there."""
        with self._lock:
            sets = self._segments.get(segment)
            found = sets.get(wanted) if sets else None
            if sets and found is not None:
                sets.move_to_end(wanted)
            return found

    def put(self, segment: Segment, wanted: Filter | TermSet, documents: DocumentSet) -> None:
        """Keep the set of a filter, and forget those that were not used for longest."""
        with self._lock:
            sets = self._segments.setdefault(segment, OrderedDict())
            sets[wanted] = documents
            while sets and len(sets) * documents.nbytes > self._most:
                sets.popitem(last=False)


_CACHE: Final = FilterCache()


def given_sets(
    segment: Segment, filters: Sequence[Filter | TermSet], budget: QueryBudget | None = None
) -> DocumentSet | None:
    """Return the set of documents of each filter, by filter and block; None if the budget is used up before the last.

    Without a budget all of them are made.
    """
    sets = np.zeros((len(filters), len(segment.live)), np.uint64)
    for number, wanted in enumerate(filters):
        documents = _CACHE.get(segment, wanted)
        if documents is None:
            if budget is not None and budget.late():
                return None
            documents, work, cacheable = _find(segment, wanted, budget)
            if budget is not None:
                budget.charge(work)
            if cacheable:
                _CACHE.put(segment, wanted, documents)
        sets[number] = documents
    return sets


def filter_matches_any(index: Index, part: Filter | TermSet) -> bool:
    """Return whether any page of an index passes a filter."""
    for segment in index.segments:
        sets = given_sets(segment, [part])
        if sets is not None and (sets[0] & segment.live).any():
            return True
    return False


def filters_match(segment: Segment, filters: Sequence[Filter | TermSet], document: int) -> bool:
    """Return whether a document passes any of some filters."""
    sets = given_sets(segment, filters) if filters else None
    return sets is not None and bool((sets[:, document >> 6] >> np.uint64(document & 63) & np.uint64(1)).any())


def _find(segment: Segment, wanted: Filter | TermSet, budget: QueryBudget | None) -> tuple[DocumentSet, int, bool]:
    """Return the set of a filter, the work units that it took, and whether it may be cached."""
    if isinstance(wanted, Site):
        path = wanted.path if wanted.path.strip("/") else ""
        return *segment.documents_of_site(*(part.encode("utf-8", "replace") for part in (wanted.host, path))), True
    if isinstance(wanted, TermSet):
        most = budget.work_left if budget is not None else 1 << 62
        documents, work = segment.documents_with_terms(wanted.terms, most)
        return documents, work, work < most
    if isinstance(wanted, FieldFilter):
        return _find_by_field(segment, wanted), segment.documents, True
    chosen = np.zeros(len(segment.live) * inversion.BLOCK, np.uint8)
    chosen[: segment.documents] = _choose(segment, wanted)
    packed: DocumentSet = np.packbits(chosen, bitorder="little").view(np.uint64)
    return packed, segment.documents, isinstance(wanted, Language | ContentType)


def _find_by_field(segment: Segment, wanted: FieldFilter) -> DocumentSet:
    """Return the documents with a value of an own field."""
    own, field = segment.own_fields, FieldSettings(wanted.kind)
    if wanted.kind != "keyword":
        return own.in_range(wanted.name, field, wanted.low, wanted.high)
    return own.with_words(wanted.name, field, wanted.words) if wanted.words else own.with_any(wanted.name, field)


def _choose(segment: Segment, wanted: Filter) -> Chosen:
    if isinstance(wanted, Language):
        return np.asarray(segment.column("language") == language_number(wanted.code))
    if isinstance(wanted, ContentType):
        return _of_kind(segment, wanted.name)
    if isinstance(wanted, Vertical):
        chosen: Chosen = np.zeros(segment.documents, np.bool_)
        chosen[documents_with(segment, wanted.what)] = True
        return chosen
    if isinstance(wanted, DateRange):
        days = segment.column("day")
        return np.asarray((days >= wanted.after) & (days <= wanted.before))
    assert isinstance(wanted, Link), f"{wanted} is planned as the terms that it stands for"
    return _with_keys(segment, wanted.pages)


def _with_keys(segment: Segment, keys: npt.NDArray[np.uint64]) -> Chosen:
    """Choose the documents whose keys are among some that are sorted."""
    if not len(keys):
        return np.zeros(segment.documents, np.bool_)
    own = segment.column("key")
    return np.asarray(keys[np.minimum(np.searchsorted(keys, own), len(keys) - 1)] == own)


def _of_kind(segment: Segment, name: str) -> Chosen:
    """Choose by content type: its whole name, its last part, or what a file ending stands for."""
    wanted = CONTENT_TYPES.get(name, name)
    kinds = [n for n, kind in enumerate(segment.strings("kinds")) if wanted in (kind, kind.rpartition("/")[2])]
    return np.asarray(np.isin(segment.column("kind"), kinds))
