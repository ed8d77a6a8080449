"""What a query is planned as: its words, the leaves and the program of the kernel, and where their terms are."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, NamedDocument, Segment, discount_titles
from periplus.query.exchange.packed_plan import PackedPlan, pack_plan
from periplus.query.fixed_phrases import FixedPair, fixed_pairs
from periplus.query.forms.term_forms import Restriction, excluded_terms
from periplus.query.query_tree import EVERYWHERE, Filter
from periplus.query.term_lookups import TermLookup, TermRows, TermSet
from periplus.result_rules import ActiveRules

__all__ = ["Leaf", "PhrasePlan", "QueryPlan", "QueryWord", "Scoring", "WordTables"]


_ALL_COUNT: Final = np.zeros((0, 0), np.bool_)


class Scoring(NamedTuple):
    """What goes into a first-stage score besides the words."""

    static_weight: float = 0.0
    """What the best static rank adds."""
    all_words_bonus: float = 0.0
    """What having all words adds, as a share of the query's best score."""
    short_query: int = 0
    """Only queries of up to this many words get the bonus."""


class QueryWord(NamedTuple):
    """A word of the query that documents are scored by."""

    word: str
    terms: tuple[bytes, ...]
    """Its stems in the languages of the index."""
    weight: float
    """Inverse document frequency of the word in all its forms, times how often the query has it."""
    place: int = 0
    """Where it stands in the query, stop words counted: ascending, for ranking by order and nearness."""
    languages: tuple[Restriction | None, ...] = ()
    """By term: the documents in which it counts, None for all of them; empty if all count everywhere."""


class WordTables(NamedTuple):
    """The words of a plan as kernels take them: made once for features and snippets."""

    terms: tuple[bytes, ...]
    """Those of all words, in their order."""
    word: npt.NDArray[np.int32]
    """By term: the number of its word."""
    weight: npt.NDArray[np.float64]
    """By word, as its place."""
    place: npt.NDArray[np.int32]
    restrictions: tuple[Restriction | None, ...]
    """By term: the documents in which it counts; empty if all count everywhere."""

    @classmethod
    def of(cls, words: Sequence[QueryWord]) -> "WordTables":
        """Return the tables of some words."""
        restrictions: list[Restriction | None] = []
        if any(word.languages for word in words):
            for word in words:
                restrictions += word.languages or (None,) * len(word.terms)
        return cls(
            tuple([term for word in words for term in word.terms]),
            np.array([number for number, word in enumerate(words) for _ in word.terms], np.int32),
            np.array([word.weight for word in words], np.float64),
            np.array([word.place for word in words], np.int32),
            tuple(restrictions) if any(restrictions) else (),
        )


class Leaf(NamedTuple):
    """One term of the program."""

    term: bytes
    weight: float
    group: int
    fields: int = EVERYWHERE
    languages: Restriction | None = None
    """The documents in which it counts: by language, or by a phrase; None for all of them."""


class PhrasePlan(NamedTuple):
    """Leaves that must stand one after the other (reach 0) or near each other, in some fields."""

    leaves: tuple[int, ...]
    reach: int
    fields: int


class QueryPlan(NamedTuple):
    """A query that can be run on any segment of the index it was prepared for."""

    words: tuple[QueryWord, ...]
    leaves: tuple[Leaf, ...]
    groups: int
    program: tuple[tuple[int, int], ...]
    """Steps of `kernels.match`: operation and argument."""
    phrases: tuple[PhrasePlan, ...]
    filters: tuple[Filter | TermSet, ...]
    """What sets of documents are made of before matching; prefixes and ranges as the terms that they stand for."""
    scoring: Scoring
    bonus: float
    titles: tuple[int, ...]
    """The title keys of the words, by language; none if there are no words."""
    notes: tuple[str, ...]
    lookup: TermLookup
    """Where its terms are."""
    text: str = ""
    """The words of the query in their order, to compare embeddings with; '' where these take no part."""
    any_words: bool = False
    """Whether the query is nothing but words, any of which may match."""
    synonyms: Mapping[bytes, str] = {}
    """Terms of leaves that stand for words of the query, and how explanations name them."""
    alternatives: frozenset[str] = frozenset()
    """Words that a page may lack because they are alternatives of an OR."""
    name: tuple[str, ...] = ()
    """The words of a query that is nothing but words, and may be the name of a page."""
    verbatim: bool = False
    """Whether its words are those meant, and not misspelt names."""
    named: tuple[NamedDocument, ...] = ()
    """The documents that it names, the surest first."""
    fixed: tuple[FixedPair, ...] | None = None
    """Neighbouring words that are a fixed phrase, where a broker has looked them up."""
    rules: ActiveRules | None = None
    """What is blocked, raised and lowered."""
    enough: int = 0
    """Good pages in the first tier of a segment that are enough; 0 searches all of it."""

    @property
    def best_score(self) -> float:
        """The best score that the words of the query can have."""
        return sum(word.weight for word in self.words) or 1.0

    def bind(self, index: Index, named: Sequence[NamedDocument] = ()) -> "QueryPlan":
        """Return the same plan for another index: weights stay, terms are looked up there.

        So a broker plans once, by the statistics of the whole collection, and every shard runs the plan. named: the
        documents of that index among those that the query names in the collection.
        """
        return self._replace(lookup=TermLookup(index), named=discount_titles(index, named, self.name))

    def pairs(self) -> tuple[FixedPair, ...]:
        """Return neighbouring words that are a fixed phrase, for a feature; none until the words are loaded."""
        if self.fixed is not None:
            return self.fixed
        return fixed_pairs(self.lookup.words, [word.word for word in self.words], [word.place for word in self.words])

    def tables(self) -> WordTables:
        """Return the words as tables."""
        held = self.lookup.held
        if held is None or held[0] is not self.words:
            held = self.lookup.held = (self.words, WordTables.of(self.words))
        tables: WordTables = held[1]
        return tables

    def places(self, segment: Segment) -> TermRows:
        """Return the dictionary rows of the terms of all `words` in a segment, by word and variant."""
        return self.lookup.places(segment, self.tables().terms)

    def excluded_terms(self, segment: Segment, documents: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Return which of the terms that `places` has do not count in which documents; empty where all of them count.

        By document and term: a stem of one language does not stand for the word in a document of another.
        """
        restrictions = self.tables().restrictions
        return excluded_terms(segment, documents, restrictions) if restrictions else _ALL_COUNT

    def packed(self) -> PackedPlan:
        """Return the plan as numbers: made once, when it is prepared."""
        held = self.lookup.packed
        if held is None or held[0] is not self.leaves or held[1] is not self.program:
            held = self.lookup.packed = (self.leaves, self.program, pack_plan(self))
        packed: PackedPlan = held[2]
        return packed

    def leaf_places(self, segment: Segment) -> TermRows:
        """Return the dictionary rows of the terms of all `leaves` in a segment."""
        return self.lookup.places(segment, self.packed().terms, self.tables().terms)
