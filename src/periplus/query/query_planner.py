"""A tree looked up in the index: its words as terms with weights, and the program that the kernel runs."""

from collections.abc import Sequence
from typing import Final

from periplus.index import CollectionView, Index, discount_titles, select_named
from periplus.query.forms.term_forms import PhraseForm, TermForm, WordForms
from periplus.query.forms.written_forms import WrittenForm, WrittenForms
from periplus.query.kernels import match
from periplus.query.query_plan import Leaf, PhrasePlan, QueryPlan, QueryWord, Scoring
from periplus.query.query_tree import (
    EVERYWHERE,
    And,
    AndNot,
    BagOfWords,
    Filter,
    MatchAll,
    Near,
    Node,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    Word,
    words_of,
)
from periplus.query.term_lookups import TermExpander, TermLookup, TermSet, idf
from periplus.text import is_stop_word

__all__ = ["plan_query"]

_MIN_STOP_WORDS: Final = 2
"""Stop words count where there are so many of them beside a single other word ..."""
_MAX_TITLE_WORDS: Final = 6
"""... in a query of at most so many words: it is likely to be a title."""
_EXPANSIONS: Final = 8
"""Words that a prefix is scored by."""
_DEEPEST: Final = 200
_PHRASES: Final = (Phrase, Near)
_WORDS: Final = (Word, BagOfWords, Phrase, Near)
_MOST_AT_ONCE: Final = 500
"""Words of a query that are looked up together; of more than this, most are not used anyway."""


def plan_query(
    index: CollectionView,
    tree: Node,
    scoring: Scoring,
    notes: tuple[str, ...] = (),
    typed: str = "",
    *,
    verbatim: bool = False,
) -> QueryPlan:
    """Look up and weigh the words of `tree`, and compile it.

    typed: a word that is still typed, and completed; verbatim: words are not taken for misspelt names.
    """
    compiler = _Compiler(index, list(notes))
    compiler.look_up(tree)
    compiler.forms.add_completions(typed)
    compiler.compile(tree)
    best = sum(word.weight for word in compiler.words)
    groups = len(compiler.bag) if 2 <= len(compiler.bag) <= scoring.short_query else 0
    leaves = tuple([leaf if groups or leaf.group < 0 else leaf._replace(group=-1) for leaf in compiler.leaves])
    name = tuple(tree.words) if isinstance(tree, BagOfWords) and not typed else ()
    named = select_named(index, name, verbatim=verbatim)
    plan = QueryPlan(
        tuple(compiler.words),
        leaves,
        groups,
        tuple(compiler.program),
        tuple(compiler.phrases),
        tuple(compiler.filters),
        scoring,
        scoring.all_words_bonus * best if groups else 0.0,
        compiler.forms.title_keys(compiler.asked[: match.MAX_LEAVES]),
        tuple(compiler.notes),
        compiler.lookup,
        name=name,
        verbatim=verbatim,
        named=discount_titles(index, named, name) if isinstance(index, Index) else named,
    )
    if isinstance(index, Index):
        plan.packed()
    return plan


