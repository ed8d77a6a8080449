"""Stop words: dropped from queries that have other words, kept in phrases and in the index.

The lists (stopwords.txt) are short on purpose and in folded form (no accents).
"""

from importlib.resources import files
from typing import Final

__all__ = ["STOP_WORDS", "is_stop_word", "stop_words"]


def _read() -> dict[str, frozenset[str]]:
    """Read 'code: words' entries; an indented line continues the one above."""
    text = files("periplus.text").joinpath("stopwords.txt").read_text("utf-8").replace("\n    ", " ")
    entries = (line.partition(": ") for line in text.splitlines())
    return {code: frozenset(words.split()) for code, _, words in entries}


STOP_WORDS: Final = _read()
"""Stop words by language."""


def is_stop_word(word: str, language: str = "en") -> bool:
    """Return whether a folded word is a stop word of `language`."""
    return word in STOP_WORDS.get(language, frozenset())


def stop_words(language: str) -> frozenset[str]:
    """Return the folded stop words of a language, none for one without a list."""
    return STOP_WORDS.get(language, frozenset())
