"""Search as you type: the last word of a query may not be finished yet."""

import re
from typing import Final

from periplus.records import Query
from periplus.text import split_text

__all__ = ["unfinished_word"]

_FIELD: Final = re.compile(r"in(?:title|heading|url|anchor|text):", re.IGNORECASE)


def unfinished_word(query: Query) -> str:
    """Return the word that its writer may still be typing; '' if there is none.

    That is the last one, unless a space follows it. What is excluded, or is the value of a filter, is not completed.
    """
    if not query.as_you_type or query.words[-1:].isspace():
        return ""
    *before, last = query.words.rsplit(None, 1) or [""]
    excluded = last.startswith("-") or (before and before[0].split()[-1:] == ["NOT"])
    if excluded or not last[-1:].isalnum():
        return ""
    text = _FIELD.sub("", last.lstrip("+("), count=1).lstrip("(")
    return "" if ":" in text or '"' in text else (split_text(text) or [""])[-1]
