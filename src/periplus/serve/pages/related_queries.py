"""Related searches: completions of a query, and what its results are called. Nobody's queries are used."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from periplus.records import Hit
from periplus.serve.protocols import SearcherLike

__all__ = ["related_queries"]

_MOST: Final = 6
_COMPLETIONS: Final = 8
_MAX_CHARS: Final = 60
_MAX_WORDS: Final = 6
_SITE_NAME: Final = re.compile(r"\s+[|–—·:-]+\s+|\s*\|\s*|:\s+")
"""What separates the name of a page from that of its site, or from a subtitle."""


def related_queries(searcher: SearcherLike, words: str, hits: Iterable[Hit], shown: Iterable[str] = ()) -> list[str]:
    """Return queries that are near a query; shown: those that the page offers anyway."""
    known, related = {_fold(text) for text in (words, *shown)}, list[str]()
    for text in _candidates(searcher, words, hits):
        folded = _fold(text)
        if folded in known or not 0 < len(text) <= _MAX_CHARS or len(text.split()) > _MAX_WORDS:
            continue
        known.add(folded)
        related.append(text)
        if len(related) == _MOST:
            break
    return related


def _candidates(searcher: SearcherLike, words: str, hits: Iterable[Hit]) -> Iterator[str]:
    """Yield completions, then the names of the results; the first of them is often the query itself."""
    unfinished = searcher.suggest(words.strip(), _COMPLETIONS)  # first: where nothing begins so, nothing goes on so
    for completions in (searcher.suggest(words.strip() + " ", _COMPLETIONS), unfinished):
        for text, _ in completions:
            if " " in text or "." not in text:  # others are hosts
                yield " ".join(_SITE_NAME.split(text)[0].split())
    for hit in hits:
        yield " ".join(_SITE_NAME.split(hit.title.strip())[0].split())


def _fold(text: str) -> str:
    return " ".join(sorted(text.casefold().split()))
