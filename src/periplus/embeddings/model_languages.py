"""Which pages and queries the model can read: it knows some languages, and what it makes of others means nothing.

A page tells its language, or its words do. A query is too short for that: "Schlacht in Berlin" has one word that
many languages share, "die hard" looks German. So the pages that its words have found are asked, too: they are mostly in
the language of who asks. Where it is not one that the model knows, words alone decide.
"""

from collections.abc import Collection
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.index import Index
from periplus.text import detect_language, language_number

__all__ = ["asked_among", "readable"]

_SAMPLE: Final = 400
_ENOUGH: Final = 200
"""Characters by which a text tells its language, whatever it says: of 13,000 English ones, two told another."""
_PLAIN: Final = 0.9
"""Share of ASCII in a text that nobody knows the language of, for it to be taken for English."""
_SAID: Final = 0.6
"""The same in one that says it is English: many pages say so and are not."""
_BEST: Final = 10
_SOME, _HALF, _NEARLY_ALL = 0.3, 0.5, 0.9
"""Share of the best candidates that must be in a language of the model: as the query looks like it, like none, like
another."""
_ENGLISH: Final = frozenset(("en",))


def readable(language: str, title: str, text: str, languages: Collection[str]) -> bool:
    """Say whether a model for `languages` can make something of a page in `language`, '' if that is not known."""
    if language and language not in languages:
        return False
    if language and language not in _ENGLISH:
        return True
    sample = f"{title} {text[:_SAMPLE]}"
    if len(sample) >= _ENOUGH and (detect_language(sample) or "en") not in languages:
        return False
    return _plain(sample) >= (_SAID if language else _PLAIN)


def _plain(text: str) -> float:
    """Give the share of ASCII in a text."""
    return 1.0 if text.isascii() else sum(letter.isascii() for letter in text) / len(text)


def asked_among(
    words: str,
    index: Index,
    segments: npt.NDArray[np.int32],
    documents: npt.NDArray[np.int32],
    languages: Collection[str],
) -> bool:
    """Say whether a query that found these documents, best first, is one that a model for `languages` understands."""
    if _ENGLISH.issuperset(languages) and _plain(words) < _SAID:
        return False
    known = {language_number(language) for language in languages} | {0}
    best = zip(segments[:_BEST].tolist(), documents[:_BEST].tolist(), strict=True)
    found = [int(index.segments[segment].column("language")[document]) in known for segment, document in best]
    if sum(found) >= _NEARLY_ALL * len(found):
        return True
    looks = detect_language(words)
    least = _HALF if not looks else _SOME if looks in languages else _NEARLY_ALL
    return sum(found) >= least * len(found)
