"""Misspelt queries of which the correction is searched instead.

A correction is good enough to be offered long before it is good enough to be believed: on an index about ships, the
nearest word to 'chicken' is 'thicken'. So only plain words that no page has are replaced, by a word that a likely slip
of the finger makes of them, and beside other words only if pages have it next to one of these. A word that is found,
however rarely, may be a name; the writer of a query with operators chose the words with care; short words are near many
others. For all of these a correction is only offered.
"""

import math
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from periplus.index import CollectionView
from periplus.query import BagOfWords, Node, QueryWord, correct_spelling
from periplus.text import is_stop_word, split_text

__all__ = ["MIN_RESULTS", "find_replacements"]

_MIN_LETTERS: Final = 5
_LONG: Final = 8
"""A word of so many letters is near few others: one slip in it needs no other evidence, and two are possible."""
_ONE_SLIP: Final = 100
_TWO_SLIPS: Final = 150
"""What slips may cost."""
MIN_RESULTS: Final = 10
"""First results of a correction among which one must have all its words."""


def find_replacements(index: CollectionView, tree: Node, words: Sequence[QueryWord], text: str) -> tuple[str, ...]:
    """Return the corrections of a query if the first of them may be searched instead of it; else ().

    words: those of the plan of `tree`; text: the query as typed.
    """
    unknown = {word.word for word in words if not word.weight}
    if not unknown or not isinstance(tree, BagOfWords):
        return ()
    corrections = correct_spelling(index, text, words, False)
    if not corrections:
        return ()
    typed, corrected = split_text(text), split_text(corrections[0])
    changes = [
        code for code in SequenceMatcher(None, typed, corrected, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    likely = bool(changes) and all(
        unknown.issuperset(typed[begin:end]) and _is_likely(index, typed[begin:end], corrected, first, last)
        for _, begin, end, first, last in changes
    )
    return corrections if likely else ()


def _is_likely(index: CollectionView, typed: Sequence[str], corrected: Sequence[str], first: int, last: int) -> bool:
    """Return whether some words are a likely misspelling of those from `first` to `last` of a correction."""
    meant = corrected[first:last]
    if "".join(typed) == "".join(meant):
        return True  # A space too many, or a missing one.
    if len(typed) != len(meant):
        return False
    for one, other, position in zip(typed, meant, range(first, last), strict=True):
        cost = _slip_cost(index, one, other)
        if len(one) >= _LONG and cost <= _ONE_SLIP:
            continue
        limit = _TWO_SLIPS if len(one) >= _LONG else _ONE_SLIP
        if cost > limit or not _goes_with_neighbours(index, corrected, position):
            return False
    return True


def _slip_cost(index: CollectionView, typed: str, meant: str) -> float:
    """Return what it costs to type one word for another: more than anything if no slip of the finger explains it.

    Few slips are in the first letter, and few end in a word that every page has.
    """
    if len(typed) < _MIN_LETTERS or typed[0] != meant[0] or is_stop_word(meant, _main_language(index)):
        return math.inf
    return next((other.cost for other in index.spelling.find_candidates(typed) if other.word == meant), math.inf)


def _goes_with_neighbours(index: CollectionView, words: Sequence[str], position: int) -> bool:
    """Return whether pages have a word next to another of the query; a word without others needs none."""
    content = [word for word in words if not is_stop_word(word, _main_language(index))]
    if content == [words[position]]:
        return True
    places = [(a, a + 1) for a in (position - 1, position) if 0 <= a < len(words) - 1]
    pairs = [(words[a], words[b]) for a, b in places if words[a] in content and words[b] in content]
    return any(index.spelling.count_pairs([a for a, _ in pairs], [b for _, b in pairs]))


def _main_language(index: CollectionView) -> str:
    return max(index.languages, key=lambda code: index.languages[code], default="") or "en"
