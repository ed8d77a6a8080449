"""Which pages and queries the model supports: vectors of text in other languages than its own are meaningless.

The language of a page is declared or detected. A query is too short for detection: "Schlacht in Berlin" has one word
that many languages share, and "die hard" looks German. Therefore the pages that match its words count too: most of them
are in the language of the searcher. Where they are not in a language of the model, the query's own words decide.
"""

from collections.abc import Collection, Sequence
from typing import Final

from periplus.text import detect_languages, language_number

__all__ = ["is_query_supported", "is_readable"]

_SAMPLE_CHARS: Final = 400
_DETECTABLE_CHARS: Final = 200
"""Length from which detection overrides the declared language: of 13,000 English texts, two were misdetected."""
_MIN_ASCII_UNKNOWN: Final = 0.9
"""Minimum share of ASCII for a text of unknown language to be taken for English."""
_MIN_ASCII_ENGLISH: Final = 0.6
"""The same for a text that is declared English: many are declared so and are not."""
_CERTAIN: Final = 0.8
"""Probability from which on the language of a query counts as detected."""
_CHECKED_CANDIDATES: Final = 10
_SOME, _HALF, _NEARLY_ALL = 0.3, 0.5, 0.9
"""Minimum share of the best candidates in a language of the model if the query is detected as one of these languages,
as none, or as another."""
_ENGLISH: Final = frozenset(("en",))


def is_readable(language: str, title: str, text: str, languages: Collection[str]) -> bool:
    """Return whether a model for `languages` supports a page in `language`, which is '' if unknown."""
    if language and language not in languages:
        return False
    if language and language not in _ENGLISH:
        return True
    sample = f"{title} {text[:_SAMPLE_CHARS]}"
    detected = detect_languages([sample], [language])[0].code
    if len(sample) >= _DETECTABLE_CHARS and (detected or "en") not in languages:
        return False
    if not _ENGLISH.issuperset(languages):
        return True
    return _ascii_share(sample) >= (_MIN_ASCII_ENGLISH if language else _MIN_ASCII_UNKNOWN)


def _ascii_share(text: str) -> float:
    return 1.0 if text.isascii() else sum(letter.isascii() for letter in text) / len(text)


def is_query_supported(
    words: str,
    matched: Sequence[int],
    languages: Collection[str],
) -> bool:
    """Return whether a model for `languages` supports a query; matched: languages of its documents, best first."""
    if _ENGLISH.issuperset(languages) and _ascii_share(words) < _MIN_ASCII_ENGLISH:
        return False
    numbers = {language_number(language) for language in languages} | {0}
    matches = [number in numbers for number in matched[:_CHECKED_CANDIDATES]]
    if sum(matches) >= _NEARLY_ALL * len(matches):
        return True
    guess = detect_languages([words])[0]
    detected = guess.code if guess.probability >= _CERTAIN else ""
    share = _HALF if not detected else _SOME if detected in languages else _NEARLY_ALL
    return sum(matches) >= share * len(matches)
