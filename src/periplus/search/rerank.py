"""The second stage of a search: retrieved candidates in their final order.

Runs once for a query, over the rows of all shards (`merge_shards`). It needs no index: features and similarities were
measured where the documents are, and whatever is relative to the other candidates is computed here.
"""

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.rank import (
    FEATURES,
    RerankModel,
    embedding_points,
    query_length,
)
from periplus.search.navigational import HOME_PAGE_BONUS, HomePage, is_first_result
from periplus.search.retrieve import RetrievedCandidates
from periplus.settings import EmbeddingSettings

__all__ = ["RerankedCandidates", "rerank"]

_HALF_LIFE: Final = 10.0
"""Days in which news loses half of what being new is worth."""
_STATIC: Final = FEATURES.index("static")
_FRESHNESS: Final = 0.6
"""What being of today is worth to news, where the best score is worth 1."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


class RerankedCandidates(NamedTuple):
    """Candidates in the order of results, before near-duplicates and crowded hosts are taken out."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: Floats
    keys: npt.NDArray[np.uint64]
    total: int
    exact: bool
    partial: bool
    embedding_points: Floats | None
    """What embeddings added to each score; None where they take no part."""
    home_page: HomePage | None
    """The home page that was put first because the query names its site."""
    unsearched: int = 0
    """Documents that were not searched because those with higher ranks were enough."""


