"""Words, scores and hubs, the plain way."""

import math
from collections.abc import Sequence

_MASK = (1 << 64) - 1


def _hash(word: bytes, bits: int) -> int:
    value = 0xCBF29CE484222325
    for byte in word:
        value = (value ^ byte) * 0x100000001B3 & _MASK
    return (value * 0x9E3779B97F4A7C15 & _MASK) >> (64 - bits)


def _is_letter(byte: int) -> bool:
    return byte >= 128 or chr(byte).isalnum()


def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


def features(data: bytes, most: int, bits: int = 16) -> list[int]:
    """Give the hashed words of a text."""
    found: list[int] = []
    at = 0
    while len(found) < most:
        while at < len(data) and not _is_letter(data[at]):
            at += 1
        if at >= len(data):
            break
        if 0xE3 <= data[at] <= 0xED:
            two = at + 3 < len(data) and 0xE3 <= data[at + 3] <= 0xED
            found.append(_hash(data[at : at + (6 if two else 3)], bits))
            at += 3
            continue
        stop = at
        while stop < len(data) and _is_letter(data[stop]) and not 0xE3 <= data[stop] <= 0xED:
            stop += 1
        word = bytes(map(_lower, data[at:stop]))
        if len(word) >= 4 and word.endswith(b"s") and not word.endswith(b"ss"):
            word = word[:-1]
        found.append(_hash(word, bits))
        at = stop
    return found


def score(data: bytes, idf: Sequence[float], weights: Sequence[float], most: int) -> float:
    """Give the dot product of a text's words, each once, by idf and of length 1, with weights."""
    distinct = list(dict.fromkeys(features(data, 10_000)))[:most]
    length = math.sqrt(sum(idf[word] ** 2 for word in distinct))
    return sum(weights[word] * idf[word] for word in distinct) / length if length else 0.0


def hubs(links: Sequence[tuple[int, int]], relevance: Sequence[float], rounds: int) -> list[float]:
    """Give hub scores by relevance."""
    pages = range(len(relevance))
    hub = [1.0 for _ in pages]
    for _ in range(rounds):
        authority = [relevance[page] * math.log1p(sum(hub[a] for a, b in links if b == page)) for page in pages]
        most = max([1e-12, *authority])
        sums = [sum(authority[b] / most for a, b in links if a == page) for page in pages]
        count = [sum(1 for a, _ in links if a == page) for page in pages]
        hub = [total / (n + 1) if n else 0.0 for total, n in zip(sums, count, strict=True)]
        best = max([1e-12, *hub])
        hub = [value / best for value in hub]
    return hub
