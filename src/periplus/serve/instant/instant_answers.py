"""Answers that need no search: arithmetic and units. A provider is any function from words to an answer or None."""

from collections.abc import Callable
from typing import Final, NamedTuple

from periplus.serve.instant.arithmetic import calculate
from periplus.serve.instant.units import convert

__all__ = ["PROVIDERS", "Instant", "instant_answer"]

_LONGEST: Final = 120


class Instant(NamedTuple):
    """One answer."""

    text: str
    """The whole of it on one line: '2 × 3 = 6'."""
    source: str
    """Who gave it."""


PROVIDERS: Final[dict[str, Callable[[str], str]]] = {"calculator": calculate, "units": convert}
"""Each gives a line, or '' when the words are none of its business. They are asked in this order, and must be quick."""


def instant_answer(words: str) -> Instant | None:
    """Ask the providers in turn; give the first answer."""
    if len(words) > _LONGEST or not any(sign.isdigit() for sign in words):
        return None
    for name, provider in PROVIDERS.items():
        text = provider(words)
        if text:
            return Instant(text, name)
    return None
