"""What no score of a plan at a site can exceed: of the first stage, and after reranking."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Field
from periplus.index.kernels.inversion import MAX_IMPACT
from periplus.query import QueryPlan
from periplus.rank import FEATURES, RerankModel, similarity_range
from periplus.score.kernels.weighting import shape_value
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
    **dict.fromkeys(("phrase", "title_words", "url_length", "url_depth", "url_parameters"), _UNBOUNDED),
    "fixed": 2.0,
    "spam": 6.0,
    "name": 0.0,
}
"""The highest value of a feature of any document that the query does not name; the lowest is 0."""
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
    similarity: tuple[float, float]


class ScoreLimits(NamedTuple):
    """How scores of reranking come about: the weight and shape of each feature."""

    weight: Floats
    shape: npt.NDArray[np.int32]

    def reranked(self, first: float, best: float, rest: float) -> float:
        """Return the score after reranking of a first-stage score, as a share of the best, with what else it adds."""
        return float(self.weight[_FIRST]) * first / best + rest

    def similarity(self, highest: float) -> float:
        """Return what a similarity adds at most."""
        return max(0.0, float(self.weight[_SIMILARITY]) * highest)


class PlanBound(NamedTuple):
    """The bounds of one site for one plan."""

    first: float
    """What no first-stage score exceeds; below 0 if no document can match."""
    rest: float
    """What all but the first stage adds to a score after reranking, as a share of the best; infinite if not known."""
    entries: score_bounds.BoundEntries
    arrays: score_bounds.PlanArrays
    groups: Floats
    """The bound of each group."""

    def count(self, least: float) -> int:
        """Return how many documents can have a first-stage score of at least `least`; no fewer than there are."""
        return int(score_bounds.count_documents(self.entries, self.arrays, self.groups, least / ROUNDING))


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
        similarity_range(plan.text),
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
    entries = bounds.entries
    groups = score_bounds.bound_groups(entries, arrays)
    first = float(groups.max(initial=score_bounds.ABSENT))
    first = first * ROUNDING if first > 0 else first
    known_limits = limits is not None and 0 < len(plan.words) <= _MOST_WORDS
    rest = _bound_features(bounds, plan, terms, limits) if known_limits and limits is not None else float("inf")
    return PlanBound(first, rest, entries, arrays, groups)


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


def _bound_features(bounds: SiteBounds, plan: QueryPlan, terms: PlanTerms, limits: ScoreLimits) -> float:
    """Return what all features but the first can add at most, as a share of the best score."""
    highest = _SHARES | {
        "title_equal": 1.0 if bounds.has_title(plan.titles) else 0.0,
        "static": float(bounds.group_static.max(initial=0.0)),
        "quality": bounds.quality,
        "freshness": bounds.freshness,
        "popularity": bounds.popularity,
        "clicks": bounds.clicks,
        "mentions": bounds.mentions,
    }
    highest |= _field_shares(bounds, plan, terms)
    total = 0.0
    for column, name in enumerate(FEATURES):
        weight, shape = float(limits.weight[column]), int(limits.shape[column])
        if not weight or column == _FIRST:
            continue
        if name == "static_similarity":
            low, high = terms.similarity
        elif name.startswith("query_"):
            low, high = 0.0, _MOST_WORDS  # Those of the query itself: the same for all candidates, but not known here.
        else:
            low, high = 0.0, highest[name]
        total += max(weight * shape_value(value, shape) for value in (low, 0.0, high))
    return total


def _field_shares(bounds: SiteBounds, plan: QueryPlan, terms: PlanTerms) -> dict[str, float]:
    """Return the share of the query that can stand in each field of a document of the site."""
    rows = bounds.rows(terms.word_hashes)
    masks = np.zeros(int(terms.word_of.max(initial=-1)) + 1, np.uint8)
    present = rows >= 0
    np.bitwise_or.at(masks, terms.word_of[present], bounds.term_fields[rows[present]])
    weights = np.array([word.weight for word in plan.words[: len(masks)]])
    whole = max(1e-12, float(weights.sum()))
    return {name: float(weights[masks >> field & 1 > 0].sum()) / whole for field, name in _FIELDS.items()}
