"""What no score of a plan at a site can exceed: of the first stage, and after reranking."""

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Field
from periplus.index.kernels.inversion import MAX_IMPACT
from periplus.query import QueryPlan
from periplus.rank import FEATURES, QuerySimilarity, RerankModel, query_similarity, vector_format
from periplus.score.kernels.weighting import shape_value, weigh_features
from periplus.sites.forwarding.kernels import score_bounds
from periplus.sites.forwarding.site_bounds import Hashes, SiteBounds, hash_terms

__all__ = [
    "ROUNDING",
    "PlanBound",
    "PlanTerms",
    "ScoreLimits",
    "bound_leaves",
    "bound_plan",
    "most_score",
    "prepare_plan",
    "score_limits",
]

ROUNDING: Final = 1 + 1e-5
"""Bounds and scores are the same sums in another order and precision: what rounding may make of that."""
_MOST_WORDS: Final = 64
"""Words of which features are measured."""
_UNBOUNDED: Final = 1e9
_FIRST: Final = FEATURES.index("first")
_SIMILARITY: Final = FEATURES.index("static_similarity")
_SHARES: Final = {
    **dict.fromkeys(("coverage", "coverage_words", "preview", "title_sequence", "title_run", "title_fill"), 1.0),
    **dict.fromkeys(("run", "pairs", "near", "span", "passage", "passage_body", "title_body"), 1.0),
    **dict.fromkeys(("phrase", "title_words", "url_length", "url_parameters"), _UNBOUNDED),
    "fixed": 2.0,
    "spam": 6.0,
    "name": 0.0,
}
"""The highest value of a feature of any document that the query does not name; the lowest is 0."""
_BY_GROUP: Final = tuple(FEATURES.index(name) for name in ("static", "quality", "mentions", "url_depth"))
"""Features of which each group has a bound of its own."""
_SIMILARITIES_AT_ONCE: Final = 128
"""Groups whose similarities are computed before it is seen whether any other can matter."""
_REST_ROUNDING: Final = 1e-6
_FIELDS: Final = {field: field.name.lower() for field in Field if field <= Field.BODY}

Floats = npt.NDArray[np.float64]


class PlanTerms(NamedTuple):
    """What of a plan is the same for all sites: prepared once for a query."""

    leaf_hashes: Hashes
    word_hashes: Hashes
    """Of the terms of all words ..."""
    word_of: npt.NDArray[np.int64]
    """... and the word that each stands for."""
    weight: Floats
    word: npt.NDArray[np.int64]
    program: npt.NDArray[np.int64]
    phrase_start: npt.NDArray[np.int64]
    phrase_leaves: npt.NDArray[np.int64]
    similarity: QuerySimilarity


class ScoreLimits(NamedTuple):
    """How scores of reranking come about: the weight and shape of each feature."""

    weight: Floats
    shape: npt.NDArray[np.int32]

    @property
    def first(self) -> float:
        """What the first stage counts."""
        return float(self.weight[_FIRST])

    @property
    def similarity(self) -> float:
        """What similarity counts."""
        return float(self.weight[_SIMILARITY])


