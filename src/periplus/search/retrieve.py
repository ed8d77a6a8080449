"""The first stage of a search: the candidates of one shard, with everything that reranking needs to know of them."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.query import (
    QueryBudget,
    QueryPlan,
    best_documents,
    can_expand,
    count_document_terms,
    expand_by_feedback,
    find_candidates,
    is_clear,
)
from periplus.rank import FEATURES, Ranker, Similarities
from periplus.records import Candidates
from periplus.result_rules import ActiveRules
from periplus.search.column_reader import read_columns
from periplus.search.navigational import HomePage, SiteName, find_home_page

__all__ = ["BrokerNeeds", "NearestDocuments", "RetrievedCandidates", "retrieve", "retrieve_with_feedback"]

_NO_FEATURES: Final = np.zeros((0, len(FEATURES)))
_NO_DAYS: Final = np.zeros(0, np.int32)
_NO_RANKS: Final = np.zeros(0, np.float32)
_KEY: Final = ("key", np.uint64)
_DAY: Final = ("day", np.int32)
_STATIC: Final = ("static", np.float32)


class NearestDocuments(NamedTuple):
    """Documents whose embeddings are nearest to the query, candidates or not."""

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    keys: npt.NDArray[np.uint64]
    days: npt.NDArray[np.int32]
    """As those of the candidates."""
    static: npt.NDArray[np.float32]
    """Static rank of each; empty unless the query may name a site."""
    similarities: npt.NDArray[np.float32]
    factors: npt.NDArray[np.float32] = _NO_RANKS
    """As those of the candidates."""


class RetrievedCandidates(NamedTuple):
    """Candidates by their first-stage score, best first: arrays and numbers only, so that they can travel.

    Documents are named by segment and number. `merge_shards` numbers the segments of several shards in a row.
    """

    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    """Of the first stage."""
    keys: npt.NDArray[np.uint64]
    """Fingerprints of the URLs."""
    features: npt.NDArray[np.float64]
    """A row of `FEATURES` for each of the first candidates, as many as are reranked; none for queries without words.

    Those that depend on the other candidates are not complete: `FeatureScorer.score_candidates` completes them once all
    are there. Those without any weight may be 0."""
    best_score: float
    """The best score that the words of the query can have: what scores of features are shares of."""
    total: int
    exact: bool
    """Whether `total` was counted or estimated."""
    partial: bool
    """Whether the time budget ran out."""
    segment_count: int
    """Segments of the shard."""
    days: npt.NDArray[np.int32]
    """Days since 1970 on which the candidates were published; empty unless their dates count."""
    static: npt.NDArray[np.float32]
    """Static rank of the candidates, where they have no features; empty unless the query may name a site."""
    home_page: HomePage | None
    """The home page of the site that the query may name."""
    similarities: npt.NDArray[np.float32] | None
    """Cosine of each candidate's embedding and the query's, nan for none; None where embeddings take no part."""
    nearest: NearestDocuments | None
    factors: npt.NDArray[np.float32] = _NO_RANKS
    """What rules multiply the scores of candidates by, as `scores` are already; empty where no rule does."""
    unsearched: int = 0
    """Documents that were not searched because those with higher ranks were enough."""


class BrokerNeeds(NamedTuple):
    """What a broker needs of the candidates of a shard, and by which clock."""

    features: int
    """The features that their scores depend on, as a mask."""
    today: float
    """Days since 1970."""


def retrieve(
    ranker: Ranker,
    plan: QueryPlan,
    limit: int,
    budget: QueryBudget | None = None,
    *,
    site_name: SiteName | None = None,
    dated: bool = False,
    first: Candidates | None = None,
    needs: BrokerNeeds | None = None,
) -> RetrievedCandidates:
    """Return the `limit` best candidates of a shard by their first-stage score, or as many as are reranked if more.

    What is not matched within the budget is left out. site_name: the name of a site that the query may be; its
    home page is looked up. dated: whether the dates of candidates count in reranking. first: the candidates, where
    they were matched already. needs: those of a broker that has further candidates from other shards, so that nothing
    may be decided by those of this one.
    """
    model, index = ranker.model, ranker.index
    candidates = find_candidates(index, plan, max(limit, model.depth), budget) if first is None else first
    features = _NO_FEATURES
    if model.depth and plan.words:
        candidates = _add_named(ranker, plan, candidates)
    segments, documents, scores = candidates[:3]
    factors = _read_factors(index, plan, segments, documents)
    if model.depth and plan.words:
        best = candidates._replace(
            segments=segments[: model.depth],
            documents=documents[: model.depth],
            scores=scores[: model.depth] / factors[: model.depth] if len(factors) else scores[: model.depth],
        )
        features = ranker.measure_features(plan, best, *(needs or ()))
    home = find_home_page(index, site_name, plan.rules) if site_name else None
    ranked = site_name is not None and not len(features)
    keys, days, static = _read_stored(index, segments, documents, dated=dated, ranked=ranked)
    late = ranker.embeddings is not None and budget is not None and budget.skips("embeddings")
    similarities = None if late else _compare_embeddings(ranker, plan, candidates, features, checked=needs is None)
    return RetrievedCandidates(
        segments,
        documents,
        scores,
        keys,
        features,
        plan.best_score,
        candidates.total,
        candidates.exact,
        candidates.partial,
        len(index.segments),
        days,
        static,
        home,
        similarities.candidates if similarities else None,
        _nearest(index, plan, similarities, dated=dated, ranked=site_name is not None) if similarities else None,
        factors,
        candidates.unsearched,
    )


def retrieve_with_feedback(
    ranker: Ranker,
    plan: QueryPlan,
    limit: int,
    budget: QueryBudget,
    feedback: str,
    *,
    site_name: SiteName | None = None,
    dated: bool = False,
) -> tuple[QueryPlan, RetrievedCandidates]:
    """Return the plan, widened by words of its best candidates where `feedback` (off, auto, always) says so, and its
    candidates; parameters as for `retrieve`.

    What is not reached within the budget is left out: without time for a second matching the first one counts.
    """
    if feedback == "off" or not plan.words:
        return plan, retrieve(ranker, plan, limit, budget, site_name=site_name, dated=dated)
    depth = max(limit, ranker.model.depth)
    first = find_candidates(ranker.index, plan, depth, budget)
    wanted = feedback == "always" or is_clear(plan, first)
    if wanted and not first.partial and not budget.skips("feedback"):
        wider = plan
        if can_expand(plan):
            segments = ranker.index.segments
            best = [(count_document_terms(segments[s], d), score) for s, d, score in best_documents(first)]
            wider = expand_by_feedback(ranker.index, plan, best)
        second = find_candidates(ranker.index, wider, depth, budget) if wider is not plan else first
        if not second.partial:
            plan, first = wider, second
    return plan, retrieve(ranker, plan, limit, budget, site_name=site_name, dated=dated, first=first)


def _compare_embeddings(
    ranker: Ranker, plan: QueryPlan, candidates: Candidates, features: npt.NDArray[np.float64], *, checked: bool
) -> Similarities | None:
    """Return how similar the embeddings of candidates are to the query's, where embeddings take part."""
    if ranker.embeddings is None:
        return None
    order = np.arange(len(candidates.documents))
    if len(features):
        order[: len(features)] = np.argsort(-ranker.model.scorer.score_candidates(features), kind="stable")
    return ranker.embeddings.compare(plan, candidates, order, len(features), checked=checked)


