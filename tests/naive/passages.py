"""Passages by plain loops: how a text is divided at its sentences, and what each piece scores."""

import itertools
import math
from collections.abc import Sequence

from periplus.search.kernels.passage_scores import BEFORE, SATURATION


def divide(starts: Sequence[int], width: int) -> list[int]:
    """Return the first token of each passage, and behind the last of them the number of tokens."""
    bounds = [0]
    for first, end in itertools.pairwise(starts):
        if end - bounds[-1] > width and first > bounds[-1]:
            bounds.append(first)
        while end - bounds[-1] > width:
            bounds.append(bounds[-1] + width)
    return [*bounds, starts[-1]] if starts[-1] > bounds[-1] else bounds


def score(bounds: Sequence[int], places: Sequence[Sequence[int]], weights: Sequence[float]) -> list[float]:
    """Return the score of each passage by the places of each word of the query."""
    count = len(bounds) - 1
    pieces = [range(begin, end) for begin, end in itertools.pairwise(bounds)]
    scores = [0.0] * count
    for own, weight in zip(places, weights, strict=True):
        times = [sum(place in piece for place in own) for piece in pieces]
        holders = max(1, sum(found > 0 for found in times))
        value = weight / (sum(weights) + 1e-12) * math.log(1 + count / holders) / math.log(1 + count)
        for number, found in enumerate(times):
            if found:
                scores[number] += value * found / (found + SATURATION)
            elif number and times[number - 1]:
                scores[number] += BEFORE * value
    return scores
