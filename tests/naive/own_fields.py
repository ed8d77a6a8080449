"""Own fields without columns or sets: one document after the other."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["count_values", "in_range", "matching", "split_elements", "with_words"]


def in_range(values: Sequence[float | None], low: float, high: float) -> set[int]:
    """Return the documents whose value is within a range."""
    return {number for number, value in enumerate(values) if value is not None and low <= value <= high}


def with_words(values: Sequence[Iterable[str]], wanted: Iterable[str]) -> set[int]:
    """Return the documents that have any of some keywords."""
    return {number for number, words in enumerate(values) if set(words) & set(wanted)}


def count_values(values: Sequence[Iterable[str]], documents: Iterable[int]) -> Mapping[str, int]:
    """Return how many of some documents have each keyword."""
    return Counter(word for number in documents for word in set(values[number]))


def matching(texts: Sequence[Iterable[str]], words: Iterable[str], filtered: Iterable[int]) -> set[int]:
    """Return the documents of a filter that have all words."""
    return {number for number in filtered if set(words) <= set(texts[number])}


def split_elements(body: str) -> list[str]:
    """Return the elements of an array of JSON, or values one after the other, as they are written."""
    decoder, elements, at, in_array = json.JSONDecoder(), [], 0, False
    while at < len(body):
        if body[at].isspace() or (in_array and body[at] in ",]"):
            at += 1
        elif not in_array and not elements and body[at] == "[":
            in_array, at = True, at + 1
        else:
            _, end = decoder.raw_decode(body, at)
            elements.append(body[at:end])
            at = end
    return elements
