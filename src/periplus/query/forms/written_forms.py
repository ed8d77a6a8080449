"""The other ways in which people write the words of a query, as far as pages of the index write them so.

'wifi' is 'wi-fi' on some pages, 'colour' is 'color', '1000000' is '1,000,000', 'US' is 'U.S.'. Rules of `text` propose
forms; the index decides: a form that no page has costs a lookup, once. What a form adds to a plan is a term, or, for
several words that must stand next to each other, their rarest term restricted to the pages with that phrase: the
program needs no step for it, and a page with the phrase is matched, scored and counted like one with the word.
"""

import weakref
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from periplus.index import CollectionView
from periplus.query.forms.term_forms import PhrasePages, TermForm, WordForms
from periplus.query.query_budget import LIMITS
from periplus.query.query_tree import EVERYWHERE, BagOfWords, Near, Node, Phrase, query_text
from periplus.query.term_lookups import TermSet
from periplus.text import (
    ACRONYM,
    PREFIX_LETTERS,
    SYMBOL,
    SYMBOL_NAMES,
    Compound,
    acronym_letters,
    code_point_kinds,
    contraction_parts,
    group_digits,
    is_clitic,
    is_stop_word,
    join_digits,
    letter_digit_parts,
    splits,
    symbol_parts,
    umlaut_spelling,
    variant_spellings,
)
from periplus.text.kernels.tokenizer import UNSPACED

__all__ = ["ArrangedBag", "WrittenForm", "WrittenForms", "content_words_of"]

_MAX_FORMS: Final = 3
"""Other forms of one word that are used."""
_MAX_SPLITS: Final = 4
"""Ways to write a word apart that are looked for in the index."""
_MAX_CHARACTER_TERMS: Final = 8
"""Pairs of characters that a single character is scored by."""
_MIN_SHARE: Final = 0.02
"""A word that pages have is also looked for in two parts if so many pages, compared with those, write it apart."""
_UMLAUT_SHARE: Final = 0.25
"""A word with 'ue' is also looked for with 'u' if it is at most so frequent, compared with the other."""
_SHARE: Final = 0.7
"""What another form counts of the weight of a word: pages that write it as the query does come first."""
_SHARED: Final = 0.5
"""What one word counts for each of those that it is written for: 'wifi' for 'wi' and for 'fi'."""
_MAX_CACHED: Final = 1 << 14
_MAX_NEW_WORDS: Final = 24
"""Words of one query whose forms are looked for, besides those that are cached."""
_MAX_WORK: Final = 1 << 16
"""Pages that are searched for the phrases of one query while it is planned; further forms are left out."""
_JOINING: Final = frozenset("-'._&")
"""Marks that are left out by those who write the parts as one word."""

Form = tuple[str, ...]


class WrittenForm(NamedTuple):
    """A form that pages of the index have."""

    leaves: tuple[TermForm, ...]
    """The terms that match and score."""
    terms: tuple[TermForm, ...]
    """All of its terms: what ranking and snippets look for."""
    frequency: int
    """Pages that have it, nearly."""
    further: TermSet | None = None
    """Further terms that match, beside those that score."""
    share: float = 1.0
    """What it counts of the weight of the word."""


class ArrangedBag(NamedTuple):
    """The words of a bag: compounds are one word where their parts mean nothing, and clitics are left out."""

    counts: dict[str, int]
    places: dict[str, int]
    """Where each word stands first in the query."""
    proposed: dict[str, list[Form]]
    """Forms of a word that its compound or its neighbour proposes."""
    names: set[str]
    """Acronyms: no stop words, though they may be written alike."""

    def add(self, word: str, place: int, forms: Sequence[Form] = ()) -> None:
        """Add a word."""
        self.counts[word] = self.counts.get(word, 0) + 1
        self.places.setdefault(word, place)
        if forms:
            self.proposed.setdefault(word, []).extend(forms)


