"""Several segments to one: dead documents are left behind, and the rest is what a build of it would have made.

Postings are turned back into tokens, put in the order of the merged documents, and inverted again, some terms at a
time. So impacts follow the mean lengths of the merged segment, and documents its order for pruning; nothing wears out
by merging, and memory is bounded whatever the size.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.files import disk_errors, sync_folder
from periplus.index.builder import segment_writer
from periplus.index.builder.spool import Spool
from periplus.index.kernels import term_dictionary
from periplus.index.media_file import merge_extras
from periplus.index.merge.document_merger import join_documents, read_bodies, read_marks
from periplus.index.merge.postings_merger import write_postings
from periplus.index.segment import Segment
from periplus.index.vocabulary.words_file import merge_words
from periplus.settings import IndexSettings

__all__ = ["BYTES_PER_DOCUMENT", "Size", "choose_merge", "merge_segments", "most_documents", "read_terms"]

_FAN: Final = 8
"""Merge when there are this many segments of about one size; the result is of the next size."""
_SMALLEST: Final = 32
"""Segments of fewer documents than this count as this large."""
_MOST_DEAD: Final = 0.3
"""A segment with a larger share of dead documents is written anew."""
BYTES_PER_DOCUMENT: Final = 512
"""Memory that a build or merge takes for each document, postings and text aside: words, URL, title, columns, places."""

Numbers = npt.NDArray[np.int64]


class Size(NamedTuple):
    """What the choice of a merge depends on."""

    documents: int
    live: int


def most_documents(settings: IndexSettings) -> int:
    """Say how many documents a segment may be merged to, so that merging stays within the memory of a build."""
    return settings.memory_mb * 1_000_000 // BYTES_PER_DOCUMENT


def choose_merge(sizes: Mapping[str, Size], settings: IndexSettings) -> list[str]:
    """Choose the segments to merge next, within the memory a build may take; none if it is not worth it."""
    most = most_documents(settings)
    tiers: dict[int, list[str]] = {}
    for name, size in sizes.items():
        tier = int(np.log(max(size.live, _SMALLEST) / _SMALLEST) / np.log(_FAN))
        tiers.setdefault(tier, []).append(name)
    for _, names in sorted(tiers.items()):
        names.sort(key=lambda name: sizes[name].live)
        total = list(itertools.accumulate(sizes[name].live for name in names))
        fitting = [name for name, live in zip(names, total, strict=True) if live <= most]
        if len(fitting) >= _FAN:
            return fitting
    for name, size in sizes.items():
        if size.documents - size.live > _MOST_DEAD * size.documents and size.live <= most:
            return [name]
    return []


def merge_segments(folder: Path, segments: Sequence[Segment], settings: IndexSettings) -> list[Numbers]:
    """Write the live documents of `segments` as one; give for each segment where its documents went (-1: nowhere)."""
    joined = join_documents(segments)
    with disk_errors(folder):
        folder.mkdir(parents=True)
    lengths = write_postings(folder, segments, joined.maps, len(joined.order), settings)
    joined.columns["length"] = lengths.sum(axis=0, dtype=np.int64)
    segment_writer.write_columns(folder, joined.columns, joined.strings)
    with Spool(folder / "text.part") as spool:
        segment_writer.write_text(folder, read_bodies(segments, joined), read_marks(segments, joined), spool)
    merge_words(folder, segments, joined.maps)
    merge_extras(folder, segments, joined.maps)
    with disk_errors(folder):
        sync_folder(folder.parent)
    return joined.maps


def read_terms(terms: term_dictionary.TermTable) -> list[bytes]:
    """Give all terms of an unpacked lexicon, in order."""
    raw, bounds = terms.blob.tobytes(), terms.start.tolist()
    return [raw[a:b] for a, b in itertools.pairwise(bounds)]