class PlanBound:
    """The bounds of one site for one plan: implements `SiteAnswer`."""

    def __init__(
        self,
        bounds: SiteBounds,
        plan: QueryPlan,
        terms: PlanTerms,
        limits: ScoreLimits | None,
        arrays: score_bounds.PlanArrays,
        groups: Floats,
    ) -> None:
        """groups: what no first-stage score of each group exceeds, below 0 where nothing can match."""
        self._bounds, self._plan, self._terms, self._limits = bounds, plan, terms, limits
        self._arrays, self._groups = arrays, groups

    @cached_property
    def first(self) -> float:
        """What no first-stage score exceeds; below 0 if no document can match."""
        first = float(self._groups.max(initial=score_bounds.ABSENT))
        return first * ROUNDING if first > 0 else first

    def limit_first(self, most: float) -> "PlanBound":
        """Return the same where no first-stage score exceeds `most`, for another reason than these bounds."""
        groups = np.minimum(self._groups, most)
        return PlanBound(self._bounds, self._plan, self._terms, self._limits, self._arrays, groups)

    def count(self, least: float) -> int:
        """Return how many documents can have a first-stage score of at least `least`; no fewer than there are."""
        return self._count(self._groups, least)

    def count_vectorless(self, least: float) -> int:
        """Return the same of documents whose similarity to the query is not known."""
        if self._terms.similarity.vector is None:
            return 0  # Nothing is compared with this query, and no similarity is missing.
        return self._count(np.where(self._is_vectorless, self._groups, score_bounds.ABSENT), least)

    def _count(self, groups: Floats, least: float) -> int:
        return int(score_bounds.count_documents(self._bounds.entries, self._arrays, groups, least / ROUNDING))

    @cached_property
    def _is_vectorless(self) -> npt.NDArray[np.bool_]:
        vectorless = self._bounds.features.vectorless > 0
        return vectorless if self._bounds.recipe == vector_format().recipe else np.ones_like(vectorless)

    def reranked(self, *, similar: bool) -> float:
        """Return what no score after reranking exceeds, as a share of the best; infinite if that is not known.

        similar: whether similarities count; without, they are 0 for all candidates.
        """
        limits = self._limits
        if limits is None or not 0 < len(self._plan.words) <= _MOST_WORDS:
            return float("inf")
        rows = np.flatnonzero(self._groups >= 0)
        shares = limits.first / self._plan.best_score * ROUNDING * self._groups[rows]
        shares += _bound_features(self._bounds, self._plan, self._terms, limits, rows) + _REST_ROUNDING
        similarity = self._terms.similarity
        if not similar or similarity.vector is None or not len(rows):
            return float(shares.max(initial=-np.inf))
        weight = limits.similarity
        if weight <= 0:
            return float(shares.max()) + max(weight * similarity.lowest, weight * similarity.highest)
        return self._most_similar(rows, shares, weight)

    def _most_similar(self, rows: npt.NDArray[np.int64], shares: Floats, weight: float) -> float:
        """Return the highest of the bounds of groups with what similarity adds; shares: without that."""
        features, similarity = self._bounds.features, self._terms.similarity
        width = vector_format().bytes
        order = np.argsort(-shares)
        best = -np.inf
        for begin in range(0, len(order), _SIMILARITIES_AT_ONCE):
            chosen = order[begin : begin + _SIMILARITIES_AT_ONCE]
            if shares[chosen[0]] + weight * similarity.highest <= best:
                break
            numbers = rows[chosen]
            values = np.full(len(numbers), similarity.highest)
            known = np.flatnonzero(~self._is_vectorless[numbers])
            if len(known):
                signs = features.signs.reshape(-1, width)
                values[known] = similarity.passages(signs, features.passages, numbers[known].astype(np.int32))
            best = max(best, float((shares[chosen] + weight * values).max()))
        return best


def prepare_plan(plan: QueryPlan) -> PlanTerms:
    """Return what bounds need of a plan."""
    words = plan.words[:_MOST_WORDS]
    phrases = [phrase.leaves for phrase in plan.phrases]
    return PlanTerms(
        hash_terms([leaf.term for leaf in plan.leaves]),
        hash_terms([term for word in words for term in word.terms]),
        np.array([number for number, word in enumerate(words) for _ in word.terms], np.int64),
        np.array([max(0.0, leaf.weight) / MAX_IMPACT for leaf in plan.leaves], np.float64),
        np.array([leaf.group for leaf in plan.leaves], np.int64),
        np.array(plan.program, np.int64).reshape(-1, 2),
        np.cumsum([0, *map(len, phrases)], dtype=np.int64),
        np.array([leaf for leaves in phrases for leaf in leaves], np.int64),
        query_similarity(plan.text),
    )


def score_limits(model: RerankModel, words: float) -> ScoreLimits | None:
    """Return how candidates of a query of so many words are reranked; None where their scores have no simple bound."""
    linear = model.scorer.linear_weights(words)
    if linear is None or not model.depth or linear[0][_FIRST] <= 0 or linear[1][_FIRST] != 0:
        return None
    return ScoreLimits(*linear)


