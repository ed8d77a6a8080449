"""Words and meaning joined: what the second look found, put in order by both.

Over the best candidates, scores by words spread in one way and cosines in another. What meaning adds is measured in
spreads: a document one standard deviation nearer than the others gains `weight` standard deviations of their scores. So
it does not matter what scale a ranking has. Documents that are near and were not among the candidates join them, where
nothing was asked but words. docs/decisions/013-embeddings.md has the figures.
"""

from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.embeddings import Meaning
from periplus.index import Index
from periplus.query import And, AndNot, BagOfWords, Near, Node, Or, Phrase, QueryPlan, Word
from periplus.records import Candidates
from periplus.settings import SemanticSettings

__all__ = ["Fusion", "is_plain", "said"]

_DEEPEST: Final = 200
_KEPT: Final = 256
"""Queries whose measure is kept."""
_LEAST_SPREAD: Final = 0.03
"""Cosines nearer together than this say nothing, and are not blown up."""

Floats = npt.NDArray[np.float32]


def said(tree: Node, depth: int = 0) -> str:
    """Give the words of a query as they were said, without those that are barred."""
    if isinstance(tree, BagOfWords | Phrase | Near):
        return " ".join(tree.words)
    if isinstance(tree, Word):
        return tree.word
    if isinstance(tree, AndNot) and depth < _DEEPEST:
        return said(tree.part, depth + 1)
    if isinstance(tree, And | Or) and depth < _DEEPEST:
        return " ".join(words for part in tree.parts if (words := said(part, depth + 1)))
    return ""


def is_plain(tree: Node) -> bool:
    """Say whether nothing was asked but words, any of which will do."""
    return isinstance(tree, BagOfWords)


class _Measure(NamedTuple):
    """How cosines of one query become points."""

    mean: float
    factor: float

    def points(self, near: Floats) -> Floats:
        """Give what meaning adds; nothing to what has no vectors."""
        added = (near - np.float32(self.mean)) * np.float32(self.factor)
        added[np.isnan(added)] = 0
        return added


class Fusion:
    """Adds meaning to the order of candidates of one index; without a model or vectors it changes nothing."""

    def __init__(self, index: Index, settings: SemanticSettings) -> None:
        self._settings = settings
        self._meaning = Meaning(index, settings)
        self._measures: OrderedDict[str, _Measure] = OrderedDict()

    @property
    def problem(self) -> str:
        """Why meaning takes no part, '' when it does."""
        return self._meaning.problem

    def fuse(self, prepared: QueryPlan, found: Candidates) -> Candidates:
        """Put candidates, which come best first, in order by words and meaning."""
        query = self._query(prepared.said, found)
        if query is None:
            return found
        looked, count = min(self._settings.candidates, len(found.documents)), len(found.documents)
        joined = self._join(query, found) if prepared.plain else found
        near = np.zeros(len(joined.documents), np.float32)
        near[:looked] = self._meaning.similarities(query, joined.segments[:looked], joined.documents[:looked])
        near[count:] = self._meaning.similarities(query, joined.segments[count:], joined.documents[count:])
        measure = self._measure(joined.scores[:looked], near[:looked])
        self._remember(prepared.said, measure)
        added = measure.points(near)
        # What was not looked at must not gain on what was.
        added[looked:count] = added[:looked].min()
        scores = joined.scores + added
        order = np.argsort(-scores, kind="stable")
        return joined._replace(segments=joined.segments[order], documents=joined.documents[order], scores=scores[order])

    def _query(self, words: str, found: Candidates) -> Floats | None:
        """Give the vector of a query; None if there is nothing to put in order, or the model knows no such language."""
        if not words or not len(found.documents):
            return None
        if not self._meaning.understands(words, found.segments, found.documents):
            return None
        return self._meaning.vector(words)

    def _measure(self, scores: Floats, near: Floats) -> _Measure:
        """Compare how scores and cosines spread."""
        known = near[~np.isnan(near)]
        if not len(known):
            return _Measure(0.0, 0.0)
        spread = max(float(known.std()), _LEAST_SPREAD)
        return _Measure(float(known.mean()), self._settings.weight * float(scores.std()) / spread)

    def _join(self, query: Floats, found: Candidates) -> Candidates:
        """Add the documents nearest in meaning; by words they are worth no more than the last candidate."""
        near = self._meaning.nearest(query, self._settings.nearest)
        # Sets of a hundred numbers are quicker than arrays of them.
        have = {*zip(found.segments.tolist(), found.documents.tolist(), strict=True)}
        there = zip(near.segments.tolist(), near.documents.tolist(), strict=True)
        new = [row for row, place in enumerate(there) if place not in have]
        last = float(found.scores.min())
        least = last if len(have) >= self._settings.candidates else min(last, 0.0)
        return found._replace(
            segments=np.concatenate((found.segments, near.segments[new])),
            documents=np.concatenate((found.documents, near.documents[new])),
            scores=np.concatenate((found.scores, np.full(len(new), least, np.float32))),
        )

    def _remember(self, words: str, measure: _Measure) -> None:
        """Keep how a query was measured, so that it can be explained."""
        self._measures[words] = measure
        if len(self._measures) > _KEPT:
            self._measures.popitem(last=False)

    def added(self, prepared: QueryPlan, segment: int, document: int) -> float:
        """Say what meaning has added to the score of a document that was ranked; 0 if nothing."""
        measure = self._measures.get(prepared.said)
        query = self._meaning.vector(prepared.said) if measure else None
        if measure is None or query is None:
            return 0.0
        near = self._meaning.similarities(query, np.array([segment], np.int32), np.array([document], np.int32))
        return float(measure.points(near)[0])
