"""The dynamic ranker: what the features of a candidate add to its score.

The score of the first stage is kept; weights (score/dynamic.toml, or a file of one's own) say what each other feature
adds, as a share of the best score the query could have. A feature may have one weight for short queries and one for
long ones; what is between them has something between. A learned model corrects that sum where there is one.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank.feature_rows import complete_features, without_static_similarity
from periplus.rank.kernels import candidate_scores
from periplus.rank.ranking_model import FEATURES, Rows, TreeModel
from periplus.rank.static_similarity import fill_similarities
from periplus.score import FeatureWeight, read_weights, weight_arrays
from periplus.score.kernels import weighting

__all__ = ["LONG", "SHORT", "FeatureScorer", "feature_weights", "length_share", "query_length"]


SHORT: Final = 2.0
"""Words of a query, stop words counted, up to which it is short."""
LONG: Final = 8.0
"""And from which on it is long."""
_WORDS: Final = FEATURES.index("query_words")
_SIMILARITY: Final = FEATURES.index("static_similarity")
_LONG_SUFFIX: Final = ".long"


def feature_weights(file: str = "", changes: Mapping[str, float] | None = None) -> dict[str, FeatureWeight]:
    """Return the weights of features: those shipped, replaced by those of a file and by `changes`.

    A change by the name of a feature holds for all queries, one by its name and '.long' for long ones.
    """
    weights = read_weights("dynamic", file)
    for name, value in sorted((changes or {}).items()):
        feature = name.removesuffix(_LONG_SUFFIX)
        if feature not in weights or not np.isfinite(value):
            raise BadInput(f"{name[:40]} is no weight.")
        before = weights[feature]
        short, long = (before.weight, value) if name != feature else (value, None)
        weights[feature] = FeatureWeight(short, before.shape, before.about, long)
    return weights


def query_length(rows: Rows) -> float:
    """Return the number of words of the query that rows of features are of; 0 where there are none."""
    return float(rows[0, _WORDS]) if len(rows) else 0.0


def length_share(words: float) -> float:
    """Return how far a query of so many words is on the way from a short one (0) to a long one (1)."""
    return min(1.0, max(0.0, (words - SHORT) / (LONG - SHORT)))


class FeatureScorer:
    """Scores rows of features."""

    def __init__(self, weights: Mapping[str, FeatureWeight], model: TreeModel | None = None) -> None:
        self._weights = weight_arrays(weights, FEATURES)
        self._model = model
        learned = _mask(model.trees.feature) if model else 0
        self._needed = _mask(np.flatnonzero(self._weights.weight)) | learned
        self._needed_long = self._needed | _mask(np.flatnonzero(self._weights.long))
        self._needs_titles = bool(self._needed_long >> FEATURES.index("query_titles") & 1)
        self.uses_fixed_phrases = bool(self._needed_long >> FEATURES.index("fixed") & 1)
        """Whether the feature of fixed phrases has any weight: measuring it takes time."""

    def needed_features(self, words: float) -> int:
        """Return the features that scores of a query of so many words depend on, as a mask."""
        return self._needed_long if length_share(words) else self._needed

    def linear_weights(self, words: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]] | None:
        """Return weight and shape of each feature for a query of so many words, stop words counted.

        None where a score is not a sum over the features of its row: a learned model corrects it, or a feature depends
        on the titles of all candidates.
        """
        if self._model or self._needs_titles:
            return None
        share = length_share(words)
        return (1.0 - share) * self._weights.weight + share * self._weights.long, self._weights.shape

    def score(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the score of each row, as a share of the query's best."""
        sums: npt.NDArray[np.float64] = self._parts(rows).sum(axis=1)
        return sums + self._model.correct(rows) if self._model else sums

    def score_candidates(self, rows: Rows, *, similar: bool = True) -> npt.NDArray[np.float64]:
        """Return the score of each of all candidates of a query by their features as measured, each by itself.

        Features that depend on the other candidates are completed; without `similar`, the static similarity is 0.
        """
        if self._model or self._needs_titles or not len(rows):
            rows = complete_features(rows)
            return self.score(rows if similar else without_static_similarity(rows))
        measured = np.ascontiguousarray(rows[:, _SIMILARITY])
        similarities = fill_similarities(measured) if similar else np.zeros(len(rows))
        weights, share = self._weights, length_share(query_length(rows))
        scores: npt.NDArray[np.float64] = candidate_scores.score_rows(
            rows, _SIMILARITY, similarities, weights.weight, weights.long, share, weights.shape
        )
        return scores

    def explain(self, rows: Rows) -> list[dict[str, float]]:
        """Return what each feature adds to the score of each row."""
        parts = self._parts(rows)
        if self._model:
            parts = parts + self._model.explain(rows)
        return [dict(zip(FEATURES, part.tolist(), strict=True)) for part in parts]

    def _parts(self, rows: Rows) -> Rows:
        """Return what each feature adds; the rows are of one query."""
        parts: Rows = weighting.weigh_features(rows, self._weights_for(rows), self._weights.shape)
        return parts

    def _weights_for(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the weights for the query of some rows, by its length."""
        share = length_share(query_length(rows))
        weights: npt.NDArray[np.float64] = (1.0 - share) * self._weights.weight + share * self._weights.long
        return weights


def _mask(columns: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> int:
    mask = 0
    for column in columns.tolist():
        mask |= 1 << column
    return mask
