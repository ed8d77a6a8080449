"""Placement of hosts and pages the slow way: one host, one page, one site at a time."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

__all__ = ["great_circle", "nearest", "page_scores", "prefix_key"]


def great_circle(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the distance of two places by the angle between their vectors, in kilometres."""
    u, v = _vector(a), _vector(b)
    cross = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    dot = sum(x * y for x, y in zip(u, v, strict=True))
    return 6371.0088 * math.atan2(math.sqrt(sum(x * x for x in cross)), dot)


def _vector(place: tuple[float, float]) -> tuple[float, float, float]:
    latitude, longitude = math.radians(place[0]), math.radians(place[1])
    return (math.cos(latitude) * math.cos(longitude), math.cos(latitude) * math.sin(longitude), math.sin(latitude))


def nearest(
    distances: Sequence[float], times: Sequence[float], distance_tie: float, time_tie: float
) -> tuple[int, set[int], str]:
    """Return the nearest site, those that are as near, and why."""
    known = [site for site, distance in enumerate(distances) if not math.isnan(distance)]
    measured = [site for site, time in enumerate(times) if not math.isnan(time)]
    near = min(known, key=lambda site: distances[site], default=None)
    if len(measured) >= 2 and (near is None or near in measured):
        best = min(measured, key=lambda site: times[site])
        return best, {site for site in measured if times[site] <= times[best] + time_tie}, "time"
    if near is None:
        return -1, set(), "hash"
    return near, {site for site in known if distances[site] <= distances[near] + distance_tie}, "distance"


def prefix_key(word: str, letters: int) -> int:
    """Return the key of the first letters of a word."""
    hashed = 0xCBF29CE484222325
    for byte in word[:letters].encode():
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return (hashed ^ hashed >> 32) | 1


def page_scores(
    words: Sequence[int],
    word_rows: Sequence[int],
    ratios: Sequence[Sequence[float]],
    priors: Sequence[float],
    text_weight: float,
    evidence: Sequence[tuple[int, float]],
    closeness: Sequence[float],
) -> list[float]:
    """Return the score of one page for each site."""
    counts: Mapping[int, int] = Counter(word for word in words if word_rows[word] >= 0)
    weights = {word: 1 + math.log(count) for word, count in counts.items()}
    total = sum(weights.values())
    scores = []
    for site in range(len(priors)):
        text = sum(weight * ratios[word_rows[word]][site] for word, weight in weights.items())
        score = text_weight * text / math.sqrt(total) if total else 0.0
        score += sum(weight * ratios[row][site] for row, weight in evidence if row >= 0)
        scores.append(score + priors[site] + closeness[site])
    return scores
