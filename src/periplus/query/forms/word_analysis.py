"""Words of queries, analysed once for each generation of an index.

What a word is in the languages of an index depends on nothing else: its stems, which of them any page has, how many
pages have it, what it adds to title keys. All of that is computed when a query has the word for the first time, by one
lookup for all words of that query, and kept for further ones. The table belongs to the index that was opened: another
generation begins with an empty one. Groups of languages are numbered, and sets of them are bits of an integer.
"""

import weakref
from collections.abc import Sequence
from itertools import compress
from typing import Final, NamedTuple

from periplus.hashing import fingerprint
from periplus.index import MAX_RARE, CollectionView
from periplus.query.term_lookups import TermLookup
from periplus.text import LANGUAGES, has_stemmer, is_stop_word, language_number, stem_all

__all__ = [
    "AnalyzedWord",
    "IndexLanguages",
    "LanguageSet",
    "PhraseForm",
    "PhrasePages",
    "Restriction",
    "TermForm",
    "languages_of",
]

_MAJORITY: Final = 0.5
"""A term that at least this share of the index has for a word counts in all pages: that needs no check of languages."""
_MAX_ANALYZED: Final = 1 << 14
"""Words of earlier queries that are kept; a full table begins anew."""
_MASK: Final = (1 << 64) - 1

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


class AnalyzedWord(NamedTuple):
    """What a word is in the languages of an index."""

    stems: tuple[tuple[bytes, int], ...]
    """Its different stems, each with the groups of languages that have it, as bits."""
    absent: int
    """Groups of few pages of which none has it, as bits."""
    present: int
    """Groups whose stem of it any page has, as bits."""
    forms: tuple[TermForm, ...]
    """Its terms that the index has, that of most pages first; at least one."""
    frequency: int
    """About how many pages have one of its forms."""
    prints: tuple[int, ...]
    """By language: the fingerprint of its stem."""
    contents: tuple[int, ...]
    """The same, 0 where it is a stop word."""


