"""The candidates of several shards as those of one index."""

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank import FEATURES
from periplus.search.kernels import candidate_merge
from periplus.search.navigational import home_page_order
from periplus.search.retrieve import NearestDocuments, RetrievedCandidates

__all__ = ["merge_shards"]

_NAME: Final = FEATURES.index("name")


def merge_shards(parts: Sequence[RetrievedCandidates]) -> RetrievedCandidates:
    """Return what shards retrieved for one plan as one record, best first; the segments are numbered on.

    The order is that of one index with all segments: pages that the query names, then score, then segment, then
    document. Features are kept for the first rows that all have them, at least as many as every shard measured.
    """
    if len(parts) == 1:
        return parts[0]
    offsets = list(itertools.accumulate((part.segment_count for part in parts), initial=0))
    sizes = [(len(part.scores), len(part.features), start) for part, start in zip(parts, offsets[:-1], strict=True)]
    for part, (count, measured, _) in zip(parts, sizes, strict=True):
        if not len(part.segments) == len(part.documents) == len(part.keys) == count >= measured:
            raise BadInput("The columns of candidates are not as long as each other.")
    order, segments, documents, scores, keys, features = candidate_merge.merge_candidates(
        np.concatenate([part.segments for part in parts]),
        np.concatenate([part.documents for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.array(sizes, np.int64),
        _NAME,
    )
    homes = [
        part.home_page._replace(segment=part.home_page.segment + start)
        for part, start in zip(parts, offsets, strict=False)
        if part.home_page is not None
    ]
    similarities = None
    if any(part.similarities is not None for part in parts):
        none = [np.full(len(part.scores), np.nan, np.float32) for part in parts]
        own = [part.similarities for part in parts]
        similarities = np.concatenate([b if a is None else a for a, b in zip(own, none, strict=True)])[order]
    return RetrievedCandidates(
        segments,
        documents,
        scores,
        keys,
        features,
        max(part.best_score for part in parts),
        sum(part.total for part in parts),
        all(part.exact for part in parts),
        any(part.partial for part in parts),
        offsets[-1],
        _merge_column([part.days for part in parts], order),
        _merge_column([part.static for part in parts], order),
        max(homes, key=home_page_order, default=None),
        similarities,
        _merge_nearest(parts, offsets),
        _merge_column([part.factors for part in parts], order),
        sum(part.unsearched for part in parts),
    )


def _merge_column(columns: Sequence[npt.NDArray[Any]], order: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return a column of all candidates; empty where a shard does not have it."""
    if not any(map(len, columns)):
        return columns[0][:0]
    joined: npt.NDArray[Any] = np.concatenate(columns)
    return joined[order] if len(joined) == len(order) else joined[:0]


def _merge_nearest(parts: Sequence[RetrievedCandidates], offsets: Sequence[int]) -> NearestDocuments | None:
    """Return the nearest documents of all shards, the most similar first."""
    near = [
        part.nearest._replace(segments=part.nearest.segments + np.int32(start))
        for part, start in zip(parts, offsets, strict=False)
        if part.nearest is not None
    ]
    if not near:
        return None
    joined = NearestDocuments(*(np.concatenate(columns) for columns in zip(*near, strict=True)))
    order = np.lexsort((joined.documents, joined.segments, -joined.similarities))
    return NearestDocuments(*(_merge_column([column], order) for column in joined))
