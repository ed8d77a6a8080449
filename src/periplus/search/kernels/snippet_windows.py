"""Where the pieces of a snippet begin and end: the run of tokens that says most about a query, from a sentence on."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.search.kernels.answer_sentence import end_of_sentence

__all__ = ["TOKEN_CHARS", "find_begin", "find_end", "find_window", "place_piece"]

TOKEN_CHARS = 6
_AGAIN = 0.1
"""What a word counts, of its weight, that the window has already."""
_ALIGNED = 0.7
"""What a piece that begins at a sentence has of the weight of the best window at least, to be shown instead of it."""
_NEXT = 0.25
"""What a word counts in addition, of its weight, that directly follows another word of the query."""
_MOST_STARTS = 256
"""Places of words from which the beginning of their sentence is looked for."""


@njit(cache=True, nogil=True)
def find_window(found: Any, weights: Any, width: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Find the run of at most `width` tokens that is worth most; `found` is place << 16 | word, in order."""
    counts = np.zeros(len(weights), np.int64)
    best, first, last = 0.0, np.int64(0), np.int64(0)
    worth, left = 0.0, 0
    for i in range(len(found)):
        place, word = found[i] >> 16, found[i] & 0xFFFF
        worth += weights[word] * (1.0 if counts[word] == 0 else _AGAIN)
        counts[word] += 1
        while place - (found[left] >> 16) >= width:
            gone = found[left] & 0xFFFF
            counts[gone] -= 1
            worth -= weights[gone] * (1.0 if counts[gone] == 0 else _AGAIN)
            left += 1
        if worth > best + 1e-9:
            best, first, last = worth, found[left] >> 16, place
    return first, last


@njit(cache=True, nogil=True)
def find_begin(data: Any, spans: Any, first: int, last: int, chars: int) -> int:  # pragma: no cover - compiled
    """Begin at the start of a sentence or line if one is near before the words, else a few words before them."""
    reach = max(0, chars - int(spans[last, 1] - spans[first, 0])) * 2 // 3
    begin = first
    while begin > 0 and spans[first, 0] - spans[begin - 1, 0] < reach:
        for at in range(spans[begin - 1, 1], spans[begin, 0]):
            byte = data[at]
            stops = byte == 46 or byte == 63 or byte == 33
            if byte == 10 or (stops and at + 1 < spans[begin, 0] and data[at + 1] == 32):
                return begin
        begin -= 1
    return begin if begin == 0 else min(first, begin + max(0, (first - begin) // 2))


@njit(cache=True, nogil=True)
def _sentence_start(data: Any, spans: Any, place: int, reach: int) -> int:  # pragma: no cover - compiled
    """Return the first token of the sentence that a token is in; -1 if it begins more than `reach` bytes before."""
    token = place
    while token > 0 and spans[place, 0] - spans[token, 0] <= reach:
        if end_of_sentence(data, spans[token - 1, 0], spans[token - 1, 1], spans[token, 0], token == 1):
            return token
        token -= 1
    return 0 if token == 0 and spans[place, 0] - spans[0, 0] <= reach else -1


@njit(cache=True, nogil=True)
def _find_aligned(
    data: Any, spans: Any, found: Any, weights: Any, chars: int
) -> tuple[int, int, int, float]:  # pragma: no cover - compiled
    """Return the best piece of `chars` bytes that begins at a sentence: its first token, the first and the last of the
    words in it, and the weight of the words that it has; -1 if no sentence with a word begins near it.
    """
    best, chosen, first, last, worth = 0.0, -1, 0, 0, 0.0
    last_start, seen = -1, np.full(len(weights), -1, np.int64)
    for i in range(min(len(found), _MOST_STARTS)):
        start = _sentence_start(data, spans, found[i] >> 16, chars // 2)
        if start < 0 or start == last_start:
            continue
        last_start = start
        own, bonus, before, end = 0.0, 0.0, np.int64(-2), found[i] >> 16
        for j in range(i, len(found)):
            place, word = found[j] >> 16, found[j] & 0xFFFF
            if spans[place, 1] - spans[start, 0] > chars:
                break
            if seen[word] != start:
                seen[word] = start
                own += weights[word]
                bonus += _NEXT * weights[word] if place == before + 1 else 0.0
            before, end = place, place
        if own + bonus > best + 1e-9:
            best, chosen, first, last, worth = own + bonus, start, found[i] >> 16, end, own
    return chosen, first, last, worth


@njit(cache=True, nogil=True)
def _weight_between(found: Any, weights: Any, first: int, last: int) -> float:  # pragma: no cover - compiled
    """Return the weight of the different words from token `first` to `last`."""
    seen, worth = np.zeros(len(weights), np.bool_), 0.0
    for i in range(np.searchsorted(found, first << 16), len(found)):
        if found[i] >> 16 > last:
            break
        word = found[i] & 0xFFFF
        worth += 0.0 if seen[word] else weights[word]
        seen[word] = True
    return worth


@njit(cache=True, nogil=True)
def place_piece(
    data: Any, spans: Any, found: Any, weights: Any, chars: int
) -> tuple[int, int, int, bool]:  # pragma: no cover - compiled
    """Return where the best piece begins, the first and the last of its words, and whether it begins at a sentence."""
    first, last = find_window(found, weights, max(4, chars // TOKEN_CHARS))
    start, own_first, own_last, worth = _find_aligned(data, spans, found, weights, chars)
    if start >= 0 and worth >= _ALIGNED * _weight_between(found, weights, first, last):
        return start, own_first, own_last, True
    return find_begin(data, spans, first, last, chars), first, last, False


@njit(cache=True, nogil=True)
def find_end(data: Any, stop: int, spans: Any, used: int, begin: int, chars: int) -> int:  # pragma: no cover - compiled
    """Return the token before which a piece of about `chars` characters ends, of the first `used` tokens."""
    start = int(spans[begin, 0])
    plain = True
    for at in range(start, min(stop, start + chars)):
        plain &= data[at] < 128
    token, shown, at = begin, 0, start
    while token < used:
        if plain:
            shown = spans[token, 1] - start
        elif token >= begin + chars:
            break
        else:
            while at < spans[token, 1]:
                shown += (data[at] & 0xC0) != 0x80
                at += 1
        token += 1
        if shown >= chars:
            break
    return token