class _Compiler:
    """Walks the tree once, gathering leaves and writing the program in postfix order."""

    def __init__(self, index: CollectionView, notes: list[str]) -> None:
        self.index = index
        self.lookup = TermLookup(index)
        self.notes = notes
        self.words: list[QueryWord] = []
        self.bag: list[str] = []
        self.leaves: list[Leaf] = []
        self.numbers: dict[tuple[TermForm, bool, int, int], int] = {}
        self.program: list[tuple[int, int]] = []
        self.phrases: list[PhrasePlan] = []
        self.filters: dict[Filter | TermSet, int] = {}
        self.expansions = TermExpander(self.lookup)
        self.forms = WordForms(index, self.lookup)
        self.written = WrittenForms(index, self.forms)
        self.asked: list[str] = []
        """The words of the query as titles have them, repetitions too."""

    def look_up(self, tree: Node) -> None:
        """Stem and look up all words of a query at once."""
        self.forms.prepare(list(dict.fromkeys(words_of(tree)))[:_MOST_AT_ONCE])

    def compile(self, node: Node, *, scored: bool = True, depth: int = 0) -> None:
        """Write the steps of one node; what is barred is not scored."""
        if depth > _DEEPEST:
            self._step(match.ALL, 0)
        elif isinstance(node, BagOfWords):
            self._bag(node)
        elif isinstance(node, Word):
            self._word(node, scored)
        elif isinstance(node, _PHRASES):
            self._phrase(node, scored)
        elif isinstance(node, Filter):
            self._filter(node, scored)
        elif isinstance(node, MatchAll):
            self._step(match.ALL, 0)
        elif isinstance(node, AndNot):
            self.compile(node.part, scored=scored, depth=depth + 1)
            if self._has_room(node.barred):
                self.compile(node.barred, scored=False, depth=depth + 1)
                self._step(match.WITHOUT, 0)
        else:
            self._join(node, scored, depth)

    def _join(self, node: And | Or, scored: bool, depth: int) -> None:
        written = 0
        for part in node.parts:
            if written and not self._has_room(part):
                continue
            self.compile(part, scored=scored, depth=depth + 1)
            if written:
                self._step(match.AND if isinstance(node, And) else match.OR, 0)
            written += 1

    def _step(self, operation: int, argument: int) -> None:
        self.program.append((operation, argument))

    def _either(self, steps: list[tuple[int, int]]) -> None:
        for number, (argument, operation) in enumerate(steps):
            self._step(operation, argument)
            if number:
                self._step(match.OR, 0)

    def _filter(self, node: Filter, scored: bool) -> None:
        """Match a set made beforehand; words of a prefix are scored by the most frequent of them."""
        wanted = self.expansions.expand(node, self.notes) if isinstance(node, Prefix | NumberRange) else node
        if isinstance(node, Prefix) and isinstance(wanted, TermSet):
            # The stem of a word that begins so may be shorter: language* has to find 'language'.
            own = [form.term for form in self.forms.forms(node.beginning) if self.lookup.frequency(form.term)]
            wanted = TermSet(tuple(dict.fromkeys((*own, *wanted.terms))))
        terms = wanted.terms if isinstance(node, Prefix) and isinstance(wanted, TermSet) else ()
        if isinstance(node, Prefix) and node.fields != EVERYWHERE and (terms := terms[: self._room() // 2]):
            leaves = [self._leaf(TermForm(t), self.idf(t) * scored, scored=scored, fields=node.fields) for t in terms]
            return self._either([(leaf, match.LEAF) for leaf in leaves])
        self._step(match.GIVEN, self.filters.setdefault(wanted, len(self.filters)))
        for term in terms[: min(_EXPANSIONS, self._room())] if scored else ():
            self._leaf(TermForm(term), self.idf(term))

    def idf(self, term: bytes) -> float:
        """Weigh a term by its rarity, as BM25 does; never below 0, though frequencies count dead documents too."""
        return idf(self.index, self.lookup.frequency(term))

    def word_idf(self, word: str, others: Sequence[WrittenForm] = ()) -> float:
        """Weigh a word by its rarity in all its forms: in whatever language a page has it, it counts the same."""
        return idf(self.index, self.forms.frequency(word) + sum([other.frequency for other in others]))

    def _room(self) -> int:
        """Return how many more leaves the program has room for; with none, add a note."""
        room = match.MAX_LEAVES - len(self.leaves)
        if room == 0:
            self._note_length()
        return room

    def _has_room(self, node: Node) -> bool:
        """Return whether a part can be added: without room for its words it would match everything."""
        leaves = len(self.forms.forms(node.word)) if isinstance(node, Word) else 1
        if not isinstance(node, _WORDS) or leaves <= self._room():
            return True
        self._note_length()
        return False

    def _note_length(self) -> None:
        note = f"The query is long; only some of its words ({match.MAX_LEAVES} at most) were used."
        if note not in self.notes:
            self.notes.append(note)

    def _word(self, node: Word, scored: bool) -> None:
        forms = self.forms.forms(node.word)
        if len(forms) > self._room():
            self._note_length()
            self._step(match.ALL, 0)
            return
        others = self.written.of(node.word, (), node.fields, self._room() - len(forms)) if scored else []
        weight = self.word_idf(node.word, others) if scored else 0.0
        self._either(self._word_steps(node.word, weight, others, scored, -1, node.fields))
        if scored:
            self._score(node.word, weight, self._next_place(), others)
            self.asked.append(node.word)

    def _word_steps(
        self, word: str, weight: float, others: Sequence[WrittenForm], scored: bool, group: int, fields: int
    ) -> list[tuple[int, int]]:
        """Return the steps that match a word: a leaf for each of its terms, and for those of its other forms."""
        forms = [(form, weight) for form in self.forms.forms(word)]
        forms += [(form, other.share * weight) for other in others for form in other.leaves]
        steps = [(self._leaf(form, w, scored=scored, group=group, fields=fields), match.LEAF) for form, w in forms]
        sets = [other.further for other in others if other.further]
        return steps + [(self.filters.setdefault(terms, len(self.filters)), match.GIVEN) for terms in sets]

    def _leaf(
        self, form: TermForm, weight: float, *, scored: bool = True, group: int = -1, fields: int = EVERYWHERE
    ) -> int:
        """Add a leaf, or to the weight of one that is there already; return its number."""
        weight *= self.forms.share(form)
        key = (form, scored, group, fields)
        if key in self.numbers:
            number = self.numbers[key]
            self.leaves[number] = self.leaves[number]._replace(weight=self.leaves[number].weight + weight)
            return number
        self.numbers[key] = len(self.leaves)
        self.leaves.append(Leaf(form.term, weight, group, fields, form.languages))
        return len(self.leaves) - 1

    def _next_place(self) -> int:
        return self.words[-1].place + 1 if self.words else 0

    def _score(self, word: str, weight: float, place: int, others: Sequence[WrittenForm]) -> None:
        forms = self.forms.forms(word)
        if others:
            forms = tuple(dict.fromkeys((*forms, *(form for other in others for form in other.terms))))
        terms, languages = zip(*forms, strict=True)
        self.words.append(QueryWord(word, terms, weight, place, languages if any(languages) else ()))

    def _bag(self, bag: BagOfWords) -> None:
        """Score by any of the words. Stop words are left out where there are others; the rarest are kept."""
        arranged = self.written.arrange(bag.words, bag.compounds)
        counts, names, main = arranged.counts, arranged.names, self.forms.main_language
        content = {w: n for w, n in counts.items() if w in names or not is_stop_word(w, main)} or counts
        if len(content) == 1 and _MIN_STOP_WORDS < len(counts) <= _MAX_TITLE_WORDS:
            content = counts  # 'Down to You (song)', 'Books for All'.
        content = self._fit_words(content)
        if not content:
            self._step(match.ALL, 0)
            return
        steps, begin = [], self._next_place()
        room = self._room() - sum(len(self.forms.forms(word)) for word in content)
        for group, (word, times) in enumerate(content.items()):
            others = self.written.of(word, arranged.proposed.get(word, ()), room=room)
            room -= sum(len(other.leaves) for other in others)
            weight = times * self.word_idf(word, others)
            steps += self._word_steps(word, weight, others, True, group, EVERYWHERE)
            self._score(word, weight, begin + arranged.places[word], others)
        self.bag = list(content)
        self.asked += bag.words
        self._either(steps)

    def _fit_words(self, counts: dict[str, int]) -> dict[str, int]:
        """Return as many words as the program has room for, in all their forms: the rarest, if there are too many."""
        sizes = {word: len(self.forms.forms(word)) for word in counts}
        room = self._room()
        if sum(sizes.values()) <= room:
            return counts
        fitting: set[str] = set()
        for word in sorted(counts, key=lambda word: -self.word_idf(word)):
            if sizes[word] <= room:
                fitting.add(word)
                room -= sizes[word]
        if fitting:
            self.notes.append(f"The query is long; its {len(fitting)} rarest words were used.")
        return {word: times for word, times in counts.items() if word in fitting}

    def _fit_phrase(self, words: tuple[str, ...]) -> tuple[tuple[str, ...], list[PhraseForm]]:
        """Return as many words of a phrase as the program has room for in all their forms, and these forms."""
        fitting = words[: self._room()]
        forms = self.forms.phrase_forms(fitting) if fitting else []
        while len(forms) * len(fitting) > self._room() and len(fitting) > 1:
            fitting = fitting[: max(1, min(len(fitting) - 1, self._room() // len(forms)))]
            forms = self.forms.phrase_forms(fitting)
        if len(fitting) < len(words):
            self._note_length()
        return fitting, forms[: self._room()]

    def _phrase(self, phrase: Phrase | Near, scored: bool) -> None:
        """Match the phrase in the stems of each language of the index."""
        words, forms = self._fit_phrase(phrase.words)
        if not words:
            self._step(match.ALL, 0)
            return
        steps = self._phrase_steps(words, forms, phrase, scored)
        for other in self.written.phrases(phrase) if scored and words == phrase.words else ():
            further = self.forms.phrase_forms(other)
            if len(further) * len(other) <= match.MAX_LEAVES - len(self.leaves):
                steps += self._phrase_steps(other, further, phrase, scored)
        self._either(steps)
        if scored:
            proposed = self.written.proposed_forms(phrase)
            for place, word in enumerate(words, self._next_place()):
                if not is_stop_word(word, self.forms.main_language):
                    others = self.written.of(word, proposed.get(word, ()))
                    self._score(word, self.word_idf(word, others), place, others)
            self.asked += words

    def _phrase_steps(
        self, words: tuple[str, ...], forms: list[PhraseForm], phrase: Phrase | Near, scored: bool
    ) -> list[tuple[int, int]]:
        """Return the steps that match words in a row, in each of their forms."""
        steps = []
        weights = [self.word_idf(word) if scored else 0.0 for word in words]
        reach = phrase.distance if isinstance(phrase, Near) else 0
        for form in forms:
            leaves = tuple(
                [
                    self._leaf(TermForm(term, form.languages), weight, scored=scored)
                    for weight, term in zip(weights, form.terms, strict=True)
                ]
            )
            self.phrases.append(PhrasePlan(leaves, reach, phrase.fields))
            steps.append((len(self.phrases) - 1, match.PHRASE))
        return steps