class IndexLanguages:
    """The languages of one index, by their stemmers, and the words of earlier queries in them."""

    def __init__(self, index: CollectionView) -> None:
        groups: dict[str, dict[int, int]] = {}
        for code, pages in sorted(index.languages.items(), key=lambda item: -item[1]):
            groups.setdefault(code if has_stemmer(code) else "", {})[language_number(code)] = pages
        groups = groups or {"en": {language_number("en"): 1}}
        counts = {number: pages for group in groups.values() for number, pages in group.items()}
        self.codes = tuple(groups)
        """The code of the stemmer of each group; '' for languages without one."""
        self.main_language = LANGUAGES[max(counts, key=counts.__getitem__)] or "en"
        """The language of most pages."""
        self._members = [frozenset(group) for group in groups.values()]
        self._pages = [sum(group.values()) for group in groups.values()]
        self._counts = counts
        self._majority = _MAJORITY * max(1, sum(counts.values()))
        self._owners = [number for number, group in enumerate(groups.values()) for _ in group]
        """By language: its group."""
        self._languages = [LANGUAGES[number] for group in groups.values() for number in group]
        self._rare = [number for number, pages in enumerate(self._pages) if pages <= MAX_RARE]
        """Groups of so few pages that these can be looked at one by one."""
        self._all = (1 << len(groups)) - 1
        self._words: dict[str, AnalyzedWord] = {}
        self._sets: dict[int, LanguageSet] = {}
        self._sums: dict[int, int] = {}
        self._selectors: dict[int, list[int]] = {}

    def analyze(self, words: Sequence[str], lookup: TermLookup) -> dict[str, AnalyzedWord]:
        """Return what words are in the languages of the index; new ones are looked up together."""
        table = self._words
        entries = {word: entry for word in words if (entry := table.get(word)) is not None}
        if len(entries) < len(words) and (new := [word for word in dict.fromkeys(words) if word not in entries]):
            entries |= self._analyze(new, lookup)
        return entries

    def _analyze(self, words: list[str], lookup: TermLookup) -> dict[str, AnalyzedWord]:
        raw = {word: word.encode("utf-8", "replace") for word in words}
        columns: list[list[bytes]] = []
        for code in self.codes:
            terms = []
            for word, stem in zip(words, stem_all(words, code) if code else words, strict=True):
                term = raw.get(stem or word)
                if term is None:
                    term = raw[stem] = stem.encode("utf-8", "replace")
                terms.append(term)
            columns.append(terms)
        lookup.add(term for terms in columns for term in terms)
        absent = self._absent_groups(words, columns, lookup)
        entries = {
            word: self._entry(word, stems, mask, lookup)
            for word, stems, mask in zip(words, zip(*columns, strict=True), absent, strict=True)
        }
        if len(self._words) + len(entries) > _MAX_ANALYZED:
            self._words.clear()
        self._words.update(entries)
        return entries

    def _absent_groups(self, words: list[str], columns: list[list[bytes]], lookup: TermLookup) -> list[int]:
        """Return the groups of few pages, as bits, of which no page has each word."""
        if not self._rare or len(self.codes) == 1:
            return [0] * len(words)
        rare = sum(1 << number for number in self._rare)
        absent = [rare] * len(words)
        # A term that no page has need not be looked for in pages of one language.
        pairs = [
            (place, row, columns[number][row])
            for place, number in enumerate(self._rare)
            for row in range(len(words))
            if lookup.frequency(columns[number][row])
        ]
        if pairs:
            members = [self._members[number] for number in self._rare]
            present = lookup.any_has([term for _, _, term in pairs], [place for place, _, _ in pairs], members)
            for place, row, _ in compress(pairs, present.tolist()):
                absent[row] &= ~(1 << self._rare[place])
        return absent

    def _entry(self, word: str, stems: tuple[bytes, ...], absent: int, lookup: TermLookup) -> AnalyzedWord:
        present = sum(1 << number for number, term in enumerate(stems) if lookup.frequency(term))
        groups: dict[bytes, int] = {}
        for number, term in enumerate(stems):
            groups[term] = groups.get(term, 0) | 1 << number
        owners = tuple(groups.items())
        forms = tuple(
            [
                TermForm(form.terms[0], form.languages)
                for form in self._forms([((term,), mask) for term, mask in owners], absent, present)
            ]
        )
        prints_of = {term: fingerprint(term) for term in dict.fromkeys(stems)}
        prints = tuple([prints_of[stems[owner]] for owner in self._owners])
        contents = tuple(
            [0 if is_stop_word(word, code) else own for code, own in zip(self._languages, prints, strict=True)]
        )
        return AnalyzedWord(owners, absent, present, forms, self.frequency(forms, lookup), prints, contents)

    def frequency(self, forms: Sequence[TermForm], lookup: TermLookup) -> int:
        """Return, nearly, how many pages have one of the forms of a word."""
        total = 0
        for term, languages in forms:
            documents = lookup.frequency(term)
            if isinstance(languages, frozenset):
                documents = min(documents, sum([self._counts[number] for number in languages]))
            total += documents
        return total

    def phrase_forms(self, words: Sequence[AnalyzedWord]) -> list[PhraseForm]:
        """Return the terms of words in a row, by language; those that the index lacks are left out, but for one."""
        absent, present = 0, self._all
        for word in words:
            absent |= word.absent
            present &= word.present
        rows: list[tuple[tuple[bytes, ...], int]] = [((), self._all)]
        for word in words:
            rows = [
                ((*terms, stem), mask & other) for terms, mask in rows for stem, other in word.stems if mask & other
            ]
        return self._forms(rows, absent, present)

    def _forms(self, rows: Sequence[tuple[tuple[bytes, ...], int]], absent: int, present: int) -> list[PhraseForm]:
        """Return the forms of terms; rows: terms and the groups that have them, as bits, no group twice.

        absent, present: as those of `AnalyzedWord`, of all its words.
        """
        allowed = self._all & ~absent or 1
        kept = [(terms, mask & allowed) for terms, mask in rows if mask & allowed]
        if not allowed & (allowed - 1):
            return [PhraseForm(kept[0][0])]
        # The form of most pages first, then by the first of its groups, which are in the order of their pages.
        pages = [(-self._count_pages(mask), mask & -mask, number) for number, (_, mask) in enumerate(kept)]
        ordered = [(*kept[number], -count) for count, _, number in sorted(pages)]
        chosen = [form for form in ordered if form[1] & present] or ordered[:1]
        majority = self._majority
        return [PhraseForm(terms, None if count >= majority else self._set(mask)) for terms, mask, count in chosen]

    def _count_pages(self, groups: int) -> int:
        """Return how many pages some groups have."""
        count = self._sums.get(groups)
        if count is None:
            if len(self._sums) >= _MAX_ANALYZED:
                self._sums.clear()
            count = self._sums[groups] = sum(
                [pages for number, pages in enumerate(self._pages) if groups >> number & 1]
            )
        return count

    def _set(self, groups: int) -> LanguageSet:
        """Return the languages of some groups."""
        languages = self._sets.get(groups)
        if languages is None:
            members = [member for number, member in enumerate(self._members) if groups >> number & 1]
            if len(self._sets) >= _MAX_ANALYZED:
                self._sets.clear()
            languages = self._sets[groups] = frozenset[int]().union(*members)
        return languages

    def title_keys(self, words: Sequence[AnalyzedWord]) -> tuple[int, ...]:
        """Return the keys of titles that consist of some words, one for each language of which theirs differ."""
        absent = 0
        for word in words:
            absent |= word.absent
        contents = zip(*[word.contents for word in words], strict=True)
        chosen = dict.fromkeys(compress(contents, self._allowed_languages(absent)))
        if all(map(any, chosen)):
            return tuple(dict.fromkeys([sum(column) & _MASK for column in chosen]))
        # A title of stop words alone is identified by all of them.
        columns = zip(
            zip(*[word.contents for word in words], strict=True),
            zip(*[word.prints for word in words], strict=True),
            strict=True,
        )
        pairs = dict.fromkeys(compress(columns, self._allowed_languages(absent)))
        return tuple(dict.fromkeys([(sum(contents) or sum(prints)) & _MASK for contents, prints in pairs]))

    def _allowed_languages(self, absent: int) -> list[int]:
        """Return of each language whether it may have words of which some groups of few pages have none."""
        selectors = self._selectors.get(absent)
        if selectors is None:
            if len(self._selectors) >= _MAX_ANALYZED:
                self._selectors.clear()
            allowed = self._all & ~absent or 1
            selectors = self._selectors[absent] = [allowed >> owner & 1 for owner in self._owners]
        return selectors


_LANGUAGES: weakref.WeakKeyDictionary[CollectionView, IndexLanguages] = weakref.WeakKeyDictionary()


def languages_of(index: CollectionView) -> IndexLanguages:
    """Return the languages of an index, with what was analysed for it."""
    languages = _LANGUAGES.get(index)
    if languages is None:
        languages = _LANGUAGES[index] = IndexLanguages(index)
    return languages
