"""Words and meaning joined: what the second look found, put in order by both.

To the score of each of the best candidates comes its nearness in meaning, as a share of the best score: a document that
says what was asked counts `weight` times as much as one that has all the words. Documents that are near and were not
among the candidates join them, where nothing was asked but words. docs/decisions/013-meaning.md has the figures.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.meaning import Meaning
from periplus.query import All, Any, Bag, Near, Node, Phrase, Prepared, Without, Word
from periplus.records import Candidates
from periplus.settings import SemanticSettings

__all__ = ["Fusion", "is_plain", "said"]

_DEEPEST: Final = 200

Floats = npt.NDArray[np.float32]


def said(tree: Node, depth: int = 0) -> str:
    """Give the words of a query as they were said, without those that are barred."""
    if isinstance(tree, Bag | Phrase | Near):
        return " ".join(tree.words)
    if isinstance(tree, Word):
        return tree.word
    if isinstance(tree, Without) and depth < _DEEPEST:
        return said(tree.part, depth + 1)
    if isinstance(tree, All | Any) and depth < _DEEPEST:
        return " ".join(words for part in tree.parts if (words := said(part, depth + 1)))
    return ""


def is_plain(tree: Node) -> bool:
    """Say whether nothing was asked but words, any of which will do."""
    return isinstance(tree, Bag)


class Fusion:
    """Adds meaning to the order of candidates of one index; without a model or vectors it changes nothing."""

    def __init__(self, index: Index, settings: SemanticSettings) -> None:
        self._settings = settings
        self._meaning = Meaning(index, settings)

    @property
    def problem(self) -> str:
        """Why meaning takes no part, '' when it does."""
        return self._meaning.problem

    def fuse(self, prepared: Prepared, found: Candidates) -> Candidates:
        """Put candidates, which come best first, in order by words and meaning."""
        query = self._meaning.vector(prepared.said) if prepared.said and len(found.documents) else None
        if query is None:
            return found
        joined = self._join(query, found) if prepared.plain else found
        looked = min(self._settings.candidates, len(found.documents))
        rows = np.r_[0:looked, len(found.documents) : len(joined.documents)]
        near = np.full(len(joined.documents), np.nan, np.float32)
        near[rows] = self._meaning.similarities(query, joined.segments[rows], joined.documents[rows])
        scores = joined.scores + self._bonus(joined.scores, near, looked)
        order = np.lexsort((np.arange(len(scores)), -scores))
        return joined._replace(segments=joined.segments[order], documents=joined.documents[order], scores=scores[order])

    def _bonus(self, scores: Floats, near: Floats, looked: int) -> Floats:
        """Give what meaning adds; what was looked at in vain gets the mean, what was not looked at the least."""
        known = ~np.isnan(near)
        if not known.any():
            return np.zeros_like(scores)
        values = np.where(known, np.maximum(near, 0), np.float32(near[known].mean()))
        values[looked:] = np.where(known[looked:], values[looked:], values[known].min())
        bonus: Floats = (self._settings.weight * float(scores.max()) * values).astype(np.float32)
        return bonus

    def _join(self, query: Floats, found: Candidates) -> Candidates:
        """Add the documents nearest in meaning; by words they are worth no more than the last candidate."""
        near = self._meaning.nearest(query, self._settings.nearest)
        have = _number(found.segments, found.documents)
        new = ~np.isin(_number(near.segments, near.documents), have)
        least = float(found.scores.min()) if len(have) >= self._settings.candidates else 0.0
        return found._replace(
            segments=np.concatenate([found.segments, near.segments[new]]),
            documents=np.concatenate([found.documents, near.documents[new]]),
            scores=np.concatenate([found.scores, np.full(int(new.sum()), least, np.float32)]),
        )

    def nearness(self, prepared: Prepared, segment: int, document: int) -> float:
        """Give how near one document is in meaning, 0 if that is not known."""
        query = self._meaning.vector(prepared.said) if prepared.said else None
        if query is None:
            return 0.0
        place = np.array([segment], np.int32), np.array([document], np.int32)
        return float(np.nan_to_num(self._meaning.similarities(query, *place))[0])


def _number(segments: npt.NDArray[np.int32], documents: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Give each document one number of its own."""
    numbers: npt.NDArray[np.int64] = (segments.astype(np.int64) << 32) | documents
    return numbers
