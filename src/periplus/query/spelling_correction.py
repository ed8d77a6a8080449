"""What may have been meant by a query whose words are not, or hardly, found.

Words of the index that are few slips of the finger or of the ear away are weighed by how frequent they are and by what
stands beside them. A word that has results of its own is left alone, unless a far more frequent one is a single slip
away; so is a query whose words are all found together. Two words that were written as one, or one as two, are seen too.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from periplus.index import CollectionView, SpellingCandidate
from periplus.query.cooccurrence import Cooccurrence
from periplus.query.query_plan import QueryWord
from periplus.text import split_text, terms_of, token_spans

__all__ = ["correct_spelling", "write_over"]

_RARE: Final = 10
"""Words of up to so many documents may be misspelt ..."""
_RARE_SHARE: Final = 1e-4
"""... or of up to this share of them."""
_RATIOS: Final = ((65, (3_000, 1_000, 300, 300), 100), (80, (30_000, 5_000, 2_000, 2_000), 200))
"""How much more frequent a word must be to be offered for one that is found: for slips that cost up to so much, of
words of four letters, five, six, seven, and more. The longer a word, the fewer others are like it."""
_FITTING_RATIO: Final = 20
"""The same for a word that is known beside the others of the query, where what was typed is not."""
_COMPANY: Final = 2.0
"""How much better it must go with the rest, as a logarithm, where it is not known beside them."""
_SHORT: Final = 4
_BESIDE: Final = 1.5
"""What it counts that words are known to stand beside each other, against how frequent they are."""
_MOST: Final = 3
_CLOSE: Final = 1.0
"""Further suggestions score at most so much less than the best."""
_LIKELY: Final = 3
"""How many choices are looked up together with the rest of the query."""
_LONGEST_QUERY: Final = 400
_MOST_WORDS: Final = 8
"""Words of one query that are looked at."""
_PARTED: Final = 8.0
"""What a space that is missing, or one too many, costs."""


class _Choice(NamedTuple):
    """One way to write a token, or it and the next."""

    text: str
    score: float
    tokens: int = 1


def correct_spelling(index: CollectionView, said: str, words: Sequence[QueryWord], complete: bool) -> tuple[str, ...]:
    """Return other spellings of a query, the likeliest first; complete: whether a result has all its words."""
    book = index.spelling
    if not book.size or len(said) > _LONGEST_QUERY:
        return ()
    if complete and len(words) > 1 and all(word.weight for word in words):
        return ()  # All are found together: the usual case, and it costs nothing.
    doubtful = _doubtful(index, words, complete)
    if not doubtful:
        return ()
    speller = _Speller(index, split_text(said), doubtful)
    chosen = {place: choices for place in speller.places() if (choices := speller.choices(place))}
    return _written(said, chosen) if chosen else ()


def _doubtful(index: CollectionView, words: Sequence[QueryWord], complete: bool) -> dict[str, int]:
    """Return the words that are rare as they are spelled, with the documents that have them in any form."""
    asked = [word for word in words if word.word.replace("'", "").isalpha() and len(word.word) > 2][:_MOST_WORDS]
    rare = max(_RARE, int(_RARE_SHARE * index.documents))
    doubtful: dict[str, int] = {}
    for word, written in zip(asked, index.spelling.document_frequencies([word.word for word in asked]), strict=True):
        if written <= rare:
            own = max(written, *map(index.document_frequency, word.terms)) if word.weight else 0
            if own == 0 or not (complete and len(words) > 1):
                doubtful[word.word] = own
    return doubtful


class _Speller:
    """Chooses words for the doubtful ones among the tokens of a query."""

    def __init__(self, index: CollectionView, tokens: list[str], doubtful: dict[str, int]) -> None:
        self.index = index
        self.tokens = tokens
        self.doubtful = doubtful
        often = sorted(index.languages, key=lambda code: -index.languages[code])
        self.languages = [code for code in often if code] or ["en"]
        self.company = Cooccurrence(index, [token for token in dict.fromkeys(tokens) if token not in doubtful])

    def places(self) -> list[int]:
        """Return the positions of doubtful tokens."""
        return [place for place, token in enumerate(self.tokens) if token in self.doubtful][:_MOST_WORDS]

    def choices(self, place: int) -> list[_Choice]:
        """Return the spellings of a token, best first; none if it is better left alone."""
        token = self.tokens[place]
        own = self.doubtful[token]
        meanings = self.index.spelling.find_candidates(token)
        stems = terms_of([token, *(meant.word for meant in meanings)], self.languages[0])
        # The same word in another form finds the same pages.
        others = [meant for meant, stem in zip(meanings, stems[1:], strict=True) if stem != stems[0]]
        if own:
            others = [meant for meant in others if self._outweighs(place, meant, own)]
        found = [_Choice(m.word, m.score) for m in others]
        if not own:
            found += self._parted(token) + self._joined(place)
        found.sort(key=lambda choice: -choice.score)
        fits = zip(found, self._fits(place, found), strict=True)
        found = [choice._replace(score=choice.score + fit) for choice, fit in fits]
        found.sort(key=lambda choice: -choice.score)
        self.company.prepare([choice.text for choice in found[:_LIKELY]])
        found[:_LIKELY] = [c._replace(score=c.score + self.company.with_word(c.text)) for c in found[:_LIKELY]]
        found.sort(key=lambda choice: -choice.score)
        return [choice for choice in found[: _MOST + 1] if self._is_found(choice)][:_MOST]

    def _outweighs(self, place: int, meant: SpellingCandidate, own: int) -> bool:
        """Return whether a word is so much likelier than one of `own` documents that it may be suggested."""
        size = len(self.tokens[place]) - _SHORT
        ratios = [(few, many) for most, few, many in _RATIOS if meant.cost <= most]
        if size < 0 or not ratios:
            return False
        few, many = ratios[0]
        if meant.documents >= own * (few[size] if size < len(few) else many):
            return True
        if meant.documents < _FITTING_RATIO * own:
            return False
        token = self.tokens[place]
        typed, other = self._fits(place, [_Choice(token, 0.0), _Choice(meant.word, 0.0)])
        if typed:
            return False
        return other > _BESIDE or self.company.with_word(meant.word) - self.company.with_word(token) > _COMPANY

    def _is_found(self, choice: _Choice) -> bool:
        """Return whether the index still has what would be suggested."""
        return all(
            any(self.index.document_frequency(terms_of([word], code)[0]) for code in self.languages)
            for word in choice.text.split(" ")
        )

    def _fits(self, place: int, choices: Sequence[_Choice]) -> list[float]:
        """Return how well each choice goes with its neighbouring tokens."""
        first, second = list[str](), list[str]()
        for choice in choices:
            written, after = choice.text.split(" "), place + choice.tokens
            first += [self.tokens[place - 1] if place else "", written[-1]]
            second += [written[0], self.tokens[after] if after < len(self.tokens) else ""]
        if len(self.tokens) == 1:
            return [0.0] * len(choices)
        logs = [math.log1p(count) for count in self.index.spelling.count_pairs(first, second)]
        return [_BESIDE * (before + after) for before, after in zip(logs[::2], logs[1::2], strict=True)]

    def _parted(self, token: str) -> list[_Choice]:
        """Return the ways to split a token into two words that occur next to each other."""
        cuts = [(token[:n], token[n:]) for n in range(2, len(token) - 1)]
        firsts, seconds = [first for first, _ in cuts], [second for _, second in cuts]
        known = self.index.spelling.document_frequencies([*firsts, *seconds])
        beside = self.index.spelling.count_pairs(firsts, seconds)
        found = []
        for number, (first, second) in enumerate(cuts):
            rarer = min(known[number], known[len(cuts) + number])
            if rarer and beside[number]:
                score = math.log1p(rarer) + _BESIDE * math.log1p(beside[number]) - _PARTED
                found.append(_Choice(f"{first} {second}", score))
        return found

    def _joined(self, place: int) -> list[_Choice]:
        """Return the word that a token forms with the next one."""
        if place + 1 >= len(self.tokens):
            return []
        word = self.tokens[place] + self.tokens[place + 1]
        known = self.index.spelling.document_frequencies([word])[0]
        return [_Choice(word, math.log1p(known) - _PARTED / 2, 2)] if known else []


def _written(said: str, chosen: dict[int, list[_Choice]]) -> tuple[str, ...]:
    """Write the query with the best choice for every place, and with the next best for one."""
    best = {place: choices[0] for place, choices in chosen.items()}
    others = [
        (choice.score - best[place].score, place, choice) for place, choices in chosen.items() for choice in choices[1:]
    ]
    close = [(place, choice) for less, place, choice in sorted(others, key=lambda o: -o[0]) if less >= -_CLOSE]
    variants = [best, *({**best, place: choice} for place, choice in close)]
    return tuple(dict.fromkeys(_replaced(said, variant) for variant in variants))[:_MOST]


def write_over(said: str, place: int, word: str) -> str:
    """Write a word over the token at a place of a query, and leave everything else as it was said."""
    return _replaced(said, {place: _Choice(word, 0.0)})


def _replaced(said: str, choices: dict[int, _Choice]) -> str:
    """Write choices over the tokens they stand for, and leave everything else as it was said."""
    raw = said.encode("utf-8", "replace")
    spans = token_spans(raw).tolist()
    taken = {place + 1 for place, choice in choices.items() if choice.tokens == 2}
    for place in sorted(choices.keys() - taken, reverse=True):
        begin, end = spans[place][0], spans[min(place + choices[place].tokens, len(spans)) - 1][1]
        raw = raw[:begin] + choices[place].text.encode("utf-8") + raw[end:]
    return raw.decode("utf-8", "replace")
