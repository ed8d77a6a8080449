"""Naive twins of the kernels of spelling and completions: over Python strings, one at a time."""

import itertools
from collections import defaultdict
from collections.abc import Sequence


def distance(one: str, two: str) -> int:
    """Slips from one word to another: letters left out, added, changed, or two neighbours swapped."""
    rows = [[i + j for j in range(len(two) + 1)] for i in range(len(one) + 1)]
    for i, j in itertools.product(range(1, len(one) + 1), range(1, len(two) + 1)):
        rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (one[i - 1] != two[j - 1]))
        if i > 1 and j > 1 and one[i - 1] == two[j - 2] and one[i - 2] == two[j - 1]:
            rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


def count_pairs(documents: Sequence[Sequence[Sequence[str]]]) -> dict[tuple[str, str], int]:
    """Count the documents of neighbouring words."""
    counts: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, document in enumerate(documents):
        for field in document:
            for pair in itertools.pairwise(field):
                counts[pair].add(number)
    return {pair: len(found) for pair, found in counts.items()}


def completions(texts: Sequence[bytes], typed: bytes) -> set[bytes]:
    """Give the texts that begin so."""
    return {text for text in texts if text.startswith(typed)}


def amiss(typed: str, texts: Sequence[str]) -> set[str]:
    """Give the texts with a beginning one slip from `typed`, its first letter right or swapped with the second."""
    found = set()
    for text in texts:
        for size in range(max(0, len(typed) - 1), len(typed) + 2):
            start = text[:size]
            if len(start) == size and distance(start, typed) == 1 and _first_is_right(start, typed):
                found.add(text)
    return found


def _first_is_right(start: str, typed: str) -> bool:
    if start[:1] == typed[:1]:
        return True
    return len(start) == len(typed) > 1 and start[0] == typed[1] and start[1] == typed[0] and start[2:] == typed[2:]
