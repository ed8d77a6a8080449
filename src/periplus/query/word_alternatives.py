"""What may have been meant by a word that is found, and does not go with the others of its query.

One misspelling in six is another word of the collection ('note dame', 'adam lavine'). Such a word has results of its
own and is not corrected; but where pages hardly have it together with the rest of the query, and have a word one slip
away far oftener, that one is offered. Only where no result has all words: then nobody needs an offer.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.index import CollectionView, SpellingCandidate
from periplus.query.cooccurrence import Cooccurrence
from periplus.query.forms.word_analysis import languages_of
from periplus.query.query_plan import QueryWord
from periplus.query.spelling_correction import write_over
from periplus.text import is_stop_word, split_text, terms_of

__all__ = ["suggest_alternatives"]

_LONGEST_QUERY: Final = 400
_MOST_WORDS: Final = 8
_SHORTEST: Final = 4
_LIKELY: Final = 4
"""Words a slip away that are tried."""
_COST: Final = 100
"""What the slip may cost at most: that of an ordinary one."""
_AT_HOME: Final = 0.8
"""A word that goes so well with the others, as a logarithm, is meant as it is."""
_RULES: Final = ((1.0, 10.0), (2.5, 0.3))
"""How much better another must go with them, as a logarithm, if it is so many times as frequent."""
_BESIDE: Final = 1.5
"""What it counts that words are known to stand beside each other."""


class _Alternative(NamedTuple):
    score: float
    place: int
    word: str


def suggest_alternatives(
    index: CollectionView, said: str, words: Sequence[QueryWord], complete: bool
) -> tuple[str, ...]:
    """Return another query where all words exist but one is unlikely; complete: whether a result has them all."""
    if complete or len(words) < 2 or len(said) > _LONGEST_QUERY or not index.spelling.size:
        return ()
    tokens = split_text(said)
    asked = {word.word for word in words if word.weight}
    places = [n for n, t in enumerate(tokens) if len(t) >= _SHORTEST and t.isalpha() and t in asked][:_MOST_WORDS]
    beside = index.spelling.count_pairs(["", *tokens], [*tokens, ""])  # A word that goes with a neighbour is meant.
    places = [place for place in places if not beside[place] and not beside[place + 1]]
    if not places:
        return ()
    cooccurrences = _QueryCooccurrences(index, tokens)
    alternatives = (_find_alternative(index, cooccurrences, tokens, place) for place in places)
    best = max((alternative for alternative in alternatives if alternative), default=None)
    return (write_over(said, best.place, best.word),) if best else ()


class _QueryCooccurrences:
    """Cooccurrences with the rarest word of a query, or with the next rarest for that word itself."""

    def __init__(self, index: CollectionView, tokens: list[str]) -> None:
        self._index = index
        self._main = languages_of(index).main_language
        kept = [token for token in dict.fromkeys(tokens) if not is_stop_word(token, self._main)]
        counts = map(index.document_frequency, terms_of(kept, self._main))
        self._rarest = [token for count, token in sorted(zip(counts, kept, strict=True)) if count][:2]
        self._by_word: dict[str, Cooccurrence] = {}

    def without(self, token: str) -> Cooccurrence | None:
        """Return the cooccurrences of the other words of the query; None if none of them tells anything."""
        other = next((word for word in self._rarest if word != token), "")
        if other and other not in self._by_word:
            self._by_word[other] = Cooccurrence(self._index, [other])
        return self._by_word.get(other)


def _find_alternative(
    index: CollectionView, cooccurrences: _QueryCooccurrences, tokens: list[str], place: int
) -> _Alternative | None:
    """Return the word that goes far better with the others than the one at a position, if there is one."""
    token, book = tokens[place], index.spelling
    main = languages_of(index).main_language
    stem = terms_of([token], main)[0]
    own = max(book.document_frequencies([token])[0], index.document_frequency(stem), 1)
    least = min(times for _, times in _RULES)
    cooccurrence = cooccurrences.without(token)
    if cooccurrence is None or (fits := cooccurrence.with_word(token)) > _AT_HOME:
        return None
    meant = [m for m in book.find_candidates(token) if m.cost <= _COST and m.documents >= least * own]
    stems = terms_of([m.word for m in meant], main)
    meant = [m for m, other in zip(meant, stems, strict=True) if other != stem][:_LIKELY]
    if not meant:
        return None
    beside = _beside(index, tokens, place, [m.word for m in meant])
    cooccurrence.prepare([m.word for m in meant])
    found = [
        _weigh(m, own, cooccurrence.with_word(m.word) - fits + near) for m, near in zip(meant, beside, strict=True)
    ]
    best = max((one for one in found if one), default=None)
    return _Alternative(best[0], place, best[1]) if best else None


def _weigh(meant: SpellingCandidate, own: int, gain: float) -> tuple[float, str] | None:
    """Return how good an alternative a word is; None if it is not good enough."""
    times = meant.documents / own
    if not any(gain >= more and times >= often for more, often in _RULES):
        return None
    return gain + 0.5 * math.log(times) - meant.cost / 50, meant.word


def _beside(index: CollectionView, tokens: list[str], place: int, words: list[str]) -> list[float]:
    """Return how well each word goes with the tokens next to a position."""
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    first = [one for word in words for one in (before, word)]
    second = [one for word in words for one in (word, after)]
    counts = [math.log1p(count) for count in index.spelling.count_pairs(first, second)]
    return [_BESIDE * (one + two) for one, two in zip(counts[::2], counts[1::2], strict=True)]
