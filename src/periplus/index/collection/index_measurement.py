"""Measures an index: the statistics that a collection of several indexes is built with, one of which it is."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.collection.build_statistics import BuildStatistics
from periplus.index.document_fields import Field
from periplus.index.index_reader import Index
from periplus.index.kernels import postings_merge
from periplus.index.segment import Segment

__all__ = ["IndexMeasurer"]

Floats = npt.NDArray[np.float64]


class _SegmentLengths(NamedTuple):
    """Of all documents of a segment, also of those that are deleted, by field."""

    tokens: Floats
    filled: Floats


class IndexMeasurer:
    """Measures the generations of one index, each segment once: segments never change. One thread uses it.

    Where documents of a segment are deleted, the rest is taken to be as long as they were.
    """

    def __init__(self) -> None:
        self._segments: dict[str, _SegmentLengths] = {}

    def measure(self, index: Index) -> BuildStatistics:
        """Return the statistics of a generation, of epoch 0: they are not summed with those of others yet."""
        self._segments = {
            segment.name: self._segments.get(segment.name) or _measure(segment) for segment in index.segments
        }
        tokens, filled = np.zeros(len(Field)), np.zeros(len(Field))
        for segment in index.segments:
            lengths = self._segments[segment.name]
            share = int(segment.is_live.sum()) / max(1, segment.documents)
            tokens += lengths.tokens * share
            filled += lengths.filled * share
        languages = {code: float(count) for code, count in sorted(index.languages.items()) if count}
        return BuildStatistics(1, 0, index.documents, tuple(tokens.tolist()), tuple(filled.tolist()), languages)


def _measure(segment: Segment) -> _SegmentLengths:
    tokens, stored = np.zeros(len(Field)), segment.column("length")
    tokens[: len(stored)] = stored  # Old segments have no boilerplate.
    masks = postings_merge.mark_fields(segment.postings, segment.valid_terms(), segment.documents)
    filled = [np.count_nonzero(masks >> field & 1) for field in range(len(Field))]
    return _SegmentLengths(tokens, np.array(filled, np.float64))
