"""Words of a query that are written as one: 'wi-fi', 'U.S.', "don't", '1,000,000', '9/11', 'C++'.

The tokenizer splits them into words; which of those belong together, and by which mark, is known only where the query
is parsed. A compound keeps that, for the other ways to write it (`written_forms`).
"""

import itertools
from typing import Final, NamedTuple

from periplus.text.analyzer import split_text, token_spans

__all__ = ["ACRONYM", "SYMBOL", "Compound", "content_words", "find_acronym", "find_compounds", "is_clitic"]

SYMBOL: Final = "+"
"""The mark between a word and a symbol that is written to it."""
ACRONYM: Final = "A"
"""The mark of a single word in capitals, in a query that has other letters too: 'US', 'IT'."""
_MARKS: Final = {
    **dict.fromkeys("-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("'\u2019\u2018\u02bc\uff07`\u00b4", "'"),
    **dict.fromkeys(".\uff0e\u00b7", "."),
    **dict.fromkeys(",\uff0c", ","),
    **dict.fromkeys("/\uff0f", "/"),
    **dict.fromkeys("&\uff06", "&"),
    "_": "_",
}
_SYMBOLS: Final = frozenset(("#", "+", "++", "."))
_ACRONYM_LETTERS: Final = range(2, 6)
_OPERATORS: Final = frozenset(("AND", "OR", "NOT", "NEAR"))
_CLITICS: Final = frozenset(("s", "t", "d", "m", "ll", "re", "ve"))
"""What follows an apostrophe and carries no meaning of its own: "women's", "don't", "we'll"."""
_FRENCH_ITALIAN: Final = "c d j l m n s t qu jusqu lorsqu puisqu quoiqu dell all nell dall sull coll quell bell sant un"
_ELISIONS: Final = frozenset(_FRENCH_ITALIAN.split())
"""What precedes one in French, Italian and Catalan: "l'eau", "qu'il", "dell'arte"."""


class Compound(NamedTuple):
    """Neighbouring words of a query that are written as one."""

    first: int
    """The number of the first word."""
    size: int
    """How many words they are."""
    marks: str
    """The mark between each two of them; `ACRONYM` for a single word."""

    def shift(self, by: int) -> "Compound":
        """Return the same compound behind `by` more words."""
        return self._replace(first=self.first + by)


def find_compounds(text: str) -> tuple[tuple[str, ...], tuple[Compound, ...]]:
    """Return the folded words of a text, and which of them are written as one."""
    words = tuple(split_text(text))
    if not words or text.isalnum() or (text.isascii() and text.replace(" ", "").isalnum()):
        return words, ()
    data = text.encode("utf-8", "replace")
    spans = token_spans(data).tolist()
    marks = [
        _mark(data[before[1] : after[0]].decode("utf-8", "replace"), before, after, words[number : number + 2])
        for number, (before, after) in enumerate(itertools.pairwise(spans))
    ]
    compounds, first = [], 0
    for last in range(1, len(words) + 1):
        if last == len(words) or not marks[last - 1]:
            if last - first > 1:
                compounds.append(Compound(first, last - first, "".join(marks[first : last - 1])))
            first = last
    return words, tuple(compounds)


def _mark(gap: str, before: list[int], after: list[int], words: tuple[str, ...]) -> str:
    """Return the mark that joins two neighbouring tokens, '' if none does."""
    if before[1] > after[0]:  # Pairs of characters overlap.
        return ""
    if not gap:
        return SYMBOL if words[0] in _SYMBOLS or words[1] in _SYMBOLS else ""
    return _MARKS.get(gap, "")


def find_acronym(text: str, query: str) -> tuple[Compound, ...]:
    """Return the word of `text` as an acronym if it is written in capitals, and the query not all in them."""
    if not (text.isascii() and text.isalpha() and text.isupper()) or text in _OPERATORS:
        return ()
    if len(text) not in _ACRONYM_LETTERS:
        return ()
    return () if query.isupper() and len(query.split()) > 1 else (Compound(0, 1, ACRONYM),)


def is_clitic(words: tuple[str, ...], compound: Compound, number: int) -> bool:
    """Return whether a word of a compound carries no meaning of its own: the 's' of "women's", the 'l' of "l'eau"."""
    at = number - compound.first
    before = at > 0 and compound.marks[at - 1] == "'"
    after = at < compound.size - 1 and compound.marks[at] == "'"
    if before and words[number] in _CLITICS and len(words[number - 1]) > 1:
        return True
    return after and words[number] in _ELISIONS and len(words[number + 1]) > 2


def content_words(words: tuple[str, ...], compounds: tuple[Compound, ...]) -> tuple[str, ...]:
    """Return the words without those that carry no meaning of their own."""
    dropped = {
        number
        for compound in compounds
        for number in range(compound.first, compound.first + compound.size)
        if compound.size > 1 and is_clitic(words, compound, number)
    }
    return tuple(word for number, word in enumerate(words) if number not in dropped)
