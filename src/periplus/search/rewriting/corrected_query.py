"""Misspelt queries of which the correction is searched instead.

Only plain words that no page has are replaced. A word that is found, however rarely, may be a name: for it a correction
is only offered. So it is for a query with operators, whose writer chose the words with care, and for short words, which
are near many others.
"""

from collections.abc import Sequence
from typing import Final

from periplus.index import Index
from periplus.query import BagOfWords, Node, QueryWord, correct_spelling
from periplus.text import split_text

__all__ = ["MIN_RESULTS", "find_replacements"]

_MIN_LENGTH: Final = 4
"""Letters of a word that may be replaced."""
MIN_RESULTS: Final = 10
"""First results of a correction among which one must have all its words."""


def find_replacements(index: Index, tree: Node, words: Sequence[QueryWord], text: str) -> tuple[str, ...]:
    """Return the corrections of a query if the first of them may be searched instead of it; else ().

    words: those of the plan of `tree`; text: the query as typed.
    """
    unknown = {word.word for word in words if not word.weight}
    if not unknown or not isinstance(tree, BagOfWords):
        return ()
    corrections = correct_spelling(index, text, words, False)
    if not corrections:
        return ()
    replaced = set(split_text(text)) - set(split_text(corrections[0]))
    replaceable = {word for word in unknown if len(word) >= _MIN_LENGTH and word.isalpha()}
    return corrections if replaced and replaced <= replaceable else ()
