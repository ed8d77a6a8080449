"""Merges several segments into one: deleted documents are dropped, and the result equals what a build would write.

Postings are turned back into tokens, put in the order of the merged documents, and inverted again, some terms at a
time. So impacts follow the mean lengths of the merged segment, and documents its order for pruning; nothing degrades by
merging, and memory is bounded whatever the size.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, sync_folder
from periplus.index.builder import segment_writer
from periplus.index.builder.spool import Spool
from periplus.index.kernels import term_dictionary
from periplus.index.media_file import merge_extras
from periplus.index.merge.document_merger import merge_documents, read_bodies, read_simhashes
from periplus.index.merge.postings_merger import write_postings
from periplus.index.own_fields.field_schema import read_schema
from periplus.index.own_fields.own_fields import merge_own_fields
from periplus.index.segment import Segment
from periplus.index.static_vectors import merge_static_vectors
from periplus.index.vocabulary.name_table import write_names
from periplus.index.vocabulary.words_file import merge_words
from periplus.index.word_pairs.pair_lists import write_word_pairs
from periplus.settings import IndexSettings

__all__ = [
    "BYTES_PER_DOCUMENT",
    "SegmentSize",
    "choose_idle_merge",
    "choose_merge",
    "max_merged_documents",
    "merge_segments",
    "read_terms",
]

_MERGE_FACTOR: Final = 8
"""Merge when this many segments are in one tier of sizes; the result is in the next tier."""
_MIN_SIZE: Final = 32
"""Segments of fewer documents count as this large."""
_MAX_DELETED_SHARE: Final = 0.3
"""A segment with a larger share of deleted documents is rewritten."""
_IDLE_SEGMENTS: Final = 3
"""Merge in an idle index when this many segments can become one."""
_IDLE_RATIO: Final = 4
"""The largest segment of such a merge has at most this many times the documents of the others: so an index is written
again as a whole only when it has grown by a quarter."""
BYTES_PER_DOCUMENT: Final = 512
"""Memory that a build or merge takes for each document besides postings and text: words, URL, title, columns.

Names take about 900 bytes for a while, with titles of six words, and static vectors 500, after the memory for sorting
postings was freed. They do not count here: segments of half the size would make every query slower."""

Numbers = npt.NDArray[np.int64]


class SegmentSize(NamedTuple):
    """The documents of a segment, and how many of them are live."""

    documents: int
    live: int


def max_merged_documents(settings: IndexSettings) -> int:
    """Return how many documents a segment may have, so that merging stays within the memory of a build."""
    return settings.memory_mb * 1_000_000 // BYTES_PER_DOCUMENT


def choose_merge(sizes: Mapping[str, SegmentSize], settings: IndexSettings) -> list[str]:
    """Return the segments to merge next, within the memory of a build; none if it is not worthwhile."""
    max_documents = max_merged_documents(settings)
    tiers: dict[int, list[str]] = {}
    for name, size in sizes.items():
        tier = int(np.log(max(size.live, _MIN_SIZE) / _MIN_SIZE) / np.log(_MERGE_FACTOR))
        tiers.setdefault(tier, []).append(name)
    for _, names in sorted(tiers.items()):
        names.sort(key=lambda name: sizes[name].live)
        total = list(itertools.accumulate(sizes[name].live for name in names))
        candidates = [name for name, live in zip(names, total, strict=True) if live <= max_documents]
        if len(candidates) >= _MERGE_FACTOR:
            return candidates
    for name, size in sizes.items():
        if size.documents - size.live > _MAX_DELETED_SHARE * size.documents and size.live <= max_documents:
            return [name]
    return []


def choose_idle_merge(sizes: Mapping[str, SegmentSize], settings: IndexSettings) -> list[str]:
    """Return the segments to merge in an index to which nothing is added at present, or none.

    Every segment costs time in every query, so these are as many as is worthwhile, the smallest first.
    """
    names = sorted(sizes, key=lambda name: sizes[name].live)
    totals = list(itertools.accumulate(sizes[name].live for name in names))
    most = max_merged_documents(settings)
    for count in range(len(names), _IDLE_SEGMENTS - 1, -1):
        others, total = totals[count - 2], totals[count - 1]
        if total <= most and total - others <= _IDLE_RATIO * others:
            return names[:count]
    return []


def merge_segments(
    folder: Path, segments: Sequence[Segment], settings: IndexSettings, checkpoint: Callable[[], None] = lambda: None
) -> list[Numbers]:
    """Write the live documents of `segments` as one; return for each the new numbers of its documents (-1: deleted).

    checkpoint: called between two steps; what it raises ends the merge.
    """
    merged = merge_documents(segments, settings.order)
    with disk_errors(folder):
        folder.mkdir(parents=True)
    lengths = write_postings(folder, segments, merged.maps, len(merged.order), settings, checkpoint)
    merged.columns["length"] = lengths.sum(axis=0, dtype=np.int64)
    segment_writer.write_columns(folder, merged.columns, merged.strings, settings.order)
    checkpoint()
    with Spool(folder / "text.part") as spool:
        segment_writer.write_text(folder, read_bodies(segments, merged), read_simhashes(segments, merged), spool)
    checkpoint()
    merge_words(folder, segments, merged.maps)
    checkpoint()
    write_names(folder)
    checkpoint()
    merge_extras(folder, segments, merged.maps)
    merge_static_vectors(folder, segments, merged.segments[merged.order], merged.numbers[merged.order])
    first = np.cumsum([0, *(segment.documents for segment in segments)], dtype=np.int64)
    own_order = (first[merged.segments] + merged.numbers)[merged.order]
    own_fields = [segment.own_fields for segment in segments]
    merge_own_fields(folder, own_fields, merged.maps, own_order, read_schema(folder.parent))
    write_word_pairs(folder, len(merged.order))
    with disk_errors(folder):
        sync_folder(folder.parent)
    return merged.maps


def read_terms(terms: term_dictionary.TermTable) -> list[bytes]:
    """Return all terms of an unpacked dictionary, in order."""
    raw, bounds = terms.blob.tobytes(), terms.start.tolist()
    return [raw[a:b] for a, b in itertools.pairwise(bounds)]
