"""Merges the postings of several segments, some terms at a time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder import field_scaling, segment_writer
from periplus.index.builder.term_runs import split_runs, write_runs
from periplus.index.collection.build_statistics import folder_statistics
from periplus.index.document_fields import Field
from periplus.index.kernels import inversion, postings_merge, string_table
from periplus.index.segment import Segment
from periplus.settings import IndexSettings

__all__ = ["write_postings"]

_BYTES_PER_TOKEN: Final = 64
"""Memory for each token of the terms that are merged at a time: 16 for sorting, the rest for everything else."""

Numbers = npt.NDArray[np.int64]


class _MergePlan(NamedTuple):
    """The merged terms, and the new numbers of terms and documents of each segment."""

    segments: Sequence[Segment]
    sources: list[postings_merge.MergeSource]
    blob: npt.NDArray[np.uint8]
    start: Numbers
    totals: Numbers
    """Tokens of each term."""
    lengths: npt.NDArray[np.int32]
    """Tokens by document and field."""


def write_postings(
    folder: Path,
    segments: Sequence[Segment],
    maps: Sequence[Numbers],
    documents: int,
    settings: IndexSettings,
    checkpoint: Callable[[], None],
) -> npt.NDArray[np.int32]:
    """Write terms and postings of the documents that `maps` renumbers; return tokens by document and field.

    checkpoint: called before each range of terms.
    """
    plan = _plan_merge(segments, maps, documents)
    max_tokens = settings.memory_mb * 1_000_000 // _BYTES_PER_TOKEN
    scale = field_scaling.scale_fields(plan.lengths, settings, folder_statistics(folder.parent))

    def collect() -> Iterator[inversion.SortedTokens]:
        for first, last in split_runs(plan.totals, max_tokens):
            checkpoint()
            yield _collect_tokens(plan, first, last)

    postings = write_runs(folder, collect(), scale, settings)
    segment_writer.write_lexicon(folder, plan.start, plan.blob, postings)
    return plan.lengths


def _plan_merge(segments: Sequence[Segment], maps: Sequence[Numbers], documents: int) -> _MergePlan:
    """Merge the dictionaries, and measure terms and fields; terms that only deleted documents have are dropped."""
    dictionaries = [segment.valid_terms() for segment in segments]
    tables = np.cumsum([0, *(len(terms.frequency) for terms in dictionaries)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(terms.blob) for terms in dictionaries)], dtype=np.int64).tolist()
    blob = np.concatenate([np.zeros(0, np.uint8), *(terms.blob for terms in dictionaries)])
    starts = [terms.start + offset for terms, offset in zip(dictionaries, offsets, strict=False)]
    begin = np.concatenate([np.zeros(0, np.int64), *(start[:-1] for start in starts)])
    end = np.concatenate([np.zeros(0, np.int64), *(start[1:] for start in starts)])
    numbers, owners = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    count = string_table.merge_sorted(blob, begin, end, tables, numbers, owners)
    lengths, totals = np.zeros((documents, len(Field)), np.int32), np.zeros(count, np.int64)
    spans = list(zip(tables[:-1].tolist(), tables[1:].tolist(), strict=True))
    for segment, terms, new, (a, b) in zip(segments, dictionaries, maps, spans, strict=True):
        source = postings_merge.MergeSource(terms, 0, b - a, numbers[a:b], new)
        if postings_merge.measure_tokens(segment.postings, source, lengths, totals) >= 0:
            raise segment.damaged("postings", "positions")
    used = totals > 0
    numbers = (np.cumsum(used) - 1)[numbers]
    sources = [
        postings_merge.MergeSource(t, 0, b - a, numbers[a:b], new)
        for t, new, (a, b) in zip(dictionaries, maps, spans, strict=True)
    ]
    return _MergePlan(
        segments, sources, *string_table.reorder_strings(blob, begin, end, owners[:count][used]), totals[used], lengths
    )


def _collect_tokens(plan: _MergePlan, first: int, last: int) -> inversion.SortedTokens:
    """Return the tokens of some terms, in order."""
    starts = np.zeros(last - first + 1, np.int64)
    np.cumsum(plan.totals[first:last], out=starts[1:])
    gathered, cursors = np.empty(int(starts[-1]), np.uint64), starts[:-1].copy()
    for segment, source in zip(plan.segments, plan.sources, strict=True):
        begin, end = np.searchsorted(source.numbers, (first, last)).tolist()
        postings_merge.gather_tokens(segment.postings, source._replace(first=begin, last=end), first, cursors, gathered)
    tokens: inversion.SortedTokens = postings_merge.sort_by_document(starts, gathered)
    return tokens
