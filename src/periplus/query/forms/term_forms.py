"""The terms of a word: what pages of each language of the index have it as.

A page is indexed by the stems of its own language, and a query does not say which language it is in. So a word of a
query has a term for every language that the index has pages in, however few: a page is found by its own words,
whatever the rest of the index is. A term that only a minority of pages has for the word counts in pages of those
languages only: 'cares' is 'car' to the Spanish stemmer, but an English page about cars is no answer to it.
"""

import weakref
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment, title_key
from periplus.query.term_lookups import TermLookup
from periplus.text import LANGUAGES, has_stemmer, language_number, stop_words, terms_of

__all__ = [
    "IndexLanguages",
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

_MAJORITY: Final = 0.5
"""A term that at least this share of the index has for a word counts in all pages: that needs no check of languages."""

_MAX_ANALYZED: Final = 1 << 15
"""Words of earlier queries whose stems are kept."""
_FEW: Final = 32
"""Pages of a language that are looked at one by one, whether they have a word at all."""
_COMPLETIONS: Final = 16
"""Words that an unfinished one stands for."""
_COMPLETION_SHARE: Final = 0.5
"""What they count where the unfinished word is a word itself."""
_MIN_PREFIX: Final = 2
"""Letters of a word that is completed: a single one begins too many."""

LanguageSet = frozenset[int]
"""Languages by number."""


class PhrasePages(NamedTuple):
    """The pages in which some terms stand one after the other: there, each of them counts for the word they write."""

    terms: tuple[bytes, ...]
    fields: int
    """Fields in which they may stand, as a mask."""
    languages: LanguageSet | None = None
    """Languages of the pages, None for all."""


Restriction = LanguageSet | PhrasePages
"""Pages in which a term counts: those of some languages, or those with a phrase."""


class TermForm(NamedTuple):
    """One term of a word."""

    term: bytes
    languages: Restriction | None = None
    """Languages of the pages in which it counts, or the phrase that they must have; None for all pages."""


class PhraseForm(NamedTuple):
    """The terms of a phrase, in pages of some languages."""

    terms: tuple[bytes, ...]
    languages: LanguageSet | None = None


AnalyzedWord = tuple[tuple[bytes, ...], tuple[str, ...]]
"""The stems of a word, one for each group of languages, and the rare groups of which no page has it."""


class IndexLanguages:
    """The languages of one index, by their stemmers."""

    def __init__(self, index: Index) -> None:
        groups: dict[str, dict[int, int]] = {}
        for code, pages in sorted(index.languages.items(), key=lambda item: -item[1]):
            groups.setdefault(code if has_stemmer(code) else "", {})[language_number(code)] = pages
        self.groups = groups or {"en": {language_number("en"): 1}}
        """Pages by language, by the code of the stemmer; '' for languages without one."""
        self.counts = {number: pages for group in self.groups.values() for number, pages in group.items()}
        self.pages = max(1, sum(self.counts.values()))
        self.main_language = LANGUAGES[max(self.counts, key=self.counts.__getitem__)] or "en"
        """The language of most pages."""
        self.rare = {code: frozenset(group) for code, group in self.groups.items() if sum(group.values()) <= _FEW}
        """Languages of so few pages that these can be looked at one by one."""
        self.analyzed: dict[str, AnalyzedWord] = {}
        """Words of earlier queries."""


_LANGUAGES: weakref.WeakKeyDictionary[Index, IndexLanguages] = weakref.WeakKeyDictionary()


class WordForms:
    """The terms of words in the languages of one index."""

    def __init__(self, index: Index, lookup: TermLookup) -> None:
        languages = _LANGUAGES.get(index)
        if languages is None:
            languages = _LANGUAGES[index] = IndexLanguages(index)
        self._lookup = lookup
        self._languages = languages
        self._stems: dict[str, dict[str, bytes]] = {code: {} for code in languages.groups}
        self._absent: set[tuple[str, str]] = set()
        """Languages of few pages, and words that none of these has."""
        self._forms: dict[str, tuple[TermForm, ...]] = {}
        self._completions: frozenset[bytes] = frozenset()
        """Terms that a word of the index has only because it may be the beginning of a longer one."""

    @property
    def main_language(self) -> str:
        """The language of most pages."""
        return self._languages.main_language

    def prepare(self, words: Sequence[str]) -> None:
        """Stem words in every language of the index, and look up all of their terms at once."""
        own, analyzed = next(iter(self._stems.values())), self._languages.analyzed
        missing = [word for word in words if word not in own]
        if not missing:
            return
        entries = {word: entry for word in missing if (entry := analyzed.get(word))}
        if len(entries) < len(missing):
            entries |= self._analyze([word for word in missing if word not in entries])
        for word, (terms, absent) in entries.items():
            for stems, term in zip(self._stems.values(), terms, strict=True):
                stems[word] = term
            if absent:
                self._absent.update([(code, word) for code in absent])
        self._lookup.add(stems[word] for stems in self._stems.values() for word in missing)

    def _analyze(self, words: Sequence[str]) -> dict[str, AnalyzedWord]:
        """Stem words in every language of the index, and find the rare languages in which no page has them."""
        languages = self._languages
        stems = {code: dict(zip(words, terms_of(words, code), strict=True)) for code in languages.groups}
        absent: dict[str, list[str]] = {word: [] for word in words}
        if languages.rare and len(stems) > 1:
            pairs = [(code, word) for code in languages.rare for word in words]
            groups = [number for number in range(len(languages.rare)) for _ in words]
            terms = [stems[code][word] for code, word in pairs]
            present = self._lookup.any_has(terms, groups, list(languages.rare.values())).tolist()
            for (code, word), has in zip(pairs, present, strict=True):
                if not has:
                    absent[word].append(code)
        entries = {word: (tuple([by_word[word] for by_word in stems.values()]), tuple(absent[word])) for word in words}
        if len(languages.analyzed) > _MAX_ANALYZED:
            languages.analyzed.clear()
        languages.analyzed.update(entries)
        return entries

    def forms(self, word: str) -> tuple[TermForm, ...]:
        """Return the terms of a word that the index has, that of most pages first; at least one."""
        forms = self._forms.get(word)
        if forms is None:
            forms = self._forms[word] = tuple(
                [TermForm(form.terms[0], form.languages) for form in self.phrase_forms((word,))]
            )
        return forms

    def phrase_forms(self, words: Sequence[str]) -> list[PhraseForm]:
        """Return the terms of words in a row, by language; those that the index lacks are left out, but for one."""
        self.prepare(words)
        groups, stemmed = self._languages.groups, self._stems
        codes = self._codes(words)
        if len(codes) == 1:
            stems = stemmed[codes[0]]
            return [PhraseForm(tuple([stems[word] for word in words]))]
        languages: dict[tuple[bytes, ...], list[int]] = {}
        for code in codes:
            stems = stemmed[code]
            languages.setdefault(tuple([stems[word] for word in words]), []).extend(groups[code])
        counts = self._languages.counts
        pages = {terms: sum([counts[number] for number in numbers]) for terms, numbers in languages.items()}
        ordered = sorted(languages, key=lambda terms: -pages[terms])
        present = [terms for terms in ordered if all(self._lookup.frequency(term) for term in terms)]
        majority = _MAJORITY * self._languages.pages
        return [
            PhraseForm(terms, None if pages[terms] >= majority else frozenset(languages[terms]))
            for terms in present or ordered[:1]
        ]

    def _codes(self, words: Sequence[str]) -> list[str]:
        """Return the stemmers of languages that may have all of some words; at least one."""
        rare, absent = self._languages.rare, self._absent
        codes = [
            code
            for code in self._stems
            if code not in rare or not absent or not any((code, word) in absent for word in words)
        ]
        return codes or list(self._stems)[:1]

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
            self._forms[word] = (*own, *completions.values())
            self._completions = frozenset(completions) if own else frozenset()

    def frequency(self, word: str) -> int:
        """Return, nearly, how many pages have a word in one of its forms: what its weight is computed from."""
        total = 0
        for term, languages in self.forms(word):
            documents = self._lookup.frequency(term)
            bound = (
                sum(self._languages.counts[number] for number in languages)
                if isinstance(languages, frozenset)
                else documents
            )
            total += min(documents, bound)
        return total

    def title_keys(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the keys of titles that consist of some words, one for each language of which theirs differ."""
        if not words:
            return ()
        self.prepare(words)
        keys: dict[tuple[tuple[bytes, ...], frozenset[str]], int] = {}
        for code in self._codes(words):
            terms = tuple([self._stems[code][word] for word in words])
            for number in self._languages.groups[code]:
                # Languages that treat these words alike have the same key.
                stops = stop_words(LANGUAGES[number]).intersection(words)
                if (terms, stops) not in keys:
                    keys[terms, stops] = title_key(words, terms, LANGUAGES[number])
        return tuple(dict.fromkeys(keys.values()))


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
    segment: Segment, documents: npt.NDArray[np.int32], languages: Iterable[Restriction | None]
) -> npt.NDArray[np.bool_]:
    """Return which terms, each with its restriction, do not count in which documents; empty where all of them count."""
    sets = list(languages)
    if not any(sets):
        return np.zeros((0, 0), np.bool_)
    excluded = np.zeros((len(documents), len(sets)), np.bool_)
    for number, restriction in enumerate(sets):
        if restriction:
            excluded[:, number] = ~select_allowed(segment, restriction, documents)
    return excluded