class WrittenForms:
    """The written forms of words in one index."""

    def __init__(self, index: CollectionView, forms: WordForms) -> None:
        self._index = index
        self._forms = forms
        self._work_left = _MAX_WORK
        self._new_words = 0
        caches = _CHOSEN.setdefault(index, {})
        self._chosen, self._joined = caches.setdefault(bool(index.spelling.size), ({}, {}))
        if len(self._chosen) + len(self._joined) > _MAX_CACHED:
            self._chosen.clear()
            self._joined.clear()

    def arrange(self, words: tuple[str, ...], compounds: Sequence[Compound]) -> ArrangedBag:
        """Return the words of a bag with the forms that their neighbourhood proposes."""
        bag = arrange_bag(words, compounds)
        for first, end, word in _joined_neighbours(words):
            if not any(map(self._is_stop_word, words[first:end])) and self._has_word(word):
                for number in range(first, end):
                    bag.proposed.setdefault(words[number], []).append((word,))
        return bag

    def _has_word(self, word: str) -> bool:
        """Return whether some page has a word."""
        has = self._joined.get(word)
        if has is None:
            has = self._joined[word] = self._forms.frequency(word) > 0
        return has

    def of(
        self, word: str, proposed: Sequence[Form] = (), fields: int = EVERYWHERE, room: int = 64
    ) -> list[WrittenForm]:
        """Return the other forms of a word that the index has, of at most `room` leaves; `proposed` come first."""
        if room <= 0:
            return []
        own = self._own_forms(word)
        if not own and not proposed:
            return self._with_character(word, room)
        forms: list[WrittenForm] = []
        own_terms = {form.term for form in self._forms.forms(word)}
        for form in dict.fromkeys((*proposed, *own)):
            written = self._look_up(form, fields) if form and form != (word,) and len(forms) < _MAX_FORMS else None
            if written is None or len(written.leaves) > room:
                continue
            if len(form) > 1 or not own_terms.issuperset(leaf.term for leaf in written.leaves):
                is_shared = len(form) == 1 and form in proposed
                forms.append(written._replace(share=_SHARED if is_shared else _SHARE))
                room -= len(written.leaves)
        return forms

    def proposed_forms(self, phrase: Phrase | Near) -> dict[str, list[Form]]:
        """Return the forms of words of a phrase that their compounds propose."""
        compounds = phrase.compounds if isinstance(phrase, Phrase) else ()
        return self.arrange(phrase.words, compounds).proposed if compounds else {}

    def phrases(self, phrase: Phrase | Near) -> list[Form]:
        """Return the other forms of a phrase: with a compound as one word, or with another form of a word."""
        if isinstance(phrase, Near):
            return []
        words = phrase.words
        forms = list(_joined_compounds(words, phrase.compounds))
        for number, word in enumerate(words):
            forms += [(*words[:number], *form, *words[number + 1 :]) for form in self._own_forms(word)]
        return [
            form for form in dict.fromkeys(forms) if form != words and all(self._forms.frequency(word) for word in form)
        ][:_MAX_FORMS]

    def _own_forms(self, word: str) -> tuple[Form, ...]:
        """Return the forms of a word by itself that pages have."""
        own = self._chosen.get(word)
        if own is None and self._new_words < _MAX_NEW_WORDS:
            self._new_words += 1
            own = tuple(self._choose(word))
            if self._work_left > 0:
                self._chosen[word] = own
        return own or ()

    def _look_up(self, form: Form, fields: int) -> WrittenForm | None:
        """Return the terms of a form, None if no page has it."""
        if len(form) == 1:
            single = self._forms.forms(form[0])
            frequency = self._forms.frequency(form[0])
            return WrittenForm(single, single, frequency) if frequency else None
        leaves: list[TermForm] = []
        terms: list[TermForm] = []
        frequency = 0
        for phrase in self._forms.phrase_forms(form):
            pages = PhrasePages(phrase.terms, fields, phrase.languages)
            self._work_left -= min(map(self._forms.term_frequency, phrase.terms))
            if self._work_left <= 0:
                return None
            count = self._index.count_phrase(phrase.terms, fields)
            if count:
                leaves.append(TermForm(min(phrase.terms, key=self._forms.term_frequency), pages))
                terms += [TermForm(term, pages) for term in dict.fromkeys(phrase.terms)]
                frequency += count
        return WrittenForm(tuple(leaves), tuple(terms), frequency) if frequency else None

    def _choose(self, word: str) -> Iterator[Form]:
        for parts in (
            symbol_parts(word),
            contraction_parts(word),
            acronym_letters(word),
            letter_digit_parts(word),
            group_digits(word),
        ):
            if parts and self._look_up(parts, EVERYWHERE):
                yield parts
        own, umlaut = self._forms.frequency(word), umlaut_spelling(word)
        variants = (*variant_spellings(word), *([umlaut] if umlaut else []))
        self._forms.prepare(variants)
        for variant in variants:
            if self._forms.frequency(variant) >= max(1, own / _UMLAUT_SHARE if variant == umlaut else 1):
                yield (variant,)
        yield from self._choose_splits(word, own)

    def _choose_splits(self, word: str, own: int) -> Iterator[Form]:
        """Yield the ways to write a word apart that pages use, compared with `own`, those that write it as one."""
        candidates = [parts for parts in splits(word) if not any(map(self._is_stop_word, parts))]
        if own and self._index.spelling.size:
            candidates = self._beside_each_other(candidates)
        if not candidates:
            return
        self._forms.prepare(list(dict.fromkeys(part for parts in candidates for part in parts)))
        own_terms = {form.term for form in self._forms.forms(word)}
        rarest = {
            parts: min(self._forms.frequency(part) for part in parts)
            for parts in candidates
            if not any(form.term in own_terms for part in parts for form in self._forms.forms(part))
        }
        best = sorted((parts for parts in rarest if rarest[parts]), key=lambda parts: -rarest[parts])
        for parts in best[:_MAX_SPLITS]:
            written = self._look_up(parts, EVERYWHERE)
            if written and written.frequency >= _MIN_SHARE * own:
                yield parts

    def _is_stop_word(self, part: str) -> bool:
        """Return whether a part of a word is a stop word: 'the rapist' is not another way to write a word."""
        return len(part) > 1 and is_stop_word(part, self._forms.main_language)

    def _beside_each_other(self, candidates: Sequence[Form]) -> list[Form]:
        """Return those whose parts are known to stand beside each other; single letters are not counted there."""
        pairs = [parts for parts in candidates if len(parts) == 2 and len(parts[0]) > 1]
        counts = self._index.spelling.count_pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        beside = {pair for pair, count in zip(pairs, counts, strict=True) if count}
        return [parts for parts in candidates if parts in beside or len(parts[0]) == 1]

    def _with_character(self, word: str, room: int) -> list[WrittenForm]:
        """Return the pairs that have a single character of a script without spaces: inside a run, it is in no other."""
        if len(word) != 1 or word.isascii() or code_point_kinds()[ord(word)] != UNSPACED:
            return []
        frequencies = self._index.terms_with_character(word.encode())
        frequencies.pop(word.encode(), 0)
        if not frequencies:
            return []
        often = sorted(frequencies, key=lambda term: (-frequencies[term], term))[: LIMITS.range_terms]
        terms = tuple(TermForm(term) for term in often[: max(0, min(room, _MAX_CHARACTER_TERMS))])
        total = min(sum(frequencies.values()), self._index.documents)
        return [WrittenForm(terms, terms, total, TermSet(tuple(often)) if len(often) > len(terms) else None)]


