"""What may have been meant by a word that is found, and does not go with the others of its query.

One misspelling in six is another word of the collection ('note dame', 'adam lavine'). Such a word has results of its
own and is not corrected; but where pages hardly have it together with the rest of the query, and have a word one slip
away far oftener, that one is offered. Only where no result has all words: then nobody needs an offer.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.index import Index, SpellingCandidate
from periplus.query.cooccurrence import Company
from periplus.query.query_planner import QueryWord
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


class _Offer(NamedTuple):
    score: float
    place: int
    word: str


def suggest_alternatives(index: Index, said: str, words: Sequence[QueryWord], complete: bool) -> tuple[str, ...]:
    """Give another way to write a query whose words are all known; `complete` says that they are found together."""
    if complete or len(words) < 2 or len(said) > _LONGEST_QUERY or not index.spelling.size:
        return ()
    tokens = split_text(said)
    asked = {word.word for word in words if word.weight}
    places = [n for n, t in enumerate(tokens) if len(t) >= _SHORTEST and t.isalpha() and t in asked][:_MOST_WORDS]
    companies = _Companies(index, tokens)
    best = max((offer for place in places if (offer := _offer(index, companies, tokens, place))), default=None)
    return (write_over(said, best.place, best.word),) if best else ()


class _Companies:
    """The company that the words of a query keep: that of its rarest word, but for that word itself the next."""

    def __init__(self, index: Index, tokens: list[str]) -> None:
        self._index = index
        self._main = max(index.languages, key=lambda code: index.languages[code], default="") or "en"
        kept = [token for token in dict.fromkeys(tokens) if not is_stop_word(token, self._main)]
        counts = map(index.document_frequency, terms_of(kept, self._main))
        self._rarest = [token for count, token in sorted(zip(counts, kept, strict=True)) if count][:2]
        self._made: dict[str, Company] = {}

    def without(self, token: str) -> Company | None:
        """Give the company of the others of a token; None if none of them says anything."""
        other = next((word for word in self._rarest if word != token), "")
        if other and other not in self._made:
            self._made[other] = Company(self._index, [other])
        return self._made.get(other)


def _offer(index: Index, companies: _Companies, tokens: list[str], place: int) -> _Offer | None:
    """Give the word that goes far better with the others than the one at a place, if there is one."""
    token, book = tokens[place], index.spelling
    if _beside(index, tokens, place, [token])[0]:
        return None
    main = max(index.languages, key=lambda code: index.languages[code], default="") or "en"
    stem = terms_of([token], main)[0]
    own = max(book.document_frequencies([token])[0], index.document_frequency(stem), 1)
    least = min(times for _, times in _RULES)
    company = companies.without(token)
    if company is None or (fits := company.with_word(token)) > _AT_HOME:
        return None
    meant = [m for m in book.find_candidates(token) if m.cost <= _COST and m.documents >= least * own]
    stems = terms_of([m.word for m in meant], main)
    meant = [m for m, other in zip(meant, stems, strict=True) if other != stem][:_LIKELY]
    if not meant:
        return None
    beside = _beside(index, tokens, place, [m.word for m in meant])
    found = [_weigh(m, own, company.with_word(m.word) - fits + near) for m, near in zip(meant, beside, strict=True)]
    best = max((one for one in found if one), default=None)
    return _Offer(best[0], place, best[1]) if best else None


def _weigh(meant: SpellingCandidate, own: int, gain: float) -> tuple[float, str] | None:
    """Give how good an offer a word is; None if it is not good enough."""
    times = meant.documents / own
    if not any(gain >= more and times >= often for more, often in _RULES):
        return None
    return gain + 0.5 * math.log(times) - meant.cost / 50, meant.word


def _beside(index: Index, tokens: list[str], place: int, words: list[str]) -> list[float]:
    """Say how well each word goes with the tokens beside a place."""
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    first = [one for word in words for one in (before, word)]
    second = [one for word in words for one in (word, after)]
    counts = [math.log1p(count) for count in index.spelling.count_pairs(first, second)]
    return [_BESIDE * (one + two) for one, two in zip(counts[::2], counts[1::2], strict=True)]
