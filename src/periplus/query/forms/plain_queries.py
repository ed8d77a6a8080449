"""Queries of the plainest kinds, which most are, read at once: `a b`, `+a +b` and `"a b"` in small letters and digits.

The parser would read the same; with all that words may be besides words, that takes as long as the rest of planning.
"""

import re
from typing import Final

from periplus.query.forms.prose import plain_words
from periplus.query.query_tree import And, BagOfWords, Node, Phrase, Word

__all__ = ["parse_plain"]

_REQUIRED: Final = re.compile(r"\+[a-z0-9]{1,32}(?: \+[a-z0-9]{1,32}){0,7}")


def parse_plain(text: str) -> Node | None:
    """Return the tree of a query that is nothing but words, all or none of them required, or a phrase; else None."""
    if words := plain_words(text):
        return BagOfWords(words)
    if text[:1] == "+" and _REQUIRED.fullmatch(text):
        parts = tuple([Word(part[1:]) for part in text.split(" ")])
        return And(parts) if len(parts) > 1 else parts[0]
    if text[:1] == '"' and text[-1:] == '"' and (words := plain_words(text[1:-1])):
        return Phrase(words) if len(words) > 1 else Word(words[0])
    return None
