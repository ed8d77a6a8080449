"""The weights of similarities beside words: nDCG@10 of every weight on a grid, and the best for several collections."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from candidate_dump import CandidateDump
from ranking_objective import gain_utility, ndcg_at_ten
from weight_search import LearnedWeight

from periplus.rank import FEATURES, embedding_points, without_static_similarity
from periplus.rank.feature_scorer import FeatureScorer, length_share
from periplus.score import FeatureWeight
from periplus.settings import EmbeddingSettings

__all__ = ["GRID", "STATIC_GRID", "FusionTable", "choose_fusion", "choose_static", "fusion_table", "static_table"]

GRID: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5)
STATIC_GRID: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Weights of the static model's similarity. One weight that all collections share is searched whole: coordinate ascents
over samples disagree about it by more than it is."""
_STATIC: Final = FEATURES.index("static_similarity")
_MOST_QUERIES: Final = 1_000
_WORDS: Final = FEATURES.index("query_words")
_CAP: Final = 0.2


class FusionTable(NamedTuple):
    """nDCG@10 of one collection by the weight of similarities for short queries and for long ones."""

    ndcg: npt.NDArray[np.float64]
    """By short and long weight, as `GRID` has them."""

    def value(self, weight: LearnedWeight) -> float:
        """Return nDCG@10 for weights of the grid."""
        return float(self.ndcg[GRID.index(weight.short), GRID.index(weight.long)])


def fusion_table(dump: CandidateDump, weights: Mapping[str, FeatureWeight]) -> FusionTable:
    """Measure every pair of weights on a collection, candidates ordered by words with `weights`."""
    scorer, settings = FeatureScorer(weights), EmbeddingSettings()
    spans = list(zip(dump.offsets[:-1].tolist(), dump.offsets[1:].tolist(), strict=True))
    step = max(1, len(spans) // _MOST_QUERIES)
    values = []
    for number in range(0, len(spans), step):
        begin, end = spans[number]
        if begin == end:
            values.append(np.zeros((len(GRID), len(GRID))))
            continue
        values.append(_measure_query(dump, begin, end, float(dump.ideal[number]), scorer, settings))
    return FusionTable(np.mean(values, axis=0))


def _measure_query(
    dump: CandidateDump, begin: int, end: int, ideal: float, scorer: FeatureScorer, settings: EmbeddingSettings
) -> npt.NDArray[np.float64]:
    """Return nDCG@10 of one query for every pair of weights; points are proportional to the weight."""
    rows = np.arange(begin, end)
    words, joined = rows[~dump.joined[begin:end]], rows[dump.joined[begin:end]]
    if not len(words):
        words, joined = joined, words
    features = dump.features[words].astype(np.float64)
    if not np.isnan(dump.similarities[begin:end]).all():
        features = without_static_similarity(features)
    shares = scorer.score(features)
    order = np.argsort(-shares, kind="stable")
    words, scores = words[order], shares[order].astype(np.float32)
    unit = EmbeddingSettings(weight=1.0, candidates=settings.candidates)
    points = embedding_points(scores, dump.similarities[words], dump.similarities[joined], unit)
    least = float(scores.min()) if len(words) >= settings.candidates else min(float(scores.min()), 0.0)
    base = np.concatenate((scores, np.full(len(joined), least))).astype(np.float64)
    grades = dump.grades[np.concatenate((words, joined))].astype(np.float64)
    share = length_share(float(features[0, _WORDS]))
    offsets, best = np.array([0, len(base)]), np.array([ideal])
    out = np.empty((len(GRID), len(GRID)))
    known: dict[float, float] = {}
    for row, short in enumerate(GRID):
        for column, long in enumerate(GRID):
            weight = (1.0 - share) * short + share * long
            if weight not in known:
                known[weight] = float(ndcg_at_ten(base + weight * points, grades, offsets, best)[0])
            out[row, column] = known[weight]
    return out


def static_table(dump: CandidateDump, weights: Mapping[str, FeatureWeight]) -> npt.NDArray[np.float64]:
    """Return nDCG@10 of a collection for each weight of `STATIC_GRID`, the other features weighted by `weights`."""
    without = dict(weights)
    without["static_similarity"] = FeatureWeight(0.0, weights["static_similarity"].shape, "", 0.0)
    scorer, scores = FeatureScorer(without), np.zeros(len(dump.grades))
    for begin, end in zip(dump.offsets[:-1].tolist(), dump.offsets[1:].tolist(), strict=True):
        scores[begin:end] = scorer.score(dump.features[begin:end].astype(np.float64))
    scores[dump.joined] = -np.inf
    grades, ideal = dump.grades.astype(np.float64), dump.ideal.astype(np.float64)
    similarities = dump.features[:, _STATIC].astype(np.float64)
    return np.array(
        [ndcg_at_ten(scores + weight * similarities, grades, dump.offsets, ideal).mean() for weight in STATIC_GRID]
    )


def choose_static(tables: Sequence[npt.NDArray[np.float64]]) -> LearnedWeight:
    """Return the weight of the static model that is best for these collections, together with its neighbours."""
    utility = np.mean([_utility(table) for table in tables], axis=0)
    padded = np.concatenate((utility[:1], utility, utility[-1:]))
    smooth = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    best = int(smooth.argmax()) if smooth.max() > 0 else 0
    return LearnedWeight(STATIC_GRID[best], STATIC_GRID[best])


def _utility(ndcg: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return gains over the first value of a table, large ones bounded, losses counted more."""
    gain = ndcg / max(float(ndcg.flat[0]), 1e-9) - 1.0
    return gain_utility(gain, _CAP)


def choose_fusion(tables: Sequence[FusionTable]) -> LearnedWeight:
    """Return the weights that are best for these collections together: gains over words alone, losses counted more."""
    utility = np.mean([_utility(table.ndcg) for table in tables], axis=0)
    short, long = np.unravel_index(int(utility.argmax()), utility.shape)
    return LearnedWeight(GRID[int(short)], GRID[int(long)])
