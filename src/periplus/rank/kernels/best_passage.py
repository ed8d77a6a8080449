"""The best passage of a document: the few words in a row of its body that have most of a query."""

from typing import Any, Final

from periplus.accel import njit

__all__ = ["MOST_WORDS", "PASSAGE", "SPREAD", "best_passage"]

MOST_WORDS: Final = 64
"""Words of a query that are looked at; a power of two, since events are divided by it."""
PASSAGE: Final = 30
"""Tokens of a passage: a long sentence, or two short ones."""
SPREAD: Final = 0.5
"""What a passage loses, of its share, whose words of the query are as far apart as a passage can be long."""


@njit(cache=True, nogil=True)
def best_passage(events: Any, first: int, count: int, weight: Any, seen: Any) -> float:  # pragma: no cover - compiled
    """Return the share of a query's weight that stands in the best passage, less for words that are far apart in it.

    Parameters
    ----------
    events: positions of the query's words, each position * `MOST_WORDS` + word, ascending.
    first, count: the events of the body are those from `first` up to `count`.
    weight: by word, its inverse document frequency.
    seen: room for a number for each word; overwritten.

    Returns
    -------
    A share from 0 to 1.
    """
    seen[:] = -1
    best = 0.0
    for high in range(first, count):
        at = events[high] // MOST_WORDS
        inside, low = 0.0, high
        while low >= first and at - events[low] // MOST_WORDS < PASSAGE:
            word = events[low] % MOST_WORDS
            if seen[word] != high:
                seen[word] = high
                inside += weight[word]
                best = max(best, inside * (1.0 - SPREAD * (at - events[low] // MOST_WORDS) / PASSAGE))
            low -= 1
    return best / max(1e-12, weight.sum())
