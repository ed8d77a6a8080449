"""The terms of a word: what pages of each language of the index have it as.

A page is indexed by the stems of its own language, and a query does not say which language it is in. So a word of a
query has a term for every language that the index has pages in, however few: a page is found by its own words,
whatever the rest of the index is. A term that only a minority of pages has for the word counts in pages of those
languages only: 'cares' is 'car' to the Spanish stemmer, but an English page about cars is no answer to it.
"""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from periplus.index import CollectionView, Segment
from periplus.query.forms.word_analysis import (
    AnalyzedWord,
    LanguageSet,
    PhraseForm,
    PhrasePages,
    Restriction,
    TermForm,
    languages_of,
)
from periplus.query.term_lookups import TermLookup

__all__ = [
    "LanguageSet",
    "PhraseForm",
    "PhrasePages",
    "Restriction",
    "TermForm",
    "WordForms",
    "excluded_terms",
    "restricted_blocks",
    "select_allowed",
]

_COMPLETIONS: Final = 16
"""Words that an unfinished one stands for."""
_COMPLETION_SHARE: Final = 0.5
"""What they count where the unfinished word is a word itself."""
_MIN_PREFIX: Final = 2
"""Letters of a word that is completed: a single one begins too many."""


class WordForms:
    """The terms of words in the languages of one index."""

    def __init__(self, index: CollectionView, lookup: TermLookup) -> None:
        self._lookup = lookup
        self._languages = languages_of(index)
        self._words: dict[str, AnalyzedWord] = {}
        self._completed: dict[str, tuple[TermForm, ...]] = {}
        self._completions: frozenset[bytes] = frozenset()
        """Terms that a word of the index has only because it may be the beginning of a longer one."""

    @property
    def main_language(self) -> str:
        """The language of most pages."""
        return self._languages.main_language

    def prepare(self, words: Sequence[str]) -> None:
        """Analyse words, and look up all of those that are new at once."""
        missing = [word for word in words if word not in self._words]
        if missing:
            self._words |= self._languages.analyze(missing, self._lookup)

    def _word(self, word: str) -> AnalyzedWord:
        entry = self._words.get(word)
        if entry is None:
            self.prepare((word,))
            entry = self._words[word]
        return entry

    def forms(self, word: str) -> tuple[TermForm, ...]:
        """Return the terms of a word that the index has, that of most pages first; at least one."""
        return self._completed.get(word) or self._word(word).forms

    def phrase_forms(self, words: Sequence[str]) -> list[PhraseForm]:
        """Return the terms of words in a row, by language; those that the index lacks are left out, but for one."""
        self.prepare(words)
        return self._languages.phrase_forms([self._words[word] for word in words])

    def term_frequency(self, term: bytes) -> int:
        """Return how many pages have a term."""
        return self._lookup.frequency(term)

    def share(self, form: TermForm) -> float:
        """Return the share of a word's weight that one of its forms has."""
        return _COMPLETION_SHARE if form.term in self._completions else 1.0

    def add_completions(self, word: str, most: int = _COMPLETIONS) -> None:
        """Add to the forms of a word those of the `most` most frequent words that begin with it.

        Words as they are written come first, since a stem may be shorter than what was typed; then terms, for words
        that the vocabulary does not have.
        """
        if len(word) < _MIN_PREFIX:
            return
        words = self._lookup.words.complete(word, most)
        self.prepare(words)
        terms, _ = self._lookup.expand_prefix(word.encode("utf-8", "replace"), most)
        forms = [form for longer in words for form in self.forms(longer)] + [TermForm(term) for term in terms.terms]
        own = tuple(form for form in self.forms(word) if self._lookup.frequency(form.term))
        completions: dict[bytes, TermForm] = {}
        for form in forms:
            if len(completions) < most and form.term not in {known.term for known in own}:
                completions.setdefault(form.term, form)
        if completions:
            self._completed[word] = (*own, *completions.values())
            self._completions = frozenset(completions) if own else frozenset()

    def frequency(self, word: str) -> int:
        """Return, nearly, how many pages have a word in one of its forms: what its weight is computed from."""
        completed = self._completed.get(word)
        return self._languages.frequency(completed, self._lookup) if completed else self._word(word).frequency

    def title_keys(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the keys of titles that consist of some words, one for each language of which theirs differ."""
        if not words:
            return ()
        self.prepare(words)
        return self._languages.title_keys([self._words[word] for word in words])


def restricted_documents(segment: Segment, restriction: Restriction) -> npt.NDArray[np.bool_]:
    """Return which documents of a segment a restriction leaves."""
    if not isinstance(restriction, PhrasePages):
        return segment.in_languages(restriction)
    chosen = np.zeros(segment.documents, np.bool_)
    chosen[segment.documents_with_phrase(restriction.terms, restriction.fields)] = True
    return chosen & segment.in_languages(restriction.languages) if restriction.languages else chosen


def select_allowed(
    segment: Segment, restriction: Restriction, documents: npt.NDArray[np.int32]
) -> npt.NDArray[np.bool_]:
    """Return which of some documents a restriction leaves."""
    if not isinstance(restriction, PhrasePages):
        return segment.are_in_languages(restriction, documents)
    left: npt.NDArray[np.bool_] = restricted_documents(segment, restriction)[documents]
    return left


def restricted_blocks(segment: Segment, restriction: Restriction) -> npt.NDArray[np.uint64]:
    """Return the documents that a restriction leaves as sets: one 64-bit word for each block."""
    if not isinstance(restriction, PhrasePages):
        return segment.language_blocks(restriction)
    bits = np.zeros(64 * len(segment.live), np.bool_)
    bits[: segment.documents] = restricted_documents(segment, restriction)
    return np.packbits(bits, bitorder="little").view(np.uint64)


def excluded_terms(
    segment: Segment, documents: npt.NDArray[np.int32], sets: tuple[Restriction | None, ...]
) -> npt.NDArray[np.bool_]:
    """Return which terms, each with its restriction, do not count in which documents; empty where all of them count."""
    if not any(sets):
        return np.zeros((0, 0), np.bool_)
    pages = {restriction for restriction in sets if isinstance(restriction, PhrasePages)}
    if not pages:
        return segment.language_sets.excluded(cast("tuple[frozenset[int] | None, ...]", sets), documents)
    plain = tuple([None if isinstance(restriction, PhrasePages) else restriction for restriction in sets])
    excluded = segment.language_sets.excluded(plain, documents)
    for restriction in pages:
        chosen = [number for number, other in enumerate(sets) if other == restriction]
        excluded[:, chosen] = ~select_allowed(segment, restriction, documents)[:, np.newaxis]
    return excluded
