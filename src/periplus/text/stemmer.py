"""Stemming by the Snowball stemmer of each language."""

import functools
from collections.abc import Sequence
from typing import Any, Final

import Stemmer

__all__ = ["has_stemmer", "stem", "stem_all"]

_ALGORITHMS: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
    "ca": "catalan",
    "eo": "esperanto",
    "et": "estonian",
    "eu": "basque",
    "ga": "irish",
    "hy": "armenian",
    "id": "indonesian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nn": "norwegian",
    "sr": "serbian",
    "ta": "tamil",
}
"""cs, fa, hi and pl get none: they had a number before they had a stemmer, and indexes have their words unstemmed."""


@functools.cache
def _stemmer(language: str) -> Any:
    name = _ALGORITHMS.get(language)
    return Stemmer.Stemmer(name, 0) if name in Stemmer.algorithms() else None


def has_stemmer(language: str) -> bool:
    """Return whether there is a stemmer for a language."""
    return _stemmer(language) is not None


def stem_all(words: Sequence[str], language: str) -> list[str]:
    """Return the stems of folded words of one language; the words themselves if it has no stemmer."""
    stemmer = _stemmer(language)
    return list(words) if stemmer is None else list(stemmer.stemWords(words))


def stem(word: str, language: str) -> str:
    """Return the stem of one folded word."""
    return stem_all([word], language)[0]