class _Pool(NamedTuple):
    """Documents to choose from: the candidates, then the nearest documents that join them."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    keys: npt.NDArray[np.uint64]
    days: npt.NDArray[np.int32]


def rerank(
    retrieved: RetrievedCandidates, model: RerankModel, limit: int, today: int | None = None
) -> RerankedCandidates:
    """Return the `limit` best candidates, best first: a pure function of its arguments.

    today: days since 1970, where new pages come before old ones that fit about as well; None where dates do not count.
    """
    fused = model.semantic is not None and model.semantic.weight > 0 and _is_compared(retrieved)
    rows, scores = _order_by_features(retrieved, model, limit, fused=fused)
    pool = _Pool(retrieved.segments, retrieved.documents, retrieved.keys, retrieved.days)
    points: Floats | None = None
    if fused and model.semantic is not None and len(rows):
        weight = model.semantic.weight * model.weigh_similarity(query_length(retrieved.features))
        semantic = msgspec.structs.replace(model.semantic, weight=weight)
        rows, scores, points, pool = _fuse(retrieved, rows, scores, semantic)
    rows, scores = rows[:limit], scores[:limit]
    if today is not None and len(rows) and len(pool.days):
        order = _order_by_freshness(scores, pool.days[rows], today)
        rows, scores = rows[order], scores[order]
        points = points[order] if points is not None else None
    reranked = RerankedCandidates(
        pool.segments[rows],
        pool.documents[rows],
        scores,
        pool.keys[rows],
        retrieved.total,
        retrieved.exact,
        retrieved.partial,
        points[:limit] if points is not None else None,
        None,
        retrieved.unsearched,
    )
    home = retrieved.home_page
    if home is None or not len(rows) or not is_first_result(home, reranked, _static_rank(retrieved, int(rows[0]))):
        return reranked
    return _put_first(reranked, home)


def _is_compared(retrieved: RetrievedCandidates) -> bool:
    """Return whether embeddings take part: any candidate or near document has a vector."""
    similarities = retrieved.similarities
    near = retrieved.nearest is not None and len(retrieved.nearest.documents) > 0
    return similarities is not None and (near or not bool(np.isnan(similarities).all()))


def _order_by_features(
    retrieved: RetrievedCandidates, model: RerankModel, limit: int, *, fused: bool
) -> tuple[Rows, Floats]:
    """Return the rows of candidates and their scores: the best by all their features, the others behind them.

    fused: whether embeddings take part, which know better what the static model says.
    """
    count = min(len(retrieved.scores), max(limit, model.depth))
    depth = min(len(retrieved.features), model.depth)
    if not depth:
        return np.arange(count), retrieved.scores[:count]
    shares = model.scorer.score_candidates(retrieved.features[:depth], similar=not fused)
    if len(retrieved.factors):
        shares = _multiply(shares, retrieved.factors[:depth])
    order = (-shares).argsort(kind="stable")
    scores = (shares[order] * retrieved.best_score).astype(np.float32)
    if depth == count:
        return order, scores
    behind = np.minimum(retrieved.scores[depth:count], scores[-1])
    return np.concatenate((order, np.arange(depth, count))), np.concatenate((scores, behind))


def _fuse(
    retrieved: RetrievedCandidates, rows: Rows, scores: Floats, settings: EmbeddingSettings
) -> tuple[Rows, Floats, Floats, _Pool]:
    """Return rows, scores and points by words and embeddings, and the pool with the nearest documents in it.

    A document that joins is worth no more by its words than the last candidate.
    """
    assert retrieved.similarities is not None
    near, count = retrieved.nearest, len(retrieved.scores)
    pool = _Pool(retrieved.segments, retrieved.documents, retrieved.keys, retrieved.days)
    joined: list[int] = []
    if near is not None and len(near.documents):
        # Sets of a hundred numbers are quicker than arrays of them.
        present = {*zip(pool.segments[rows].tolist(), pool.documents[rows].tolist(), strict=True)}
        ids = list(zip(near.segments.tolist(), near.documents.tolist(), strict=True))[: settings.nearest]
        joined = [number for number, document in enumerate(ids) if document not in present]
        pool = _Pool(
            np.concatenate((pool.segments, near.segments)),
            np.concatenate((pool.documents, near.documents)),
            np.concatenate((pool.keys, near.keys)),
            np.concatenate((pool.days, near.days)),
        )
    last = float(scores.min())
    least = last if len(rows) >= settings.candidates else min(last, 0.0)
    similarities = near.similarities[joined] if near is not None else retrieved.similarities[:0]
    points = embedding_points(scores, retrieved.similarities[rows], similarities, settings)
    if len(retrieved.factors):
        others = near.factors[joined] if near is not None and len(near.factors) else np.ones(len(joined), np.float32)
        points = _multiply(points, np.concatenate((retrieved.factors[rows], others)))
    rows = np.concatenate((rows, count + np.array(joined, np.int64)))
    scores = np.concatenate((scores, np.full(len(joined), least, np.float32))) + points
    order = np.argsort(-scores, kind="stable")
    return rows[order], scores[order], points[order], pool


def _multiply(scores: npt.NDArray[Any], factors: Floats) -> npt.NDArray[Any]:
    """Return scores raised and lowered by factors; one below 0 is divided, so that a factor above 1 raises it too."""
    return np.where(scores >= 0, scores * factors, scores / factors).astype(scores.dtype)


def _static_rank(retrieved: RetrievedCandidates, row: int) -> float:
    """Return the static rank of a row of the pool."""
    if row < len(retrieved.features):
        return float(retrieved.features[row, _STATIC])
    if row < len(retrieved.scores):
        return float(retrieved.static[row]) if len(retrieved.static) else 0.0
    assert retrieved.nearest is not None
    return float(retrieved.nearest.static[row - len(retrieved.scores)])


def _order_by_freshness(scores: Floats, days: npt.NDArray[np.int32], today: int) -> Rows:
    """Return the order by score and age together."""
    age = np.maximum(0, today - days.astype(np.int64))
    worth = scores / max(float(scores.max()), 1e-9) + _FRESHNESS * 0.5 ** (age / _HALF_LIFE)
    return np.argsort(-worth, kind="stable")


def _put_first(reranked: RerankedCandidates, home: HomePage) -> RerankedCandidates:
    """Return the candidates with a home page before all others."""
    same = (reranked.segments == home.segment) & (reranked.documents == home.document)
    if same.all():
        return reranked._replace(home_page=home)
    score = reranked.scores.dtype.type(reranked.scores[0] + HOME_PAGE_BONUS)
    rest = ~same
    points = reranked.embedding_points
    own = points[same][:1] if points is not None and same.any() else np.zeros(1, np.float32)
    return reranked._replace(
        segments=np.concatenate((np.array([home.segment], np.int32), reranked.segments[rest])),
        documents=np.concatenate((np.array([home.document], np.int32), reranked.documents[rest])),
        scores=np.concatenate((np.array([score], np.float32), reranked.scores[rest])),
        keys=np.concatenate((np.array([home.key], np.uint64), reranked.keys[rest])),
        embedding_points=np.concatenate((own, points[rest])) if points is not None else None,
        home_page=home,
    )
