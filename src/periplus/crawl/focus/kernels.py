"""Kernels of focused crawling: words of a text as hashed features, scores of short texts, hubs of a small graph.

A word is a run of letters and digits in lower case, a final s dropped from words of four letters and more; where a
script is written without spaces, two characters in a row are a word. A feature is a word's hash in `BITS` bits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["BITS", "MAX_LINK_WORDS", "features", "hubs", "scores", "warm"]

BITS = 16
MAX_LINK_WORDS = 64
"""Distinct words of a short text that are scored."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SHIFT = np.uint64(64 - BITS)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_S = np.uint8(ord("s"))


def _letter_table() -> npt.NDArray[np.uint8]:
    table = np.arange(256).astype(np.uint8)
    table[:128] = 0
    table[48:58], table[97:123] = np.arange(48, 58), np.arange(97, 123)
    table[65:91] = table[97:123]
    return table


_LETTER = _letter_table()
"""For each byte of a word, what it counts as: ASCII letters in lower case; 0 for bytes between words."""
_UNSPACED = np.array([0xE3 <= byte <= 0xED for byte in range(256)])
"""First bytes of characters of scripts written without spaces; each has three."""


@njit(cache=True, nogil=True)
def _next_word(data: Any, at: int, end: int) -> Any:
    """Return the feature of the next word, or -1 if there is none, and the offset after it."""
    while at < end and not _LETTER[data[at]]:
        at += 1
    if at >= end:
        return -1, at
    hashed = _OFFSET
    if _UNSPACED[data[at]]:
        stop = min(at + (6 if at + 3 < end and _UNSPACED[data[at + 3]] else 3), end)
        for i in range(at, stop):
            hashed = (hashed ^ np.uint64(data[i])) * _PRIME
        return np.int64((hashed * _SPREAD) >> _SHIFT), min(at + 3, end)
    stop = at
    while stop < end and _LETTER[data[stop]] and not _UNSPACED[data[stop]]:
        stop += 1
    last = stop
    if stop - at >= 4 and _LETTER[data[stop - 1]] == _S and _LETTER[data[stop - 2]] != _S:
        last = stop - 1
    for i in range(at, last):
        hashed = (hashed ^ np.uint64(_LETTER[data[i]])) * _PRIME
    return np.int64((hashed * _SPREAD) >> _SHIFT), stop


@njit(cache=True, nogil=True)
def features(data: Any, most: int) -> Any:
    """Return the features of the first words of a text, in order.

    Parameters
    ----------
    data: uint8 array, the text in UTF-8.
    most: maximum number of words.

    Returns
    -------
    An array of int32: a feature for each word.
    """
    hashes = np.empty(min(most, len(data) + 1), np.int32)
    count, at, end = 0, 0, len(data)
    while count < len(hashes):
        feature, at = _next_word(data, at, end)
        if feature < 0:
            break
        hashes[count] = feature
        count += 1
    return hashes[:count]


@njit(cache=True, nogil=True)
def scores(data: Any, ends: Any, idf: Any, weights: Any) -> Any:
    """Return the dot product of each text's idf vector, normalized to length 1, and a weight vector.

    A word counts once, however often it occurs. A text without words scores 0.

    Parameters
    ----------
    data: uint8 array, the texts in UTF-8, concatenated.
    ends: int64 array, the end of each text in `data`.
    idf, weights: float32 arrays, by feature.

    Returns
    -------
    An array of float32: the score of each text.
    """
    out = np.zeros(len(ends), np.float32)
    seen = np.empty(MAX_LINK_WORDS, np.int64)
    begin = 0
    for text in range(len(ends)):
        count, at, end = 0, begin, ends[text]
        total, length = 0.0, 0.0
        while count < MAX_LINK_WORDS:
            feature, at = _next_word(data, at, end)
            if feature < 0:
                break
            is_repeated = False
            for i in range(count):
                if seen[i] == feature:
                    is_repeated = True
                    break
            if not is_repeated:
                seen[count] = feature
                count += 1
                total += weights[feature] * idf[feature]
                length += idf[feature] * idf[feature]
        if length > 0.0:
            out[text] = total / np.sqrt(length)
        begin = end
    return out


@njit(cache=True, nogil=True)
def hubs(source: Any, target: Any, relevance: Any, rounds: int) -> Any:
    """Return the hub score of every page by HITS weighted by relevance.

    The authority of a page is its relevance times the logarithm of its hubs' scores; the score of a hub is the mean
    authority of its targets.

    Parameters
    ----------
    source, target: int32 arrays, the pages of each link.
    relevance: float32 array, by page.
    rounds: number of iterations.

    Returns
    -------
    An array of float32: the score of each page; the best is 1.
    """
    count = len(relevance)
    out = np.zeros(count, np.float32)
    for i in range(len(source)):
        out[source[i]] += 1.0
    hub = np.ones(count, np.float32)
    authority = np.zeros(count, np.float32)
    for _ in range(rounds):
        authority[:] = 0.0
        for i in range(len(source)):
            authority[target[i]] += hub[source[i]]
        most = np.float32(1e-12)
        for page in range(count):
            # Many links do not make a page relevant: they count logarithmically.
            authority[page] = relevance[page] * np.log1p(authority[page])
            most = max(most, authority[page])
        hub[:] = 0.0
        for i in range(len(source)):
            hub[source[i]] += authority[target[i]] / most
        best = np.float32(1e-12)
        for page in range(count):
            if out[page] > 0:
                # A single relevant link may be chance: the mean is over one link more.
                hub[page] /= out[page] + np.float32(1.0)
            best = max(best, hub[page])
        for page in range(count):
            hub[page] /= best
    return hub


def warm() -> None:
    """Call every kernel once with the types that the crawl uses."""
    data = np.frombuffer(b"The tides of the harbour", np.uint8)
    features(data, 100)
    weights = np.zeros(1 << BITS, np.float32)
    scores(data, np.array([9, len(data)], np.int64), weights, weights)
    ends = np.zeros(1, np.int32)
    hubs(ends, ends, np.ones(1, np.float32), 2)
