"""Scores and similarities joined: the order by words, corrected by embeddings.

Over the best candidates, scores by words spread in one way and cosines in another. What embeddings add is measured in
spreads: a document one standard deviation nearer than the others gains `weight` standard deviations of their scores. So
it does not matter what scale a ranking has. docs/decisions/013-embeddings.md has the figures.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.settings import EmbeddingSettings

__all__ = ["Similarities", "embedding_points"]

_LEAST_SPREAD: Final = 0.03
"""Cosines nearer together than this say nothing, and their differences are not scaled up."""

Floats = npt.NDArray[np.float32]


class Similarities(NamedTuple):
    """Cosines between a query and documents; nan where a document has no vectors or was not compared."""

    candidates: npt.NDArray[np.float32]
    """Of each candidate."""
    segments: npt.NDArray[np.int32]
    """Of the documents nearest to the query, whether they are candidates or not; none unless any word may match."""
    documents: npt.NDArray[np.int32]
    nearest: npt.NDArray[np.float32]


def embedding_points(scores: Floats, similarities: Floats, joined: Floats, settings: EmbeddingSettings) -> Floats:
    """Return what embeddings add to the score of each candidate, and of each document that joins them.

    scores, similarities: of the candidates, best first; joined: similarities of the documents that join them.
    Documents without vectors (nan) gain nothing. Candidates behind the first `settings.candidates` are not compared,
    and gain as little as the least of those that are.
    """
    compared = min(settings.candidates, len(scores))
    cosines = np.concatenate((similarities, joined))
    mean, factor = _scale(scores[:compared], similarities[:compared], settings.weight)
    points: Floats = (cosines - np.float32(mean)) * np.float32(factor)
    points[np.isnan(points)] = 0
    points[compared : len(scores)] = points[:compared].min()
    return points


def _scale(scores: Floats, similarities: Floats, weight: float) -> tuple[float, float]:
    """Return the mean of cosines, and how many points of score a cosine is worth."""
    cosines = similarities[~np.isnan(similarities)]
    if not len(cosines):
        return 0.0, 0.0
    spread = max(float(cosines.std()), _LEAST_SPREAD)
    return float(cosines.mean()), weight * float(scores.std()) / spread
