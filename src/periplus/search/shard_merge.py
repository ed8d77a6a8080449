"""The candidates of several shards as those of one index."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.rank import FEATURES
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
    offsets = np.cumsum([0, *(part.segment_count for part in parts)]).tolist()
    segments = np.concatenate([part.segments + np.int32(start) for part, start in zip(parts, offsets, strict=False)])
    documents = np.concatenate([part.documents for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    order = np.lexsort((documents, segments, -scores, ~np.concatenate([_is_named(part) for part in parts])))
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
        segments[order],
        documents[order],
        scores[order],
        np.concatenate([part.keys for part in parts])[order],
        _merge_features(parts, order),
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
    )


def _is_named(part: RetrievedCandidates) -> npt.NDArray[np.bool_]:
    """Return which candidates the query names: they come before all others."""
    named = np.zeros(len(part.scores), np.bool_)
    named[: len(part.features)] = part.features[:, _NAME] > 0
    return named


def _merge_features(parts: Sequence[RetrievedCandidates], order: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the features of the first rows of `order`, up to the first without any."""
    measured = np.concatenate([np.arange(len(part.scores)) < len(part.features) for part in parts])
    rows = np.cumsum(measured) - 1
    count = len(order) if measured.all() else int(measured[order].argmin())
    features: npt.NDArray[np.float64] = np.concatenate([part.features for part in parts])[rows[order[:count]]]
    return features


def _merge_column(columns: Sequence[npt.NDArray[Any]], order: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return a column of all candidates; empty where a shard does not have it."""
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
