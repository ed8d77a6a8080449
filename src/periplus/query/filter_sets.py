"""Filters to sets of documents: one 64-bit word for each block, made before matching begins."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, documents_with
from periplus.index.kernels import inversion
from periplus.query.content_types import CONTENT_TYPES
from periplus.query.query_tree import ContentType, DateRange, Filter, Language, Link, Prefix, Site, Vertical
from periplus.text import language_number

__all__ = ["MOST_TERMS", "filter_matches_any", "given_sets"]

MOST_TERMS: Final = 20_000
"""A prefix or a range with more words than this is taken for the most frequent of them."""

Chosen = npt.NDArray[np.bool_]


def given_sets(segment: Segment, filters: Sequence[Filter]) -> npt.NDArray[np.uint64]:
    """Make the set of documents of each filter, by filter and block."""
    sets = np.zeros((len(filters), len(segment.live)), np.uint64)
    for number, asked in enumerate(filters):
        chosen = np.zeros(len(segment.live) * inversion.BLOCK, np.uint8)
        chosen[: segment.documents] = _choose(segment, asked)
        sets[number] = np.packbits(chosen, bitorder="little").view(np.uint64)
    return sets


def filter_matches_any(index: Index, part: Filter) -> bool:
    """Return whether any page of an index passes a filter."""
    return any(bool((_choose(segment, part) & segment.is_live).any()) for segment in index.segments)


def _choose(segment: Segment, asked: Filter) -> Chosen:
    if isinstance(asked, Site):
        return _of_site(segment, asked)
    if isinstance(asked, Language):
        return np.asarray(segment.column("language") == language_number(asked.code))
    if isinstance(asked, ContentType):
        return _of_kind(segment, asked.name)
    if isinstance(asked, Vertical):
        chosen: Chosen = np.zeros(segment.documents, np.bool_)
        chosen[documents_with(segment, asked.what)] = True
        return chosen
    if isinstance(asked, DateRange):
        days = segment.column("day")
        return np.asarray((days >= asked.after) & (days <= asked.before))
    if isinstance(asked, Link):
        return _with_keys(segment, asked.pages)
    if isinstance(asked, Prefix):
        return _with_terms(segment, segment.terms_with_prefix(asked.beginning.encode()))
    return _with_terms(segment, segment.terms_in_number_range(asked.low, asked.high))


def _with_keys(segment: Segment, keys: npt.NDArray[np.uint64]) -> Chosen:
    """Choose the documents whose keys are among some that are sorted."""
    if not len(keys):
        return np.zeros(segment.documents, np.bool_)
    own = segment.column("key")
    return np.asarray(keys[np.minimum(np.searchsorted(keys, own), len(keys) - 1)] == own)


def _of_site(segment: Segment, site: Site) -> Chosen:
    hosts = segment.strings("hosts")
    wanted = [n for n, host in enumerate(hosts) if host == site.host or host.endswith("." + site.host)]
    chosen: Chosen = np.isin(segment.column("host"), wanted)
    if site.path.strip("/"):
        for document in np.flatnonzero(chosen):
            path = segment.string("url", int(document)).partition("://")[2].partition("/")[2]
            chosen[document] = ("/" + path).startswith(site.path)
    return chosen


def _of_kind(segment: Segment, name: str) -> Chosen:
    """Choose by content type: its whole name, its last part, or what a file ending stands for."""
    wanted = CONTENT_TYPES.get(name, name)
    kinds = [n for n, kind in enumerate(segment.strings("kinds")) if wanted in (kind, kind.rpartition("/")[2])]
    return np.asarray(np.isin(segment.column("kind"), kinds))


def _with_terms(segment: Segment, numbers: npt.NDArray[np.int64]) -> Chosen:
    """Choose the documents that have any of some terms, given by their numbers."""
    chosen = np.zeros(segment.documents, np.bool_)
    if len(numbers) > MOST_TERMS:
        frequency = segment.dictionary.frequency[numbers]
        numbers = numbers[np.argsort(-frequency, kind="stable")[:MOST_TERMS]]
    for number in numbers.tolist():
        chosen[segment.documents_with_term(number)] = True
    return chosen