def arrange_bag(words: Form, compounds: Sequence[Compound]) -> ArrangedBag:
    """Return the words of a bag with the forms that their compounds propose."""
    bag = ArrangedBag({}, {}, {}, set())
    at = 0
    for compound in compounds:
        if compound.first + compound.size > len(words):
            break  # The words of a very long query are cut, its compounds are not.
        for number in range(at, compound.first):
            bag.add(words[number], number)
        _add_compound(bag, words, compound)
        at = compound.first + compound.size
    for number in range(at, len(words)):
        bag.add(words[number], number)
    return bag


def content_words_of(tree: Node | None, language: str) -> frozenset[str]:
    """Return the words that a query is scored by, without stop words where there are others."""
    if tree is None:
        return frozenset()
    words, compounds = tuple(query_text(tree).split()), tree.compounds if isinstance(tree, BagOfWords) else ()
    bag = arrange_bag(words, compounds)
    return frozenset(w for w in bag.counts if w in bag.names or not is_stop_word(w, language)) or frozenset(bag.counts)


def _add_compound(bag: ArrangedBag, words: Form, compound: Compound) -> None:
    """Add the words that stand for a compound in a bag."""
    first, parts = compound.first, words[compound.first : compound.first + compound.size]
    groups = _thousands(parts, compound.marks)
    if compound.marks == ACRONYM:
        bag.add(parts[0], first, [acronym_letters(parts[0], capitals=True)])
        bag.names.add(parts[0])
    elif set(compound.marks) == {"."} and all(len(part) == 1 and part.isalpha() for part in parts):
        bag.add("".join(parts), first, [parts])
        bag.names.add("".join(parts))
    elif groups:
        bag.add(join_digits(parts[:groups]), first, [parts[:groups]])
        for number in range(groups, len(parts)):
            bag.add(parts[number], first + number)
    else:
        forms = [(form,) for form in _joined(parts, compound.marks)]
        for number in range(first, first + compound.size):
            if not is_clitic(words, compound, number):
                bag.add(words[number], number, forms)


