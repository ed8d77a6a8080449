"""The terms of a word: what pages of each language of the index have it as.

A page is indexed by the stems of its own language, and a query does not say which language it is in. So a word of a
query has a term for every language that the index has pages in, however few: a page is found by its own words,
whatever the rest of the index is. A term that only a minority of pages has for the word counts in pages of those
languages only: 'cares' is 'car' to the Spanish stemmer, but an English page about cars is no answer to it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, title_key
from periplus.query.term_lookups import TermLookup
from periplus.text import LANGUAGES, has_stemmer, language_number, terms_of

__all__ = ["LanguageSet", "PhraseForm", "TermForm", "WordForms", "excluded_terms"]

_MAJORITY: Final = 0.5
"""A term that at least this share of the index has for a word counts in all pages: that needs no check of languages."""

LanguageSet = frozenset[int]
"""Languages by number."""


class TermForm(NamedTuple):
    """One term of a word."""

    term: bytes
    languages: LanguageSet | None = None
    """Languages of the pages in which it counts; None for all pages."""


class PhraseForm(NamedTuple):
    """The terms of a phrase, in pages of some languages."""

    terms: tuple[bytes, ...]
    languages: LanguageSet | None = None


class WordForms:
    """The terms of words in the languages of one index."""

    def __init__(self, index: Index, lookup: TermLookup) -> None:
        self._lookup = lookup
        self._pages = max(1, sum(index.languages.values()))
        by_stemmer: dict[str, dict[int, int]] = {}
        for code, pages in sorted(index.languages.items(), key=lambda item: -item[1]):
            by_stemmer.setdefault(code if has_stemmer(code) else "", {})[language_number(code)] = pages
        self._groups = by_stemmer or {"en": {language_number("en"): 1}}
        self._counts = {number: pages for group in self._groups.values() for number, pages in group.items()}
        self._stems: dict[str, dict[str, bytes]] = {code: {} for code in self._groups}
        self._forms: dict[str, tuple[TermForm, ...]] = {}
        most = max(self._counts, key=self._counts.__getitem__)
        self.main_language = LANGUAGES[most] or "en"
        """The language of most pages."""

    def prepare(self, words: Sequence[str]) -> None:
        """Stem words in every language of the index, and look up all of their terms at once."""
        for code, stems in self._stems.items():
            new = [word for word in words if word not in stems]
            stems.update(zip(new, terms_of(new, code), strict=True))
        self._lookup.add(stems[word] for stems in self._stems.values() for word in words)

    def forms(self, word: str) -> tuple[TermForm, ...]:
        """Return the terms of a word that the index has, that of most pages first; at least one."""
        forms = self._forms.get(word)
        if forms is None:
            forms = self._forms[word] = tuple(
                TermForm(form.terms[0], form.languages) for form in self.phrase_forms([word])
            )
        return forms

    def phrase_forms(self, words: Sequence[str]) -> list[PhraseForm]:
        """Return the terms of words in a row, by language; those that the index lacks are left out, but for one."""
        if any(word not in stems for stems in self._stems.values() for word in words):
            self.prepare(words)
        languages: dict[tuple[bytes, ...], list[int]] = {}
        for code, group in self._groups.items():
            stems = self._stems[code]
            languages.setdefault(tuple([stems[word] for word in words]), []).extend(group)
        if len(languages) == 1:
            return [PhraseForm(next(iter(languages)))]
        pages = {terms: sum(self._counts[number] for number in numbers) for terms, numbers in languages.items()}
        ordered = sorted(languages, key=lambda terms: -pages[terms])
        present = [terms for terms in ordered if all(self._lookup.frequency(term) for term in terms)]
        return [
            PhraseForm(terms, None if pages[terms] >= _MAJORITY * self._pages else frozenset(languages[terms]))
            for terms in present or ordered[:1]
        ]

    def frequency(self, word: str) -> int:
        """Return, nearly, how many pages have a word in one of its forms: what its weight is computed from."""
        total = 0
        for term, languages in self.forms(word):
            documents = self._lookup.frequency(term)
            bound = documents if languages is None else sum(self._counts[number] for number in languages)
            total += min(documents, bound)
        return total

    def title_keys(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the keys of titles that consist of some words, one for each language of which theirs differ."""
        if not words:
            return ()
        self.prepare(words)
        return tuple(
            dict.fromkeys(
                title_key(words, [self._stems[code][word] for word in words], LANGUAGES[number])
                for code, group in self._groups.items()
                for number in group
            )
        )


def excluded_terms(
    segment: Segment, documents: npt.NDArray[np.int32], languages: Iterable[LanguageSet | None]
) -> npt.NDArray[np.bool_]:
    """Return which terms, each with its languages, do not count in which documents; an empty array where all count."""
    sets = list(languages)
    if not any(sets):
        return np.zeros((0, 0), np.bool_)
    excluded = np.zeros((len(documents), len(sets)), np.bool_)
    for number, numbers in enumerate(sets):
        if numbers:
            excluded[:, number] = ~segment.in_languages(numbers)[documents]
    return excluded
