"""The part of embeddings in retrieval: how similar candidates are to a query, and which documents are nearest to it."""

import numpy as np
import numpy.typing as npt

from periplus.embeddings import EmbeddingSearcher
from periplus.index import Index
from periplus.query import QueryPlan
from periplus.rank.fusion import Similarities
from periplus.records import Candidates
from periplus.settings import EmbeddingSettings

__all__ = ["EmbeddingRetriever"]


class EmbeddingRetriever:
    """Compares the documents of one index with queries; without a model or vectors it has nothing to say."""

    def __init__(self, index: Index, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._meaning = EmbeddingSearcher(index, settings)

    @property
    def problem(self) -> str:
        """Why embeddings take no part, '' when they do."""
        return self._meaning.problem

    def compare(
        self,
        plan: QueryPlan,
        candidates: Candidates,
        order: npt.NDArray[np.int64],
        depth: int,
        *,
        checked: bool = True,
    ) -> Similarities | None:
        """Return how similar the best candidates are; None where embeddings take no part.

        order: the candidates by their score on this shard, best first: the languages of the best decide whether the
        model understands the query, unless `checked` is false: then that is left to whoever has the best candidates of
        all shards. depth: how many candidates are reranked by features; all that may be among the best then are
        compared. With `embeddings.on_demand`, where that may take long, only the best of `order` are.
        """
        best = order[: self._settings.candidates]
        if not plan.text or not len(order):
            return None
        if checked and not self._meaning.supports_query(
            plan.text, candidates.segments[best], candidates.documents[best]
        ):
            return None
        query = self._meaning.encode_query(plan.text)
        if query is None:
            return None
        compared = best if self._settings.on_demand else np.arange(min(len(order), max(len(best), depth)))
        similarities = np.full(len(order), np.nan, np.float32)
        similarities[compared] = self._meaning.similarities(
            query, candidates.segments[compared], candidates.documents[compared]
        )
        near = self._meaning.find_nearest(query, self._settings.nearest if plan.any_words else 0)
        nearest = self._meaning.similarities(query, near.segments, near.documents)
        return Similarities(similarities, near.segments, near.documents, nearest)
