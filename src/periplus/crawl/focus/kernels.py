"""What a text is about, roughly: its words as hashed features; scores of many short texts; hubs of a small graph.

A word is a run of letters and digits in lower case, a final s dropped from words of four letters and more; where a
script is written without spaces, two characters in a row are a word. A feature is a word's hash in `BITS` bits.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["BITS", "MOST", "features", "hubs", "scores", "warm"]

BITS = 16
MOST = 64
"""Words of a short text that are looked at."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_SHIFT = np.uint64(64 - BITS)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_S = np.uint8(ord("s"))


def _letters() -> npt.NDArray[np.uint8]:
    table = np.arange(256).astype(np.uint8)
    table[:128] = 0
    table[48:58], table[97:123] = np.arange(48, 58), np.arange(97, 123)
    table[65:91] = table[97:123]
    return table


_LETTER = _letters()
"""For each byte of a word, what it counts as: ASCII letters in lower case; 0 for bytes between words."""
_ALONE = np.array([0xE3 <= byte <= 0xED for byte in range(256)])
"""First bytes of characters of scripts written without spaces; each has three."""


@njit(cache=True, nogil=True)
def _next_word(data: Any, at: int, end: int) -> Any:
    """Give the feature of the next word and where to go on; -1 when there is none."""
    while at < end and not _LETTER[data[at]]:
        at += 1
    if at >= end:
        return -1, at
    hashed = _OFFSET
    if _ALONE[data[at]]:
        stop = min(at + (6 if at + 3 < end and _ALONE[data[at + 3]] else 3), end)
        for i in range(at, stop):
            hashed = (hashed ^ np.uint64(data[i])) * _PRIME
        return np.int64((hashed * _SPREAD) >> _SHIFT), min(at + 3, end)
    stop = at
    while stop < end and _LETTER[data[stop]] and not _ALONE[data[stop]]:
        stop += 1
    last = stop
    if stop - at >= 4 and _LETTER[data[stop - 1]] == _S and _LETTER[data[stop - 2]] != _S:
        last = stop - 1
    for i in range(at, last):
        hashed = (hashed ^ np.uint64(_LETTER[data[i]])) * _PRIME
    return np.int64((hashed * _SPREAD) >> _SHIFT), stop


@njit(cache=True, nogil=True)
def features(data: Any, most: int) -> Any:
    """Give the features of the first `most` words of UTF-8 `data`, in order."""
    found = np.empty(min(most, len(data) + 1), np.int32)
    count, at, end = 0, 0, len(data)
    while count < len(found):
        feature, at = _next_word(data, at, end)
        if feature < 0:
            break
        found[count] = feature
        count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def scores(data: Any, ends: Any, idf: Any, weights: Any) -> Any:
    """Score short texts, one after the other in `data`: `weights` times their words by idf, brought to length 1.

    A word counts once, however often it is there. A text without words scores 0.
    """
    out = np.zeros(len(ends), np.float32)
    seen = np.empty(MOST, np.int64)
    begin = 0
    for text in range(len(ends)):
        count, at, end = 0, begin, ends[text]
        total, length = 0.0, 0.0
        while count < MOST:
            feature, at = _next_word(data, at, end)
            if feature < 0:
                break
            known = False
            for i in range(count):
                if seen[i] == feature:
                    known = True
                    break
            if not known:
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
    """Give the hub score of every page, up to 1: how far it links to pages that are relevant and linked by good hubs.

    HITS with relevance: an authority is its relevance times its hubs, a hub the mean of its targets' authority.
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
            # Many links do not make a page relevant, and count less and less.
            authority[page] = relevance[page] * np.log1p(authority[page])
            most = max(most, authority[page])
        hub[:] = 0.0
        for i in range(len(source)):
            hub[source[i]] += authority[target[i]] / most
        best = np.float32(1e-12)
        for page in range(count):
            if out[page] > 0:
                # One right link is chance: the mean is over one link more.
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
