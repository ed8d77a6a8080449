"""How similar candidates are to a query by the static model: a feature of every candidate, in microseconds."""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, stored_vectors
from periplus.records import Candidates
from periplus.static_embeddings import load_static_model, score_documents

__all__ = [
    "QuerySimilarity",
    "StaticSimilarity",
    "VectorFormat",
    "fill_similarities",
    "passage_vectors",
    "query_similarity",
    "vector_format",
]

_TYPICAL: Final = 0.25
"""The similarity of a candidate that neither gains nor loses: about the mean over queries of many collections."""
_FULL_WORDS: Final = 6
"""Words of a query whose vector counts fully. That of one or two says little about what is meant. With many words, no
page has all of them: scores are small shares of the best possible one, and so are their differences."""
_ROUNDING: Final = 1e-5
"""What rounding may add to a sum of 32-bit numbers, as a share of it."""
_MIN_SHARE: Final = 0.5
"""Share of the candidates that must have vectors: otherwise the language of the query is not one of the model."""

Floats = npt.NDArray[np.float64]


class StaticSimilarity:
    """Compares the documents of one index with queries."""

    def __init__(self, index: Index) -> None:
        self._model = load_static_model()
        self._files = [stored_vectors(segment, self._model) for segment in index.segments]

    def measure(self, text: str, candidates: Candidates) -> Floats | None:
        """Return how much more similar than usual each candidate is to a query; None where that cannot be said.

        It counts less for queries of few or very many words. Candidates without vectors have nan: `fill_similarities`
        replaces it once all candidates of a query are there.
        """
        encoded = self._model.encode_query(text) if text else None
        if encoded is None:
            return None
        query, words = encoded
        values = self._compare(query, candidates)
        above: Floats = (values.astype(np.float64) - _TYPICAL) * _scale(words)
        return above

    def _compare(self, query: npt.NDArray[np.float32], candidates: Candidates) -> npt.NDArray[np.float32]:
        """Return how similar each candidate is to the vector of a query."""
        if len(self._files) == 1 and self._files[0] is not None:
            values = np.empty(len(candidates.documents), np.float32)
            score_documents(*self._files[0], query, candidates.documents, values)
            return values
        values = np.full(len(candidates.documents), np.nan, np.float32)
        for number, file in enumerate(self._files):
            if file is not None:
                rows = np.flatnonzero(candidates.segments == number)
                part = np.empty(len(rows), np.float32)
                score_documents(*file, query, candidates.documents[rows], part)
                values[rows] = part
        return values


class QuerySimilarity(NamedTuple):
    """How documents are compared with a query: what is known before any document is."""

    lowest: float
    """What no similarity of any document, as `StaticSimilarity.measure` has it, is below ..."""
    highest: float
    """... and above: passages are known by the signs of their components, and the best has those of the query."""
    vector: npt.NDArray[np.float32] | None
    """Of the query; None where documents cannot be compared with it: then every similarity is 0."""
    scale: float

    def passages(
        self, signs: npt.NDArray[np.uint8], start: npt.NDArray[np.uint32], rows: npt.NDArray[np.int32]
    ) -> Floats:
        """Return the highest similarity of the passages of each of some rows, nan for a row without any.

        signs: of all passages; start: the first passage of each row, and the end of the last.
        """
        if self.vector is None:
            return np.zeros(len(rows))
        values = np.empty(len(rows), np.float32)
        score_documents(signs, start, self.vector, rows, values)
        above: Floats = (values.astype(np.float64) - _TYPICAL) * self.scale
        return above


class VectorFormat(NamedTuple):
    """What vectors of passages are: those of different formats are not comparable."""

    recipe: str
    """Everything that they depend on besides the text."""
    bytes: int
    """Of each."""


def vector_format() -> VectorFormat:
    """Return the format of the vectors that candidates are compared by."""
    model = load_static_model()
    return VectorFormat(model.recipe, model.width // 8)


def passage_vectors(segment: Segment) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return how many passages with vectors each document of a segment has, and the vectors of all, a row each."""
    stored = stored_vectors(segment, load_static_model())
    if stored is None:
        return np.zeros(segment.documents, np.int64), np.zeros((0, vector_format().bytes), np.uint8)
    signs, start = stored
    ends = start.astype(np.int64)
    return ends[1:] - ends[:-1], np.asarray(signs)


def query_similarity(text: str) -> QuerySimilarity:
    """Return how documents are compared with a query."""
    encoded = load_static_model().encode_query(text) if text else None
    if encoded is None:
        return QuerySimilarity(0.0, 0.0, None, 0.0)
    query, words = encoded
    most = float(np.abs(query.astype(np.float64)).sum()) / len(query) ** 0.5 * (1 + _ROUNDING)
    scale = _scale(words)
    return QuerySimilarity(min(0.0, (-most - _TYPICAL) * scale), max(0.0, (most - _TYPICAL) * scale), query, scale)


def _scale(words: int) -> float:
    """Return what similarities to a query of so many words count."""
    return float(min(words / _FULL_WORDS, (_FULL_WORDS / words) ** 0.5))


def fill_similarities(values: Floats) -> Floats:
    """Return the similarities of all candidates of a query; those without vectors count as the mean of the others.

    So they neither gain nor lose. Where most have none, the query is in no language of the model, and all are 0.
    """
    if not math.isnan(np.dot(values, values)):  # Where one is missing, so is the sum.
        return values
    missing = np.isnan(values)
    absent = int(np.count_nonzero(missing))
    if len(values) - absent < _MIN_SHARE * len(values) or absent == len(values):
        return np.zeros(len(values))
    return np.where(missing, values[~missing].mean(), values)
