"""Metrics of queries: locality, precision of forwarding and latency (COAST, sections 5.2.3.2, 5.2.4.2, 5.2.5.2)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from periplus.sites import QueryAnswer

__all__ = [
    "Latency",
    "LocalityPoint",
    "forwarding_precision",
    "latency_by_sites",
    "locality_over_time",
    "query_locality",
]


class LocalityPoint(NamedTuple):
    """Query locality in an interval."""

    start: float
    """Seconds since 1970."""
    queries: int
    locality: float


class Latency(NamedTuple):
    """Response times with a number of sites, in seconds."""

    sites: int
    queries: int
    mean: float
    deviation: float
    """Standard deviation, of the whole population."""
    median: float
    slow: float
    """The 99th percentile."""


def query_locality(answers: Sequence[QueryAnswer]) -> float:
    """Return QL (section 5.2.3.2): the share of queries that were answered locally; 0 for no query."""
    return sum(not answer.asked for answer in answers) / len(answers) if answers else 0.0


def locality_over_time(answers: Sequence[QueryAnswer], intervals: int = 20) -> list[LocalityPoint]:
    """Return QL in intervals of equal length (section 5.2.3.2); those without queries are left out."""
    if not answers:
        return []
    begin, end = min(answer.when for answer in answers), max(answer.when for answer in answers)
    length = (end - begin) / intervals or 1.0
    groups: defaultdict[int, list[QueryAnswer]] = defaultdict(list)
    for answer in answers:
        groups[min(int((answer.when - begin) / length), intervals - 1)].append(answer)
    return [
        LocalityPoint(begin + number * length, len(group), query_locality(group))
        for number, group in sorted(groups.items())
    ]


def forwarding_precision(answers: Sequence[QueryAnswer]) -> float | None:
    """Return P (section 5.2.4.2): of the forwarded queries, the share whose results differ from the local ones.

    None if there is none of which that is known.
    """
    forwarded = [answer.improved for answer in answers if answer.asked and answer.improved is not None]
    return sum(forwarded) / len(forwarded) if forwarded else None


def latency_by_sites(answers: Sequence[QueryAnswer]) -> list[Latency]:
    """Return mean and deviation of response times against the number of sites (section 5.2.5.2)."""
    groups: defaultdict[int, list[float]] = defaultdict(list)
    for answer in answers:
        groups[answer.sites].append(answer.seconds)
    rows = []
    for sites, seconds in sorted(groups.items()):
        times = np.array(seconds)
        median, slow = np.percentile(times, (50, 99))
        rows.append(Latency(sites, len(times), float(times.mean()), float(times.std()), float(median), float(slow)))
    return rows
