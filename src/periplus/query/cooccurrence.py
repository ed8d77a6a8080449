"""Which words keep company: how much more often than by chance documents have a word together with those of a query."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment
from periplus.index.kernels import postings_scan
from periplus.text import is_stop_word, terms_of

__all__ = ["Cooccurrence"]

_MOST_DOCUMENTS: Final = 30_000
"""Lists longer than this are not read: words so frequent go with everything."""
_BEST: Final = 4.0
_DOUBT: Final = 0.5


class Cooccurrence:
    """Documents of the most telling word of a query, to try other words against."""

    def __init__(self, index: Index, words: Sequence[str]) -> None:
        self._index = index
        self._main = max(index.languages, key=lambda code: index.languages[code], default="") or "en"
        self._count, self._marks = 0, list[npt.NDArray[np.bool_]]()
        known = [(count, term) for word in words if (count := index.document_frequency(term := self._term(word)))]
        telling = [(count, term) for count, term in known if not is_stop_word(term.decode("utf-8", "replace"))]
        if telling and min(telling)[0] <= _MOST_DOCUMENTS:
            self._count, term = min(telling)
            for segment in index.segments:
                marks = np.zeros(segment.documents, np.bool_)
                marks[_documents(segment, term)] = True
                self._marks.append(marks)

    def _term(self, word: str) -> bytes:
        return terms_of([word], self._main)[0]

    def with_word(self, text: str) -> float:
        """Return how well words go with the query: the log of how much more often than by chance, bounded."""
        term = self._term(text.split(" ")[-1])
        count = self._index.document_frequency(term) if self._count else 0
        if not count or count > _MOST_DOCUMENTS:
            return 0.0
        places = zip(self._marks, self._index.segments, strict=True)
        together = sum(int(marks[_documents(segment, term)].sum()) for marks, segment in places)
        expected = self._count * count / max(1, self._index.documents)
        return max(-_BEST, min(_BEST, math.log((together + _DOUBT) / (expected + _DOUBT))))


def _documents(segment: Segment, term: bytes) -> npt.NDArray[np.int32]:
    place = segment.find_term(term)
    if place is None:
        return np.zeros(0, np.int32)
    documents: npt.NDArray[np.int32] = postings_scan.read_documents(segment.postings, place)
    return documents