def _thousands(parts: Form, marks: str) -> int:
    """Return how many of the first parts are the groups of one number, 0 if they are none; decimals may follow."""
    last = 1
    while last < len(parts) and marks[last - 1] == marks[0] and marks[0] in ",.'" and len(parts[last]) == 3:
        last += 1
    return last if join_digits(parts[:last]) else 0


def _joined(parts: Form, marks: str) -> list[str]:
    """Return the single words that a compound is also written as."""
    if SYMBOL in marks:
        return [SYMBOL_NAMES[parts]] if parts in SYMBOL_NAMES else []
    if not set(marks) <= _JOINING or all(part.isdigit() for part in parts):
        return []
    # Segments of earlier versions have words with their apostrophes.
    return ["".join(parts), *(["'".join(parts)] if set(marks) == {"'"} else [])]


def _joined_compounds(words: Form, compounds: Sequence[Compound]) -> Iterator[Form]:
    """Yield a phrase with each of its compounds written as one word."""
    for compound in compounds:
        parts, end = words[compound.first : compound.first + compound.size], compound.first + compound.size
        joined = _joined(parts, compound.marks) if compound.size > 1 else []
        if set(compound.marks) <= frozenset(".,'") and (number := join_digits(parts)):
            joined.append(number)
        for form in joined:
            yield (*words[: compound.first], form, *words[end:])


def _joined_neighbours(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield neighbouring words that may also be written as one: the first, the one after the last, and that word."""
    at = 0
    while at < len(words) - 1:
        last = at + 1
        while last < len(words) and len(words[last]) == 3 and words[last].isdigit():
            last += 1
        if number := join_digits(words[at:last]):
            yield at, last, number
            at = last
            continue
        one, two = words[at], words[at + 1]
        if one.isascii() and one.isalpha() and two.isascii():
            short = two.isalpha() and min(len(one), len(two)) <= 2
            if len(one) == 1 and one not in PREFIX_LETTERS:
                short = False  # The s of a genitive, or an article: 'a new' is not 'anew'.
            if short or (two.isdigit() and len(two) <= 4):
                yield at, at + 2, one + two
        at += 1


_Caches = tuple[dict[str, tuple[Form, ...]], dict[str, bool]]
_CHOSEN: weakref.WeakKeyDictionary[CollectionView, dict[bool, _Caches]] = weakref.WeakKeyDictionary()
"""By index, and by whether its spelling dictionary was loaded: the forms of words that were looked for, and whether
pages have words that neighbours may be written as."""