def _nearest(
    index: Index, plan: QueryPlan, similarities: Similarities, *, dated: bool, ranked: bool
) -> NearestDocuments:
    if plan.rules is not None:
        allowed = _are_allowed(index, plan.rules, similarities.segments, similarities.documents)
        similarities = similarities._replace(
            segments=similarities.segments[allowed],
            documents=similarities.documents[allowed],
            nearest=similarities.nearest[allowed],
        )
    segments, documents = similarities.segments, similarities.documents
    keys, days, static = _read_stored(index, segments, documents, dated=dated, ranked=ranked)
    factors = _read_factors(index, plan, segments, documents)
    return NearestDocuments(segments, documents, keys, days, static, similarities.nearest, factors)


def _are_allowed(
    index: Index, rules: ActiveRules, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    """Return which documents rules do not block."""
    allowed = np.ones(len(documents), np.bool_)
    for number in set(segments.tolist()):
        own = segments == number
        allowed[own] = rules.are_allowed(index.segments[number], documents[own])
    return allowed


def _read_factors(
    index: Index, plan: QueryPlan, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.float32]:
    """Return what rules multiply the scores of documents by; empty where no rule raises or lowers."""
    if plan.rules is None or not plan.rules.scores:
        return _NO_RANKS
    factors = np.ones(len(documents), np.float32)
    for number in set(segments.tolist()):
        own = segments == number
        factors[own] = plan.rules.factors(index.segments[number], documents[own])
    return factors


def _add_named(ranker: Ranker, plan: QueryPlan, candidates: Candidates) -> Candidates:
    """Return candidates with the documents that the query names before all others, so that they are reranked.

    They need not contain the words as typed: 'blackhole' names 'Black hole'. Their scores are those of the first stage.
    """
    if not plan.named:
        return candidates
    own = np.array([named[:2] for named in plan.named], np.int32)
    if plan.rules is not None:
        own = own[_are_allowed(ranker.index, plan.rules, own[:, 0], own[:, 1])]
    own_scores = np.array([ranker.first_stage_score(plan, *pair) for pair in own.tolist()], np.float32)
    factors = _read_factors(ranker.index, plan, own[:, 0], own[:, 1])
    own_scores = own_scores * factors if len(factors) else own_scores
    order = np.lexsort((own[:, 1], own[:, 0], -own_scores))
    rest, others = np.ones(len(candidates.documents), np.bool_), 0
    for segment, document in own.tolist():
        same = (candidates.segments == segment) & (candidates.documents == document)
        if same.any():  # It matches.
            rest &= ~same
        else:
            others += not ranker.matches_any_word(plan, segment, document)
    return candidates._replace(
        segments=np.concatenate((own[order, 0], candidates.segments[rest])),
        documents=np.concatenate((own[order, 1], candidates.documents[rest])),
        scores=np.concatenate((own_scores[order], candidates.scores[rest])),
        total=candidates.total + others,
    )


def _read_stored(
    index: Index, segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32], *, dated: bool, ranked: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return keys, days and static ranks of documents; the latter two are empty unless they are needed."""
    columns = [_KEY, *([_DAY] if dated else []), *([_STATIC] if ranked else [])]
    values = iter(read_columns(index, segments, documents, columns))
    return next(values), next(values) if dated else _NO_DAYS, next(values) if ranked else _NO_RANKS
