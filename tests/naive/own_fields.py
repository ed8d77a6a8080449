"""Own fields without columns or sets: one document after the other."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["count_values", "in_range", "with_words"]


def in_range(values: Sequence[float | None], low: float, high: float) -> set[int]:
    """Return the documents whose value is within a range."""
    return {number for number, value in enumerate(values) if value is not None and low <= value <= high}


def with_words(values: Sequence[Iterable[str]], wanted: Iterable[str]) -> set[int]:
    """Return the documents that have any of some keywords."""
    return {number for number, words in enumerate(values) if set(words) & set(wanted)}


def count_values(values: Sequence[Iterable[str]], documents: Iterable[int]) -> Mapping[str, int]:
    """Return how many of some documents have each keyword."""
    return Counter(word for number in documents for word in set(values[number]))
