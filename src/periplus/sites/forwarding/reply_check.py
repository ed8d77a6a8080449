"""Checks of what another site replies: shapes that later stages rely on, and values that a site can have."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.query import QueryPlan
from periplus.rank import FEATURES
from periplus.search import (
    PresentReply,
    PresentRequest,
    RetrievedCandidates,
    RetrieveReply,
    RetrieveRequest,
    ShardDescription,
    SignatureReply,
    StatisticsAnswer,
    StatisticsQuestion,
)
from periplus.sites.forwarding.plan_bounds import most_score

__all__ = ["IMPOSSIBLE", "MALFORMED", "check_retrieved", "is_well_formed"]

MALFORMED: Final = "malformed"
"""A reply that is not what was asked for: of another version, damaged, or garbage."""
IMPOSSIBLE: Final = "impossible"
"""A reply with scores or features that no document can have: it would put pages first that do not belong there."""
_MAX_NAMED: Final = 64
_TOLERANCE: Final = 1e-3
_LIMITS: Final = {
    **dict.fromkeys(("phrase", "title_words", "url_length", "url_depth", "url_parameters", "query_words"), 1e9),
    "fixed": 2.0,
    "spam": 6.0,
}
"""The highest values of features that are not shares."""
_HIGHEST: Final = np.array([_LIMITS.get(name, 1.0) for name in FEATURES])
_FIRST: Final = FEATURES.index("first")
_NAME: Final = FEATURES.index("name")
_SIMILARITY: Final = FEATURES.index("static_similarity")


def check_retrieved(
    number: int,
    reply: RetrieveReply,
    request: RetrieveRequest,
    plan: QueryPlan,
    depth: int,
    description: ShardDescription,
) -> str:
    """Return what is wrong with the candidates that a site replied: '', `MALFORMED` or `IMPOSSIBLE`.

    number: of the site; depth: how many are reranked; description: what the site had when its dictionary was fetched.
    """
    retrieved = reply.retrieved
    if not _has_shape(reply, max(request.limit, depth) + _MAX_NAMED) or not _exists(reply, description):
        return MALFORMED
    scores, features = retrieved.scores, retrieved.features
    if not np.isfinite(scores).all() or (len(scores) and float(scores.min()) < 0):
        return IMPOSSIBLE
    if len(scores) and float(scores.max()) > most_score(plan) * (1 + _TOLERANCE):
        return IMPOSSIBLE
    if not _are_possible(features, scores, plan.best_score if plan.words else 1.0):
        return IMPOSSIBLE
    if not _are_named(number, reply, request, description):
        return IMPOSSIBLE
    near = retrieved.similarities
    if near is not None and (np.abs(near[~np.isnan(near)]) > 1 + _TOLERANCE).any():
        return IMPOSSIBLE
    if retrieved.nearest is not None and not (np.abs(retrieved.nearest.similarities) <= 1 + _TOLERANCE).all():
        return IMPOSSIBLE
    return ""


def _has_shape(reply: RetrieveReply, most: int) -> bool:
    retrieved, columns = reply.retrieved, reply.columns
    count, near = len(retrieved.scores), retrieved.nearest
    rows = count + (len(near.documents) if near is not None else 0) + (retrieved.home_page is not None)
    single = (
        retrieved.segments,
        retrieved.documents,
        retrieved.scores,
        retrieved.keys,
        retrieved.days,
        retrieved.static,
    )
    return (
        count <= most
        and all(array.ndim == 1 for array in single)
        and all(len(array) == count for array in single[:4])
        and all(len(array) in (0, count) for array in single[4:])
        and retrieved.features.ndim == 2
        and retrieved.features.shape[1] == len(FEATURES)
        and len(retrieved.features) <= count
        and columns.ndim == 2
        and len(columns) == rows
        and (retrieved.similarities is None or retrieved.similarities.shape == (count,))
        and (near is None or _has_near_shape(retrieved, most))
        and retrieved.total >= 0
        and np.isfinite(retrieved.best_score)
        and reply.work >= 0
    )


def _has_near_shape(retrieved: RetrievedCandidates, most: int) -> bool:
    near = retrieved.nearest
    assert near is not None
    count = len(near.documents)
    whole = (near.segments, near.documents, near.keys, near.similarities)
    optional = (near.days, near.static)
    return (
        count <= most
        and all(array.shape == (count,) for array in whole)
        and all(array.shape in ((0,), (count,)) for array in optional)
    )


def _exists(reply: RetrieveReply, description: ShardDescription) -> bool:
    """Return whether all documents of a reply are such as the site has said to have."""
    retrieved = reply.retrieved
    if not 0 <= retrieved.segment_count <= 1 << 20:
        return False
    sizes = None
    if reply.generation == description.generation:
        sizes = np.array([segment.documents for segment in description.segments], np.int64)
        if len(sizes) != retrieved.segment_count:
            return False
    pairs = [(retrieved.segments, retrieved.documents)]
    if retrieved.nearest is not None:
        pairs.append((retrieved.nearest.segments, retrieved.nearest.documents))
    if retrieved.home_page is not None:
        home = retrieved.home_page
        if not (0 <= home.segment < 1 << 31 and 0 <= home.document < 1 << 31 and 0 <= home.key < 1 << 64):
            return False
        pairs.append((np.array([home.segment], np.int32), np.array([home.document], np.int32)))
    return all(_are_documents(*pair, retrieved.segment_count, sizes) for pair in pairs)


def _are_documents(
    segments: npt.NDArray[np.int32],
    documents: npt.NDArray[np.int32],
    count: int,
    sizes: npt.NDArray[np.int64] | None,
) -> bool:
    inside = bool(((segments >= 0) & (segments < count) & (documents >= 0)).all())
    return inside and (sizes is None or bool((documents < sizes[segments]).all()))


def _are_possible(features: npt.NDArray[np.float64], scores: npt.NDArray[np.float32], best: float) -> bool:
    """Return whether features are within what documents can have, and the first is the score."""
    if not len(features):
        return True
    similarity = features[:, _SIMILARITY]
    if (np.abs(similarity[~np.isnan(similarity)]) > 1 + _TOLERANCE).any():
        return False
    others = np.delete(features, (_FIRST, _SIMILARITY), axis=1)
    highest = np.delete(_HIGHEST, (_FIRST, _SIMILARITY))
    if not np.isfinite(others).all() or (others < -_TOLERANCE).any() or (others > highest * (1 + _TOLERANCE)).any():
        return False
    expected = scores[: len(features)] / max(1e-12, best)
    return bool((np.abs(features[:, _FIRST] - expected) <= _TOLERANCE * (1 + np.abs(expected))).all())


def _are_named(number: int, reply: RetrieveReply, request: RetrieveRequest, description: ShardDescription) -> bool:
    """Return whether only documents that the query names, as it was planned here, have the feature of that."""
    retrieved = reply.retrieved
    rows = np.flatnonzero(retrieved.features[:, _NAME] > 0)
    named = {(item.segment, item.document) for item in request.plan.named if item.shard == number}
    if reply.generation != description.generation:
        return len(rows) <= len(named)  # Its segments may be others by now.
    places = zip(retrieved.segments[rows].tolist(), retrieved.documents[rows].tolist(), strict=True)
    return all((description.segments[segment].name, document) in named for segment, document in places)


def is_well_formed(request: Any, reply: Any) -> bool:
    """Return whether a reply to any other request has what later stages read by position."""
    if isinstance(request, PresentRequest):
        return (
            isinstance(reply, PresentReply)
            and len(reply.hits) == len(request.segments)
            and len(reply.related) == len(request.related_segments)
        )
    if isinstance(request, StatisticsQuestion):
        return isinstance(reply, StatisticsAnswer) and all(
            len(getattr(reply, part)) == len(getattr(request, part))
            for part in StatisticsAnswer._fields
            if part != "links"
        )
    if isinstance(reply, SignatureReply):
        return all(array.shape == request.segments.shape for array in reply)
    return True
