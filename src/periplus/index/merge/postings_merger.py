"""Postings of several segments to those of one, some terms at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder import segment_writer
from periplus.index.builder.term_runs import cut_runs, write_runs
from periplus.index.document_fields import Field
from periplus.index.kernels import inversion, postings_merge, string_table
from periplus.index.segment import Segment
from periplus.settings import IndexSettings

__all__ = ["write_postings"]

_BYTES_PER_TOKEN: Final = 64
"""Memory that is allowed for each token of the terms in hand: 16 for sorting, the rest for what is held besides."""

Numbers = npt.NDArray[np.int64]


class _Plan(NamedTuple):
    """What is to be merged: the terms of all segments joined, and where they and the documents go."""

    segments: Sequence[Segment]
    parts: list[postings_merge.MergeSource]
    blob: npt.NDArray[np.uint8]
    start: Numbers
    totals: Numbers
    """Tokens of each term."""
    lengths: npt.NDArray[np.int32]
    """Tokens by document and field."""


def write_postings(
    folder: Path, segments: Sequence[Segment], maps: Sequence[Numbers], documents: int, settings: IndexSettings
) -> npt.NDArray[np.int32]:
    """Write lexicon and postings of all documents that `maps` numbers anew; give tokens by document and field."""
    plan = _survey(segments, maps, documents)
    most = settings.memory_mb * 1_000_000 // _BYTES_PER_TOKEN
    scale = segment_writer.scale_fields(plan.lengths, settings)
    runs = (_tokens(plan, first, last, documents) for first, last in cut_runs(plan.totals, most))
    whole = write_runs(folder, runs, scale, settings)
    segment_writer.write_lexicon(folder, plan.start, plan.blob, whole)
    return plan.lengths


def _survey(segments: Sequence[Segment], maps: Sequence[Numbers], documents: int) -> _Plan:
    """Join the lexicons, and count the tokens of each term and the lengths of fields; terms of the dead go."""
    held = [segment.terms() for segment in segments]
    tables = np.cumsum([0, *(len(terms.frequency) for terms in held)], dtype=np.int64)
    offsets = np.cumsum([0, *(len(terms.blob) for terms in held)], dtype=np.int64).tolist()
    blob = np.concatenate([np.zeros(0, np.uint8), *(terms.blob for terms in held)])
    moved = [terms.start + offset for terms, offset in zip(held, offsets, strict=False)]
    begin = np.concatenate([np.zeros(0, np.int64), *(start[:-1] for start in moved)])
    end = np.concatenate([np.zeros(0, np.int64), *(start[1:] for start in moved)])
    numbers, owners = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.int64)
    count = string_table.merge_sorted(blob, begin, end, tables, numbers, owners)
    lengths, totals = np.zeros((documents, len(Field)), np.int32), np.zeros(count, np.int64)
    edges = list(zip(tables[:-1].tolist(), tables[1:].tolist(), strict=True))
    for segment, terms, new, (a, b) in zip(segments, held, maps, edges, strict=True):
        postings_merge.measure_tokens(
            segment.postings, postings_merge.MergeSource(terms, 0, b - a, numbers[a:b], new), lengths, totals
        )
    used = totals > 0
    numbers = (np.cumsum(used) - 1)[numbers]
    parts = [
        postings_merge.MergeSource(t, 0, b - a, numbers[a:b], new)
        for t, new, (a, b) in zip(held, maps, edges, strict=True)
    ]
    return _Plan(
        segments, parts, *string_table.reorder_strings(blob, begin, end, owners[:count][used]), totals[used], lengths
    )


def _tokens(plan: _Plan, first: int, last: int, documents: int) -> inversion.SortedTokens:
    """Give the tokens of some terms, in order."""
    parts = []
    for part in plan.parts:
        begin, end = np.searchsorted(part.numbers, (first, last)).tolist()
        parts.append(part._replace(first=begin, last=end))
    counts = np.zeros(documents, np.int64)
    for segment, part in zip(plan.segments, parts, strict=True):
        postings_merge.count_tokens(segment.postings, part, counts)
    starts = np.zeros(documents + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    terms, positions = np.empty(int(starts[-1]), np.int32), np.empty(int(starts[-1]), np.uint32)
    place = starts[:-1].copy()
    for segment, part in zip(plan.segments, parts, strict=True):
        postings_merge.collect_tokens(segment.postings, part, first, place, terms, positions)
    tokens: inversion.SortedTokens = postings_merge.sort_by_term(starts, terms, positions, last - first)
    return tokens
