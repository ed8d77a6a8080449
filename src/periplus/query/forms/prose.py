"""Queries that are sentences: pasted text, questions with a quotation in them.

Somebody who writes operators writes few words beside them. In a text of many words, quotation marks quote, brackets
add, and hyphens are dashes: taken as operators they would exclude nearly every page.
"""

import re
from typing import Final

__all__ = ["MIN_PROSE_WORDS", "plain_words", "remove_operators"]

MIN_PROSE_WORDS: Final = 12
"""Words outside quotation marks and without a sign from which on a query is prose."""
_QUOTED: Final = re.compile(r'"[^"]*"?')
_NAMED_OPERATOR: Final = re.compile(
    r"(?<!\S)\(*(?:(?:AND|OR|NOT|NEAR)(?!\S)|AROUND\(|[-+]?(?i:site|lang|filetype|type|before|after|link"
    r"|in(?:title|heading|url|anchor|text)):\S)"
)
"""What nobody writes by accident; capitals are no sign of it where there are only capitals."""
_SIGN: Final = re.compile(r"(?<!\S)[-+]+(?=\S)")
_MARKS: Final = re.compile(r'["()*]')
_PLAIN: Final = re.compile(r"[a-z0-9]{1,32}(?: [a-z0-9]{1,32}){0,15}")
"""A query without operators, capitals or anything that words are written as one with."""


def remove_operators(text: str) -> str | None:
    """Return prose without the characters that would be operators; None for a query that may have operators."""
    if not any(mark in text for mark in '"()*+-'):
        return None
    pieces = _QUOTED.sub(" ", text).split()
    if sum(piece[0] not in "-+" and any(map(str.isalnum, piece)) for piece in pieces) < MIN_PROSE_WORDS:
        return None
    if _NAMED_OPERATOR.search(text) and not text.isupper():
        return None
    plain = _SIGN.sub(" ", _MARKS.sub(" ", text))
    return plain if plain != text else None


def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a query that is nothing but a few words of small letters and digits; none of any other."""
    return tuple(text.split(" ")) if _PLAIN.fullmatch(text) else ()
