"""Instant answers, which need no search: arithmetic and units."""

from collections.abc import Callable
from typing import Final, NamedTuple

from periplus.serve.instant.arithmetic import calculate
from periplus.serve.instant.units import convert

__all__ = ["PROVIDERS", "InstantAnswer", "instant_answer"]

_MAX_LENGTH: Final = 120


class InstantAnswer(NamedTuple):
    """One answer."""

    text: str
    """On one line: '2 × 3 = 6'."""
    source: str
    """The name of its provider."""


PROVIDERS: Final[dict[str, Callable[[str], str]]] = {"calculator": calculate, "units": convert}
"""Functions from a query to a line of text, or '' if they have no answer. They are called in this order; be quick."""


def instant_answer(words: str) -> InstantAnswer | None:
    """Return the first answer of a provider, if any."""
    if len(words) > _MAX_LENGTH or not any(character.isdigit() for character in words):
        return None
    for name, provider in PROVIDERS.items():
        text = provider(words)
        if text:
            return InstantAnswer(text, name)
    return None
