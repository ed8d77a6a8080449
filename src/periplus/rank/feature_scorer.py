"""The dynamic ranker: what the features of a candidate add to its score.

The score of the first stage is kept; weights (score/dynamic.toml, or a file of one's own) say what each other feature
adds, as a share of the best score the query could have. A learned model corrects that sum where there is one.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank.ranking_model import FEATURES, Rows, TreeModel
from periplus.score import FeatureWeight, read_weights, weight_arrays
from periplus.score.kernels import weighting

__all__ = ["FeatureScorer", "feature_weights"]


def feature_weights(file: str = "", changes: Mapping[str, float] | None = None) -> dict[str, FeatureWeight]:
    """Return the weights of features: those shipped, replaced by those of a file and by `changes`."""
    weights = read_weights("dynamic", file)
    for name, value in (changes or {}).items():
        if name not in weights or not np.isfinite(value):
            raise BadInput(f"{name[:40]} is no weight.")
        weights[name] = FeatureWeight(value, weights[name].shape, weights[name].about)
    return weights


class FeatureScorer:
    """Scores rows of features."""

    def __init__(self, weights: Mapping[str, FeatureWeight], model: TreeModel | None = None) -> None:
        self._weights = weight_arrays(weights, FEATURES)
        self._model = model
        fixed = FEATURES.index("fixed")
        self.uses_fixed_phrases = bool(self._weights.weight[fixed]) or bool(
            model and (model.trees.feature == fixed).any()
        )
        """Whether the feature of fixed phrases has any weight: measuring it takes time."""

    def score(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return the score of each row, as a share of the query's best."""
        sums: npt.NDArray[np.float64] = self._parts(rows).sum(axis=1)
        return sums + self._model.correct(rows) if self._model else sums

    def explain(self, rows: Rows) -> list[dict[str, float]]:
        """Return what each feature adds to the score of each row."""
        parts = self._parts(rows)
        if self._model:
            parts = parts + self._model.explain(rows)
        return [dict(zip(FEATURES, part.tolist(), strict=True)) for part in parts]

    def _parts(self, rows: Rows) -> Rows:
        parts: Rows = weighting.weigh_features(rows, self._weights.weight, self._weights.shape)
        return parts