def bound_plan(bounds: SiteBounds, plan: QueryPlan, terms: PlanTerms, limits: ScoreLimits | None) -> PlanBound:
    """Return the bounds of a site for a plan; limits: None where scores after reranking have none."""
    rows = bounds.rows(terms.leaf_hashes)
    known = rows >= 0
    arrays = score_bounds.PlanArrays(
        np.where(known, bounds.term_starts[rows], 0),
        np.where(known, bounds.term_starts[rows + 1], 0),
        terms.weight,
        terms.word,
        plan.groups,
        terms.program,
        terms.phrase_start,
        terms.phrase_leaves,
        max(0.0, float(plan.scoring.static_weight)),
        max(0.0, float(plan.bonus)),
    )
    return PlanBound(bounds, plan, terms, limits, arrays, score_bounds.bound_groups(bounds.entries, arrays))


def bound_leaves(bounds: SiteBounds, terms: PlanTerms) -> Floats:
    """Return what each leaf of a plan can add to a score at a site by itself."""
    rows = bounds.rows(terms.leaf_hashes)
    highest = [
        int(bounds.impacts[bounds.term_starts[row] : bounds.term_starts[row + 1]].max(initial=0)) if row >= 0 else 0
        for row in rows.tolist()
    ]
    return terms.weight * np.array(highest, np.float64)


def most_score(plan: QueryPlan) -> float:
    """Return what no first-stage score of any index can exceed: every leaf with the highest impact, and all else."""
    words = sum(max(0.0, leaf.weight) for leaf in plan.leaves)
    return (words + max(0.0, plan.scoring.static_weight) + max(0.0, plan.bonus)) * ROUNDING


def _bound_features(
    bounds: SiteBounds, plan: QueryPlan, terms: PlanTerms, limits: ScoreLimits, rows: npt.NDArray[np.int64]
) -> Floats:
    """Return what all features but the first and similarity can add in some groups, as a share of the best score."""
    highest = _SHARES | {
        "title_equal": 1.0 if bounds.has_title(plan.titles) else 0.0,
        "freshness": bounds.freshness,
        "popularity": bounds.popularity,
        "clicks": bounds.clicks,
    }
    highest |= _field_shares(bounds, plan, terms)
    total = 0.0
    for column, name in enumerate(FEATURES):
        weight, shape = float(limits.weight[column]), int(limits.shape[column])
        if not weight or column in (_FIRST, _SIMILARITY, *_BY_GROUP):
            continue
        # Those of the query itself are the same for all candidates, but not known here.
        high = _MOST_WORDS if name.startswith("query_") else highest[name]
        total += max(weight * shape_value(value, shape) for value in (0.0, high))
    columns = list(_BY_GROUP)
    features = bounds.features
    high_rows, low_rows = (np.zeros((len(rows), len(columns))) for _ in range(2))
    high_rows[:, 0], high_rows[:, 1], high_rows[:, 2] = (
        features.static[rows],
        features.quality[rows] / 255.0,
        features.mentions[rows],
    )
    high_rows[:, 3], low_rows[:, 3] = _UNBOUNDED, features.depth[rows]
    weights, shapes = limits.weight[columns], limits.shape[columns]
    parts = np.maximum(weigh_features(high_rows, weights, shapes), weigh_features(low_rows, weights, shapes))
    added: Floats = total + parts.sum(axis=1)
    return added


def _field_shares(bounds: SiteBounds, plan: QueryPlan, terms: PlanTerms) -> dict[str, float]:
    """Return the share of the query that can stand in each field of a document of the site."""
    rows = bounds.rows(terms.word_hashes)
    masks = np.zeros(int(terms.word_of.max(initial=-1)) + 1, np.uint8)
    present = rows >= 0
    np.bitwise_or.at(masks, terms.word_of[present], bounds.term_fields[rows[present]])
    weights = np.array([word.weight for word in plan.words[: len(masks)]])
    whole = max(1e-12, float(weights.sum()))
    return {name: float(weights[masks >> field & 1 > 0].sum()) / whole for field, name in _FIELDS.items()}
