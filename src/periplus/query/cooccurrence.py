"""Which words keep company: how much more often than by chance documents have a word together with those of a query."""

import math
from collections.abc import Sequence
from typing import Final

from periplus.index import CollectionView
from periplus.query.forms.word_analysis import languages_of
from periplus.text import is_stop_word, terms_of

__all__ = ["Cooccurrence"]

_MOST_DOCUMENTS: Final = 30_000
"""Lists longer than this are not read: words so frequent go with everything."""
_BEST: Final = 4.0
_DOUBT: Final = 0.5


class Cooccurrence:
    """The most telling word of a query, to try other words against."""

    def __init__(self, collection: CollectionView, words: Sequence[str]) -> None:
        self._collection = collection
        self._main = languages_of(collection).main_language
        self._count, self._telling = 0, b""
        self._together: dict[bytes, int] = {}
        known = [(count, term) for word in words if (count := collection.document_frequency(term := self._term(word)))]
        telling = [(count, term) for count, term in known if not is_stop_word(term.decode("utf-8", "replace"))]
        if telling and min(telling)[0] <= _MOST_DOCUMENTS:
            self._count, self._telling = min(telling)

    def _term(self, text: str) -> bytes:
        return terms_of([text.split(" ")[-1]], self._main)[0]

    def prepare(self, texts: Sequence[str]) -> None:
        """Count at once how often the last word of each text stands in documents with the most telling word."""
        terms = [term for term in dict.fromkeys(map(self._term, texts)) if term not in self._together]
        terms = [term for term in terms if self._is_counted(term)] if self._count else []
        if terms:
            counts = self._collection.count_together(self._telling, terms)
            self._together |= dict(zip(terms, counts, strict=True))

    def _is_counted(self, term: bytes) -> bool:
        return 0 < self._collection.document_frequency(term) <= _MOST_DOCUMENTS

    def with_word(self, text: str) -> float:
        """Return how well words go with the query: the log of how much more often than by chance, bounded."""
        self.prepare([text])
        term = self._term(text)
        if term not in self._together:
            return 0.0
        expected = self._count * self._collection.document_frequency(term) / max(1, self._collection.documents)
        return max(-_BEST, min(_BEST, math.log((self._together[term] + _DOUBT) / (expected + _DOUBT))))
